package wire

import (
	"cmp"
	"slices"
	"strconv"
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

// openHandsView returns the events that the model saw, and the summary that is
// before view[at]: not those that a condensation forgets. at is -1 if there is no
// summary.
func openHandsView(events []peek) (view []peek, summary string, at int) {
	var f forgotten
	at = -1
	for _, e := range events {
		if e.stringValue("kind") == "Condensation" {
			f.addCondensation(e)
		} else if e.stringValue("action") == "condensation" {
			f.addCondensation(e.memberValue("args"))
			e = e.memberValue("args")
		} else {
			continue
		}
		if text := e.stringValue("summary"); text != "" {
			summary = text
			at, _ = strconv.Atoi(e.fields["summary_offset"])
		}
	}
	f.mergeRanges()
	for _, e := range events {
		if isSentToModel(e) && !f.isForgotten(e) {
			view = append(view, e)
		}
	}
	return view, summary, at
}

// isSentToModel reports whether events of this kind are part of the history: states of
// the program and condensations are not.
func isSentToModel(e peek) bool {
	switch cmp.Or(e.stringValue("kind"), e.stringValue("action"), e.stringValue("observation")) {
	case "ConversationStateUpdateEvent", "PauseEvent", "Condensation", "CondensationRequest",
		"condensation", "condensation_request", "change_agent_state", "agent_state_changed", "null":
		return false
	}
	return true
}

// forgotten is the set of events that condensations removed, by id or range of ids.
type forgotten struct {
	ids    map[string]bool // raw ids, or the text of ids
	ranges [][2]int64      // inclusive; sorted and disjoint after mergeRanges
}

func (f *forgotten) addCondensation(c peek) {
	for _, id := range c.listValue("forgotten_event_ids") {
		if f.ids == nil {
			f.ids = make(map[string]bool)
		}
		f.ids[cmp.Or(id.ownString(), id.raw)] = true
	}
	from, err := strconv.ParseInt(c.fields["forgotten_events_start_id"], 10, 64)
	to, err2 := strconv.ParseInt(c.fields["forgotten_events_end_id"], 10, 64)
	if err == nil && err2 == nil && from <= to {
		f.ranges = append(f.ranges, [2]int64{from, to})
	}
}

// mergeRanges sorts the ranges and joins those that overlap.
func (f *forgotten) mergeRanges() {
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

func (f *forgotten) isForgotten(e peek) bool {
	raw := e.fields["id"]
	if f.ids[cmp.Or(e.stringValue("id"), raw)] {
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

// goneHalves returns the actions that were forgotten without their observation, and
// vice versa: OpenHands then sends neither.
func goneHalves(events, view []peek) map[string]bool {
	inView := make(map[string]bool) // by event
	for _, e := range events {
		inView[openHandsEventID(e)] = false
	}
	for _, e := range view {
		inView[openHandsEventID(e)] = true
	}
	gone := make(map[string]bool)
	for _, e := range events {
		action := cmp.Or(e.stringValue("action_id"), e.fields["cause"])
		if shown, ok := inView[action]; ok && isSentToModel(e) && shown != inView[openHandsEventID(e)] {
			gone[action] = true
		}
	}
	return gone
}
