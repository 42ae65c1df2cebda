package wire

import (
	"math/bits"
	"strings"
	"unicode/utf8"
)

// maxDepth is how deep JSON may nest, the same as in encoding/json.
const maxDepth = 10000

// A syntaxError gives the place at which a text is not JSON.
type syntaxError struct {
	offset int
	what   string
	cut    bool // the text ends there, and could continue as JSON
}

func (e *syntaxError) Error() string { return e.what }

// skipSpace returns the offset after the white space at s[i:].
func skipSpace(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\n' || s[i] == '\r' || s[i] == '\t') {
		i++
	}
	return i
}

// scanValue checks the JSON value that begins at s[i] and returns where it
// ends. It is strict where encoding/json is.
func scanValue(s string, i int) (int, error) {
	var room [64]byte
	open := room[:0] // the brackets that are open
	var err error
	for {
		i = skipSpace(s, i)
		opened := false
		switch {
		case i == len(s):
			return i, &syntaxError{i, "unexpected end of JSON", true}
		case s[i] == '"':
			i, err = scanString(s, i)
		case s[i] == '{' || s[i] == '[':
			if len(open) == maxDepth {
				return i, &syntaxError{i, "JSON nested too deep", false}
			}
			open = append(open, s[i])
			i, opened, err = scanOpening(s, i)
		default:
			i, err = scanScalar(s, i)
		}
		if err != nil {
			return i, err
		}
		if opened {
			continue
		}
		if i, open, err = scanClosings(s, i, open); err != nil || len(open) == 0 {
			return i, err
		}
	}
}

// scanOpening skips a bracket, and the first key of an object. opened is false if
// the bracket is closed immediately; the closing one is not skipped.
func scanOpening(s string, i int) (next int, opened bool, err error) {
	bracket := s[i]
	i = skipSpace(s, i+1)
	if i < len(s) && s[i] == bracket+2 {
		return i, false, nil
	}
	if bracket == '{' {
		i, err = scanObjectKey(s, i)
	}
	return i, true, err
}

// scanClosings skips what may follow a value: closing brackets, then a comma and
// possibly a key.
func scanClosings(s string, i int, open []byte) (int, []byte, error) {
	for len(open) > 0 {
		i = skipSpace(s, i)
		bracket := open[len(open)-1]
		switch {
		case i == len(s):
			return i, open, &syntaxError{i, "unexpected end of JSON", true}
		case s[i] == bracket+2: // } has the code of { + 2, ] that of [ + 2
			open = open[:len(open)-1]
			i++
		case s[i] == ',':
			i = skipSpace(s, i+1)
			var err error
			if bracket == '{' {
				i, err = scanObjectKey(s, i)
			}
			return i, open, err
		default:
			return i, open, unexpected(s, i, "a comma or the end of the list or object")
		}
	}
	return i, open, nil
}

func scanObjectKey(s string, i int) (int, error) {
	if i == len(s) || s[i] != '"' {
		return i, unexpected(s, i, "a key in double quotes")
	}
	i, err := scanString(s, i)
	if err != nil {
		return i, err
	}
	i = skipSpace(s, i)
	if i == len(s) || s[i] != ':' {
		return i, unexpected(s, i, "a colon")
	}
	return i + 1, nil
}

func scanString(s string, i int) (int, error) {
	for i++; i < len(s); i++ {
		if i = skipPlain(s, i); i == len(s) {
			break
		}
		switch c := s[i]; {
		case c == '"':
			return i + 1, nil
		case c < ' ':
			return i, &syntaxError{i, "control character in a JSON string", false}
		case c == '\\':
			i++
			if i == len(s) {
				return i, &syntaxError{i, "unexpected end of JSON", true}
			}
			switch s[i] {
			case 'n', '"', '\\', 't', '/', 'r', 'b', 'f':
			case 'u':
				if i+4 >= len(s) || decodeHex4(s[i+1:]) < 0 {
					return i, &syntaxError{i, `bad \u escape in a JSON string`, cutEscape(s, i)}
				}
				i += 4
			default:
				return i, &syntaxError{i, "bad escape in a JSON string", false}
			}
		}
	}
	return i, &syntaxError{i, "unexpected end of JSON in a string", true}
}

// skipPlain returns the offset of the next byte of a JSON string that is a quote, a
// backslash or a control character, or at the end of s up to 7 bytes before it. It reads
// 8 bytes at a time.
func skipPlain(s string, i int) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(s); i += 8 {
		b := s[i : i+8]
		w := uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
			uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
		quote, slash := w^(ones*'"'), w^(ones*'\\')
		// The lowest bit that is set is that of the first such byte; higher ones may be of
		// others.
		if found := ((w-ones*' ')&^w | (quote-ones)&^quote | (slash-ones)&^slash) & highs; found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	return i
}

func scanScalar(s string, i int) (int, error) {
	for _, word := range [...]string{"true", "false", "null"} {
		if strings.HasPrefix(s[i:], word) {
			return i + len(word), nil
		}
	}
	start := i
	if s[i] == '-' {
		i++
	}
	whole := scanDigits(s, i)
	if whole == i || s[i] == '0' && whole > i+1 {
		return start, unexpected(s, start, "a JSON value")
	}
	i = whole
	if i < len(s) && s[i] == '.' {
		if i = scanDigits(s, i+1); s[i-1] == '.' {
			return start, &syntaxError{start, "bad number in JSON", i == len(s)}
		}
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		if i++; i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		end := scanDigits(s, i)
		if end == i {
			return start, &syntaxError{start, "bad number in JSON", end == len(s)}
		}
		i = end
	}
	return i, nil
}

func scanDigits(s string, i int) int {
	for i < len(s) && '0' <= s[i] && s[i] <= '9' {
		i++
	}
	return i
}

func unexpected(s string, i int, want string) *syntaxError {
	if i == len(s) {
		return &syntaxError{i, "unexpected end of JSON", true}
	}
	r, _ := utf8.DecodeRuneInString(s[i:])
	return &syntaxError{i, "broken JSON: " + string(appendQuoted(nil, string(r))) + " where " + want + " is expected", isPartialWord(s[i:])}
}

// isPartialWord reports whether s is the beginning of a JSON literal or of a
// number.
func isPartialWord(s string) bool {
	for _, word := range [...]string{"true", "false", "null", "-0"} {
		if strings.HasPrefix(word, s) {
			return true
		}
	}
	return false
}

// cutEscape reports whether s ends in the \u escape of which s[i] is the u.
func cutEscape(s string, i int) bool {
	return len(s)-i < 5 && strings.Trim(s[i+1:], "0123456789abcdefABCDEF") == ""
}

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

// maxOpenings limits the places that are tried after the broken byte, so that a
// long line costs only a few times its length.
const maxOpenings = 16

// recordOpening returns where after the broken byte a whole record begins with
// head.
func recordOpening(text, head string, broken int) int {
	at := broken
	for range maxOpenings {
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
