package redact

import "strings"

// A set of bytes.
type set [256]bool

func bytesOf(members string) (s set) {
	for i := range len(members) {
		s[members[i]] = true
	}
	return s
}

const (
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits  = "0123456789"
)

// The sets that rules are made of.
var (
	space   = bytesOf(" \t\r\n\f") // as \s is
	blank   = bytesOf(" \t")
	digit   = bytesOf(digits)
	hex     = bytesOf(digits + "abcdefABCDEF")
	alnum   = bytesOf(letters + digits)
	word    = bytesOf(letters + digits + "_")
	dashed  = bytesOf(letters + digits + "_-")
	dotted  = bytesOf(letters + digits + "_-.")
	base64s = bytesOf(letters + digits + "+/=_-")
	quotes  = bytesOf("\"'`")
)

// at returns s[i], or 0 outside s.
func at(s string, i int) byte {
	if i < 0 || i >= len(s) {
		return 0
	}
	return s[i]
}

// skip returns the first index from i on where s has no byte of m.
func skip(s string, i int, m *set) int {
	for i < len(s) && m[s[i]] {
		i++
	}
	return i
}

// skipTo is skip that stops at most n bytes behind i.
func skipTo(s string, i, n int, m *set) int {
	return skip(s[:min(len(s), i+n)], i, m)
}

// blanks skips spaces and tabs.
func blanks(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\t') {
		i++
	}
	return i
}

// begins reports whether a word can begin at i: no letter and no digit stands
// before, except as a part of an escape such as \n, \u0022 or %3D.
func begins(s string, i int) bool {
	if i == 0 || !alnum[s[i-1]] {
		return true
	}
	switch {
	case at(s, i-2) == '\\':
		return strings.IndexByte("nrtbfv", s[i-1]) >= 0
	case at(s, i-3) == '%':
		return hex[s[i-1]] && hex[s[i-2]]
	}
	return i >= 6 && s[i-6] == '\\' && s[i-5] == 'u' && skip(s[:i], i-4, &hex) == i
}

// newline returns the index behind the line break at i, i where there is none.
func newline(s string, i int) int {
	if at(s, i) == '\r' && at(s, i+1) == '\n' {
		return i + 2
	}
	if at(s, i) == '\n' {
		return i + 1
	}
	return i
}

// margin skips what tools put before a line: indentation, its number, the sign
// of a diff, a quote or a comment, a border.
func margin(s string, i int) int {
	start := i
	i = blanks(s, i)
	sign := i == start // one that needs no space behind it
	if n := skip(s, i, &digit); n > i && n < i+8 {
		switch rest := s[n:]; {
		case strings.HasPrefix(rest, "→"), strings.HasPrefix(rest, "│"):
			i, sign = n+len("→"), true
		case rest != "" && strings.IndexByte("\t:|", rest[0]) >= 0, strings.HasPrefix(rest, "  "), sign && strings.HasPrefix(rest, "-"):
			i, sign = n+1, true
		}
		i = blanks(s, i)
	}
	for i < len(s) && i < start+64 && strings.IndexByte("+->|#*", s[i]) >= 0 && (sign || blank[at(s, i+1)]) {
		i = blanks(s, i+1)
		sign = false
	}
	return i
}

// bridge returns where what stops at i goes on on the next line: behind a
// backslash, or in the next of string literals that are joined. It returns -1
// where nothing goes on.
func bridge(s string, i int) int {
	if s[:i] == "" || i >= len(s) {
		return -1
	}
	j := i
	quote := opening(s, j)
	if quote > j {
		j = blanks(s, quote)
		if j < len(s) && strings.IndexByte("+.&", s[j]) >= 0 {
			j = blanks(s, j+1)
		}
	}
	if at(s, j) == '\\' {
		j++
	}
	if k := newline(s, j); k > j && (k > newline(s, i)) {
		j = margin(s, k)
	} else {
		return -1
	}
	if quote <= i {
		return j
	}
	if next := opening(s, j); next > j {
		return next
	}
	return -1
}

// opening returns the index behind the quotation mark at i, with backslashes
// before it or without; i where there is none.
func opening(s string, i int) int {
	j := i
	for j < i+8 && at(s, j) == '\\' {
		j++
	}
	if quotes[at(s, j)] {
		return j + 1
	}
	return i
}

// run returns the end of the bytes of m from i on, over the ends of up to 32
// lines where they are bridged.
func run(s string, i int, m *set) int {
	i = skip(s, i, m)
	for range 4 * tallest {
		next := bridge(s, i)
		if next < 0 || !m[at(s, next)] {
			return i
		}
		i = skip(s, next, m)
	}
	return i
}

// starts reports whether what consists of bytes of m can begin at i: none of
// them stands before, but for a dash that begins the line, and an equals sign.
func starts(s string, i int, m *set) bool {
	return begins(s, i) && (i == 0 || alnum[s[i-1]] || !m[s[i-1]] || s[i-1] == '=' || s[i-1] == '-' && (i == 1 || s[i-2] == '\n'))
}
