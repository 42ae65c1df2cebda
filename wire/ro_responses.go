package wire

import (
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

func matchResponses(p probe) int {
	switch {
	case p.shape == object && len(p.values) > 0:
		v := p.values[0]
		if v.hasValueKind("input", `["`) && !v.hasMember("messages") && (v.hasMember("model") || v.hasMember("instructions") || v.hasValueKind("input", "[")) {
			return 85
		}
		if v.stringValue("object") == "response" && v.hasValueKind("output", "[") {
			return 85
		}
	case p.shape == array:
		if slices.ContainsFunc(p.values, func(v peek) bool {
			return isResponsesItem(v) || v.stringValue("type") == "reasoning" && v.hasValueKind("summary", "[")
		}) {
			return 85
		}
	}
	return 0
}

// isResponsesItem reports whether v is of a kind that only the Responses API has.
func isResponsesItem(v peek) bool {
	switch kind := v.stringValue("type"); kind {
	case "function_call", "custom_tool_call", "local_shell_call":
		return !v.hasMember("message")
	case "function_call_output", "custom_tool_call_output", "local_shell_call_output",
		"web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call",
		"computer_call", "computer_call_output", "shell_call_output", "apply_patch_call", "apply_patch_call_output",
		"mcp_call", "mcp_list_tools", "mcp_approval_request", "mcp_approval_response", "tool_search_output":
		return true
	case "shell_call":
		return v.hasMember("call_id") && v.hasValueKind("action", "{")
	case "tool_search_call":
		return v.hasMember("execution") || v.hasMember("status")
	case "message":
		return v.hasMember("role") && v.hasMember("content")
	case "compaction":
		return v.hasValueKind("encrypted_content", `"`)
	}
	for _, b := range v.listValue("content") {
		if kind := b.stringValue("type"); kind == "input_text" || kind == "output_text" {
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
	body := peekValue(doc.raw)
	c := Conversation{Format: "responses", Model: body.stringValue("model"), Tools: functionsOf(body.fields["tools"])}
	var s itemLog
	s.appendText("", chat.System, body.stringValue("instructions"))
	history := body.fields["input"]
	switch {
	case body.fields == nil:
		history = body.raw
	case history == "":
		history = body.fields["output"]
	}
	for _, it := range blocksIn(history) {
		s.addResponseItem(it)
	}
	s.flushItems()
	return s.singleConversation(c), nil
}

// An itemLog collects items of the Responses API: consecutive output of the model
// (reasoning, text, calls) is one message.
type itemLog struct {
	messageLog
	turn     chat.Message      // the model's current output; no parts if there is none
	callOf   map[string]string // the id of an item → the id that pairs its call
	hosted   int               // calls that the API ran without an id
	searches []string          // calls of the newest tool searches, without a result and without an id to pair them
}

func (s *itemLog) addOutput(id string, parts ...chat.Part) {
	if s.turn.ID == "" {
		s.turn.ID = id
	}
	s.turn.Parts = append(s.turn.Parts, parts...)
}

func (s *itemLog) flushItems() {
	s.turn.Role = chat.Assistant
	s.appendMessage(s.turn)
	s.turn = chat.Message{}
}

// addResponseItem adds one item.
func (s *itemLog) addResponseItem(it peek) {
	it = withoutVariants(it)
	kind := it.stringValue("type")
	if kind != "tool_search_call" && kind != "tool_search_output" {
		s.searches = nil
	}
	switch {
	case kind == "", kind == "message":
		s.addMessageItem(it)
	case kind == "reasoning":
		s.addOutput(it.stringValue("id"), chat.Part{Kind: chat.Thinking, Text: reasoningText(it)})
	case kind == "agent_message": // from another agent
		s.flushItems()
		s.appendMessage(chat.Message{ID: it.stringValue("id"), Role: chat.User, Machine: true, Parts: textParts(it.fields["content"])})
	case isOutputItem(kind):
		s.flushItems()
		s.addResultItem(kind, it)
	case isCallItem(kind):
		s.addCallItem(kind, it)
	case kind == "ghost_snapshot": // internal to Codex
	default:
		s.addOpaqueItem(it)
	}
}

// addOpaqueItem adds an item that is unknown or not readable, unchanged. Without a
// role it is the model's.
func (s *itemLog) addOpaqueItem(it peek) {
	switch role := chat.Role(it.stringValue("role")); role {
	case chat.System, chat.Developer, chat.User:
		s.flushItems()
		s.appendMessage(chat.Message{ID: it.stringValue("id"), Role: role, Machine: true, Parts: opaqueParts(it)})
	default:
		s.addOutput(it.stringValue("id"), opaqueParts(it)...)
	}
}

func (s *itemLog) addMessageItem(it peek) {
	content := it.fields["content"]
	if content == "" {
		content = it.fields["message"] // a client of 2025
	}
	if content == "" && strings.HasPrefix(it.raw, `"`) {
		content = it.raw
	}
	parts := textParts(content)
	role := chat.Role(it.stringValue("role"))
	switch role {
	case chat.Assistant:
		s.addOutput(it.stringValue("id"), parts...)
		return
	case chat.System, chat.Developer:
	default:
		role = chat.User
	}
	s.flushItems()
	s.appendMessage(chat.Message{ID: it.stringValue("id"), Role: role, Parts: parts})
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
