package wire

import (
	"cmp"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

func matchSWEAgent(p probe) int {
	if p.shape != object || len(p.values) == 0 {
		return 0
	}
	v := p.values[0]
	first, _ := firstOfList(v.fields["history"])
	if m := peekValue(first); m.hasMember("role") && m.hasMember("content") {
		return 90
	}
	first, _ = firstOfList(v.fields["trajectory"])
	if step := peekValue(first); step.hasMember("action") && step.hasMember("observation") {
		return 90
	}
	return 0
}

func matchMiniSWEAgent(p probe) int {
	switch {
	case p.shape == object && len(p.values) > 0:
		v := p.values[0]
		if v.hasValueKind("messages", "[") && (strings.HasPrefix(v.stringValue("trajectory_format"), "mini-swe-agent") || v.memberValue("info").hasMember("exit_status")) {
			return 90
		}
	case p.shape == array:
		for _, v := range p.values {
			if v.stringValue("role") == "user" && strings.HasPrefix(v.stringValue("content"), "<returncode>") {
				return 75
			}
		}
	}
	return 0
}

func decodeSWEAgent(src *source) ([]Conversation, error) {
	doc, err := src.document()
	if err != nil {
		return nil, err
	}
	v := peekValue(doc.raw)
	c := Conversation{Format: "sweagent"}
	var l messageLog
	if history := v.listValue("history"); len(history) > 0 {
		l.agentMessages(history)
		return l.singleConversation(c), nil
	}
	for _, step := range v.listValue("trajectory") {
		l.appendText("", chat.Assistant, step.stringValue("response"))
		l.appendUserNote("", step.stringValue("observation"))
	}
	return l.singleConversation(c), nil
}

func decodeMiniSWEAgent(src *source) ([]Conversation, error) {
	doc, err := src.document()
	if err != nil {
		return nil, err
	}
	v := peekValue(doc.raw)
	messages := v.listValue("messages")
	if v.fields == nil {
		messages = elementsOf(v.raw)
	}
	c := Conversation{Format: "minisweagent", Model: v.memberValue("info").memberValue("config").memberValue("model").stringValue("model_name")}
	var l messageLog
	l.agentMessages(messages)
	return l.singleConversation(c), nil
}

// agentMessages appends messages of a benchmark agent in OpenAI's form; a result
// may name its calls in a list. User messages after the first answer are
// observations, and those before it demonstrations: nobody typed them.
func (l *messageLog) agentMessages(messages []peek) {
	answered := false
	for _, r := range messages {
		m := chat.Message{ID: r.stringValue("id"), Role: chat.Role(r.stringValue("role"))}
		switch m.Role {
		case chat.System, chat.Developer:
			m.Parts = textParts(r.fields["content"])
		case chat.Assistant:
			m.Parts = l.agentParts(r)
			answered = true
		case chat.Tool:
			l.agentResult(r)
			continue
		case chat.User:
			m.Machine = answered || r.boolValue("is_demo")
			m.Parts = textParts(r.fields["content"])
		default:
			continue // the outcome of the run
		}
		l.appendMessage(m)
	}
}

// readApart are the types of an assistant's blocks that are repeated in its
// message: as thinking, and as calls.
var readApart = []string{"thinking", "redacted_thinking", "reasoning", "tool_use"}

func (l *messageLog) agentParts(r peek) []chat.Part {
	var parts []chat.Part
	for _, b := range r.listValue("thinking_blocks") {
		parts = append(parts, chat.Part{Kind: chat.Thinking, Text: b.stringValue("thinking")})
	}
	if len(parts) == 0 {
		parts = append(parts, chat.Part{Kind: chat.Thinking, Text: r.stringValue("reasoning_content")})
	}
	parts = append(parts, textParts(r.fields["content"], readApart...)...)
	for _, t := range r.listValue("tool_calls") {
		f := t.memberValue("function")
		id := l.calls.assignCallID(t.stringValue("id"), f.stringValue("name"))
		parts = append(parts, chat.Part{Kind: chat.Call, ID: id, Name: f.stringValue("name"), Args: argumentsText(f.fields["arguments"])})
	}
	return parts
}

func (l *messageLog) agentResult(r peek) {
	text, images := resultParts(r.fields["content"])
	ids := r.listValue("tool_call_ids")
	if len(ids) == 0 {
		ids = []peek{peekValue(cmp.Or(r.fields["tool_call_id"], `""`))}
	}
	for i, id := range ids {
		p := chat.Part{ID: l.calls.resultCallID(id.ownString(), r.stringValue("name")), Name: r.stringValue("name"), Text: text}
		if i > 0 { // one text that answers several calls
			p.Text, images = "", nil
		}
		l.appendResult("", p, images)
	}
}
