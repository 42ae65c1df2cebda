package wire

import "github.com/tiercompact/tiercompact/chat"

func (s *claudeSession) emit(i int) {
	switch r := s.records[i]; r.text("type") {
	case "user":
		s.user(i)
	case "assistant":
		kin := []int{i}
		if first, ok := s.family[s.apiID(i)]; ok {
			if first != i {
				return // it went with the first
			}
			kin = s.kin[first]
		}
		s.assistant(kin)
	case "tool_use": // a client of 2025
		id := s.log.calls.call(r.text("id"), r.text("name"))
		s.log.add(chat.Message{ID: r.text("uuid"), Role: chat.Assistant, Parts: []chat.Part{
			{Kind: chat.Call, ID: id, Name: r.text("name"), Args: argsIn(r.fields["input"])},
		}})
	case "tool_result":
		text, images := resultParts(r.fields["output"])
		id := s.log.calls.result(r.text("tool_use_id"), r.text("name"))
		s.log.answer(r.text("uuid"), chat.Part{ID: id, Text: text}, images)
	case "attachment":
		if a := r.at("attachment"); a.text("type") == "queued_command" {
			m := chat.Message{ID: r.text("uuid"), Role: chat.User, Parts: textParts(a.fields["prompt"])}
			m.Machine = a.set("commandMode") && a.text("commandMode") != "prompt"
			s.log.add(m)
		}
	}
}

// assistant emits one API message, and the results that stand beside the path.
func (s *claudeSession) assistant(kin []int) {
	if s.records[kin[0]].flag("isApiErrorMessage") {
		return // the client's own words, never sent
	}
	m := chat.Message{ID: s.records[kin[0]].text("uuid"), Role: chat.Assistant}
	mine := make(map[string]bool)
	for _, i := range kin {
		for _, p := range assistantParts(s.records[i].at("message").fields["content"], &s.log.calls) {
			if p.Kind == chat.Call {
				mine[p.ID] = true
			}
			m.Parts = append(m.Parts, p)
		}
	}
	s.log.add(m)
	for _, i := range kin {
		for _, at := range s.late[i] {
			for _, b := range s.records[at].at("message").list("content") {
				if id := b.text("tool_use_id"); mine[id] && !s.paired[id] {
					s.paired[id] = true
					s.result(at, b)
				}
			}
		}
	}
}

// user emits a user's record: first its results, then what else it says.
func (s *claudeSession) user(i int) {
	r := s.records[i]
	if r.flag("isVisibleInTranscriptOnly") && !r.flag("isCompactSummary") {
		return
	}
	content := r.at("message").fields["content"]
	kind := r.at("origin").text("kind")
	m := chat.Message{ID: r.text("uuid"), Role: chat.User, Parts: textParts(content, "tool_result")}
	m.Machine = r.flag("isMeta") || r.flag("isCompactSummary") || kind != "" && kind != "human"
	for _, b := range listIn(content) {
		if b.text("type") == "tool_result" {
			s.result(i, b)
		}
	}
	s.log.add(m)
}

// clearedResult stands where the client no longer sent an old result.
const clearedResult = "[Old tool result content cleared]"

func (s *claudeSession) result(i int, b peek) {
	text, images := resultParts(b.fields["content"])
	if at, ok := s.cleared[b.text("tool_use_id")]; ok && i < at {
		text, images = clearedResult, nil
	}
	id := s.log.calls.result(b.text("tool_use_id"), "")
	s.log.answer(s.records[i].text("uuid"), chat.Part{ID: id, Text: text, Error: b.flag("is_error")}, images)
}

// assistantParts returns the parts of an Anthropic assistant content. Thinking
// that is only known encrypted is left out.
func assistantParts(content string, calls *nameless) []chat.Part {
	var parts []chat.Part
	for _, b := range blocksIn(content) {
		switch b.text("type") {
		case "thinking":
			parts = append(parts, chat.Part{Kind: chat.Thinking, Text: b.text("thinking")})
		case "tool_use":
			id := calls.call(b.text("id"), b.text("name"))
			parts = append(parts, chat.Part{Kind: chat.Call, ID: id, Name: b.text("name"), Args: argsIn(b.fields["input"])})
		case "redacted_thinking", "reasoning", "thoughtSignature":
		default:
			if p := readServerTool(parse(b.raw)); p.Kind != "" {
				p.Raw, p.Args = "", argsOf(p)
				parts = append(parts, p)
			} else {
				parts = append(parts, textParts(b.raw)...)
			}
		}
	}
	return parts
}
