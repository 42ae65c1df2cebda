package wire

import "github.com/tiercompact/tiercompact/chat"

// event adds an event of V1.
func (s *eventLog) event(e peek) {
	id := eventID(e)
	switch e.text("kind") {
	case "SystemPromptEvent":
		s.add(chat.Message{ID: id, Role: chat.System, Parts: textParts(e.fields["system_prompt"])})
		s.Tools = functionsOf(e.fields["tools"])
	case "MessageEvent":
		s.spoken(e)
	case "ActionEvent":
		m := chat.Message{ID: id, Parts: []chat.Part{{Kind: chat.Thinking, Text: e.text("reasoning_content")}}}
		m.Parts = append(m.Parts, textParts(e.fields["thought"], readApart...)...)
		m.Parts = append(m.Parts, chat.Part{
			Kind: chat.Call,
			ID:   e.text("tool_call_id"),
			Name: e.text("tool_name"),
			Args: argsIn(firstOf(e.at("tool_call").fields["arguments"], e.at("tool_call").at("function").fields["arguments"], e.fields["action"])),
		})
		s.call(e.text("llm_response_id"), m)
	case "ObservationEvent":
		o := e.at("observation")
		text, images := resultParts(firstOf(o.fields["content"], o.fields["output"]))
		s.reply(e, chat.Part{Text: text, Error: o.flag("is_error")}, images)
	case "AgentErrorEvent":
		s.reply(e, chat.Part{Text: e.text("error"), Error: true}, nil)
	case "UserRejectObservation":
		s.reply(e, chat.Part{Text: "Action rejected: " + e.text("rejection_reason"), Error: true}, nil)
	case "CondensationSummaryEvent":
		s.note(id, e.text("summary"))
	}
}

func (s *eventLog) reply(e peek, p chat.Part, images []chat.Part) {
	p.ID, p.Name = e.text("tool_call_id"), e.text("tool_name")
	s.answer(eventID(e), p, images)
}

func (s *eventLog) spoken(e peek) {
	said := e.at("llm_message")
	m := chat.Message{ID: eventID(e), Role: chat.Role(said.text("role"))}
	m.Parts = append(m.Parts, chat.Part{Kind: chat.Thinking, Text: said.text("reasoning_content")})
	m.Parts = append(m.Parts, textParts(said.fields["content"], readApart...)...)
	m.Parts = append(m.Parts, textParts(e.fields["extended_content"])...)
	m.Machine = e.text("source") == "environment"
	if m.Role != chat.Assistant && m.Role != chat.System {
		m.Role = chat.User
	}
	s.add(m)
}
