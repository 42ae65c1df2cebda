package wire

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

// The read-only logs are parsed with [peek]: a value that is missing or of an
// unexpected type reads as empty, because logs of many versions exist. None of it
// is written back.

// memberValue returns the value under key.
func (v peek) memberValue(key string) peek { return peekValue(v.fields[key]) }

// listValue returns the elements of the list under key.
func (v peek) listValue(key string) []peek { return elementsOf(v.fields[key]) }

// boolValue reports whether the value under key is true.
func (v peek) boolValue(key string) bool { return v.fields[key] == "true" }

// hasNonNull reports whether the value under key is present and not null.
func (v peek) hasNonNull(key string) bool { return v.fields[key] != "" && v.fields[key] != "null" }

// ownString returns the text of v if it is a string.
func (v peek) ownString() string { return unquoteText(v.raw) }

func elementsOf(raw string) []peek {
	var found []peek
	for start, end := range elements(raw) {
		found = append(found, peekValue(raw[start:end]))
	}
	return found
}

// jsonRecords returns the objects of a source of JSON lines, or its one object;
// other values are not records of a log.
func jsonRecords(src *source) ([]peek, error) {
	if probeSource(src).shape == object {
		doc, err := src.document()
		return []peek{peekValue(doc.raw)}, err
	}
	var found []peek
	err := src.eachJSONLine(func(v value) error {
		if r := peekValue(v.raw); r.fields != nil {
			found = append(found, r)
		}
		return nil
	})
	return found, err
}

// blocksIn returns the pieces of a content that is a string, a list or one
// object.
func blocksIn(raw string) []peek {
	switch {
	case strings.HasPrefix(raw, "["):
		return elementsOf(raw)
	case raw == "" || raw == "null":
		return nil
	}
	return []peek{peekValue(raw)}
}

// plainText returns the text of a piece that is a string or an object with a text,
// and whether it is one.
func plainText(b peek) (string, bool) {
	if strings.HasPrefix(b.raw, `"`) {
		return b.ownString(), true
	}
	switch b.stringValue("type") {
	case "", "text", "input_text", "output_text", "summary_text", "reasoning_text":
		return b.stringValue("text"), b.hasValueKind("text", `"`)
	case "refusal":
		return b.stringValue("refusal"), true
	}
	return "", false
}

// textParts returns a content's texts and images as parts, in order. Anything else
// is an opaque part, except for the types of blocks that the caller reads itself.
func textParts(raw string, elsewhere ...string) []chat.Part {
	var parts []chat.Part
	for _, b := range blocksIn(raw) {
		if text, ok := plainText(b); ok {
			parts = append(parts, chat.Part{Kind: chat.Text, Text: text})
		} else if p := pictureIn(b); p != nil {
			parts = append(parts, chat.Part{Kind: chat.Image, Image: p})
		} else if note := documentNote(b); note != "" {
			parts = append(parts, chat.Part{Kind: chat.Text, Text: note})
		} else if !slices.Contains(elsewhere, b.stringValue("type")) {
			parts = append(parts, opaqueParts(b)...)
		}
	}
	return parts
}

// opaqueParts returns the part of an unknown block, nothing for an empty one. Its
// text replaces it on output, because read-only formats are never written.
func opaqueParts(b peek) []chat.Part {
	switch b.raw {
	case "", "null", "{}", "[]":
		return nil
	}
	if text, ok := plainText(b); ok && text == "" {
		return nil
	}
	return []chat.Part{{Kind: chat.Opaque, Text: opaqueText(b.raw)}}
}

// resultParts returns a tool result's content as one text, followed by the images.
// Pieces of unknown type are in the text unchanged.
func resultParts(raw string) (text string, images []chat.Part) {
	var texts []string
	for _, b := range blocksIn(raw) {
		if t, ok := plainText(b); ok {
			texts = append(texts, t)
		} else if p := pictureIn(b); p != nil {
			images = append(images, chat.Part{Kind: chat.Image, Image: p})
		} else {
			texts = append(texts, compactJSON(b.raw))
		}
	}
	return strings.Join(texts, "\n"), images
}

// documentNote returns the text of an attached document, or the name of its type if
// it is not text.
func documentNote(b peek) string {
	source := b.memberValue("source")
	switch {
	case b.stringValue("type") != "document" && b.stringValue("type") != "file" && b.stringValue("type") != "input_file":
		return ""
	case source.stringValue("type") == "text":
		return source.stringValue("data")
	}
	for _, name := range []string{b.stringValue("title"), b.stringValue("filename"), source.stringValue("media_type"), b.stringValue("mime")} {
		if name != "" {
			return "[document " + name + "]"
		}
	}
	return "[document]"
}

// pictureIn returns the image of a block in any of the logs' formats, or nil.
func pictureIn(b peek) *chat.Picture {
	switch {
	case b.stringValue("type") == "image" && b.memberValue("source").hasMember("type"): // Anthropic
		s := b.memberValue("source")
		return &chat.Picture{MediaType: s.stringValue("media_type"), Data: s.stringValue("data"), URL: s.stringValue("url")}
	case b.stringValue("type") == "image" && b.hasValueKind("data", `"`): // pi
		return &chat.Picture{MediaType: b.stringValue("mimeType"), Data: b.stringValue("data")}
	case b.hasValueKind("inlineData", "{") && strings.HasPrefix(b.memberValue("inlineData").stringValue("mimeType"), "image/"): // Gemini
		d := b.memberValue("inlineData")
		return &chat.Picture{MediaType: d.stringValue("mimeType"), Data: d.stringValue("data")}
	case b.hasValueKind("fileData", "{") && strings.HasPrefix(b.memberValue("fileData").stringValue("mimeType"), "image/"):
		d := b.memberValue("fileData")
		return &chat.Picture{MediaType: d.stringValue("mimeType"), URL: d.stringValue("fileUri")}
	case b.hasValueKind("image_url", "{"): // OpenAI chat
		u := b.memberValue("image_url")
		return pictureFromURL(u.stringValue("url"), u.stringValue("detail"))
	case b.hasValueKind("image_url", `"`): // OpenAI Responses
		return pictureFromURL(b.stringValue("image_url"), b.stringValue("detail"))
	case strings.HasPrefix(b.stringValue("mime"), "image/"): // OpenCode
		return pictureFromURL(b.stringValue("url"), "")
	}
	return nil
}

// pictureFromURL is pictureAt, and nil for an empty address.
func pictureFromURL(url, detail string) *chat.Picture {
	if url == "" {
		return nil
	}
	return pictureAt(url, detail)
}

// compactJSON returns a JSON value without white space between its tokens.
func compactJSON(raw string) string {
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(raw)); err != nil {
		return raw // too deep for encoding/json
	}
	return b.String()
}

// argumentsText returns a call's arguments as JSON text: an object unchanged, a
// string with JSON as that JSON, and free text as {"input": text}.
func argumentsText(raw string) string {
	if raw == "" || raw == "null" {
		return "{}"
	}
	if raw[0] != '"' {
		return compactJSON(raw)
	}
	text := unquoteText(raw)
	if strings.TrimSpace(text) == "" {
		return "{}"
	}
	if json.Valid([]byte(text)) {
		return text
	}
	return inputArgs(text)
}

// inputArgs returns the arguments of a tool that takes free text.
func inputArgs(text string) string {
	return string(append(appendQuoted([]byte(`{"input":`), text), '}'))
}

// functionsOf returns tool definitions of the Responses and Gemini kinds in the
// form of OpenAI chat, the output format of these conversations. Tools that are not
// functions are omitted; nil means none.
func functionsOf(raw string) []byte {
	var out []byte
	for _, t := range elementsOf(raw) {
		for _, f := range t.listValue("functionDeclarations") {
			out = appendFunction(out, f)
		}
		switch {
		case t.hasValueKind("function", "{"):
			out = append(append(out, ','), compactJSON(t.raw)...)
		case t.stringValue("type") == "function":
			out = appendFunction(out, t)
		}
	}
	if out == nil {
		return nil
	}
	out[0] = '['
	return append(out, ']')
}

func appendFunction(out []byte, f peek) []byte {
	out = appendQuoted(append(out, `,{"type":"function","function":{"name":`...), f.stringValue("name"))
	if f.hasValueKind("description", `"`) {
		out = append(append(out, `,"description":`...), f.fields["description"]...)
	}
	for _, key := range []string{"parameters", "parametersJsonSchema", "input_schema"} {
		if f.hasValueKind(key, "{") {
			out = append(append(out, `,"parameters":`...), compactJSON(f.fields[key])...)
			break
		}
	}
	return append(out, "}}"...)
}

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
