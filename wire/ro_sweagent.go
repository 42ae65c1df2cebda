package wire

import (
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

func sweAgent() format {
	return format{
		name:   "sweagent",
		about:  "SWE-agent trajectory (.traj)",
		match:  matchSWEAgent,
		decode: decodeSWEAgent,
	}
}

func miniSWEAgent() format {
	return format{
		name:   "minisweagent",
		about:  "mini-swe-agent trajectory",
		match:  matchMiniSWEAgent,
		decode: decodeMiniSWEAgent,
	}
}

func matchSWEAgent(p probe) int {
	if p.shape != object || len(p.values) == 0 {
		return 0
	}
	v := p.values[0]
	for start, end := range elements(v.fields["history"]) {
		if m := peekAt(v.fields["history"][start:end]); m.has("role") && m.has("content") {
			return 90
		}
		break
	}
	for start, end := range elements(v.fields["trajectory"]) {
		if step := peekAt(v.fields["trajectory"][start:end]); step.has("action") && step.has("observation") {
			return 90
		}
		break
	}
	return 0
}

func matchMiniSWEAgent(p probe) int {
	switch {
	case p.shape == object && len(p.values) > 0:
		v := p.values[0]
		if v.is("messages", "[") && (strings.HasPrefix(v.text("trajectory_format"), "mini-swe-agent") || v.at("info").has("exit_status")) {
			return 90
		}
	case p.shape == array:
		for _, v := range p.values {
			if v.text("role") == "user" && strings.HasPrefix(v.text("content"), "<returncode>") {
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
	v := peekAt(doc.raw)
	c := Conversation{Format: "sweagent"}
	var l log
	if history := v.list("history"); len(history) > 0 {
		l.agentMessages(history)
		return l.one(c), nil
	}
	for _, step := range v.list("trajectory") {
		l.say("", chat.Assistant, step.text("response"))
		l.note("", step.text("observation"))
	}
	return l.one(c), nil
}

func decodeMiniSWEAgent(src *source) ([]Conversation, error) {
	doc, err := src.document()
	if err != nil {
		return nil, err
	}
	v := peekAt(doc.raw)
	messages := v.list("messages")
	if v.fields == nil {
		messages = listIn(v.raw)
	}
	c := Conversation{Format: "minisweagent", Model: v.at("info").at("config").at("model").text("model_name")}
	var l log
	l.agentMessages(messages)
	return l.one(c), nil
}

// agentMessages appends messages of a benchmark agent: OpenAI's, where a result
// may name its calls in a list. What the user says after the first answer are
// observations, and demonstrations before it are not typed either.
func (l *log) agentMessages(messages []peek) {
	answered := false
	for _, r := range messages {
		m := chat.Message{ID: r.text("id"), Role: chat.Role(r.text("role"))}
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
			m.Machine = answered || r.flag("is_demo")
			m.Parts = textParts(r.fields["content"])
		default:
			continue // how the run ended
		}
		l.add(m)
	}
}

// readApart are the types of an assistant's blocks that stand in its message
// once more: as thinking, and as calls.
var readApart = []string{"thinking", "redacted_thinking", "reasoning", "tool_use"}

func (l *log) agentParts(r peek) []chat.Part {
	var parts []chat.Part
	for _, b := range r.list("thinking_blocks") {
		parts = append(parts, chat.Part{Kind: chat.Thinking, Text: b.text("thinking")})
	}
	if len(parts) == 0 {
		parts = append(parts, chat.Part{Kind: chat.Thinking, Text: r.text("reasoning_content")})
	}
	parts = append(parts, textParts(r.fields["content"], readApart...)...)
	for _, t := range r.list("tool_calls") {
		f := t.at("function")
		id := l.calls.call(t.text("id"), f.text("name"))
		parts = append(parts, chat.Part{Kind: chat.Call, ID: id, Name: f.text("name"), Args: argsIn(f.fields["arguments"])})
	}
	return parts
}

func (l *log) agentResult(r peek) {
	text, images := resultParts(r.fields["content"])
	ids := r.list("tool_call_ids")
	if len(ids) == 0 {
		ids = []peek{peekAt(firstOf(r.fields["tool_call_id"], `""`))}
	}
	for i, id := range ids {
		p := chat.Part{ID: l.calls.result(id.str(), r.text("name")), Name: r.text("name"), Text: text}
		if i > 0 { // one text that answers several calls
			p.Text, images = "", nil
		}
		l.answer("", p, images)
	}
}
