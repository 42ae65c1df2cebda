package wire

import (
	"github.com/tiercompact/tiercompact/chat"
)

// flat returns a dialect of the OpenAI family, in which each message is one
// object, with its calls under a key of their own. bare gives Ollama's form:
// contents are plain strings, arguments are objects, images stand beside the
// content.
func flat(name string, bare bool) dialect {
	w := flatWriter{bare: bare, meta: name == "jsonl"}
	return dialect{name: name, read: readFlat, rewrite: w.rewrite, fresh: w.fresh}
}

// reasoningKeys are the keys under which the family's members keep thinking.
// The first one that holds a string is read.
var reasoningKeys = [...]string{"reasoning_content", "reasoning", "thinking", "reasoning_details"}

// readFlat reads a message of any member of the family, so that a file that
// mixes their forms can be read too.
func readFlat(o jsonObject) ([]chat.Message, error) {
	role, err := roleOf(o)
	if err != nil {
		return nil, err
	}
	m := chat.Message{ID: o.text("id"), Role: role, Protected: protectedBy(o)}
	content, err := readContent(o.field("content"))
	if err != nil {
		return nil, err
	}
	content = append(content, readImages(o.field("images"))...)
	if role == chat.Tool {
		m.Parts = asResult(o, content)
		classify(&m)
		return []chat.Message{m}, nil
	}
	for _, key := range reasoningKeys {
		if text := o.text(key); text != "" {
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

// asResult returns the parts of a tool message: one result, then its images.
func asResult(o jsonObject, content []chat.Part) []chat.Part {
	name := o.text("name")
	if name == "" {
		name = o.text("tool_name")
	}
	result := chat.Part{
		Kind: chat.Result, ID: o.text("tool_call_id"), Name: name,
		Text: textIn(content), Error: o.field("is_error") == "true",
	}
	return append([]chat.Part{result}, partsOf(content, chat.Image)...)
}

// readContent reads the content of a message: a string, a list of blocks, or
// nothing.
func readContent(raw string) ([]chat.Part, error) {
	switch {
	case raw == "" || raw == "null" || raw == `""`:
		return nil, nil
	case raw[0] == '"':
		return []chat.Part{{Kind: chat.Text, Text: unquote(raw)}}, nil
	case raw[0] != '[':
		return nil, &fieldError{"content", "is " + kindOf(raw) + ", not a string or a list"}
	}
	var parts []chat.Part
	for start, end := range elements(raw) {
		parts = append(parts, readBlock(raw[start:end]))
	}
	return parts, nil
}

// readBlock reads one block of a content list. A block that is not known
// becomes a text part that is written back as it was.
func readBlock(raw string) chat.Part {
	if raw[0] != '{' {
		return chat.Part{Kind: chat.Text, Text: unquote(raw), Raw: raw}
	}
	o := parse(raw)
	p := chat.Part{Kind: chat.Text, Raw: raw}
	switch kind := o.text("type"); kind {
	case "text", "input_text", "output_text":
		p.Text = o.text("text")
	case "refusal":
		p.Text = o.text("refusal")
	case "thinking", "reasoning", "redacted_thinking":
		p.Kind, p.Text = chat.Thinking, o.text("thinking")+o.text("text")
	case "image_url", "input_image":
		p.Kind, p.Image = chat.Image, imageURL(o)
	default:
		p.Text = blockText(kind, raw)
	}
	return p
}

// imageURL reads {image_url: {url, detail}} and {image_url: url, detail}.
func imageURL(o jsonObject) *chat.Picture {
	if o.is("image_url", "{") {
		in := parse(o.field("image_url"))
		return pictureAt(in.text("url"), in.text("detail"))
	}
	return pictureAt(o.text("image_url"), o.text("detail"))
}

// readImages reads Ollama's list of base64 images.
func readImages(raw string) []chat.Part {
	var parts []chat.Part
	for start, end := range elements(raw) {
		p := pictureAt(unquote(raw[start:end]), "")
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
	raw := o.field("tool_calls")
	if raw != "" && raw != "null" && raw[0] != '[' {
		return nil, &fieldError{"tool_calls", "is " + kindOf(raw) + ", not a list"}
	}
	var calls []chat.Part
	for start, end := range elements(raw) {
		call := parse(raw[start:end])
		function := parse(call.field("function"))
		if !call.is("function", "{") { // name and arguments at the top
			function = call
		}
		if custom := call.field("custom"); begins(custom, "{") {
			function = parse(custom)
		}
		p := readFunction(function)
		p.ID, p.Raw = call.text("id"), call.raw
		calls = append(calls, p)
	}
	if len(calls) == 0 && o.is("function_call", "{") {
		p := readFunction(parse(o.field("function_call")))
		p.Raw = o.field("function_call")
		calls = append(calls, p)
	}
	return calls, nil
}

// readFunction reads the name of a call, and its arguments: JSON text as a
// string, or the value itself.
func readFunction(o jsonObject) chat.Part {
	args := o.field("arguments")
	switch {
	case begins(args, `"`):
		args = unquote(args)
	case args == "null":
		args = ""
	case args == "" && o.is("input", `"`): // free text of a custom tool
		args = objectOf(change{"input", o.field("input")})
	}
	return chat.Part{Kind: chat.Call, Name: o.text("name"), Args: args}
}
