package wire

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

func matchOpenHands(p probe) int {
	for _, v := range p.values {
		if isOpenHandsEvent(v) {
			return 90
		}
		for _, key := range []string{"history", "trajectory", "events"} {
			if events := v.listValue(key); len(events) > 0 && isOpenHandsEvent(events[0]) {
				return 90
			}
		}
	}
	return 0
}

// isOpenHandsEvent reports whether v is an event of either version.
func isOpenHandsEvent(v peek) bool {
	return v.hasMember("source") && v.hasMember("id") && (v.hasMember("action") || v.hasMember("observation") || v.hasMember("kind") && v.hasMember("timestamp"))
}

func decodeOpenHands(src *source) ([]Conversation, error) {
	events, err := openHandsEvents(src)
	if err != nil {
		return nil, err
	}
	s := eventLog{
		Conversation: Conversation{Format: "openhands"},
		responses:    make(map[string]int),
	}
	view, summary, at := openHandsView(events)
	gone := goneHalves(events, view)
	for i, e := range view {
		if i == at {
			s.appendUserNote("", summary)
		}
		if gone[cmp.Or(e.stringValue("action_id"), e.fields["cause"])] || gone[openHandsEventID(e)] {
			continue
		}
		if e.hasMember("kind") {
			s.addEventV1(e)
		} else {
			s.addEventV0(e)
		}
	}
	if at >= len(view) {
		s.appendUserNote("", summary)
	}
	return s.singleConversation(s.Conversation), nil
}

func openHandsEvents(src *source) ([]peek, error) {
	if probeSource(src).shape == array {
		doc, err := src.document()
		return elementsOf(doc.raw), err
	}
	all, err := jsonRecords(src)
	if err != nil || len(all) != 1 {
		return all, err
	}
	for _, key := range []string{"history", "trajectory", "events"} {
		if all[0].hasValueKind(key, "[") {
			return all[0].listValue(key), nil
		}
	}
	return all, nil
}

func openHandsEventID(e peek) string { return cmp.Or(e.stringValue("id"), e.fields["id"]) }

// An eventLog collects the messages of events. Calls of one response of the model
// form one message.
type eventLog struct {
	messageLog
	Conversation
	responses map[string]int // by response: its message
}

// appendCall appends a call, to the message of its response if that exists.
func (s *eventLog) appendCall(response string, m chat.Message) {
	if i, ok := s.responses[response]; ok && response != "" {
		s.messages[i].Parts = append(s.messages[i].Parts, withContent(m.Parts)...)
		return
	}
	before := len(s.messages)
	m.Role = chat.Assistant
	s.appendMessage(m)
	if len(s.messages) > before && m.HasCalls() {
		s.responses[response] = before
	}
}

// addEventV0 adds an event of V0: an action, or the result of one.
func (s *eventLog) addEventV0(e peek) {
	meta := e.memberValue("tool_call_metadata")
	if model := meta.memberValue("model_response").stringValue("model"); model != "" {
		s.Model = model
	}
	args := e.memberValue("args")
	switch action := e.stringValue("action"); {
	case e.hasMember("observation"):
		s.observation(e, meta)
	case action == "system":
		s.appendText(openHandsEventID(e), chat.System, args.stringValue("content"))
		s.Tools = functionsOf(args.fields["tools"])
	case action == "recall":
	case action == "message" && e.stringValue("source") == "user":
		m := chat.NewText(chat.User, args.stringValue("content"))
		m.ID = openHandsEventID(e)
		for _, url := range args.listValue("image_urls") {
			if p := pictureFromURL(url.ownString(), ""); p != nil {
				m.Parts = append(m.Parts, chat.Part{Kind: chat.Image, Image: p})
			}
		}
		s.appendMessage(m)
	case action == "message":
		s.appendText(openHandsEventID(e), chat.Assistant, args.stringValue("content"))
	case action == "finish": // sent as a text of the agent, never as a call
		s.appendText(openHandsEventID(e), chat.Assistant, joinTexts(args.stringValue("thought"), args.stringValue("final_thought")))
	case e.stringValue("source") == "user":
		s.appendUserNote(openHandsEventID(e), e.stringValue("message"))
	default:
		s.addAction(e, meta)
	}
}

func joinTexts(texts ...string) string {
	texts = slices.DeleteFunc(texts, func(t string) bool { return strings.TrimSpace(t) == "" })
	return strings.Join(texts, "\n")
}

// addAction adds an action of the agent, as the call that the model made.
func (s *eventLog) addAction(e, meta peek) {
	args := e.memberValue("args")
	response := meta.memberValue("model_response")
	m := chat.Message{ID: openHandsEventID(e)}
	p := chat.Part{Kind: chat.Call, Name: meta.stringValue("function_name"), ID: meta.stringValue("tool_call_id")}
	for _, choice := range response.listValue("choices") {
		said := choice.memberValue("message")
		if _, ok := s.responses[response.stringValue("id")]; !ok {
			m.Parts = append(m.Parts, chat.Part{Kind: chat.Thinking, Text: said.stringValue("reasoning_content")})
			m.Parts = append(m.Parts, textParts(said.fields["content"], readApart...)...)
		}
		for _, t := range said.listValue("tool_calls") {
			if t.stringValue("id") == p.ID {
				p.Args = argumentsText(t.memberValue("function").fields["arguments"])
			}
		}
	}
	if meta.fields == nil { // written as text, or not by a model
		p.Name, p.ID = e.stringValue("action"), "event_"+openHandsEventID(e)
		m.Parts = append(m.Parts, chat.Part{Kind: chat.Text, Text: args.stringValue("thought")})
	}
	if p.Args == "" {
		p.Args = argumentsText(args.raw)
	}
	m.Parts = append(m.Parts, p)
	s.appendCall(response.stringValue("id"), m)
}

// observation adds the result of an action, with the program's notes on it.
func (s *eventLog) observation(e, meta peek) {
	if e.stringValue("observation") == "recall" {
		return
	}
	text := e.stringValue("content")
	if about := e.memberValue("extras").memberValue("metadata"); e.stringValue("observation") == "run" {
		text = about.stringValue("prefix") + text + about.stringValue("suffix")
		if dir := about.stringValue("working_dir"); dir != "" {
			text += "\n[Current working directory: " + dir + "]"
		}
		if python := about.stringValue("py_interpreter_path"); python != "" {
			text += "\n[Python interpreter: " + python + "]"
		}
		if code := about.fields["exit_code"]; code != "" && code != "-1" {
			text += "\n[Command finished with exit code " + code + "]"
		}
	}
	failed := e.stringValue("observation") == "error"
	switch {
	case meta.fields != nil:
		s.appendResult(openHandsEventID(e), chat.Part{ID: meta.stringValue("tool_call_id"), Name: meta.stringValue("function_name"), Text: text, Error: failed}, nil)
	case e.hasMember("cause") && e.stringValue("source") == "agent":
		s.appendResult(openHandsEventID(e), chat.Part{ID: "event_" + e.fields["cause"], Name: e.stringValue("observation"), Text: text, Error: failed}, nil)
	default:
		s.appendUserNote(openHandsEventID(e), text)
	}
}
