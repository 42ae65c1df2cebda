package wire

import "slices"

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
			o.members = make([]member, 0, 8)
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
	for _, m := range slices.Backward(o.members) {
		if m.key == key {
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
