package wire

import (
	"cmp"
	"slices"
	"strconv"
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

// openHandsView returns the events that the model saw, and the summary that
// stands before view[at]: not those that a condensation says are forgotten.
// at is -1 where there is no summary.
func openHandsView(events []peek) (view []peek, summary string, at int) {
	var f forgotten
	at = -1
	for _, e := range events {
		if e.text("kind") == "Condensation" {
			f.add(e)
		} else if e.text("action") == "condensation" {
			f.add(e.at("args"))
			e = e.at("args")
		} else {
			continue
		}
		if text := e.text("summary"); text != "" {
			summary = text
			at, _ = strconv.Atoi(e.fields["summary_offset"])
		}
	}
	f.settle()
	for _, e := range events {
		if sent(e) && !f.has(e) {
			view = append(view, e)
		}
	}
	return view, summary, at
}

// sent reports whether events of this kind are part of the history: states of
// the program and condensations are not.
func sent(e peek) bool {
	switch cmp.Or(e.text("kind"), e.text("action"), e.text("observation")) {
	case "ConversationStateUpdateEvent", "PauseEvent", "Condensation", "CondensationRequest",
		"condensation", "condensation_request", "change_agent_state", "agent_state_changed", "null":
		return false
	}
	return true
}

// forgotten is the events that condensations took out, by id or range of ids.
type forgotten struct {
	ids    map[string]bool // raw ids, or the text of ids
	ranges [][2]int64      // inclusive; sorted and apart once settled
}

func (f *forgotten) add(c peek) {
	for _, id := range c.list("forgotten_event_ids") {
		if f.ids == nil {
			f.ids = make(map[string]bool)
		}
		f.ids[firstText(id.str(), id.raw)] = true
	}
	from, err := strconv.ParseInt(c.fields["forgotten_events_start_id"], 10, 64)
	to, err2 := strconv.ParseInt(c.fields["forgotten_events_end_id"], 10, 64)
	if err == nil && err2 == nil && from <= to {
		f.ranges = append(f.ranges, [2]int64{from, to})
	}
}

// settle sorts the ranges and joins those that overlap.
func (f *forgotten) settle() {
	slices.SortFunc(f.ranges, func(a, b [2]int64) int { return cmp.Compare(a[0], b[0]) })
	var apart [][2]int64
	for _, r := range f.ranges {
		if n := len(apart); n > 0 && r[0] <= apart[n-1][1] {
			apart[n-1][1] = max(apart[n-1][1], r[1])
			continue
		}
		apart = append(apart, r)
	}
	f.ranges = apart
}

func (f *forgotten) has(e peek) bool {
	raw := e.fields["id"]
	if f.ids[firstText(e.text("id"), raw)] {
		return true
	}
	id, err := strconv.ParseInt(raw, 10, 64)
	if err != nil {
		return false
	}
	i, _ := slices.BinarySearchFunc(f.ranges, id, func(r [2]int64, id int64) int {
		if r[1] < id {
			return -1
		}
		return 1
	})
	return i < len(f.ranges) && f.ranges[i][0] <= id
}

// goneHalves returns the actions that were forgotten without their
// observation, or the other way round: OpenHands sends neither half then.
func goneHalves(events, view []peek) map[string]bool {
	inView := make(map[string]bool) // by event
	for _, e := range events {
		inView[eventID(e)] = false
	}
	for _, e := range view {
		inView[eventID(e)] = true
	}
	gone := make(map[string]bool)
	for _, e := range events {
		action := firstText(e.text("action_id"), e.fields["cause"])
		if shown, ok := inView[action]; ok && sent(e) && shown != inView[eventID(e)] {
			gone[action] = true
		}
	}
	return gone
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
			m.Parts = append(m.Parts, textParts(said.fields["content"])...)
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
		m.Parts = append(m.Parts, textParts(e.fields["thought"])...)
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
	m.Parts = append(m.Parts, textParts(said.fields["content"])...)
	m.Parts = append(m.Parts, textParts(e.fields["extended_content"])...)
	m.Machine = e.text("source") == "environment"
	if m.Role != chat.Assistant && m.Role != chat.System {
		m.Role = chat.User
	}
	s.add(m)
}
