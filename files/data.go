package files

import "strings"

func scanPlain(string, *fileOutline) {}

// A lineScanner adds declarations line by line; each ends at the next of its depth
// or above.
type lineScanner struct {
	s    *fileOutline
	open []int
	line int32
}

func (l *lineScanner) addSection(start, end int, depth int, name string) {
	l.closeSections(start, depth)
	l.open = append(l.open, len(l.s.decls))
	l.s.decls = append(l.s.decls, decl{span: span{int32(start), int32(end)}, sig: int32(end), lead: int32(start), line: l.line,
		name: symbolHash(name), depth: uint8(depth), exported: true})
}

// closeSections ends the declarations of depth and below.
func (l *lineScanner) closeSections(at, depth int) {
	for n := len(l.open) - 1; n >= 0 && int(l.s.decls[l.open[n]].depth) >= depth; n-- {
		d := &l.s.decls[l.open[n]]
		d.end = max(d.end, int32(at))
		l.open = l.open[:n]
	}
}

// eachLine goes through the lines of text and then ends what is still open.
func (l *lineScanner) eachLine(text string, yield func(line string, start, end int)) {
	eachLine(text, func(start, end int) {
		l.line++
		yield(text[start:end], start, end)
	})
	l.closeSections(len(text), 0)
}

func scanMarkdown(text string, s *fileOutline) {
	l := lineScanner{s: s}
	fence := ""
	l.eachLine(text, func(line string, start, end int) {
		trimmed := strings.TrimSpace(line)
		if f := fenceMarker(trimmed); f != "" && (fence == "" || strings.HasPrefix(f, fence)) {
			if fence == "" {
				fence = f
			} else {
				fence = ""
			}
			return
		}
		if fence != "" {
			return
		}
		if n := len(line) - len(strings.TrimLeft(line, "#")); n > 0 && n <= 6 && len(line) > n && line[n] == ' ' {
			l.addSection(start, end, n-1, "")
		} else if s.doc.end == 0 && trimmed != "" && trimmed[0] != '<' && trimmed[0] != '[' && trimmed[0] != '-' {
			s.doc = span{int32(start), int32(end)}
		}
	})
}

// fenceMarker returns the run of backticks or tildes that line begins with, if it
// opens or closes a fenced block.
func fenceMarker(line string) string {
	for _, c := range []string{"`", "~"} {
		if n := len(line) - len(strings.TrimLeft(line, c)); n >= 3 {
			return line[:n]
		}
	}
	return ""
}

func scanYAML(text string, s *fileOutline) {
	l := lineScanner{s: s}
	l.eachLine(text, func(line string, start, end int) {
		code := strings.TrimLeft(line, " ")
		indent := len(line) - len(code)
		if indent > 4 || isBlankLine(code) {
			return
		}
		if code[0] == '#' {
			if s.doc.end == 0 && len(s.decls) == 0 {
				s.doc = span{int32(start), int32(end)}
			}
			return
		}
		code = strings.TrimPrefix(code, "- ")
		if i := strings.IndexByte(code, ':'); i > 0 && i < 80 && (i+1 >= len(code) || strings.IndexByte(" \r\n", code[i+1]) >= 0) {
			l.addSection(start, end, indent/2, strings.Trim(code[:i], `"'`))
		}
	})
}

func scanTOML(text string, s *fileOutline) {
	l := lineScanner{s: s}
	depth := 0
	l.eachLine(text, func(line string, start, end int) {
		code := strings.TrimSpace(line)
		switch i := strings.IndexByte(code, '='); {
		case code == "" || line[0] == ' ' || line[0] == '\t':
		case code[0] == '#' || code[0] == ';':
			if s.doc.end == 0 && len(s.decls) == 0 {
				s.doc = span{int32(start), int32(end)}
			}
		case code[0] == '[' && strings.HasSuffix(code, "]"):
			l.addSection(start, end, 0, strings.Trim(code, "[]"))
			depth = 1
		case i > 0:
			l.addSection(start, end, depth, strings.TrimSpace(code[:i]))
		}
	})
}

func scanStylesheet(text string, s *fileOutline) {
	l := lineScanner{s: s}
	depth, comment := 0, false
	l.eachLine(text, func(line string, start, end int) {
		code := strings.TrimSpace(line)
		if !comment && code != "" && depth <= 1 && (strings.HasSuffix(code, "{") || strings.HasSuffix(code, ",") && depth == 0 ||
			strings.HasPrefix(code, "--") || strings.HasPrefix(code, "$") || strings.HasPrefix(code, "@")) {
			l.addSection(start, end, depth, code)
		}
		for i := 0; i < len(line); i++ {
			switch {
			case comment && strings.HasPrefix(line[i:], "*/"):
				comment = false
			case comment:
			case strings.HasPrefix(line[i:], "/*"):
				comment = true
			case line[i] == '{':
				depth++
			case line[i] == '}':
				depth = max(0, depth-1)
			}
		}
	})
}

// htmlTags are the tags that structure a page.
var htmlTags = wordList("title h1 h2 h3 h4 h5 h6 head body header main nav section article aside footer form table script style template dialog")

func scanHTML(text string, s *fileOutline) {
	l := lineScanner{s: s}
	l.eachLine(text, func(line string, start, end int) {
		code := strings.TrimLeft(line, " \t")
		if len(code) < 3 || code[0] != '<' {
			return
		}
		tag, _ := nextWord(code[1:])
		if htmlTags[strings.ToLower(tag)] || strings.Contains(code, ` id="`) {
			l.addSection(start, end, min((len(line)-len(code))/2, 9), "")
		}
	})
}

func scanJSON(text string, s *fileOutline) {
	l := lineScanner{s: s}
	depth := 0
	l.eachLine(text, func(line string, start, end int) {
		code := strings.TrimLeft(line, " \t")
		if depth <= 2 && depth > 0 && strings.HasPrefix(code, `"`) {
			if k := stringEnd(code, 0); k < len(code) && strings.HasPrefix(strings.TrimLeft(code[k:], " "), ":") {
				l.addSection(start, end, depth-1, code[1:k-1])
			}
		}
		for i := 0; i < len(line); i++ {
			switch line[i] {
			case '"':
				i = stringEnd(line, i) - 1
			case '{', '[':
				depth++
			case '}', ']':
				depth = max(0, depth-1)
			}
		}
	})
}

// sqlWords begin the statements of a schema.
var sqlWords = wordList("CREATE ALTER DROP INSERT GRANT COMMENT")

func scanStatements(text string, s *fileOutline) {
	l := lineScanner{s: s}
	inside := false // of a string or a body between dollar signs
	l.eachLine(text, func(line string, start, end int) {
		code := strings.TrimLeft(line, " \t")
		if !inside && strings.HasPrefix(code, "--") {
			if s.doc.end == 0 && len(s.decls) == 0 {
				s.doc = span{int32(start), int32(end)}
			}
			return
		}
		w, after := nextWord(code)
		if !inside && len(code) == len(line) && sqlWords[strings.ToUpper(w)] {
			l.addSection(start, end, 0, statementName(after))
		}
		if strings.Count(line, "$$")%2 == 1 {
			inside = !inside
		}
	})
}

// statementName returns the name in what follows the verb of a statement.
func statementName(after string) string {
	for range 8 {
		w, rest := nextWord(after)
		switch strings.ToUpper(w) {
		case "TABLE", "VIEW", "INDEX", "FUNCTION", "PROCEDURE", "TRIGGER", "TYPE", "INTO", "UNIQUE", "OR", "REPLACE", "IF", "NOT", "EXISTS", "TEMPORARY", "MATERIALIZED", "SCHEMA", "EXTENSION":
			after = rest
		default:
			return w
		}
	}
	return ""
}
