package wire

import (
	"io"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

// anthropic is the Messages API: messages hold blocks, the results of tools
// are blocks of a user message, and the system prompt stands beside the list.
func anthropic() format {
	d := anthropicDialect()
	return format{
		name:   d.name,
		about:  "Anthropic Messages: a list of messages or a request body",
		write:  true,
		match:  func(p probe) int { return p.speaks(d.name) },
		decode: func(src *source) ([]Conversation, error) { return readChats(src, d) },
		encode: func(w io.Writer, c Conversation) error { return encodeChat(w, c, d) },
	}
}

func anthropicDialect() dialect {
	return dialect{
		name: "anthropic", read: readAnthropic, rewrite: rewriteAnthropic, fresh: freshAnthropic,
		joins: joinsResults, id: plainID, system: true,
	}
}

// readSystem returns the message that the system field of a body is.
func readSystem(body jsonObject) []chat.Message {
	raw := body.field("system")
	if !begins(raw, `"[`) {
		return nil
	}
	m := chat.Message{Role: chat.System, Source: &chat.Source{Format: "anthropic", JSON: raw, Count: 1}}
	m.Parts, _ = readContent(raw) // a string or a list, so it can be read
	classify(&m)
	return []chat.Message{m}
}

// readAnthropic returns the messages of an object: one for each tool result,
// and one for what else it holds.
func readAnthropic(o jsonObject) ([]chat.Message, error) {
	role, err := roleOf(o)
	if err != nil {
		return nil, err
	}
	rest := chat.Message{Role: role, Protected: protectedBy(o)}
	raw := o.field("content")
	if !begins(raw, "[") {
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
		messages[0].ID = o.text("id")
	}
	return messages, nil
}

// readAnthropicBlock returns the parts of a block: one, and for a tool result
// its images, and what of it is not understood, after it.
func readAnthropicBlock(raw string) []chat.Part {
	if raw[0] != '{' {
		return []chat.Part{readBlock(raw)}
	}
	o := parse(raw)
	p := chat.Part{Raw: raw}
	switch o.text("type") {
	case "thinking":
		p.Kind, p.Text = chat.Thinking, o.text("thinking")
	case "redacted_thinking":
		p.Kind = chat.Thinking
	case "tool_use":
		p.Kind, p.ID, p.Name, p.Args = chat.Call, o.text("id"), o.text("name"), o.field("input")
	case "image":
		p.Kind, p.Image = chat.Image, imageSource(parse(o.field("source")))
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
	return &chat.Picture{MediaType: o.text("media_type"), Data: o.text("data"), URL: o.text("url")}
}

func readResult(o jsonObject) []chat.Part {
	p := chat.Part{Kind: chat.Result, ID: o.text("tool_use_id"), Error: o.field("is_error") == "true", Raw: o.raw}
	content := o.field("content")
	if begins(content, `"`) {
		p.Text = unquote(content)
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

// plainID returns id with every character that the API refuses made an
// underscore.
func plainID(id string) string {
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, id)
}

// joinsResults puts the results of one assistant message, and the user message
// behind them, into one object.
func joinsResults(group []chat.Message, next chat.Message) bool {
	return group[len(group)-1].Role == chat.Tool && (next.Role == chat.Tool || next.Role == chat.User)
}
