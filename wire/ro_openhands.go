package wire

import (
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

func openHands() format {
	return format{
		name:   "openhands",
		about:  "OpenHands trajectory (V0 list, V1 events as JSON lines or list)",
		match:  matchOpenHands,
		decode: decodeOpenHands,
	}
}

func matchOpenHands(p probe) int {
	for _, v := range p.values {
		if isEvent(v) {
			return 90
		}
		for _, key := range []string{"history", "trajectory", "events"} {
			if events := v.list(key); len(events) > 0 && isEvent(events[0]) {
				return 90
			}
		}
	}
	return 0
}

// isEvent reports whether v is an event of either version.
func isEvent(v peek) bool {
	return v.has("source") && v.has("id") && (v.has("action") || v.has("observation") || v.has("kind") && v.has("timestamp"))
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
			s.note("", summary)
		}
		if gone[firstText(e.text("action_id"), e.fields["cause"])] || gone[eventID(e)] {
			continue
		}
		if e.has("kind") {
			s.event(e)
		} else {
			s.step(e)
		}
	}
	if at >= len(view) {
		s.note("", summary)
	}
	return s.one(s.Conversation), nil
}

func openHandsEvents(src *source) ([]peek, error) {
	if look(src).shape == array {
		doc, err := src.document()
		return listIn(doc.raw), err
	}
	all, err := records(src)
	if err != nil || len(all) != 1 {
		return all, err
	}
	for _, key := range []string{"history", "trajectory", "events"} {
		if all[0].is(key, "[") {
			return all[0].list(key), nil
		}
	}
	return all, nil
}

func eventID(e peek) string { return firstText(e.text("id"), e.fields["id"]) }

// An eventLog gathers the messages of events. Calls of one response of the
// model are one message.
type eventLog struct {
	log
	Conversation
	responses map[string]int // by response: its message
}

// call appends a call, to the message of its response where that is there.
func (s *eventLog) call(response string, m chat.Message) {
	if i, ok := s.responses[response]; ok && response != "" {
		s.messages[i].Parts = append(s.messages[i].Parts, withContent(m.Parts)...)
		return
	}
	before := len(s.messages)
	m.Role = chat.Assistant
	s.add(m)
	if len(s.messages) > before && m.HasCalls() {
		s.responses[response] = before
	}
}

// step adds an event of V0: an action of someone, or what came of one.
func (s *eventLog) step(e peek) {
	meta := e.at("tool_call_metadata")
	if model := meta.at("model_response").text("model"); model != "" {
		s.Model = model
	}
	args := e.at("args")
	switch action := e.text("action"); {
	case e.has("observation"):
		s.observation(e, meta)
	case action == "system":
		s.say(eventID(e), chat.System, args.text("content"))
		s.Tools = functionsOf(args.fields["tools"])
	case action == "recall":
	case action == "message" && e.text("source") == "user":
		m := chat.NewText(chat.User, args.text("content"))
		m.ID = eventID(e)
		for _, url := range args.list("image_urls") {
			if p := linked(url.str(), ""); p != nil {
				m.Parts = append(m.Parts, chat.Part{Kind: chat.Image, Image: p})
			}
		}
		s.add(m)
	case action == "message":
		s.say(eventID(e), chat.Assistant, args.text("content"))
	case action == "finish": // sent as what the agent said, never as a call
		s.say(eventID(e), chat.Assistant, joinTexts(args.text("thought"), args.text("final_thought")))
	case e.text("source") == "user":
		s.note(eventID(e), e.text("message"))
	default:
		s.action(e, meta)
	}
}

func joinTexts(texts ...string) string {
	texts = slices.DeleteFunc(texts, func(t string) bool { return strings.TrimSpace(t) == "" })
	return strings.Join(texts, "\n")
}

// action adds what the agent did, as the call that the model made.
func (s *eventLog) action(e, meta peek) {
	args := e.at("args")
	response := meta.at("model_response")
	m := chat.Message{ID: eventID(e)}
	p := chat.Part{Kind: chat.Call, Name: meta.text("function_name"), ID: meta.text("tool_call_id")}
	for _, choice := range response.list("choices") {
		said := choice.at("message")
		if _, ok := s.responses[response.text("id")]; !ok {
			m.Parts = append(m.Parts, chat.Part{Kind: chat.Thinking, Text: said.text("reasoning_content")})
			m.Parts = append(m.Parts, textParts(said.fields["content"], readApart...)...)
		}
		for _, t := range said.list("tool_calls") {
			if t.text("id") == p.ID {
				p.Args = argsIn(t.at("function").fields["arguments"])
			}
		}
	}
	if meta.fields == nil { // written as text, or not by a model
		p.Name, p.ID = e.text("action"), "event_"+eventID(e)
		m.Parts = append(m.Parts, chat.Part{Kind: chat.Text, Text: args.text("thought")})
	}
	if p.Args == "" {
		p.Args = argsIn(args.raw)
	}
	m.Parts = append(m.Parts, p)
	s.call(response.text("id"), m)
}

// observation adds what came of an action, with what the program says about it.
func (s *eventLog) observation(e, meta peek) {
	if e.text("observation") == "recall" {
		return
	}
	text := e.text("content")
	if about := e.at("extras").at("metadata"); e.text("observation") == "run" {
		text = about.text("prefix") + text + about.text("suffix")
		if dir := about.text("working_dir"); dir != "" {
			text += "\n[Current working directory: " + dir + "]"
		}
		if python := about.text("py_interpreter_path"); python != "" {
			text += "\n[Python interpreter: " + python + "]"
		}
		if code := about.fields["exit_code"]; code != "" && code != "-1" {
			text += "\n[Command finished with exit code " + code + "]"
		}
	}
	failed := e.text("observation") == "error"
	switch {
	case meta.fields != nil:
		s.answer(eventID(e), chat.Part{ID: meta.text("tool_call_id"), Name: meta.text("function_name"), Text: text, Error: failed}, nil)
	case e.has("cause") && e.text("source") == "agent":
		s.answer(eventID(e), chat.Part{ID: "event_" + e.fields["cause"], Name: e.text("observation"), Text: text, Error: failed}, nil)
	default:
		s.note(eventID(e), text)
	}
}
