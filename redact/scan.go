package redact

import "strings"

// A byteSet of bytes.
type byteSet [256]bool

func newByteSet(members string) (s byteSet) {
	for i := range len(members) {
		s[members[i]] = true
	}
	return s
}

const (
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits  = "0123456789"
)

// The sets of the rules.
var (
	space   = newByteSet(" \t\r\n\f\x1b") // like \s, and colours begin
	blank   = newByteSet(" \t")
	digit   = newByteSet(digits)
	hex     = newByteSet(digits + "abcdefABCDEF")
	alnum   = newByteSet(letters + digits)
	word    = newByteSet(letters + digits + "_")
	dashed  = newByteSet(letters + digits + "_-")
	dotted  = newByteSet(letters + digits + "_-.")
	base64s = newByteSet(letters + digits + "+/=_-")
	quotes  = newByteSet("\"'`")
)

// byteAt returns s[i], or 0 outside s.
func byteAt(s string, i int) byte {
	if i < 0 || i >= len(s) {
		return 0
	}
	return s[i]
}

// skipBytes returns the first index from i on where s has no byte of m.
func skipBytes(s string, i int, m *byteSet) int {
	for i < len(s) && m[s[i]] {
		i++
	}
	return i
}

// skipAtMost is skipBytes, but stops at most n bytes after i.
func skipAtMost(s string, i, n int, m *byteSet) int {
	return skipBytes(s[:min(len(s), i+n)], i, m)
}

// skipBlanks skips spaces, tabs and the colours of a terminal.
func skipBlanks(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\t' || s[i] == escape) {
		next := skipColour(s, i)
		if next == i {
			if s[i] == escape {
				break
			}
			next++
		}
		i = next
	}
	return i
}

// escape begins the control sequences of terminals.
const escape = '\x1b'

// skipColour returns the index after the colour of a terminal at i; i if there is
// none.
func skipColour(s string, i int) int {
	if byteAt(s, i) != escape || byteAt(s, i+1) != '[' {
		return i
	}
	if j := skipAtMost(s, i+2, 24, &colourBytes); byteAt(s, j) == 'm' || byteAt(s, j) == 'K' {
		return j + 1
	}
	return i
}

var colourBytes = newByteSet(digits + ";:")

// endsColour reports whether the letter at i ends the colour of a terminal.
func endsColour(s string, i int) bool {
	return (s[i] == 'm' || s[i] == 'K') && byteAt(s, skipBack(s, i, &colourBytes)-1) == '[' && byteAt(s, skipBack(s, i, &colourBytes)-2) == escape
}

// wordBegins reports whether a word can begin at i: there is no letter and no digit
// before it, except as a part of an escape such as \n, \u0022 or %3D.
func wordBegins(s string, i int) bool {
	if i == 0 || !alnum[s[i-1]] {
		return true
	}
	switch {
	case byteAt(s, i-2) == '\\':
		return strings.IndexByte("nrtbfv", s[i-1]) >= 0
	case byteAt(s, i-3) == '%':
		return hex[s[i-1]] && hex[s[i-2]]
	case endsColour(s, i-1):
		return true
	}
	return i >= 6 && s[i-6] == '\\' && s[i-5] == 'u' && skipBytes(s[:i], i-4, &hex) == i
}

// skipNewline returns the index after the line break at i, i if there is none.
func skipNewline(s string, i int) int {
	if byteAt(s, i) == '\r' && byteAt(s, i+1) == '\n' {
		return i + 2
	}
	if byteAt(s, i) == '\n' {
		return i + 1
	}
	return i
}

// skipMargin skips what tools put before a line: indentation, its number, the sign
// of a diff, a quote or a comment, a border.
func skipMargin(s string, i int) int {
	start := i
	i = skipBlanks(s, i)
	sign := i == start // one without a space after it
	if n := skipBytes(s, i, &digit); n > i && n < i+8 {
		switch rest := s[n:]; {
		case strings.HasPrefix(rest, "→"), strings.HasPrefix(rest, "│"):
			i, sign = n+len("→"), true
		case rest != "" && strings.IndexByte("\t:|", rest[0]) >= 0, strings.HasPrefix(rest, "  "), sign && strings.HasPrefix(rest, "-"):
			i, sign = n+1, true
		}
		i = skipBlanks(s, i)
	}
	for i < len(s) && i < start+64 && strings.IndexByte("+->|#*", s[i]) >= 0 && (sign || blank[byteAt(s, i+1)]) {
		i = skipBlanks(s, i+1)
		sign = false
	}
	return i
}

// bridgeLines returns where the text that stops at i continues on the next line:
// after a backslash, or in the next of joined string literals. It returns -1 if it
// does not continue.
func bridgeLines(s string, i int) int {
	if s[:i] == "" || i >= len(s) {
		return -1
	}
	j := i
	quote := openingQuote(s, j)
	if quote > j {
		j = skipBlanks(s, quote)
		if j < len(s) && strings.IndexByte("+.&", s[j]) >= 0 {
			j = skipBlanks(s, j+1)
		}
	}
	if byteAt(s, j) == '\\' {
		j++
	}
	if k := skipNewline(s, j); k > j && (k > skipNewline(s, i)) {
		j = skipMargin(s, k)
	} else {
		return -1
	}
	if quote <= i {
		return j
	}
	if next := openingQuote(s, j); next > j {
		return next
	}
	return -1
}

// openingQuote returns the index after the quotation mark at i, with or without
// backslashes before it; i if there is none.
func openingQuote(s string, i int) int {
	j := i
	for j < i+8 && byteAt(s, j) == '\\' {
		j++
	}
	if quotes[byteAt(s, j)] {
		return j + 1
	}
	return i
}

// runEndAt returns the end of the bytes of m from i on, over the ends of up to 32
// continued lines.
func runEndAt(s string, i int, m *byteSet) int {
	i = skipBytes(s, i, m)
	for range 4 * tallest {
		next := bridgeLines(s, i)
		if next < 0 || !m[byteAt(s, next)] {
			return i
		}
		i = skipBytes(s, next, m)
	}
	return i
}

// runStartsAt reports whether a run of bytes of m can begin at i: none of them is
// before i, except a dash that begins the line, and an equals sign.
func runStartsAt(s string, i int, m *byteSet) bool {
	return wordBegins(s, i) && (i == 0 || alnum[s[i-1]] || !m[s[i-1]] || s[i-1] == '=' || s[i-1] == '-' && (i == 1 || s[i-2] == '\n'))
}
