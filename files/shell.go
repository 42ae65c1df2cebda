package files

import (
	"regexp"
	"strings"
	"sync"
)

// A shown file is the part of a file that a call shows.
type shown struct {
	path        string
	first, last int  // lines; 0 if the call does not say
	whole       bool // all lines
	unnumbered  bool // numbers before the lines are not line numbers
}

// parseFileRead returns the file that a shell command prints, if it prints one
// and nothing else: cat FILE, sed -n 'A,Bp' FILE, head, tail, nl, awk 'NR>=A',
// type, Get-Content, each also after cd DIR && and before | head.
func parseFileRead(command string) (f shown, ok bool) {
	command = strings.TrimSpace(command)
	if len(command) > 1000 || strings.ContainsAny(maskQuoted(command), "\n`$(<") {
		return f, false
	}
	dir := ""
	for strings.HasPrefix(command, "cd ") {
		head, rest, found := strings.Cut(command, "&&")
		if !found {
			return f, false
		}
		if w := splitCommand(head); len(w) == 2 {
			dir = w[1]
		}
		command = strings.TrimSpace(rest)
	}
	command = strings.TrimSuffix(strings.TrimSpace(command), "2>&1")
	command = strings.TrimSuffix(strings.TrimSpace(command), "2>/dev/null")
	if strings.ContainsAny(maskQuoted(command), ";&>") {
		return f, false
	}
	stages := splitStages(command)
	f, ok = firstStage(splitCommand(stages[0]))
	for _, s := range stages[1:] {
		ok = ok && f.narrowByPipe(splitCommand(s))
	}
	if ok && dir != "" && !strings.HasPrefix(f.path, "/") {
		f.path = strings.TrimSuffix(dir, "/") + "/" + strings.TrimPrefix(f.path, "./")
	}
	return f, ok && f.path != "" && !strings.ContainsAny(f.path, "*?{$`")
}

// maskQuoted returns a command with a blank for each byte that is quoted.
func maskQuoted(command string) string {
	out, quote := []byte(command), byte(0)
	for i, c := range out {
		switch {
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			out[i] = ' '
		}
	}
	return string(out)
}

// splitStages cuts a command at its pipes.
func splitStages(command string) []string {
	var stages []string
	at := 0
	for i, c := range []byte(maskQuoted(command)) {
		if c == '|' {
			stages = append(stages, command[at:i])
			at = i + 1
		}
	}
	return append(stages, command[at:])
}

// readParser parses a shell command that prints a file.
type readParser struct {
	shown
	tool  string
	paths []string
	bad   bool // it prints more than the file
}

func firstStage(words []string) (f shown, ok bool) {
	if len(words) < 2 {
		return f, false
	}
	r := readParser{tool: strings.ToLower(words[0])}
	switch r.tool {
	case "cat", "bat", "batcat", "nl", "type", "get-content", "gc", "less", "more":
		r.whole = true
	case "sed", "head", "tail", "awk", "gawk", "mawk":
	default:
		return f, false
	}
	if r.tool == "head" {
		r.first, r.last = 1, 10
	}
	r.unnumbered = r.tool == "nl"
	for i := 1; i < len(words); i++ {
		next := ""
		if i+1 < len(words) {
			next = words[i+1]
		}
		if r.readWord(words[i], next) {
			i++
		}
	}
	if r.bad || len(r.paths) != 1 || (r.tool == "sed" || strings.HasSuffix(r.tool, "awk")) && r.first == 0 {
		return f, false
	}
	r.path = r.paths[0]
	return r.shown, true
}

// readWord parses a word of the command; it reports whether the next one
// belongs to it.
func (r *readParser) readWord(w, next string) (two bool) {
	low := strings.ToLower(w)
	switch {
	case r.tool == "sed" && !strings.HasPrefix(w, "-") && r.first == 0:
		var ok bool
		r.first, r.last, ok = printedRange(w)
		r.bad = r.bad || !ok
	case strings.HasSuffix(r.tool, "awk") && r.first == 0:
		var ok bool
		r.first, r.last, ok = awkRange(w)
		r.bad = r.bad || !ok
	case (r.tool == "head" || r.tool == "tail") && (w == "-n" || w == "--lines"):
		r.readLineLimit(next)
		return true
	case (r.tool == "head" || r.tool == "tail") && (strings.HasPrefix(w, "-c") || strings.HasPrefix(w, "--bytes")):
		r.bad = true // bytes, not lines
	case (r.tool == "head" || r.tool == "tail") && (strings.HasPrefix(w, "-") || r.tool == "tail" && strings.HasPrefix(w, "+")) && hasDigit(w):
		r.readLineLimit(strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(w, "--lines="), "-n"), "-"))
	case r.tool == "get-content" || r.tool == "gc":
		return r.powerShell(low, w, next)
	case strings.HasPrefix(r.tool, "bat") && (w == "-r" || w == "--line-range"):
		r.readLineSpan(next)
		return true
	case strings.HasPrefix(r.tool, "bat") && strings.HasPrefix(w, "--line-range="):
		r.readLineSpan(strings.TrimPrefix(w, "--line-range="))
	case r.tool == "nl" && (w == "-ba" || w == "-b" && next == "a"):
		r.unnumbered = false
		return w == "-b"
	case r.tool == "cat" && strings.HasPrefix(w, "-") && strings.ContainsAny(w, "bs"):
		r.unnumbered = true // blank lines have no number, or are removed
		r.bad = r.bad || strings.Contains(w, "s")
	case (r.tool == "less" || r.tool == "more") && strings.HasPrefix(w, "+"):
		r.whole = false
	case strings.HasPrefix(w, "-"):
	default:
		r.paths = append(r.paths, w)
	}
	return false
}

func hasDigit(w string) bool { return strings.ContainsAny(w, "0123456789") }

// powerShell parses a word of Get-Content.
func (r *readParser) powerShell(low, w, next string) (two bool) {
	switch low {
	case "-head", "-totalcount", "-first":
		r.whole, r.first, r.last = false, 1, parseLineNumber(next)
		return true
	case "-tail", "-last":
		r.whole, r.first, r.last = false, 0, 0
		return true
	case "-path", "-literalpath":
		r.paths = append(r.paths, next)
		return true
	case "-encoding", "-delimiter", "-readcount":
		return true
	}
	if !strings.HasPrefix(w, "-") {
		r.paths = append(r.paths, w)
	}
	return false
}

// readLineSpan parses the A:B of bat.
func (r *readParser) readLineSpan(s string) {
	from, to, both := strings.Cut(s, ":")
	r.whole, r.first, r.last = false, max(parseLineNumber(from), 1), parseLineNumber(to)
	if !both {
		r.last = r.first
	}
	r.bad = r.bad || strings.HasPrefix(from, "-")
}

// narrowByPipe applies a later stage of a pipe; it reports whether the result
// is still lines of the file.
func (f *shown) narrowByPipe(words []string) bool {
	if len(words) == 0 {
		return false
	}
	r := readParser{tool: strings.ToLower(words[0])}
	switch r.tool {
	case "cat", "nl": // they number their input
		all := r.tool == "cat" || strings.Contains(strings.Join(words, " "), "-ba") || strings.Contains(strings.Join(words, " "), "-b a")
		f.unnumbered = f.unnumbered || !all || !f.whole && f.first != 1
		return len(words) < 3 || words[1] == "-b"
	case "head", "tail", "sed", "awk":
		if r.tool == "head" {
			r.first, r.last = 1, 10
		}
		for i := 1; i < len(words); i++ {
			next := ""
			if i+1 < len(words) {
				next = words[i+1]
			}
			if r.readWord(words[i], next) {
				i++
			}
		}
	case "select-object", "select":
		r.selected(words[1:])
	default:
		return false
	}
	if r.bad || len(r.paths) > 0 {
		return false
	}
	f.takeLines(r.first, r.last)
	return true
}

// selected parses Select-Object -Skip N -First M.
func (r *readParser) selected(words []string) {
	skip := 0
	for i := 0; i+1 < len(words); i += 2 {
		switch n := parseLineNumber(words[i+1]); strings.ToLower(words[i]) {
		case "-first":
			r.first, r.last = 1, n
		case "-skip":
			skip = n
		default:
			r.first, r.last = 0, 0
			return
		}
	}
	if r.first == 0 && skip > 0 {
		r.first = 1
	}
	r.first += skip
	if r.last > 0 {
		r.last += skip
	}
}

// takeLines reduces the lines of f to first to last: lines of the file if f
// begins at a known one. If first is 0, they are counted from the end.
func (f *shown) takeLines(first, last int) {
	from := f.first
	if f.whole {
		from = 1
	}
	f.whole = false
	if first == 0 || from == 0 {
		f.first, f.last = 0, 0
		return
	}
	end := f.last
	f.first, f.last = from+first-1, 0
	if last > 0 {
		f.last = from + last - 1
	}
	if end > 0 && (f.last == 0 || f.last > end) {
		f.last = end
	}
}

// readLineLimit parses the number of lines of head and tail.
func (r *readParser) readLineLimit(n string) {
	switch k := parseLineNumber(strings.TrimPrefix(n, "+")); {
	case r.tool == "head" && k > 0:
		r.first, r.last = 1, k
	case r.tool == "head":
		r.first, r.last = 1, 0 // all but the last
	case strings.HasPrefix(n, "+"):
		r.first, r.last = max(k, 1), 0
	default:
		r.first, r.last = 0, 0 // from the end
	}
}

// An awkLine is a program that prints lines by their numbers.
type awkLine struct {
	program     *regexp.Regexp
	from, until int // what is added to the first and the last line
}

var awkLines = sync.OnceValue(func() []awkLine {
	return []awkLine{
		{regexp.MustCompile(`^F?NR\s*>=\s*(\d+)\s*&&\s*F?NR\s*<=\s*(\d+)$`), 0, 0},
		{regexp.MustCompile(`^F?NR\s*>\s*(\d+)\s*&&\s*F?NR\s*<=\s*(\d+)$`), 1, 0},
		{regexp.MustCompile(`^F?NR\s*>=\s*(\d+)\s*&&\s*F?NR\s*<\s*(\d+)$`), 0, -1},
		{regexp.MustCompile(`^F?NR\s*>\s*(\d+)\s*&&\s*F?NR\s*<\s*(\d+)$`), 1, -1},
		{regexp.MustCompile(`^F?NR\s*==\s*(\d+)\s*,\s*F?NR\s*==\s*(\d+)$`), 0, 0},
		{regexp.MustCompile(`^F?NR\s*==\s*(\d+)()$`), 0, 0},
		{regexp.MustCompile(`^F?NR\s*>=\s*(\d+)()$`), 0, 0},
		{regexp.MustCompile(`^F?NR\s*>\s*(\d+)()$`), 1, 0},
		{regexp.MustCompile(`^()F?NR\s*<=\s*(\d+)$`), 1, 0},
		{regexp.MustCompile(`^()F?NR\s*<\s*(\d+)$`), 1, -1},
	}
})

// awkRange parses a program that prints lines by their numbers.
func awkRange(program string) (first, last int, ok bool) {
	program = strings.TrimSpace(program)
	for _, action := range []string{"{print}", "{print $0}", "{ print }", "{ print $0 }"} {
		program = strings.TrimSpace(strings.TrimSuffix(program, action))
	}
	for i, a := range awkLines() {
		m := a.program.FindStringSubmatch(program)
		if m == nil {
			continue
		}
		if first = parseLineNumber(m[1]) + a.from; m[2] != "" {
			last = parseLineNumber(m[2]) + a.until
		} else if i == 5 {
			last = first
		}
		return first, last, first > 0
	}
	return 0, 0, false
}

// printedRange parses the A,Bp of a sed command, also if it stops at the last
// line.
func printedRange(s string) (first, last int, ok bool) {
	s = strings.Trim(s, `'"`)
	s, quit, _ := strings.Cut(s, ";")
	if rest := strings.TrimSuffix(strings.TrimSpace(quit), "q"); quit != "" && (rest == strings.TrimSpace(quit) || parseLineNumber(rest) == 0) {
		return 0, 0, false
	}
	body, found := strings.CutSuffix(strings.TrimSpace(s), "p")
	if !found {
		return 0, 0, false
	}
	from, to, both := strings.Cut(body, ",")
	first = parseLineNumber(from)
	if !both {
		return first, first, first > 0
	}
	if to == "$" {
		return first, 0, first > 0
	}
	if more, ok := strings.CutPrefix(to, "+"); ok {
		return first, first + parseLineNumber(more), first > 0
	}
	return first, parseLineNumber(to), first > 0 && parseLineNumber(to) >= first
}

// splitCommand cuts a command into words, quotes taken off.
func splitCommand(s string) []string {
	var out []string
	var b strings.Builder
	quote, inside := byte(0), false
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote, inside = c, true
		case quote == 0 && (c == ' ' || c == '\t'):
			if inside {
				out = append(out, b.String())
				b.Reset()
			}
			inside = false
		default:
			b.WriteByte(c)
			inside = true
		}
	}
	if inside {
		out = append(out, b.String())
	}
	return out
}
