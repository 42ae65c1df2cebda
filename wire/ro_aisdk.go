package wire

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

func matchAISDK(p probe) int {
	values := p.values
	if p.shape == object && len(values) > 0 && values[0].hasValueKind("messages", "[") {
		values = values[0].listValue("messages")
	}
	for _, v := range values {
		if v.hasValueKind("role", `"`) && v.hasValueKind("parts", "[") && slices.ContainsFunc(v.listValue("parts"), func(b peek) bool { return b.hasValueKind("type", `"`) }) {
			return 88
		}
	}
	if p.shape == lines && slices.ContainsFunc(values, func(v peek) bool { return isDialect(v.fields["content"], "aisdk") }) {
		return 88
	}
	return 2 * p.formatScore("aisdk")
}

// isDialect reports whether a content is possible only in the named dialect.
func isDialect(content, name string) bool {
	told, sure := blockDialect(content)
	return sure && told == name
}

// decodeAISDK reads the format of Vercel's AI SDK: messages for a model, with parts
// tool-call and tool-result, or messages for a page, whose parts have a state.
func decodeAISDK(src *source) ([]Conversation, error) {
	body, messages, err := messageObjects(src)
	if err != nil {
		return nil, err
	}
	c := Conversation{Format: "aisdk", Model: body.stringValue("model"), Tools: functionsOf(body.fields["tools"])}
	var l messageLog
	l.appendText("", chat.System, body.stringValue("system"))
	for i, m := range messages {
		role, err := messageRole(parseObject(m.raw))
		switch {
		case m.stringValue("role") == "data": // of old versions, only for the page
		case err != nil:
			return nil, src.sourceError(ErrField, 0, messageField(i, "role"), strings.TrimPrefix(err.Error(), "role: "), "")
		case m.hasValueKind("parts", "["):
			l.uiMessage(role, m)
		default:
			l.modelMessage(role, m)
		}
	}
	return l.singleConversation(c), nil
}

// modelMessage adds a message for a model. The provider ran the tool of a result in
// the assistant's message.
func (l *messageLog) modelMessage(role chat.Role, r peek) {
	m := chat.Message{ID: r.stringValue("id"), Role: role}
	ran := make(map[string]bool)
	for _, b := range blocksIn(r.fields["content"]) {
		if role == chat.Assistant && b.stringValue("type") == "tool-result" {
			ran[b.stringValue("toolCallId")] = true
		}
	}
	for _, b := range blocksIn(r.fields["content"]) {
		id, name := b.stringValue("toolCallId"), b.stringValue("toolName")
		switch kind := b.stringValue("type"); {
		case kind == "reasoning":
			m.Parts = append(m.Parts, chat.Part{Kind: chat.Thinking, Text: b.stringValue("text")})
		case kind == "tool-call":
			p := chat.Part{Kind: chat.Call, ID: id, Name: name, Args: argumentsText(cmp.Or(b.fields["input"], b.fields["args"]))}
			if ran[id] || b.boolValue("providerExecuted") {
				p.Kind = chat.ServerCall
			} else {
				p.ID = l.calls.assignCallID(id, name)
			}
			m.Parts = append(m.Parts, p)
		case kind == "tool-result":
			f := toolOutput(b)
			if f.part.ID = id; role == chat.Assistant {
				f.part.Kind = chat.ServerResult
				m.Parts = append(append(m.Parts, f.part), f.images...)
				continue
			}
			f.part.ID = l.calls.resultCallID(id, name)
			l.appendResult("", f.part, f.images)
		case kind == "tool-approval-request":
			p := chat.Part{Kind: chat.Call, ID: b.stringValue("approvalId"), Name: "tool_approval"}
			p.ID, p.Args = l.calls.assignCallID(p.ID, p.Name), objectOf(change{"toolCallId", b.fields["toolCallId"]})
			m.Parts = append(m.Parts, p)
		case kind == "tool-approval-response":
			p := chat.Part{ID: l.calls.resultCallID(b.stringValue("approvalId"), ""), Text: approval(b)}
			l.appendResult("", p, nil)
		default:
			m.Parts = append(m.Parts, partsOfAIBlock(b)...)
		}
	}
	if m.Role == chat.Tool { // not a result
		m.Role, m.Machine = chat.User, true
	}
	l.appendMessage(m)
}

// approval says whether a user has allowed a call.
func approval(b peek) string {
	if b.boolValue("approved") {
		return "approved"
	}
	return strings.TrimSuffix("denied: "+b.stringValue("reason"), ": ")
}

// partsOfAIBlock returns the parts of a text, a file, or an unknown block.
func partsOfAIBlock(b peek) []chat.Part {
	kind := cmp.Or(b.stringValue("mediaType"), b.stringValue("mimeType"))
	address := cmp.Or(b.stringValue("image"), b.stringValue("url"), b.stringValue("data"))
	switch b.stringValue("type") {
	case "image", "file", "image-data", "image-url", "media", "file-data", "file-url":
		picture := b.stringValue("type") == "image" || strings.HasPrefix(b.stringValue("type"), "image-") || strings.HasPrefix(kind, "image/")
		switch {
		case picture && strings.Contains(address, ":"):
			return []chat.Part{{Kind: chat.Image, Image: pictureFromURL(address, "")}}
		case picture && address != "":
			return []chat.Part{{Kind: chat.Image, Image: &chat.Picture{MediaType: kind, Data: address}}}
		}
		return []chat.Part{{Kind: chat.Opaque, Text: strings.TrimSpace("[file "+cmp.Or(b.stringValue("filename"), kind)) + "]"}}
	}
	return textParts(b.raw)
}

// toolOutput returns the result of a tool: of the present version, with a type and
// a value, or of an old one, any JSON.
func toolOutput(b peek) foundResult {
	out := b.memberValue("output")
	f := foundResult{part: chat.Part{Error: b.boolValue("isError")}}
	switch kind := out.stringValue("type"); kind {
	case "text", "error-text":
		f.part.Text, f.part.Error = out.stringValue("value"), f.part.Error || kind == "error-text"
	case "json", "error-json":
		f.part.Text, f.part.Error = valueText(out.fields["value"]), f.part.Error || kind == "error-json"
	case "execution-denied":
		f.part.Text, f.part.Error = strings.TrimSuffix("denied: "+out.stringValue("reason"), ": "), true
	case "content":
		var texts []string
		for _, piece := range out.listValue("value") {
			for _, p := range partsOfAIBlock(piece) {
				if p.Kind == chat.Image {
					f.images = append(f.images, p)
				} else {
					texts = append(texts, p.Text)
				}
			}
		}
		f.part.Text = strings.Join(texts, "\n")
	default:
		f.part.Text = valueText(cmp.Or(b.fields["output"], b.fields["result"]))
	}
	return f
}

// valueText returns the text of a string, and any other value as JSON.
func valueText(raw string) string {
	if strings.HasPrefix(raw, `"`) {
		return unquoteText(raw)
	}
	if raw == "" {
		return ""
	}
	return readable(raw)
}

// uiMessage adds a message for a page; a step after calls is a separate message.
// Sources and data for the page are not sent to a model.
func (l *messageLog) uiMessage(role chat.Role, r peek) {
	m := chat.Message{ID: r.stringValue("id"), Role: role}
	var done []uiTool
	flush := func() {
		l.appendMessage(m)
		for _, t := range done {
			l.uiResult(t)
		}
		m.Parts, done = nil, nil
	}
	for _, b := range r.listValue("parts") {
		kind := b.stringValue("type")
		switch t, ok := uiToolOf(b); {
		case ok:
			t.id = l.calls.assignCallID(t.id, t.name)
			m.Parts = append(m.Parts, chat.Part{Kind: chat.Call, ID: t.id, Name: t.name, Args: argumentsText(cmp.Or(t.fields["input"], t.fields["args"], t.fields["rawInput"]))})
			done = append(done, t)
		case kind == "reasoning":
			m.Parts = append(m.Parts, chat.Part{Kind: chat.Thinking, Text: cmp.Or(b.stringValue("text"), b.stringValue("reasoning"))})
		case kind == "step-start":
			if len(done) > 0 {
				flush()
			}
		case strings.HasPrefix(kind, "data-"), strings.HasPrefix(kind, "source"):
		default:
			m.Parts = append(m.Parts, partsOfAIBlock(b)...)
		}
	}
	flush()
}

// A uiTool is a call with its state, and its result once there is one.
type uiTool struct {
	peek
	id, name string
}

func uiToolOf(b peek) (uiTool, bool) {
	switch kind := b.stringValue("type"); {
	case kind == "tool-invocation": // of old versions
		in := b.memberValue("toolInvocation")
		return uiTool{in, in.stringValue("toolCallId"), in.stringValue("toolName")}, true
	case kind == "dynamic-tool":
		return uiTool{b, b.stringValue("toolCallId"), b.stringValue("toolName")}, true
	case strings.HasPrefix(kind, "tool-") && b.hasMember("toolCallId"):
		return uiTool{b, b.stringValue("toolCallId"), strings.TrimPrefix(kind, "tool-")}, true
	}
	return uiTool{}, false
}

func (l *messageLog) uiResult(t uiTool) {
	f := foundResult{}
	switch t.stringValue("state") {
	case "output-available", "result":
		f.part.Text = valueText(cmp.Or(t.fields["output"], t.fields["result"]))
	case "output-error":
		f.part.Text, f.part.Error = t.stringValue("errorText"), true
	case "output-denied":
		f.part.Text, f.part.Error = approval(t.memberValue("approval")), true
	default: // it waits for its result
		return
	}
	f.part.ID = l.calls.resultCallID(t.id, t.name)
	l.appendResult("", f.part, nil)
}
