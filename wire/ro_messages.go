package wire

import (
	"strconv"
)

// messageObjects returns the message objects of a source with one chat: a list, a
// body with the list under "messages", or one object on each line. body has no
// fields if there is none. Anything but an object is an error.
func messageObjects(src *source) (body peek, messages []peek, err error) {
	if probeSource(src).shape == lines {
		err = src.eachJSONLine(func(v value) error {
			messages = append(messages, peekValue(v.raw))
			return isObject(src, v.line, "", v.raw)
		})
		return body, messages, err
	}
	doc, err := src.document()
	if err != nil {
		return body, nil, err
	}
	list := doc.raw
	if body = peekValue(doc.raw); body.hasValueKind("messages", "[") {
		list = body.fields["messages"]
	} else if body.fields != nil { // one message
		return peek{}, []peek{body}, nil
	}
	for i, v := range elementsOf(list) {
		if err := isObject(src, doc.line, messageField(i, ""), v.raw); err != nil {
			return body, nil, err
		}
		messages = append(messages, v)
	}
	return body, messages, nil
}

func isObject(src *source, line int, field, raw string) error {
	if raw[0] == '{' {
		return nil
	}
	return src.sourceError(ErrField, line, field, "is "+jsonKindName(raw)+", not a message object", "give one chat: a list of messages")
}

// messageField returns the path of a field of message i, or of the message.
func messageField(i int, field string) string {
	path := "messages[" + strconv.Itoa(i) + "]"
	if field == "" {
		return path
	}
	return path + "." + field
}
