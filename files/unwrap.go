package files

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// An unwrappedText is the content that a tool showed, without the wrapper that
// the tool added.
type unwrappedText struct {
	text  string
	first int  // number of its first line, 0 if the tool gave none
	last  int  // number of its last line according to the tool, 0 if it gave none
	total int  // lines of the whole file, 0 if the tool gave none
	part  bool // the tool said that this is not the whole file
	holes bool // lines are missing inside
	path  string
	tool  bool // it followed a header of a tool
}

// The wrappers that tools add.
var (
	headers = sync.OnceValue(func() []*regexp.Regexp {
		return []*regexp.Regexp{
			regexp.MustCompile(`^<path>([^<\n]*)</path>\n(?:<type>[a-z]+</type>\n)?<content>\n?`),
			regexp.MustCompile(`^\[File: ([^\n]+?) \((\d+) lines total\)\]\n(?:\((\d+) more lines above\)\n)?`),
			regexp.MustCompile("^Here's the result of running `cat -n` on (?:a snippet of )?([^\n]+?):\n"),
			regexp.MustCompile(`^\[read_file for '([^'\n]+)'\] Result:\n+`),
			regexp.MustCompile(`^(?:Chunk ID: \w+\n)?(?:Wall time: [^\n]*\n)?(?:Process exited with code -?\d+\n)?(?:Exit code: -?\d+\n)?(?:Wall time: [^\n]*\n)?(?:Original token count: \d+\n)?(?:Total output lines: \d+\n)?Output:\n`),
			regexp.MustCompile(`^<returncode>-?\d+</returncode>\n<output>\n?`),
			regexp.MustCompile(`^IMPORTANT: The file content has been truncated\.[^\f]{0,600}?--- FILE CONTENT \(truncated\) ---\n`),
			regexp.MustCompile(`^The file [^\n]{1,400} has been (?:updated|edited)\. Here's the result of running ` + "`cat -n` on a snippet of (?:the edited file|[^\n]+?):?\n"),
		}
	})
	footers = sync.OnceValue(func() []*regexp.Regexp {
		return []*regexp.Regexp{
			regexp.MustCompile(`\n+[\[(][^\n\[(]*?[Ss]howing (?:lines )?(\d+) ?(?:-|–|to) ?(\d+)(?: (?:of|out of) (\d+))?[^\n]*[\])]\s*$`),
			regexp.MustCompile(`\n+\[\d+ more lines in file[^\n]*\]\s*$`),
			regexp.MustCompile(`\n+\(End of file - total (\d+) lines\)\s*$`),
			regexp.MustCompile(`\n+\((?:File has more lines|Output capped)[^\n]*\)\s*$`),
			regexp.MustCompile(`\n+\((\d+) more lines below\)[^\n]*(?:\n\(Open file: [^\n]*\))?(?:\n\(Current directory: [^\n]*\))?(?:\nbash-\$)?\s*$`),
			regexp.MustCompile(`\n*</content>\s*$`),
			regexp.MustCompile(`\n*</output>\s*$`),
			regexp.MustCompile(`\n+(?:Review the changes and make sure they are as expected)[^\n]*\s*$`),
		}
	})
	showing = regexp.MustCompile(`Showing lines (\d+)-(\d+) of (\d+)`)
)

// edge limits how far from either end of a text wrappers are searched.
const edge = 1 << 10

// unwrapText removes what tools add to the text of a file: headers, footers,
// reminders, line numbers, carriage returns.
func unwrapText(text string) unwrappedText {
	s := unwrappedText{text: unixLines(text)}
	s.text = trimReminders(s.text)
	s.trimHeader()
	for range 3 { // footers can be nested
		if !s.trimFooter() {
			break
		}
	}
	s.trimNumbers()
	s.holes = s.holes || cutInside(s.text)
	return s
}

// cuts are the markers of tools for cut text.
var cuts = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^[ \t]*(?:\[|\(|<|…|\.\.\.|\*\*\*|---|==)[^\n]{0,80}\b(?:truncated|omitted|elided|characters removed|clipped|more lines|lines left out)\b|…\d+ (?:tokens|chars|characters|lines) truncated…`)
})

// cutInside reports whether a tool says that it omitted lines of text: in its
// middle, where most are cut, or at its end.
func cutInside(text string) bool {
	low := strings.ToLower(text)
	for _, word := range []string{"truncated", "omitted", "elided", "characters removed", "clipped", "more lines", "left out"} {
		for at := 0; ; {
			i := strings.Index(low[at:], word)
			if i < 0 {
				break
			}
			at += i + len(word)
			if at > len(text) { // letters whose length differs in lower case
				break
			}
			start := strings.LastIndexByte(text[:at], '\n') + 1
			if at-start < 160 && cuts().MatchString(lineFrom(text, start).textOfSpan(text)) {
				return true
			}
		}
	}
	return false
}

func unixLines(text string) string {
	if !strings.Contains(text, "\r\n") {
		return text
	}
	return strings.ReplaceAll(text, "\r\n", "\n")
}

// trimReminders cuts the reminders after a text.
func trimReminders(text string) string {
	const open, shut = "<system-reminder>", "</system-reminder>"
	for {
		end := strings.TrimRight(text, " \n\t")
		if !strings.HasSuffix(end, shut) {
			return text
		}
		at := strings.LastIndex(end, open)
		if at < 0 {
			return text
		}
		text = strings.TrimRight(text[:at], "\n")
	}
}

func (s *unwrappedText) trimHeader() {
	head := s.text[:min(len(s.text), edge)]
	if head == "" || !strings.ContainsRune("<[HICWPEOT", rune(head[0])) {
		return
	}
	for i, h := range headers() {
		m := h.FindStringSubmatchIndex(head)
		if m == nil {
			continue
		}
		if at := showing.FindStringSubmatch(head[:m[1]]); at != nil {
			s.first, s.last, s.part = parseLineNumber(at[1]), parseLineNumber(at[2]), true
			s.total = parseLineNumber(at[3])
		}
		if i < 4 && len(m) > 3 {
			s.path = head[m[2]:m[3]]
		}
		if i == 1 {
			s.total = parseLineNumber(head[m[4]:m[5]])
			s.part = s.part || m[6] >= 0
		}
		s.part = s.part || strings.Contains(head[:m[1]], "snippet of")
		s.text, s.tool = s.text[m[1]:], true
		return
	}
}

func (s *unwrappedText) trimFooter() bool {
	from := max(0, len(s.text)-edge)
	tail := s.text[from:]
	end := strings.TrimRight(tail, " \n\t")
	if end == "" || !strings.ContainsRune("]>)$.", rune(end[len(end)-1])) {
		return false
	}
	for i, f := range footers() {
		m := f.FindStringSubmatchIndex(tail)
		if m == nil {
			continue
		}
		switch i {
		case 0:
			s.first, s.last = parseLineNumber(tail[m[2]:m[3]]), parseLineNumber(tail[m[4]:m[5]])
			if s.part = true; m[6] >= 0 {
				s.total = parseLineNumber(tail[m[6]:m[7]])
				s.part = s.first > 1 || s.last < s.total
			}
		case 1, 3, 4:
			s.part = true
		case 2:
			s.total = parseLineNumber(tail[m[2]:m[3]])
		}
		s.text = s.text[:from+m[0]]
		return true
	}
	return false
}

func parseLineNumber(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

// trimNumbers cuts line numbers from the lines of a text whose first lines all
// have one and count up.
func (s *unwrappedText) trimNumbers() {
	lead := strings.TrimLeft(s.text[:min(len(s.text), 64)], "\n")
	first, _, ok := lineNumber(lead)
	if !ok || !numbered(s.text) {
		return
	}
	s.first = first
	var b strings.Builder
	b.Grow(len(s.text))
	last := first - 1
	for line := range strings.SplitSeq(s.text, "\n") {
		if n, at, ok := lineNumber(line); ok {
			line = line[at:]
			s.holes = s.holes || n != last+1
			last = n
		}
		b.WriteString(line)
		b.WriteByte('\n')
	}
	if s.text = strings.TrimSuffix(b.String(), "\n"); !s.holes {
		s.last = last
	}
}

// numbered reports whether the first lines of text count up by one.
func numbered(text string) bool {
	prev, seen := 0, 0
	for line := range strings.SplitSeq(text, "\n") {
		n, _, ok := lineNumber(line)
		switch {
		case !ok && strings.TrimSpace(line) == "":
			continue
		case !ok:
			return seen >= 8 // a wrapped line may come later
		case seen > 0 && n != prev+1:
			return false
		}
		prev = n
		if seen++; seen == 20 {
			break
		}
	}
	return seen >= 2 || seen == 1 && strings.Contains(text, "→")
}

// lineNumber returns the number that line begins with, and where its text
// begins: "   12→text", "12\ttext", "12: text", "12:text", "12 | text".
func lineNumber(line string) (n, at int, ok bool) {
	i := 0
	for i < len(line) && line[i] == ' ' && i < 12 {
		i++
	}
	from := i
	for i < len(line) && line[i] >= '0' && line[i] <= '9' && i < from+9 {
		n = n*10 + int(line[i]-'0')
		i++
	}
	if i == from {
		return 0, 0, false
	}
	rest := line[i:]
	for _, sep := range []string{"→", "\t", ": ", ":", " | ", "| ", " |", "|"} {
		if strings.HasPrefix(rest, sep) {
			return n, i + len(sep), true
		}
	}
	return 0, 0, false
}
