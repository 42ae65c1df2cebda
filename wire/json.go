package wire

import (
	"iter"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A member is one key of an object, as spans of the object's text.
type member struct {
	key        string // decoded
	keyAt      int    // of its opening quote
	start, end int    // of the value
}

// objectMembers yields the members of an object that is known to be valid. Another
// value has none. Of a broken one it yields the readable members.
func objectMembers(s string) iter.Seq[member] {
	return func(yield func(member) bool) {
		if s == "" || s[0] != '{' {
			return
		}
		for i := skipSpace(s, 1); i < len(s) && s[i] != '}'; {
			m := member{keyAt: i}
			i = skipValue(s, i)
			m.key = unquoteText(s[m.keyAt:i])
			m.start = skipSpace(s, min(skipSpace(s, i)+1, len(s)))
			m.end = skipValue(s, m.start)
			if !yield(m) {
				return
			}
			i = skipComma(s, m.end)
		}
	}
}

// elements yields the offsets of the elements of a list that is known to be valid.
// Another value has none.
func elements(s string) iter.Seq2[int, int] {
	return func(yield func(start, end int) bool) {
		if s == "" || s[0] != '[' {
			return
		}
		for i := skipSpace(s, 1); i < len(s) && s[i] != ']'; {
			end := skipValue(s, i)
			if !yield(i, end) {
				return
			}
			i = skipComma(s, end)
		}
	}
}

func skipComma(s string, i int) int {
	i = skipSpace(s, i)
	if i < len(s) && s[i] == ',' {
		i = skipSpace(s, i+1)
	}
	return i
}

// skipValue returns the end of the value at s[i], which is known to be valid.
func skipValue(s string, i int) int {
	depth := 0
	for i < len(s) {
		switch s[i] {
		case '"':
			i = skipString(s, i)
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
		default:
			if i++; depth == 0 {
				for i < len(s) && strings.IndexByte(" \t\r\n,]}:", s[i]) < 0 {
					i++
				}
			}
		}
		if depth <= 0 {
			return i
		}
	}
	return i
}

func skipString(s string, i int) int {
	for from := i + 1; ; {
		n := strings.IndexByte(s[from:], '"')
		if n < 0 {
			return len(s)
		}
		quoteAt := from + n
		slashes := 0
		for s[quoteAt-1-slashes] == '\\' {
			slashes++
		}
		if from = quoteAt + 1; slashes%2 == 0 {
			return from
		}
	}
}

// unquoteText returns the text of a JSON string that is known to be valid. It
// shares memory with raw if nothing is escaped. A lone surrogate becomes U+FFFD.
// For another value it returns "".
func unquoteText(raw string) string {
	if len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	raw = raw[1 : len(raw)-1]
	slash := strings.IndexByte(raw, '\\')
	if slash < 0 {
		return raw
	}
	var out strings.Builder // passes on its bytes without a copy
	room := len(raw)
	out.Grow(room)
	for slash >= 0 && slash+1 < len(raw) {
		out.WriteString(raw[:slash])
		n := 2
		switch c := raw[slash+1]; c {
		case 'n':
			out.WriteByte('\n')
		case '"', '\\':
			out.WriteByte(c)
		default:
			var r rune
			r, n = decodeEscape(raw[slash:])
			out.WriteRune(r)
		}
		raw = raw[slash+n:]
		slash = strings.IndexByte(raw, '\\')
	}
	out.WriteString(raw)
	if out.Len() < room-room/8 {
		return strings.Clone(out.String()) // without spare capacity
	}
	return out.String()
}

// decodeEscape returns the character of the escape at the start of s, and its
// length.
func decodeEscape(s string) (rune, int) {
	switch s[1] {
	case 'n':
		return '\n', 2
	case 't':
		return '\t', 2
	case 'r':
		return '\r', 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'u':
		if len(s) < 6 { // cut off, in a broken object
			return utf8.RuneError, len(s)
		}
		r, n := decodeHex4(s[2:]), 6
		if utf16.IsSurrogate(r) {
			low := rune(-1)
			if strings.HasPrefix(s[6:], `\u`) {
				low = decodeHex4(s[8:])
			}
			if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
				n = 12
			}
		}
		return r, n
	}
	return rune(s[1]), 2
}

// decodeHex4 returns the value of the four hexadecimal digits at the start of s, or
// -1.
func decodeHex4(s string) rune {
	if len(s) < 4 {
		return -1
	}
	var r rune
	for _, c := range []byte(s[:4]) {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

// appendQuoted appends text as a JSON string with as few escapes as JSON allows.
// Invalid UTF-8 in it becomes U+FFFD.
func appendQuoted(out []byte, text string) []byte {
	const hex = "0123456789abcdef"
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\ufffd")
	}
	out = append(out, '"')
	from := 0
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		out = append(out, text[from:i]...)
		from = i + 1
		if n := strings.IndexByte("\"\\\n\t\r\b\f", c); n >= 0 {
			out = append(out, '\\', `"\ntrbf`[n])
		} else {
			out = append(out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(append(out, text[from:]...), '"')
}

// A jsonObject is a valid JSON object, split into its members.
type jsonObject struct {
	raw     string
	members []member
}

// parseObject splits raw, which is known to be valid, into members. A value that is
// not an object has none.
func parseObject(raw string) jsonObject {
	o := jsonObject{raw: raw}
	for m := range objectMembers(raw) {
		if o.members == nil {
			o.members = make([]member, 0, 4)
		}
		o.members = append(o.members, m)
	}
	return o
}

// rawValue returns the raw value of a key, "" if there is none. Of repeated
// keys the last one counts, as in encoding/json.
func (o jsonObject) rawValue(key string) string {
	start, end := o.valueSpan(key)
	return o.raw[start:end]
}

// valueSpan returns where the value of a key is in the object; start and end
// are 0 if there is none.
func (o jsonObject) valueSpan(key string) (start, end int) {
	for i := len(o.members) - 1; i >= 0; i-- {
		if m := &o.members[i]; m.key == key {
			return m.start, m.end
		}
	}
	return 0, 0
}

// textValue returns the string under key, "" if it is none.
func (o jsonObject) textValue(key string) string { return unquoteText(o.rawValue(key)) }

// valueHasKind reports whether the value under key begins with one of the bytes in
// kinds: { [ " for objects, lists and strings.
func (o jsonObject) valueHasKind(key, kinds string) bool {
	return beginsWithAny(o.rawValue(key), kinds)
}

// A change gives one key of an object another value. An empty value removes it.
type change struct {
	key   string
	value string // raw JSON
}

// withChanges returns the object with changes applied. All other bytes stay as they
// are, and the keys in their order; new keys are added at the end.
func (o jsonObject) withChanges(changes ...change) string {
	out := append(make([]byte, 0, len(o.raw)+64), '{')
	end := 1
	for i, m := range o.members {
		c := slices.IndexFunc(changes, func(c change) bool { return c.key == m.key })
		if c >= 0 && changes[c].value == "" {
			end = m.end
			continue
		}
		before := o.raw[end:m.keyAt]
		if len(out) == 1 && i > 0 { // the comma was removed with the members before
			before = o.raw[1:o.members[0].keyAt]
		}
		out = append(append(out, before...), o.raw[m.keyAt:m.start]...)
		if c >= 0 {
			out = append(out, changes[c].value...)
		} else {
			out = append(out, o.raw[m.start:m.end]...)
		}
		end = m.end
	}
	for _, c := range changes {
		if c.value != "" && o.rawValue(c.key) == "" {
			out = appendMember(out, c.key, c.value)
		}
	}
	return string(append(out, o.raw[end:]...))
}

// appendMember appends a member to an object without its closing brace.
func appendMember(out []byte, key, value string) []byte {
	if out[len(out)-1] != '{' {
		out = append(out, ',')
	}
	return append(append(appendQuoted(out, key), ':'), value...)
}

// objectOf returns the object of the changes with a value.
func objectOf(members ...change) string { return jsonObject{raw: "{}"}.withChanges(members...) }

// rawList returns the list of raw values.
func rawList(values []string) string {
	out := []byte{'['}
	for i, v := range values {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, v...)
	}
	return string(append(out, ']'))
}

func quotedJSON(text string) string { return string(appendQuoted(nil, text)) }

// beginsWithAny reports whether raw begins with one of the bytes in kinds.
func beginsWithAny(raw, kinds string) bool {
	return raw != "" && slices.Contains([]byte(kinds), raw[0])
}
