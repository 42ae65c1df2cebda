package files

import "strings"

// A shown file is what a call shows of a file.
type shown struct {
	path        string
	first, last int // lines; 0 where the call does not say
	whole       bool
}

// shownBy returns the file that a shell command prints, if it prints one and
// nothing else: cat FILE, sed -n 'A,Bp' FILE, head, tail, nl, type,
// Get-Content, each also behind cd DIR && and before | head.
func shownBy(command string) (f shown, ok bool) {
	command = strings.TrimSpace(command)
	if len(command) > 1000 || strings.ContainsAny(command, "\n`$(<") {
		return f, false
	}
	dir := ""
	for strings.HasPrefix(command, "cd ") {
		head, rest, found := strings.Cut(command, "&&")
		if !found {
			return f, false
		}
		if w := fields(head); len(w) == 2 {
			dir = w[1]
		}
		command = strings.TrimSpace(rest)
	}
	command = strings.TrimSuffix(strings.TrimSpace(command), "2>&1")
	command = strings.TrimSuffix(strings.TrimSpace(command), "2>/dev/null")
	if strings.ContainsAny(command, ";&>") {
		return f, false
	}
	stages := strings.Split(command, "|")
	f, ok = firstStage(fields(stages[0]))
	for _, s := range stages[1:] {
		ok = ok && f.narrow(fields(s))
	}
	if ok && dir != "" && !strings.HasPrefix(f.path, "/") {
		f.path = strings.TrimSuffix(dir, "/") + "/" + strings.TrimPrefix(f.path, "./")
	}
	return f, ok && f.path != "" && !strings.ContainsAny(f.path, "*?{")
}

func firstStage(words []string) (f shown, ok bool) {
	if len(words) < 2 {
		return f, false
	}
	tool := strings.ToLower(words[0])
	var paths []string
	for i := 1; i < len(words); i++ {
		w := words[i]
		switch {
		case tool == "sed" && !strings.HasPrefix(w, "-") && f.last == 0:
			if f.first, f.last, ok = printedRange(w); !ok {
				return f, false
			}
		case (tool == "head" || tool == "tail") && w == "-n" && i+1 < len(words):
			f.limit(tool, words[i+1])
			i++
		case (tool == "head" || tool == "tail") && strings.HasPrefix(w, "-"):
			f.limit(tool, strings.TrimPrefix(w[1:], "n"))
		case strings.HasPrefix(w, "-"):
		default:
			paths = append(paths, w)
		}
	}
	switch tool {
	case "cat", "bat", "nl", "type", "get-content", "gc", "less", "more":
		f.whole = true
	case "sed", "head", "tail":
	default:
		return f, false
	}
	if len(paths) != 1 {
		return f, false
	}
	f.path = paths[0]
	return f, true
}

// narrow applies a later stage of a pipe; it reports whether lines of the file
// still come out.
func (f *shown) narrow(words []string) bool {
	if len(words) == 0 {
		return false
	}
	f.whole = false
	switch words[0] {
	case "head":
		n := 10
		for _, w := range words[1:] {
			if k := number(strings.TrimLeft(w, "-n")); k > 0 {
				n = k
			}
		}
		f.first = max(f.first, 1)
		f.last = f.first + n - 1
		return true
	case "sed":
		if len(words) == 3 && words[1] == "-n" {
			first, last, ok := printedRange(words[2])
			f.first, f.last = first, last
			return ok
		}
	case "cat", "nl":
		return true
	}
	return false
}

func (f *shown) limit(tool, n string) {
	switch k := number(n); {
	case tool == "head" && k > 0:
		f.first, f.last = 1, k
	case tool == "tail" && strings.HasPrefix(n, "+"):
		f.first = number(n[1:])
	}
}

// printedRange reads the A,Bp of a sed command.
func printedRange(s string) (first, last int, ok bool) {
	s = strings.Trim(s, `'"`)
	body, found := strings.CutSuffix(s, "p")
	if !found {
		return 0, 0, false
	}
	from, to, both := strings.Cut(body, ",")
	first = number(from)
	if !both {
		return first, first, first > 0
	}
	if to == "$" {
		return first, 0, first > 0
	}
	return first, number(to), first > 0 && number(to) >= first
}

// fields cuts a command into words, quotes taken off.
func fields(s string) []string {
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
