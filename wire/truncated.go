package wire

import (
	"strings"
	"unicode/utf8"
)

// If a program is killed, or its disk is full, its last record is truncated. The
// next run of the program appends to the same line:
//	{"type":"user","text":"half of a sen{"type":"user","text":"the next one"}
// The next record is found at the place where the truncated one stops being JSON:
// its bracket is there, or it parses as a value inside the truncated one.

// nextRecord returns the start of the record directly after the truncated one at
// text[i:], of which text[broken] is the first byte that is not JSON; -1 if there
// is none. text ends with the line.
func nextRecord(text string, i, broken int) int {
	keys, last := tornMembers(text[:broken], i)
	if last > i && sharesKeys(text[last:broken], keys) && followed(text, broken) {
		return last
	}
	if at := bracketAt(text, i, broken); at > i && isRecordAt(text, at) {
		return at
	}
	head := `{"` // of a record whose beginning is missing, nothing is known
	if len(keys) > 0 {
		head = "{" + string(appendQuoted(nil, keys[0]))
	}
	return recordOpening(text, head, broken)
}

// tornMembers parses the truncated record at text[i:] up to its break. It returns
// the names of its members, and the start of the value that ends there, -1 if none
// does.
func tornMembers(text string, i int) (keys []string, last int) {
	var open []int
	last = -1
	key := false // the string is the name of a member of the record itself
	for i < len(text) {
		switch text[i] {
		case '"':
			end := skipString(text, i)
			if key && len(open) == 1 && end <= len(text) && text[end-1] == '"' && end > i+1 {
				keys = append(keys, unquoteText(text[i:end]))
			}
			i, key, last = end, false, -1
			continue
		case '{', '[':
			key, last = text[i] == '{', -1
			open = append(open, i)
		case '}', ']':
			if len(open) == 0 {
				return keys, -1
			}
			last = open[len(open)-1]
			open = open[:len(open)-1]
			key = false
		case ',':
			key, last = true, -1
		case ' ', '\t', '\r', '\n':
		default:
			last = -1
		}
		i++
	}
	return keys, last
}

// sharesKeys reports whether the object at the start of text has the names of the
// record before it, except the one whose value it would be: then it is a record of
// the same kind, not a value inside that one.
func sharesKeys(text string, keys []string) bool {
	if len(keys) == 0 || text[0] != '{' {
		return false
	}
	has := make(map[string]bool)
	for m := range objectMembers(text) {
		has[m.key] = true
	}
	for _, k := range keys[:len(keys)-1] {
		if !has[k] {
			return false
		}
	}
	return has[keys[len(keys)-1]] || len(keys) > 2
}

// bracketAt returns the place of the bracket at which the text breaks: the broken
// byte itself or, if the quote of the next record's first name ended a truncated
// string, the bracket before that quote.
func bracketAt(text string, i, broken int) int {
	at := strings.LastIndexByte(text[i:min(broken+1, len(text))], '{')
	if at <= 0 {
		return -1
	}
	at += i
	if between := strings.TrimSpace(text[at+1 : max(broken, at+1)]); between != "" && between != `"` {
		return -1
	}
	return at
}

// mostOpenings limits the places that are tried after the broken byte, so that a
// long line costs only a few times its length.
const mostOpenings = 16

// recordOpening returns where after the broken byte a whole record begins with
// head.
func recordOpening(text, head string, broken int) int {
	at := broken
	for range mostOpenings {
		n := strings.Index(text[at:], head)
		if n < 0 {
			break
		}
		if at += n; isRecordAt(text, at) {
			return at
		}
		at++
	}
	return -1
}

// isRecordAt reports whether a whole record begins at text[at].
func isRecordAt(text string, at int) bool {
	end, err := scanValue(text, at)
	return err == nil && followed(text, end)
}

// followed reports whether the record that ends at text[end] is the last on its
// line, or another one follows.
func followed(text string, end int) bool {
	next := skipSpace(text, end)
	return next == len(text) || text[next] == '{'
}

// readAsUTF8 returns text with U+FFFD for each invalid byte, and the number of such
// bytes.
func readAsUTF8(text string) (string, int) {
	var out strings.Builder
	out.Grow(len(text) + 64)
	n := 0
	for i, r := range text {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(text[i:]); size == 1 {
				n++
			}
		}
		out.WriteRune(r)
	}
	return out.String(), n
}

// partialRuneLen returns the number of bytes at the end of text that are the
// beginning of a character.
func partialRuneLen(text string) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if c := text[len(text)-n]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRuneInString(text[len(text)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}
