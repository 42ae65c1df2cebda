package wire

import (
	"cmp"

	"github.com/tiercompact/tiercompact/chat"
)

// addEventV1 adds an event of V1.
func (s *eventLog) addEventV1(e peek) {
	id := openHandsEventID(e)
	switch e.stringValue("kind") {
	case "SystemPromptEvent":
		s.appendMessage(chat.Message{ID: id, Role: chat.System, Parts: textParts(e.fields["system_prompt"])})
		s.Tools = functionsOf(e.fields["tools"])
	case "MessageEvent":
		s.appendSpoken(e)
	case "ActionEvent":
		m := chat.Message{ID: id, Parts: []chat.Part{{Kind: chat.Thinking, Text: e.stringValue("reasoning_content")}}}
		m.Parts = append(m.Parts, textParts(e.fields["thought"], readApart...)...)
		m.Parts = append(m.Parts, chat.Part{
			Kind: chat.Call,
			ID:   e.stringValue("tool_call_id"),
			Name: e.stringValue("tool_name"),
			Args: argumentsText(cmp.Or(e.memberValue("tool_call").fields["arguments"], e.memberValue("tool_call").memberValue("function").fields["arguments"], e.fields["action"])),
		})
		s.appendCall(e.stringValue("llm_response_id"), m)
	case "ObservationEvent":
		o := e.memberValue("observation")
		text, images := resultParts(cmp.Or(o.fields["content"], o.fields["output"]))
		s.appendReply(e, chat.Part{Text: text, Error: o.boolValue("is_error")}, images)
	case "AgentErrorEvent":
		s.appendReply(e, chat.Part{Text: e.stringValue("error"), Error: true}, nil)
	case "UserRejectObservation":
		s.appendReply(e, chat.Part{Text: "Action rejected: " + e.stringValue("rejection_reason"), Error: true}, nil)
	case "CondensationSummaryEvent":
		s.appendUserNote(id, e.stringValue("summary"))
	}
}

func (s *eventLog) appendReply(e peek, p chat.Part, images []chat.Part) {
	p.ID, p.Name = e.stringValue("tool_call_id"), e.stringValue("tool_name")
	s.appendResult(openHandsEventID(e), p, images)
}

func (s *eventLog) appendSpoken(e peek) {
	said := e.memberValue("llm_message")
	m := chat.Message{ID: openHandsEventID(e), Role: chat.Role(said.stringValue("role"))}
	m.Parts = append(m.Parts, chat.Part{Kind: chat.Thinking, Text: said.stringValue("reasoning_content")})
	m.Parts = append(m.Parts, textParts(said.fields["content"], readApart...)...)
	m.Parts = append(m.Parts, textParts(e.fields["extended_content"])...)
	m.Machine = e.stringValue("source") == "environment"
	if m.Role != chat.Assistant && m.Role != chat.System {
		m.Role = chat.User
	}
	s.appendMessage(m)
}
