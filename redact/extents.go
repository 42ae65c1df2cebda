package redact

import "strings"

// Limits of a value in quotes or brackets.
const (
	longest = 2048 // bytes, in quotes
	tallest = 8    // lines, in quotes
	widest  = 128  // bytes, in brackets
)

// A valueExtent is the text after a name: s[from:to], without its quotes.
type valueExtent struct {
	from, to int
	quoted   bool
	open     int // the opening quote
	after    int // after the closing quote
}

// valueAt returns the value at i: a string in quotes, or several joined ones; text
// in brackets; else everything up to the next space, without signs that close
// something opened before. It is empty if only punctuation is at i.
func valueAt(s string, i int) valueExtent {
	if v, ok := quotedAt(s, i); ok {
		return joinedValue(s, v)
	}
	if c := byteAt(s, i); c == '(' {
		if v, ok := quotedAt(s, skipToValue(s, i+1)); ok {
			return joinedValue(s, v)
		}
	}
	end := i
	if strings.IndexByte("([{", byteAt(s, i)) >= 0 {
		end = bracketEnd(s, i)
	}
	if end == i {
		end = skipBytes(s, i, &openers) // which nothing closes
	} else if quotes[byteAt(s, end)] && (end+1 == len(s) || stops[s[end+1]]) || byteAt(s, end) == '\\' && strings.IndexByte("nrt\"", byteAt(s, end+1)) >= 0 { // the text around the brackets ends
		return valueExtent{from: i, to: end, open: i, after: end}
	}
	end = trimmedEnd(s, i, bareValueEnd(s, end))
	return valueExtent{from: i, to: end, open: i, after: end}
}

// skipToValue skips spaces and at most one line break with the margin after it.
func skipToValue(s string, i int) int {
	i = skipBlanks(s, i)
	if k := skipNewline(s, i); k > i {
		return skipMargin(s, k)
	}
	return i
}

// quotedAt returns the string in quotes at i, which may have a prefix as in
// Python. Within JSON its quotes have backslashes.
func quotedAt(s string, i int) (valueExtent, bool) {
	if byteAt(s, i) >= 0x80 {
		return typographicAt(s, i)
	}
	j := i
	for j < i+2 && strings.IndexByte("rRbBuUfF@$", byteAt(s, j)) >= 0 && j < len(s) {
		j++
	}
	open := openingQuote(s, j)
	if open == j {
		return valueExtent{}, false
	}
	quote, depth := s[open-1], open-1-j
	mark := s[j:open]
	if triple := strings.Repeat(string(quote), 3); depth == 0 && strings.HasPrefix(s[j:], triple) {
		mark = triple
	}
	from := j + len(mark)
	end := closingQuote(s, from, quote, depth, len(mark) == 3 && depth == 0)
	if end < 0 {
		return valueExtent{}, false
	}
	after := end
	if strings.HasPrefix(s[end:], mark) {
		after += len(mark)
	}
	return valueExtent{from, end, true, j, after}, true
}

// typographicQuotes are pairs of quotes in print, in the order in which they open.
var typographicQuotes = []struct {
	open   string
	closes []string
}{
	{"„", []string{"“", "”"}}, {"“", []string{"”"}}, {"”", []string{"”"}}, {"‚", []string{"‘", "’"}}, {"‘", []string{"’"}},
	{"«", []string{"»"}}, {"»", []string{"«"}}, {"‹", []string{"›"}}, {"「", []string{"」"}}, {"『", []string{"』"}},
}

// typographicAt returns the text between the typographic quotes at i, without the
// spaces of French.
func typographicAt(s string, i int) (valueExtent, bool) {
	for _, q := range typographicQuotes {
		if !strings.HasPrefix(s[i:], q.open) {
			continue
		}
		from := i + len(q.open)
		line, _, _ := strings.Cut(s[from:min(len(s), from+widest)], "\n")
		for _, closes := range q.closes {
			if n := strings.Index(line, closes); n > 0 {
				text := strings.TrimLeft(line[:n], " \u00a0\u202f")
				from += n - len(text)
				return valueExtent{from, from + len(strings.TrimRight(text, " \u00a0\u202f")), true, i, i + len(q.open) + n + len(closes)}, true
			}
		}
	}
	return valueExtent{}, false
}

// closingQuote returns the end of the string that begins at i, -1 if it is too far
// away. Its quotes have depth backslashes before them; one with fewer ends the
// surrounding string.
func closingQuote(s string, i int, quote byte, depth int, triple bool) int {
	lines, slashes := 0, 0
	for end := min(len(s), i+longest); i < end; i++ {
		switch c := s[i]; {
		case c == '\\':
			slashes++
			continue
		case c == '\n':
			if lines++; lines == tallest || depth > 0 {
				return -1
			}
		case c != quote:
		case triple && slashes%2 == 0 && !(byteAt(s, i+1) == quote && byteAt(s, i+2) == quote):
		case slashes < depth:
			return i - slashes
		case slashes%(2*depth+2) == depth:
			if !triple && depth == 0 && quote == '\'' && byteAt(s, i+1) == quote && alnum[byteAt(s, i+2)] {
				i++ // doubled, as in YAML and SQL
				break
			}
			return i - depth
		}
		slashes = 0
	}
	return -1
}

// joinedValue returns v with joined text: text directly after its quote, as in a
// shell, and further strings after an operator or on the next line.
func joinedValue(s string, v valueExtent) valueExtent {
	for range 4 * tallest {
		next := v.after
		if end := attachedEnd(s, next); end > next {
			return valueExtent{v.open, end, true, v.open, end}
		}
		if next = anotherString(s, v.after); next < 0 {
			return v
		}
		w, ok := quotedAt(s, next)
		if c := byteAt(s, skipBlanks(s, w.after)); !ok || c == ':' || c == '=' { // a name
			return v
		}
		v.to, v.after = w.to, w.after
	}
	return v
}

// attachedEnd returns the end of the text directly after a closing quote, as in
// 'a'"b"c in a shell; i if there is none.
func attachedEnd(s string, i int) int {
	switch c := byteAt(s, i); {
	case alnum[c] || c == '_' || c == '$':
		return trimmedEnd(s, i, bareValueEnd(s, i))
	case quotes[c] && alnum[byteAt(s, i+1)]:
		if w, ok := quotedAt(s, i); ok && w.after > w.to {
			return max(w.after, attachedEnd(s, w.after))
		}
	}
	return i
}

// anotherString returns the beginning of the string that is joined to the one that
// ends at i, or -1.
func anotherString(s string, i int) int {
	j := skipBlanks(s, i)
	plus := j < len(s) && strings.IndexByte("+.&", s[j]) >= 0
	if plus {
		j = skipBlanks(s, j+1)
	}
	if byteAt(s, j) == '\\' {
		j++
	}
	k := skipNewline(s, j)
	if k > j {
		k = skipMargin(s, k)
	}
	if quotes[byteAt(s, k)] && (plus || k > j) {
		return k
	}
	return -1
}

// bracketEnd returns the index after the bracket that closes the one at i, on the
// same line; i if there is none.
func bracketEnd(s string, i int) int {
	depth := 0
	for j := i; j < min(len(s), i+widest); j++ {
		switch s[j] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth == 0 {
				return j + 1
			}
		case '\n':
			return i
		}
	}
	return i
}

var (
	openers = newByteSet("([{\"'`\\")
	stops   = newByteSet(" \t\r\n\f\x1b,:;)]}>\"'`\\")
)

// bareValueEnd returns the end of the unquoted text at i: before a space, or before
// a quote that closes one opened before i.
func bareValueEnd(s string, i int) int {
	start := i
	for i < len(s) && !space[s[i]] {
		switch c := s[i]; {
		case c == '\\':
			if k := skipNewline(s, i+1); k > i+1 {
				if k = skipMargin(s, k); k >= len(s) || space[s[k]] {
					return i
				}
				i = k
				continue
			}
		case c == '<' && i > start && byteAt(s, i+1) == '/' && letterBytes[byteAt(s, i+2)]:
			return i // the element ends
		case quotes[c] && i > start:
			if i+1 == len(s) || stops[s[i+1]] {
				for s[i-1] == '\\' && i-1 > start {
					i--
				}
				return i
			}
			if end := closingQuote(s, i+1, c, 0, false); end > 0 && strings.IndexByte("([{=,:+", s[i-1]) >= 0 && !strings.Contains(s[i:end], "\n") {
				i = end
			}
		}
		i++
	}
	return i
}

// trimmedEnd returns end without the punctuation at the end of s[i:end] that closes
// something opened before.
func trimmedEnd(s string, i, end int) int {
	var count [256]int
	for j := i; j < end; j++ {
		count[s[j]]++
	}
	for end > i {
		c := s[end-1]
		open := byte(0)
		switch c {
		case ')':
			open = '('
		case ']':
			open = '['
		case '}':
			open = '{'
		case '>':
			if open = '<'; end == i+1 { // a redirection, or unknown
				return end
			}
		case ',', ';':
		case '"', '\'', '`':
			if count[c]%2 == 0 {
				return end
			}
		default:
			return end
		}
		if open != 0 && count[open] >= count[c] {
			return end
		}
		count[c]--
		end--
	}
	return end
}
