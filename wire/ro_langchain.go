package wire

import (
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

// langChain is what LangChain's messages are dumped as: constructors with their
// arguments (dumps, JSON.stringify), a type with data (messages_to_dict), or
// the fields of the objects (model_dump).
func langChain() format {
	return format{
		name:   "langchain",
		about:  "LangChain messages: dumps, messages_to_dict, model_dump",
		match:  matchLangChain,
		decode: decodeLangChain,
	}
}

func matchLangChain(p probe) int {
	values := p.values
	if p.shape == object && len(values) > 0 {
		values = langChainList(values[0])
	}
	if len(values) > 0 && langChainMessage(values[0]).fields != nil {
		return 90
	}
	return 0
}

// langChainList returns the messages in an object: a state's, a prompt's, or
// the object itself.
func langChainList(v peek) []peek {
	for _, in := range []peek{v, v.at("kwargs"), v.at("values")} {
		if in.is("messages", "[") {
			return in.list("messages")
		}
	}
	return []peek{v}
}

var langChainRoles = map[string]chat.Role{
	"human": chat.User, "ai": chat.Assistant, "system": chat.System, "tool": chat.Tool, "function": chat.Tool,
	"developer": chat.Developer, "user": chat.User, "assistant": chat.Assistant,
}

// langChainMessage returns the fields of a message, with its type among them;
// none where it is not one of LangChain's.
func langChainMessage(v peek) peek {
	kind := v.text("type")
	switch {
	case v.fields["lc"] == "1" && v.is("kwargs", "{") && v.is("id", "["):
		path := v.list("id")
		class := ""
		if len(path) > 0 {
			class = path[len(path)-1].str()
		}
		name, ok := strings.CutSuffix(strings.TrimSuffix(class, "Chunk"), "Message")
		if !ok {
			return peek{}
		}
		m := v.at("kwargs")
		m.fields["type"] = quoted(strings.ToLower(name))
		return m
	case v.is("data", "{") && !v.has("role") && langChainRole(v) != "":
		m := v.at("data")
		m.fields["type"] = quoted(kind)
		return m
	case !v.has("role") && langChainRole(v) != "" && v.has("content") && (v.has("additional_kwargs") || v.has("response_metadata")):
		return v
	}
	return peek{}
}

// langChainRole returns the role of a message, "" where it has none.
func langChainRole(m peek) chat.Role {
	kind := strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(m.text("type")), "chunk"), "message")
	if kind == "chat" || kind == "remove" {
		return chat.Role(firstText(m.text("role"), m.at("data").text("role"), kind))
	}
	return langChainRoles[kind]
}

func decodeLangChain(src *source) ([]Conversation, error) {
	body, messages, err := messageObjects(src)
	if err != nil {
		return nil, err
	}
	if body.fields == nil && len(messages) == 1 {
		messages = langChainList(messages[0])
	}
	c := Conversation{Format: "langchain"}
	var l log
	for i, v := range messages {
		m := langChainMessage(v)
		if m.fields == nil {
			return nil, src.fail(ErrField, 0, messageField(i, "type"), "is no type of a LangChain message", "dump the messages with messages_to_dict")
		}
		if model := firstText(m.at("response_metadata").text("model_name"), m.at("response_metadata").text("model")); model != "" {
			c.Model = model
		}
		l.langChain(m)
	}
	return l.one(c), nil
}

func (l *log) langChain(r peek) {
	m := chat.Message{ID: r.text("id"), Role: langChainRole(r)}
	if known, ok := langChainRoles[string(m.Role)]; ok {
		m.Role = known
	}
	switch m.Role {
	case "remove": // an instruction to a graph
		return
	case chat.Tool:
		text, images := langChainResult(r.fields["content"])
		p := chat.Part{ID: l.calls.result(r.text("tool_call_id"), r.text("name")), Text: text, Error: r.text("status") == "error"}
		l.answer(m.ID, p, images)
		return
	case chat.System, chat.Developer, chat.Assistant:
	default:
		m.Role = chat.User
	}
	m.Parts = append(m.Parts, chat.Part{Kind: chat.Thinking, Text: r.at("additional_kwargs").text("reasoning_content")})
	for _, b := range blocksIn(r.fields["content"]) {
		m.Parts = append(m.Parts, langChainParts(b)...)
	}
	if m.Role == chat.Assistant {
		m.Parts = append(m.Parts, l.langChainCalls(r)...)
	}
	l.add(m)
}

// callBlocks are blocks that stand for calls which the message lists as well.
var callBlocks = []string{"tool_use", "tool_call", "tool_call_chunk", "invalid_tool_call", "function_call", "input_json_delta", "redacted_thinking"}

func langChainParts(b peek) []chat.Part {
	kind := b.text("type")
	switch {
	case kind == "thinking" || kind == "reasoning" || kind == "reasoning_content":
		text := firstText(b.text("thinking"), b.text("reasoning"), b.text("text"), b.at("reasoning_content").text("text"))
		if text == "" {
			text = reasoningText(b)
		}
		return []chat.Part{{Kind: chat.Thinking, Text: text}}
	case slices.Contains(callBlocks, kind):
		return nil
	case kind == "server_tool_call":
		return []chat.Part{{Kind: chat.ServerCall, ID: b.text("id"), Name: b.text("name"), Args: argsIn(b.fields["args"])}}
	case kind == "server_tool_result":
		return []chat.Part{{Kind: chat.ServerResult, ID: b.text("tool_call_id"), Text: valueText(b.fields["output"]), Error: b.text("status") == "error"}}
	case kind == "image" && (b.is("base64", `"`) || b.is("data", `"`)):
		return []chat.Part{{Kind: chat.Image, Image: &chat.Picture{MediaType: b.text("mime_type"), Data: firstText(b.text("base64"), b.text("data"))}}}
	case kind == "image" && b.is("url", `"`):
		return []chat.Part{{Kind: chat.Image, Image: linked(b.text("url"), "")}}
	}
	if p := readServerTool(parse(b.raw)); p.Kind != "" {
		p.Raw, p.Args = "", argsOf(p)
		return []chat.Part{p}
	}
	return textParts(b.raw)
}

func langChainResult(content string) (text string, images []chat.Part) {
	var texts []string
	for _, b := range blocksIn(content) {
		if p := langChainParts(b); len(p) > 0 && p[0].Kind == chat.Image {
			images = append(images, p...)
			continue
		}
		t, more := resultParts(b.raw)
		texts, images = append(texts, t), append(images, more...)
	}
	return strings.Join(texts, "\n"), images
}

// langChainCalls returns the calls of a message: its own, those whose arguments
// could not be read, or else those of the API's answer.
func (l *log) langChainCalls(r peek) []chat.Part {
	var parts []chat.Part
	add := func(id, name, args string) {
		parts = append(parts, chat.Part{Kind: chat.Call, ID: l.calls.call(id, name), Name: name, Args: argsIn(args)})
	}
	for _, key := range []string{"tool_calls", "invalid_tool_calls"} {
		for _, t := range r.list(key) {
			add(t.text("id"), t.text("name"), t.fields["args"])
		}
	}
	if len(parts) > 0 {
		return parts
	}
	given := r.at("additional_kwargs")
	for _, t := range given.list("tool_calls") {
		p := readFunction(functionIn(parse(t.raw)))
		add(t.text("id"), p.Name, quoted(p.Args))
	}
	if len(parts) == 0 && given.is("function_call", "{") {
		add("", given.at("function_call").text("name"), given.at("function_call").fields["arguments"])
	}
	return parts
}
