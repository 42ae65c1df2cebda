package wire

import (
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

func responses() format {
	return format{
		name:   "responses",
		about:  "OpenAI Responses items or request body",
		match:  matchResponses,
		decode: decodeResponses,
	}
}

func matchResponses(p probe) int {
	switch {
	case p.shape == object && len(p.values) > 0:
		v := p.values[0]
		if v.is("input", `["`) && !v.has("messages") && (v.has("model") || v.has("instructions") || v.is("input", "[")) {
			return 85
		}
		if v.text("object") == "response" && v.is("output", "[") {
			return 85
		}
	case p.shape == array:
		if slices.ContainsFunc(p.values, isItem) {
			return 85
		}
	}
	return 0
}

// isItem reports whether v is of a kind that only the Responses API has.
func isItem(v peek) bool {
	switch v.text("type") {
	case "function_call", "custom_tool_call", "local_shell_call":
		return !v.has("message")
	case "function_call_output", "custom_tool_call_output":
		return true
	case "message":
		return v.has("role") && v.has("content")
	}
	for _, b := range v.list("content") {
		if kind := b.text("type"); kind == "input_text" || kind == "output_text" {
			return true
		}
	}
	return false
}

func decodeResponses(src *source) ([]Conversation, error) {
	doc, err := src.document()
	if err != nil {
		return nil, err
	}
	body := peekAt(doc.raw)
	c := Conversation{Format: "responses", Model: body.text("model"), Tools: functionsOf(body.fields["tools"])}
	var s itemLog
	s.say("", chat.System, body.text("instructions"))
	history := body.fields["input"]
	switch {
	case body.fields == nil:
		history = body.raw
	case history == "":
		history = body.fields["output"]
	}
	for _, it := range blocksIn(history) {
		s.item(it)
	}
	s.flush()
	return s.one(c), nil
}

// An itemLog gathers items of the Responses API: what the model put out in a
// row (reasoning, text, calls) is one message.
type itemLog struct {
	log
	turn chat.Message // the model's output so far; no parts where there is none
}

func (s *itemLog) output(id string, parts ...chat.Part) {
	if s.turn.ID == "" {
		s.turn.ID = id
	}
	s.turn.Parts = append(s.turn.Parts, parts...)
}

func (s *itemLog) flush() {
	s.turn.Role = chat.Assistant
	s.add(s.turn)
	s.turn = chat.Message{}
}

// item adds one item. What runs on the server alone (a search, an image) and
// what is only known encrypted is left out.
func (s *itemLog) item(it peek) {
	kind := it.text("type")
	switch kind {
	case "", "message":
		s.message(it)
	case "reasoning":
		s.output(it.text("id"), chat.Part{Kind: chat.Thinking, Text: reasoningText(it)})
	case "agent_message": // from another agent
		s.flush()
		s.add(chat.Message{ID: it.text("id"), Role: chat.User, Machine: true, Parts: textParts(it.fields["content"])})
	case "function_call", "custom_tool_call", "local_shell_call", "tool_search_call", "tool_call":
		s.call(kind, it)
	case "function_call_output", "custom_tool_call_output", "local_shell_call_output",
		"tool_search_output", "tool_result", "function_result":
		s.flush()
		s.result(it)
	case "mcp_call":
		s.call(kind, it)
		s.flush()
		s.result(it)
	}
}

func (s *itemLog) message(it peek) {
	content := it.fields["content"]
	if content == "" {
		content = it.fields["message"] // a client of 2025
	}
	if content == "" && strings.HasPrefix(it.raw, `"`) {
		content = it.raw
	}
	parts := textParts(content)
	role := chat.Role(it.text("role"))
	switch role {
	case chat.Assistant:
		s.output(it.text("id"), parts...)
		return
	case chat.System, chat.Developer:
	default:
		role = chat.User
	}
	s.flush()
	s.add(chat.Message{ID: it.text("id"), Role: role, Parts: parts})
}

func reasoningText(it peek) string {
	var texts []string
	for _, key := range []string{"summary", "content"} {
		for _, b := range blocksIn(it.fields[key]) {
			if text, ok := plainText(b); ok && text != "" {
				texts = append(texts, text)
			}
		}
	}
	return strings.Join(texts, "\n")
}

func (s *itemLog) call(kind string, it peek) {
	p := chat.Part{Kind: chat.Call, Name: it.text("name"), Args: argsIn(it.fields["arguments"])}
	if p.Name == "" {
		p.Name = it.at("function").text("name")
	}
	switch kind {
	case "custom_tool_call":
		p.Args = inputArgs(it.text("input"))
	case "local_shell_call":
		p.Name, p.Args = "local_shell", argsIn(it.fields["action"])
	case "tool_search_call":
		p.Name = "tool_search"
	}
	p.ID = s.calls.call(itemCall(it), p.Name)
	s.output(it.text("id"), p)
}

// itemCall returns the id that pairs a call and its result.
func itemCall(it peek) string {
	if id := it.text("call_id"); id != "" {
		return id
	}
	return it.text("id")
}

func (s *itemLog) result(it peek) {
	content := it.fields["output"]
	for _, key := range []string{"result", "tools", "error"} {
		if content == "" || content == "null" {
			content = it.fields[key]
		}
	}
	p := chat.Part{ID: s.calls.result(itemCall(it), it.text("name"))}
	p.Error = it.set("error") || it.at("output").fields["success"] == "false"
	if wrapped := it.at("output"); wrapped.has("content") { // {content, success}
		content = wrapped.fields["content"]
	}
	text, images := resultParts(content)
	p.Text = text
	s.answer("", p, images)
}
