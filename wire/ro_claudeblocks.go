package wire

import "github.com/tiercompact/tiercompact/chat"

func (s *claudeSession) emitRecord(i int) {
	switch r := s.records[i]; r.stringValue("type") {
	case "user":
		s.emitUserRecord(i)
	case "assistant":
		kin := []int{i}
		if first, ok := s.family[s.apiMessageID(i)]; ok {
			if first != i {
				return // it is in the first
			}
			kin = s.kin[first]
		}
		s.assistant(kin)
	case "tool_use": // a client of 2025
		id := s.log.calls.assignCallID(r.stringValue("id"), r.stringValue("name"))
		s.log.appendMessage(chat.Message{ID: r.stringValue("uuid"), Role: chat.Assistant, Parts: []chat.Part{
			{Kind: chat.Call, ID: id, Name: r.stringValue("name"), Args: argumentsText(r.fields["input"])},
		}})
	case "tool_result":
		text, images := resultParts(r.fields["output"])
		id := s.log.calls.resultCallID(r.stringValue("tool_use_id"), r.stringValue("name"))
		s.log.appendResult(r.stringValue("uuid"), chat.Part{ID: id, Text: text}, images)
	case "attachment":
		if a := r.memberValue("attachment"); a.stringValue("type") == "queued_command" {
			m := chat.Message{ID: r.stringValue("uuid"), Role: chat.User, Parts: textParts(a.fields["prompt"])}
			m.Machine = a.hasNonNull("commandMode") && a.stringValue("commandMode") != "prompt"
			s.log.appendMessage(m)
		}
	}
}

// assistant emits one API message, and the results that are outside the path.
func (s *claudeSession) assistant(kin []int) {
	if s.records[kin[0]].boolValue("isApiErrorMessage") {
		return // the client's own words, never sent
	}
	m := chat.Message{ID: s.records[kin[0]].stringValue("uuid"), Role: chat.Assistant}
	mine := make(map[string]bool)
	for _, i := range kin {
		for _, p := range assistantParts(s.records[i].memberValue("message").fields["content"], &s.log.calls) {
			if p.Kind == chat.Call {
				mine[p.ID] = true
			}
			m.Parts = append(m.Parts, p)
		}
	}
	s.log.appendMessage(m)
	for _, i := range kin {
		for _, at := range s.late[i] {
			for _, b := range s.records[at].memberValue("message").listValue("content") {
				if id := b.stringValue("tool_use_id"); mine[id] && !s.paired[id] {
					s.paired[id] = true
					s.emitToolResult(at, b)
				}
			}
		}
	}
}

// emitUserRecord emits a user's record: its results, then the rest.
func (s *claudeSession) emitUserRecord(i int) {
	r := s.records[i]
	if r.boolValue("isVisibleInTranscriptOnly") && !r.boolValue("isCompactSummary") {
		return
	}
	content := r.memberValue("message").fields["content"]
	kind := r.memberValue("origin").stringValue("kind")
	m := chat.Message{ID: r.stringValue("uuid"), Role: chat.User, Parts: textParts(content, "tool_result")}
	m.Machine = r.boolValue("isMeta") || r.boolValue("isCompactSummary") || kind != "" && kind != "human"
	for _, b := range elementsOf(content) {
		if b.stringValue("type") == "tool_result" {
			s.emitToolResult(i, b)
		}
	}
	s.log.appendMessage(m)
}

// clearedResult replaces an old result that the client no longer sent.
const clearedResult = "[Old tool result content cleared]"

func (s *claudeSession) emitToolResult(i int, b peek) {
	text, images := resultParts(b.fields["content"])
	if at, ok := s.cleared[b.stringValue("tool_use_id")]; ok && i < at {
		text, images = clearedResult, nil
	}
	id := s.log.calls.resultCallID(b.stringValue("tool_use_id"), "")
	s.log.appendResult(s.records[i].stringValue("uuid"), chat.Part{ID: id, Text: text, Error: b.boolValue("is_error")}, images)
}

// assistantParts returns the parts of an Anthropic assistant content, without
// thinking that is encrypted.
func assistantParts(content string, calls *callIDAssigner) []chat.Part {
	var parts []chat.Part
	for _, b := range blocksIn(content) {
		switch b.stringValue("type") {
		case "thinking":
			parts = append(parts, chat.Part{Kind: chat.Thinking, Text: b.stringValue("thinking")})
		case "tool_use":
			id := calls.assignCallID(b.stringValue("id"), b.stringValue("name"))
			parts = append(parts, chat.Part{Kind: chat.Call, ID: id, Name: b.stringValue("name"), Args: argumentsText(b.fields["input"])})
		case "redacted_thinking", "reasoning", "thoughtSignature":
		default:
			if p := readServerTool(parseObject(b.raw)); p.Kind != "" {
				p.Raw, p.Args = "", argumentsObject(p)
				parts = append(parts, p)
			} else {
				parts = append(parts, textParts(b.raw)...)
			}
		}
	}
	return parts
}
