package wire

import (
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
			if s[i] == 'u' {
				if i+4 >= len(s) || decodeHex4(s[i+1:]) < 0 {
					return i, &syntaxError{i, `bad \u escape in a JSON string`, cutEscape(s, i)}
				}
				i += 4
			} else if strings.IndexByte(`"\/bfnrt`, s[i]) < 0 {
				return i, &syntaxError{i, "bad escape in a JSON string", false}
			}
		}
	}
	return i, &syntaxError{i, "unexpected end of JSON in a string", true}
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
