package files

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tiercompact/tiercompact/chat"
)

// isListable reports whether a name can be in a list: GitHub is a word of prose, and
// 10/14 a value.
func isListable(name string) bool {
	return (strings.ContainsFunc(name, isNameMark) || camelOrLong(name)) && !isValue(name)
}

// eachListedName calls yield with the names of a line, as a list has them. prose
// reports whether two words with a slash between them can be prose.
func eachListedName(line string, prose bool, yield func(name string)) {
	links := strings.Contains(line, ":/")
	eachIdent(line, func(start, end int) {
		if links && inURL(line[:start]) {
			return
		}
		if name := listedName(line, start, end, prose); name != "" {
			yield(name)
		}
	})
}

// ListedNames returns the names in text as a list has them, each once, in order.
func ListedNames(text string) []string {
	var l nameList
	l.addText(text)
	return l.names
}

// ListedNamesOf returns the names in a message as a list has them, each once, in order.
func ListedNamesOf(m chat.Message) []string {
	var l nameList
	for _, p := range m.Parts {
		eachText(p, func(_, text string) { l.addText(text) })
	}
	return l.names
}

type nameList struct {
	names []string
	seen  map[string]bool
}

func (l *nameList) addText(text string) {
	if l.seen == nil {
		l.seen = make(map[string]bool)
	}
	for line := range strings.SplitSeq(text, "\n") {
		eachListedName(line, false, func(name string) {
			if !l.seen[name] {
				l.seen[name] = true
				l.names = append(l.names, name)
			}
		})
	}
}

// listedName returns the identifier text[start:end] as a list has it: without the
// characters of a sentence, of an escape or of grep around it, and with the slash of an
// absolute path. It is empty for a part of a UUID or of an escape, and in prose for two
// words with a slash between them.
func listedName(text string, start, end int, prose bool) string {
	if start > 0 && text[start-1] == '\\' && escaped(text[:start]) {
		return ""
	}
	start += colourSize(text[max(0, start-maxColourHead):start], text[start:end])
	dashed := start > 0 && text[start-1] == '-' || end < len(text) && text[end] == '-'
	if dashed && isHex(text[start:end]) { // of a UUID
		return ""
	}
	name := text[start:end]
	if i := strings.Index(name, ".."); i > 0 && !strings.Contains(name[i:], "/") {
		name = name[:i] // revisions a..b, or the end of a sentence
	}
	name = withoutLineNumber(strings.Trim(name, "-"))
	if name = strings.TrimRight(name, ".-"); len(name) < 4 {
		return ""
	}
	if prose && isWordPair(name) && (start == 0 || end == len(text) || !isQuote(text[start-1]) || !isQuote(text[end])) {
		return ""
	}
	if start > 0 && text[start-1] == '/' && strings.Contains(name, "/") && (start == 1 || strings.IndexByte(" \t\n\"'`=(:,[<>{", text[start-2]) >= 0) {
		return "/" + name
	}
	return name
}

// maxColourHead is the length of the longest notation of a colour's first characters.
const maxColourHead = len(`\u001b[38;5;`)

// colourSize returns how many bytes of name end a colour sequence of a terminal, whose
// beginning ends head.
func colourSize(head, name string) int {
	bare, ok := strings.CutSuffix(strings.TrimRight(head, "0123456789;"), "[")
	if !ok || !strings.HasSuffix(bare, "\x1b") && !strings.HasSuffix(bare, "x1b") && !strings.HasSuffix(bare, "u001b") && !strings.HasSuffix(bare, "033") {
		return 0
	}
	n := len(name) - len(strings.TrimLeft(name, "0123456789;"))
	return min(n+1, len(name))
}

// withoutLineNumber returns a name without the line number that grep joins to the path
// of a line around a match: store.go-194.
func withoutLineNumber(name string) string {
	rest := strings.TrimRight(name, "0123456789")
	bare, ok := strings.CutSuffix(rest, "-")
	if !ok || rest == name || !isFileExtension(bare[strings.LastIndexByte(bare, '.')+1:]) {
		return name
	}
	return bare
}

// isWordPair reports whether name is two lower words with a slash between them, as in
// prose: committer/author. A quoted one can be an import path: log/slog.
func isWordPair(name string) bool {
	left, right, ok := strings.Cut(name, "/")
	return ok && isWord(left) && isWord(right) && strings.ToLower(name) == name
}

func isQuote(c byte) bool { return c == '"' || c == '\'' || c == '`' }

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdefABCDEF") == "" }

// Lengths of a short id, as that of a commit. It is listed, because it is typed again.
const shortestID, longestShortID = 7, 12

// isValue reports whether an identifier is a value, not a name: a number, a fraction, a
// version, a size, a long hash, or two words of prose with a slash.
func isValue(id string) bool {
	letters, digits, hex, other := 0, 0, 0, 0
	for i := range len(id) {
		switch c := id[i]; {
		case c >= '0' && c <= '9':
			digits++
		case c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F':
			letters++
			hex++
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf:
			letters++
		default:
			other++
		}
	}
	bare := strings.TrimLeft(id, "vV")
	switch {
	case letters == 0:
		return true
	case hex == letters && other == 0 && len(id) >= shortestID && len(id) <= longestShortID:
		return false
	case digits > 0 && bare != "" && bare[0] >= '0' && bare[0] <= '9' && letters <= 3+(len(id)-len(bare)):
		return true // v1.2.3-rc1, 250ms, 2.5k
	case hex == letters && len(id) >= shortestID && digits > 0 && other == strings.Count(id, "-"):
		return true // a hash, or a UUID
	}
	left, right, ok := strings.Cut(id, "/")
	return ok && isCapitalWord(left) && isWord(right) && !strings.Contains(right, "/")
}

// isWord reports whether s has only letters, and isCapitalWord whether it is a word
// that begins with an upper letter and has no inner ones, or only upper ones.
func isWord(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) })
}

func isCapitalWord(s string) bool {
	return isWord(s) && s[0] >= 'A' && s[0] <= 'Z' && (strings.ToLower(s[1:]) == s[1:] || strings.ToUpper(s) == s)
}

// escaped reports whether text ends in an odd number of backslashes: what follows
// begins with the letter of an escape.
func escaped(text string) bool {
	n := len(text) - len(strings.TrimRight(text, `\`))
	return n%2 == 1
}

// inURL reports whether text ends inside a URL.
func inURL(text string) bool {
	text = text[max(0, len(text)-longestName):]
	if i := strings.LastIndexAny(text, " \t\n\r\"'`<>()[]{}|,"); i >= 0 {
		text = text[i+1:]
	}
	return strings.Contains(text, ":/")
}

// isNameMark reports whether r is in names of code and files, but not in words.
func isNameMark(r rune) bool { return r == '_' || r == '/' || r == '.' || r >= '0' && r <= '9' }

// camelOrLong reports whether name has an upper letter after a lower one, as names of
// code have. Words with brands such as GitHub begin with an upper letter.
func camelOrLong(name string) bool {
	first := name[0]
	if first >= 'A' && first <= 'Z' {
		humps := 0
		for i := 1; i < len(name); i++ {
			if name[i-1] >= 'a' && name[i-1] <= 'z' && name[i] >= 'A' && name[i] <= 'Z' {
				humps++
			}
		}
		return humps > 1 || humps == 1 && len(name) > 10 || strings.Contains(name, "-")
	}
	return true
}
