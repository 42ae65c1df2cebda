package wire

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

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
	for _, in := range []peek{v, v.memberValue("kwargs"), v.memberValue("values")} {
		if in.hasValueKind("messages", "[") {
			return in.listValue("messages")
		}
	}
	return []peek{v}
}

var langChainRoles = map[string]chat.Role{
	"human": chat.User, "ai": chat.Assistant, "system": chat.System, "tool": chat.Tool, "function": chat.Tool,
	"developer": chat.Developer, "user": chat.User, "assistant": chat.Assistant,
}

// langChainMessage returns the fields of a message, with its type among them;
// none if it is not one of LangChain's.
func langChainMessage(v peek) peek {
	kind := v.stringValue("type")
	switch {
	case v.fields["lc"] == "1" && v.hasValueKind("kwargs", "{") && v.hasValueKind("id", "["):
		path := v.listValue("id")
		class := ""
		if len(path) > 0 {
			class = path[len(path)-1].ownString()
		}
		name, ok := strings.CutSuffix(strings.TrimSuffix(class, "Chunk"), "Message")
		if !ok {
			return peek{}
		}
		m := v.memberValue("kwargs")
		m.fields["type"] = quotedJSON(strings.ToLower(name))
		return m
	case v.hasValueKind("data", "{") && !v.hasMember("role") && langChainRole(v) != "":
		m := v.memberValue("data")
		m.fields["type"] = quotedJSON(kind)
		return m
	case !v.hasMember("role") && langChainRole(v) != "" && v.hasMember("content") && (v.hasMember("additional_kwargs") || v.hasMember("response_metadata")):
		return v
	}
	return peek{}
}

// langChainRole returns the role of a message, "" if it has none.
func langChainRole(m peek) chat.Role {
	kind := strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(m.stringValue("type")), "chunk"), "message")
	if kind == "chat" || kind == "remove" {
		return chat.Role(cmp.Or(m.stringValue("role"), m.memberValue("data").stringValue("role"), kind))
	}
	return langChainRoles[kind]
}

// decodeLangChain reads the format of LangChain's message dumps: constructors with their
// arguments (dumps, JSON.stringify), a type with data (messages_to_dict), or the
// fields of the objects (model_dump).
func decodeLangChain(src *source) ([]Conversation, error) {
	body, messages, err := messageObjects(src)
	if err != nil {
		return nil, err
	}
	if body.fields == nil && len(messages) == 1 {
		messages = langChainList(messages[0])
	}
	c := Conversation{Format: "langchain"}
	var l messageLog
	for i, v := range messages {
		m := langChainMessage(v)
		if m.fields == nil {
			return nil, src.sourceError(ErrField, 0, messageField(i, "type"), "is not a type of a LangChain message", "dump the messages with messages_to_dict")
		}
		if model := cmp.Or(m.memberValue("response_metadata").stringValue("model_name"), m.memberValue("response_metadata").stringValue("model")); model != "" {
			c.Model = model
		}
		l.langChain(m)
	}
	return l.singleConversation(c), nil
}

func (l *messageLog) langChain(r peek) {
	m := chat.Message{ID: r.stringValue("id"), Role: langChainRole(r)}
	if known, ok := langChainRoles[string(m.Role)]; ok {
		m.Role = known
	}
	switch m.Role {
	case "remove": // an instruction to a graph
		return
	case chat.Tool:
		text, images := langChainResult(r.fields["content"])
		p := chat.Part{ID: l.calls.resultCallID(r.stringValue("tool_call_id"), r.stringValue("name")), Text: text, Error: r.stringValue("status") == "error"}
		l.appendResult(m.ID, p, images)
		return
	case chat.System, chat.Developer, chat.Assistant:
	default:
		m.Role = chat.User
	}
	m.Parts = append(m.Parts, chat.Part{Kind: chat.Thinking, Text: r.memberValue("additional_kwargs").stringValue("reasoning_content")})
	for _, b := range blocksIn(r.fields["content"]) {
		m.Parts = append(m.Parts, langChainParts(b)...)
	}
	if m.Role == chat.Assistant {
		m.Parts = append(m.Parts, l.langChainCalls(r)...)
	}
	l.appendMessage(m)
}

// callBlocks are blocks for calls that are also in the message's list of calls.
var callBlocks = []string{"tool_use", "tool_call", "tool_call_chunk", "invalid_tool_call", "function_call", "input_json_delta", "redacted_thinking"}

func langChainParts(b peek) []chat.Part {
	kind := b.stringValue("type")
	switch {
	case kind == "thinking" || kind == "reasoning" || kind == "reasoning_content":
		text := cmp.Or(b.stringValue("thinking"), b.stringValue("reasoning"), b.stringValue("text"), b.memberValue("reasoning_content").stringValue("text"))
		if text == "" {
			text = reasoningText(b)
		}
		return []chat.Part{{Kind: chat.Thinking, Text: text}}
	case slices.Contains(callBlocks, kind):
		return nil
	case kind == "server_tool_call":
		return []chat.Part{{Kind: chat.ServerCall, ID: b.stringValue("id"), Name: b.stringValue("name"), Args: argumentsText(b.fields["args"])}}
	case kind == "server_tool_result":
		return []chat.Part{{Kind: chat.ServerResult, ID: b.stringValue("tool_call_id"), Text: valueText(b.fields["output"]), Error: b.stringValue("status") == "error"}}
	case kind == "image" && (b.hasValueKind("base64", `"`) || b.hasValueKind("data", `"`)):
		return []chat.Part{{Kind: chat.Image, Image: &chat.Picture{MediaType: b.stringValue("mime_type"), Data: cmp.Or(b.stringValue("base64"), b.stringValue("data"))}}}
	case kind == "image" && b.hasValueKind("url", `"`):
		return []chat.Part{{Kind: chat.Image, Image: pictureFromURL(b.stringValue("url"), "")}}
	}
	if p := readServerTool(parseObject(b.raw)); p.Kind != "" {
		p.Raw, p.Args = "", argumentsObject(p)
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

// langChainCalls returns the calls of a message: its own, those with unreadable
// arguments, or else those of the API's answer.
func (l *messageLog) langChainCalls(r peek) []chat.Part {
	var parts []chat.Part
	add := func(id, name, args string) {
		parts = append(parts, chat.Part{Kind: chat.Call, ID: l.calls.assignCallID(id, name), Name: name, Args: argumentsText(args)})
	}
	for _, key := range []string{"tool_calls", "invalid_tool_calls"} {
		for _, t := range r.listValue(key) {
			add(t.stringValue("id"), t.stringValue("name"), t.fields["args"])
		}
	}
	if len(parts) > 0 {
		return parts
	}
	given := r.memberValue("additional_kwargs")
	for _, t := range given.listValue("tool_calls") {
		p := readFunction(functionIn(parseObject(t.raw)))
		add(t.stringValue("id"), p.Name, quotedJSON(p.Args))
	}
	if len(parts) == 0 && given.hasValueKind("function_call", "{") {
		add("", given.memberValue("function_call").stringValue("name"), given.memberValue("function_call").fields["arguments"])
	}
	return parts
}
