package wire

import (
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

func anthropicDialect() dialect {
	return dialect{
		name: "anthropic", read: readAnthropic, rewrite: rewriteAnthropic, fresh: freshAnthropic,
		joins: joinsResults, id: sanitizeCallID, system: true,
	}
}

// readSystem returns the message in the system field of a body.
func readSystem(body jsonObject) []chat.Message {
	raw := body.rawValue("system")
	if !beginsWithAny(raw, `"[`) {
		return nil
	}
	m := chat.Message{Role: chat.System, Source: &chat.Source{Format: "anthropic", JSON: raw, Count: 1}}
	m.Parts, _ = readContent(raw) // a string or a list, so it can be read
	classify(&m)
	return []chat.Message{m}
}

// readAnthropic returns the messages of an object: one for each tool result, and
// one for the rest.
func readAnthropic(o jsonObject) ([]chat.Message, error) {
	role, err := messageRole(o)
	if err != nil {
		return nil, err
	}
	rest := chat.Message{Role: role, Protected: protectedBy(o)}
	raw := o.rawValue("content")
	if !beginsWithAny(raw, "[") {
		if rest.Parts, err = readContent(raw); err != nil {
			return nil, err
		}
	}
	var messages []chat.Message
	for start, end := range elements(raw) {
		parts := readAnthropicBlock(raw[start:end])
		if parts[0].Kind == chat.Result {
			messages = append(messages, chat.Message{Role: chat.Tool, Parts: parts, Protected: rest.Protected})
			classify(&messages[len(messages)-1])
			continue
		}
		rest.Parts = append(rest.Parts, parts...)
	}
	if len(rest.Parts) > 0 || len(messages) == 0 {
		classify(&rest)
		messages = append(messages, rest)
	}
	if len(messages) == 1 {
		messages[0].ID = o.textValue("id")
	}
	return messages, nil
}

// readAnthropicBlock returns the parts of a block: one, or, for a tool result, one
// followed by its images and opaque content.
func readAnthropicBlock(raw string) []chat.Part {
	if raw[0] != '{' {
		return []chat.Part{readBlock(raw)}
	}
	o := parseObject(raw)
	p := chat.Part{Raw: raw}
	switch o.textValue("type") {
	case "thinking":
		p.Kind, p.Text = chat.Thinking, o.textValue("thinking")
	case "redacted_thinking":
		p.Kind = chat.Thinking
	case "tool_use":
		p.Kind, p.ID, p.Name, p.Args = chat.Call, o.textValue("id"), o.textValue("name"), o.rawValue("input")
	case "image":
		p.Kind, p.Image = chat.Image, imageSource(parseObject(o.rawValue("source")))
	case "tool_result":
		return readResult(o)
	default:
		if p = readServerTool(o); p.Kind == "" {
			p = readBlock(raw)
		}
	}
	return []chat.Part{p}
}

func imageSource(o jsonObject) *chat.Picture {
	return &chat.Picture{MediaType: o.textValue("media_type"), Data: o.textValue("data"), URL: o.textValue("url")}
}

func readResult(o jsonObject) []chat.Part {
	p := chat.Part{Kind: chat.Result, ID: o.textValue("tool_use_id"), Error: o.rawValue("is_error") == "true", Raw: o.raw}
	content := o.rawValue("content")
	if beginsWithAny(content, `"`) {
		p.Text = unquoteText(content)
		return []chat.Part{p}
	}
	var texts []string
	parts := []chat.Part{p}
	for start, end := range elements(content) {
		in := readAnthropicBlock(content[start:end])[0]
		switch {
		case in.Kind == chat.Image || in.Kind == chat.Opaque:
			parts = append(parts, in)
		case in.Text != "":
			texts = append(texts, in.Text)
		}
	}
	parts[0].Text = strings.Join(texts, "\n")
	return parts
}

// sanitizeCallID returns id with an underscore for every character that the API
// rejects.
func sanitizeCallID(id string) string {
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, id)
}

// joinsResults puts the results of one assistant message, and the user message
// after them, into one object.
func joinsResults(group []chat.Message, next chat.Message) bool {
	return group[len(group)-1].Role == chat.Tool && (next.Role == chat.Tool || next.Role == chat.User)
}
