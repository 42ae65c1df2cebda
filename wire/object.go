package wire

import "slices"

// A jsonObject is a valid JSON object, cut into its members.
type jsonObject struct {
	raw     string
	members []member
}

// parse cuts raw, which is known to be valid, into members. What is no object
// has none.
func parse(raw string) jsonObject {
	o := jsonObject{raw: raw}
	for m := range members(raw) {
		if o.members == nil {
			o.members = make([]member, 0, 8)
		}
		o.members = append(o.members, m)
	}
	return o
}

// field returns the raw value of a key, "" where there is none. Of repeated
// keys the last one counts, as in encoding/json.
func (o jsonObject) field(key string) string {
	start, end := o.span(key)
	return o.raw[start:end]
}

// span returns where the value of a key stands in the object; start and end
// are 0 where there is none.
func (o jsonObject) span(key string) (start, end int) {
	for _, m := range slices.Backward(o.members) {
		if m.key == key {
			return m.start, m.end
		}
	}
	return 0, 0
}

// text returns the string under key, "" where it is none.
func (o jsonObject) text(key string) string { return unquote(o.field(key)) }

// is reports whether the value under key begins with one of the bytes in
// kinds: { [ " for objects, lists and strings.
func (o jsonObject) is(key, kinds string) bool { return begins(o.field(key), kinds) }

// A change gives one key of an object another value. No value takes it out.
type change struct {
	key   string
	value string // raw JSON
}

// with returns the object with changes made to it. All other bytes stay as
// they are, and the keys in their order; new keys are added at the end.
func (o jsonObject) with(changes ...change) string {
	out := append(make([]byte, 0, len(o.raw)+64), '{')
	end := 1
	for i, m := range o.members {
		c := slices.IndexFunc(changes, func(c change) bool { return c.key == m.key })
		if c >= 0 && changes[c].value == "" {
			end = m.end
			continue
		}
		before := o.raw[end:m.keyAt]
		if len(out) == 1 && i > 0 { // the comma went with the members before
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
		if c.value != "" && o.field(c.key) == "" {
			out = appendMember(out, c.key, c.value)
		}
	}
	return string(append(out, o.raw[end:]...))
}

// appendMember appends a member to an object whose brace is still open.
func appendMember(out []byte, key, value string) []byte {
	if out[len(out)-1] != '{' {
		out = append(out, ',')
	}
	return append(append(quote(out, key), ':'), value...)
}

// objectOf returns the object of the changes that have a value.
func objectOf(members ...change) string { return jsonObject{raw: "{}"}.with(members...) }

// listOf returns the list of raw values.
func listOf(values []string) string {
	out := []byte{'['}
	for i, v := range values {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, v...)
	}
	return string(append(out, ']'))
}

func quoted(text string) string { return string(quote(nil, text)) }

// begins reports whether raw begins with one of the bytes in kinds.
func begins(raw, kinds string) bool {
	return raw != "" && slices.Contains([]byte(kinds), raw[0])
}
