package wire

import (
	"cmp"

	"github.com/tiercompact/tiercompact/chat"
)

// flatDialect returns a dialect of the OpenAI family, in which each message is one
// object, with its calls under a separate key. bare gives Ollama's form: contents
// are plain strings, arguments are objects, images are beside the content.
func flatDialect(name string, bare bool) dialect {
	w := flatWriter{bare: bare, meta: name == "jsonl"}
	return dialect{name: name, read: readFlat, rewrite: w.rewriteObject, fresh: w.newObject}
}

// reasoningKeys are the keys for thinking in the family. The first one with a
// string is read.
var reasoningKeys = [...]string{"reasoning_content", "reasoning", "thinking", "reasoning_details"}

// readFlat reads a message of any member of the family, so that files with mixed
// forms can be read too.
func readFlat(o jsonObject) ([]chat.Message, error) {
	role, err := messageRole(o)
	if err != nil {
		return nil, err
	}
	m := chat.Message{ID: o.textValue("id"), Role: role, Protected: protectedBy(o)}
	content, err := readContent(o.rawValue("content"))
	if err != nil {
		return nil, err
	}
	content = append(content, readImages(o.rawValue("images"))...)
	if role == chat.Tool {
		m.Parts = asResult(o, content)
		classify(&m)
		return []chat.Message{m}, nil
	}
	for _, key := range reasoningKeys {
		if text := o.textValue(key); text != "" {
			m.Parts = append(m.Parts, chat.Part{Kind: chat.Thinking, Text: text})
			break
		}
	}
	m.Parts = append(m.Parts, content...)
	calls, err := readCalls(o)
	if err != nil {
		return nil, err
	}
	m.Parts = append(m.Parts, calls...)
	classify(&m)
	return []chat.Message{m}, nil
}

// asResult returns the parts of a tool message: one result, then its images and
// opaque content.
func asResult(o jsonObject, content []chat.Part) []chat.Part {
	result := chat.Part{
		Kind: chat.Result, ID: o.textValue("tool_call_id"), Name: cmp.Or(o.textValue("name"), o.textValue("tool_name")),
		Text: joinedTexts(partsOfKinds(content, chat.Text)), Error: o.rawValue("is_error") == "true",
	}
	return append([]chat.Part{result}, partsOfKinds(content, chat.Image, chat.Opaque)...)
}

// readContent reads the content of a message: a string, a list of blocks, or
// nothing.
func readContent(raw string) ([]chat.Part, error) {
	switch {
	case raw == "" || raw == "null" || raw == `""`:
		return nil, nil
	case raw[0] == '"':
		return []chat.Part{{Kind: chat.Text, Text: unquoteText(raw)}}, nil
	case raw[0] != '[':
		return nil, &fieldError{"content", "is " + jsonKindName(raw) + ", not a string or a list"}
	}
	var parts []chat.Part
	for start, end := range elements(raw) {
		parts = append(parts, readBlock(raw[start:end]))
	}
	return parts, nil
}

// readBlock reads one block of a content list. An unknown block becomes an opaque
// part.
func readBlock(raw string) chat.Part {
	if raw[0] == '"' {
		return chat.Part{Kind: chat.Text, Text: unquoteText(raw), Raw: raw}
	}
	o := parseObject(raw)
	p := chat.Part{Kind: chat.Text, Raw: raw}
	kind := o.textValue("type")
	switch {
	case (kind == "text" || kind == "input_text" || kind == "output_text") && o.valueHasKind("text", `"`):
		p.Text = o.textValue("text")
	case kind == "refusal":
		p.Text = o.textValue("refusal")
	case kind == "thinking", kind == "reasoning", kind == "redacted_thinking":
		p.Kind, p.Text = chat.Thinking, o.textValue("thinking")+o.textValue("text")
	case kind == "image_url", kind == "input_image" && o.valueHasKind("image_url", `"{`):
		p.Kind, p.Image = chat.Image, imageURL(o)
	default:
		p.Kind, p.Text = chat.Opaque, opaqueText(raw)
	}
	return p
}

// imageURL reads {image_url: {url, detail}} and {image_url: url, detail}.
func imageURL(o jsonObject) *chat.Picture {
	if o.valueHasKind("image_url", "{") {
		in := parseObject(o.rawValue("image_url"))
		return pictureAt(in.textValue("url"), in.textValue("detail"))
	}
	return pictureAt(o.textValue("image_url"), o.textValue("detail"))
}

// readImages reads Ollama's list of base64 images.
func readImages(raw string) []chat.Part {
	var parts []chat.Part
	for start, end := range elements(raw) {
		p := pictureAt(unquoteText(raw[start:end]), "")
		if p.Data == "" {
			p = &chat.Picture{Data: p.URL}
		}
		p.MediaType = mediaType(p)
		parts = append(parts, chat.Part{Kind: chat.Image, Image: p, Raw: raw[start:end]})
	}
	return parts
}

// readCalls reads tool_calls, and function_call of the old form.
func readCalls(o jsonObject) ([]chat.Part, error) {
	raw := o.rawValue("tool_calls")
	if raw != "" && raw != "null" && raw[0] != '[' {
		return nil, &fieldError{"tool_calls", "is " + jsonKindName(raw) + ", not a list"}
	}
	var calls []chat.Part
	for start, end := range elements(raw) {
		call := parseObject(raw[start:end])
		p := readFunction(functionIn(call))
		p.ID, p.Raw = call.textValue("id"), call.raw
		calls = append(calls, p)
	}
	if len(calls) == 0 && o.valueHasKind("function_call", "{") {
		p := readFunction(parseObject(o.rawValue("function_call")))
		if p.Raw = o.rawValue("function_call"); p.Name != "" || p.Args != "" { // an SDK writes an empty one
			calls = append(calls, p)
		}
	}
	return calls, nil
}

// functionKey returns the key of the name and arguments of a call, "" if they are
// in the call itself. The type decides: SDKs write all variants of a call, with the
// others empty.
func functionKey(call jsonObject) string {
	keys := [...]string{"function", "custom"}
	for _, key := range keys {
		if call.textValue("type") == key && call.valueHasKind(key, "{") {
			return key
		}
	}
	for _, key := range keys {
		if call.valueHasKind(key, "{") && parseObject(call.rawValue(key)).textValue("name") != "" {
			return key
		}
	}
	for _, key := range keys {
		if call.valueHasKind(key, "{") {
			return key
		}
	}
	return ""
}

// functionIn returns the object with the name and the arguments of a call.
func functionIn(call jsonObject) jsonObject {
	if key := functionKey(call); key != "" {
		return parseObject(call.rawValue(key))
	}
	return call
}

// readFunction reads the name of a call, and its arguments: JSON text as a
// string, or the value itself.
func readFunction(o jsonObject) chat.Part {
	args := o.rawValue("arguments")
	switch {
	case beginsWithAny(args, `"`):
		args = unquoteText(args)
	case args == "null":
		args = ""
	case args == "" && o.valueHasKind("input", `"`): // free text of a custom tool
		args = objectOf(change{"input", o.rawValue("input")})
	}
	return chat.Part{Kind: chat.Call, Name: o.textValue("name"), Args: args}
}
