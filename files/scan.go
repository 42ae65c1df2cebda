package files

import (
	"hash/fnv"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

// smallest is the minimum size in bytes of a copy: shortening a smaller text
// gains nothing.
const smallest = 160

// ScanMessage returns the copies in m and the names that it mentions. call is
// the call that m answers, nil for any other message: it says which tool
// showed which part of which file.
func ScanMessage(m chat.Message, call *chat.Part) Scan {
	s := messageScan{call: call, machine: m.Machine, edits: m.Role == chat.Assistant}
	for i, p := range m.Parts {
		switch {
		case p.Kind == chat.Call:
			s.arguments(i, p)
		case p.Kind == chat.Result:
			s.scanToolResult(i, p)
		case p.Kind == chat.Text && m.Role == chat.Tool:
			s.scanToolResult(i, p)
		case p.Kind == chat.Text && m.State == chat.Active:
			s.scanProse(i, p.Text)
		case m.IsSummary() && (p.Kind == chat.Text || p.Kind == chat.Summary):
			s.scanExcerpts(i, p.Text)
		case p.Kind == chat.Text || p.Kind == chat.Summary, p.Kind == chat.ServerResult || p.Kind == chat.Opaque:
			s.addIdentifiers(p.Text)
		}
	}
	return s.finishScan()
}

// A messageScan collects the copies and names of one message.
type messageScan struct {
	facts   Scan
	call    *chat.Part
	machine bool
	edits   bool // what is written edits files
}

func (s *messageScan) finishScan() Scan {
	f := s.facts
	slices.Sort(f.Idents)
	f.Idents = withoutSpareCap(slices.Compact(f.Idents))
	f.Mentions = withoutSpareCap(uniqueStrings(f.Mentions))
	f.Copies = withoutSpareCap(f.Copies)
	return f
}

// withoutSpareCap returns list without spare capacity.
func withoutSpareCap[T any](list []T) []T {
	if len(list) == cap(list) {
		return list
	}
	return append([]T(nil), list...)[:len(list):len(list)]
}

func uniqueStrings(list []string) []string {
	slices.Sort(list)
	return slices.Clip(slices.Compact(list))
}

// addFileCopy adds a copy: text is its content, without wrappers.
func (s *messageScan) addFileCopy(c Ref, text string) {
	c.Size = len(text)
	switch {
	case len(text) < smallest && !c.held: // an edit or write, kept because it names the file
		s.addIdentifiers(text)
	case c.Kind == Output:
		c.shape = shapeOfOutput(text)
	default:
		c.shape = outlineOf(c.Path, text)
		if c.First > 0 && c.Last == 0 {
			c.Last = c.First + lineCount(text) - 1
		}
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // never fails
	c.Hash = h.Sum64()
	s.facts.Copies = append(s.facts.Copies, c)
}

func lineCount(text string) int {
	return strings.Count(text, "\n") + 1 - len(text) + len(strings.TrimSuffix(text, "\n"))
}

// addIdentifiers adds the paths and identifiers of a text that is not a copy.
func (s *messageScan) addIdentifiers(text string) {
	f := &s.facts
	eachIdent(text, func(start, end int) {
		id := text[start:end]
		f.Idents = append(f.Idents, hashIdent(id))
		if isFilePath(id) {
			f.Mentions = append(f.Mentions, id)
			if i := strings.LastIndexByte(id, '/'); i >= 0 {
				f.Idents = append(f.Idents, hashIdent(id[i+1:]))
			}
		}
	})
	s.addQuotedWords(text)
}

// addQuotedWords adds plain words that are used as symbols: in backticks or
// called.
func (s *messageScan) addQuotedWords(text string) {
	for i := 0; i < len(text); i++ {
		if text[i] != '(' && text[i] != '`' {
			continue
		}
		start := i
		for start > 0 && byteClass[text[start-1]]&word != 0 && i-start < 100 {
			start--
		}
		if i-start >= 5 {
			s.facts.Idents = append(s.facts.Idents, hashIdent(text[start:i]))
		}
	}
}

// isFilePath reports whether an identifier names a file.
func isFilePath(id string) bool {
	if strings.IndexByte(id, '/') >= 0 {
		return true
	}
	i := strings.LastIndexByte(id, '.')
	return i > 0 && isFileExtension(id[i+1:])
}

// scanToolResult records the result of a tool.
func (s *messageScan) scanToolResult(part int, p chat.Part) {
	f, known := shownByCall(s.call)
	if len(p.Text) < smallest {
		s.addIdentifiers(p.Text)
		return
	}
	c := Ref{Part: part, Kind: Output, End: len(p.Text)}
	clean := unwrapText(p.Text)
	text := clean.text
	switch {
	case known && !p.Error && !isReadFailure(clean.text):
		c.Kind, c.Path, c.First, c.Last, c.Whole = Read, f.path, f.first, f.last, f.whole
		if f.unnumbered { // its numbers are not line numbers
			clean.first, clean.last, clean.holes = 0, 0, cutInside(text)
		}
	case clean.path != "":
		c.Kind, c.Path, c.Whole = Read, clean.path, true
	case s.call != nil && !isFailedCall(p) && lineCount(text) >= minAnswerLines && len(editedBy(s.call)) > 0:
		c.Kind, c.Path = Edit, editedBy(s.call)[0]
	default:
		text = trimReminders(unixLines(p.Text))
		s.addIdentifiers(text)
	}
	if c.Kind != Output {
		c.setCoveredLines(clean)
		s.facts.Mentions = append(s.facts.Mentions, c.Path)
	}
	s.addFileCopy(c, text)
}

// minAnswerLines is the minimum number of lines of an answer to an edit that shows the
// file: a shorter one only says that the edit was made.
const minAnswerLines = 3

// isReadFailure reports whether a read answered with an error instead of a file.
func isReadFailure(text string) bool {
	return len(text) < 400 && (strings.HasPrefix(text, "<tool_use_error>") || strings.HasPrefix(text, "Error") || strings.Contains(text, "No such file"))
}

// setCoveredLines sets the lines that c shows, from the words of the tool and
// its output. The requested range is an upper limit: a tool may show less.
func (c *Ref) setCoveredLines(s unwrappedText) {
	n := lineCount(s.text)
	if s.holes {
		c.First, c.Last, c.Whole = 0, 0, false
		return
	}
	asked := c.First == 1 && c.Last > n // more lines than there are
	if s.first > 0 {
		c.First, c.Last = s.first, s.first+n-1
		if s.last >= s.first {
			c.Last = s.last
		}
	}
	if s.part {
		c.Whole = false
	}
	c.Whole = c.Whole || asked && !s.part && c.First == 1
	if c.Whole || c.First > 0 && (c.Last == 0 || c.Last-c.First+1 > n && s.last == 0) {
		c.First = max(c.First, 1)
		c.Last = c.First + n - 1
	}
	c.total = s.total
	if s.total > 0 {
		c.Whole = c.First <= 1 && c.First+n-1 >= s.total
	}
	if c.First > 1 {
		c.Whole = false
	}
}

// scanProse records the fenced blocks with a path, the <file path=…> blocks
// and the edits of a text, and the text between them.
func (s *messageScan) scanProse(part int, text string) {
	if s.machine && len(text) >= smallest {
		if clean := unwrapText(text); clean.tool { // an observation that the format stores as a user's message
			s.scanToolResult(part, chat.Part{Text: text})
			return
		}
	}
	if s.edits {
		s.addTextEdits(part, text, searchReplace(text, ""))
		return
	}
	s.scanFileBlocks(part, text, 0, len(text))
}

// scanFileBlocks records the blocks of files in text[from:to].
func (s *messageScan) scanFileBlocks(part int, text string, from, to int) {
	at := from
	eachBlock(text[from:to], func(path string, start, end int) {
		start, end = from+start, from+end
		s.addIdentifiers(text[at:start])
		kind := Block
		if s.machine && strings.TrimSpace(text[:start]) == attachHead(path) && strings.TrimSpace(text[end:]) == attachTail {
			kind = Attached
		}
		body := unixLines(text[start:end])
		if len(body) >= smallest {
			s.addFileCopy(Ref{Part: part, Kind: kind, Path: path, Start: start, End: end, Whole: kind == Attached}, body)
		} else {
			s.addIdentifiers(body)
		}
		s.facts.Mentions = append(s.facts.Mentions, path)
		at = end
	})
	s.addIdentifiers(text[at:to])
}

const attachTail = "</file>"

func attachHead(path string) string {
	return `<file path="` + strings.NewReplacer(`"`, "&quot;", "\n", " ").Replace(path) + `">`
}

// AttachText returns the text of a message that contains a file.
func AttachText(path, text string) string {
	return attachHead(path) + "\n" + strings.TrimSuffix(text, "\n") + "\n" + attachTail
}

// eachBlock calls yield with the body of each block of a file in text.
func eachBlock(text string, yield func(path string, start, end int)) {
	path, shut, start, before := "", "", 0, ""
	eachLine(text, func(from, to int) {
		line := strings.TrimSpace(text[from:min(to, from+600)])
		switch {
		case shut != "" && (line == shut || shut == attachTail && strings.HasPrefix(line, shut)):
			if path != "" && from > start {
				yield(path, start, from)
			}
			shut = ""
		case shut != "":
		case strings.HasPrefix(line, "<file ") && strings.HasSuffix(line, ">"):
			path, shut, start = attribute(line, "path"), attachTail, to
		case fenceMarker(line) != "":
			shut, start = fenceMarker(line), to
			path = fencePath(line[len(shut):], before)
		}
		if line != "" {
			before = line
		}
	})
}

// attribute returns the value of an attribute of a tag.
func attribute(tag, name string) string {
	for _, quote := range []string{`"`, `'`} {
		if _, rest, ok := strings.Cut(tag, name+"="+quote); ok {
			value, _, _ := strings.Cut(rest, quote)
			return strings.ReplaceAll(value, "&quot;", `"`)
		}
	}
	return ""
}

// fencePath returns the path of a fenced block: in its info string, or alone
// on the line before.
func fencePath(info, before string) string {
	for _, w := range strings.FieldsFunc(info, func(r rune) bool { return r == ' ' || r == ':' || r == '"' || r == '=' || r == '{' || r == '}' }) {
		if isFilePath(w) && len(w) > 3 {
			return w
		}
	}
	name := strings.Trim(before, "*`#: ")
	if isFilePath(name) && !strings.ContainsAny(name, " \t<>()|\"") {
		return name
	}
	return ""
}
