package proxy

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// A responsesRecall reads events of /v1/responses, or one document. The items of later
// answers continue those of the first, and so do the numbers of their events.
type responsesRecall struct {
	held
	stream bool
	later  bool              // the answer is not the first
	shift  int               // items that the client has from the answers before
	passed int               // items of this answer that the client has
	next   int               // number of the next event
	items  []json.RawMessage // of this answer, before its first call
	own    []json.RawMessage // its calls of recall
	before []json.RawMessage // items of the answers before, which the last event repeats
	open   openText
	ending []byte // event that ends the open text of the answer before
}

// An openText is a message item that has not ended. Ollama ends none that is followed by
// a call.
type openText struct {
	id, text string
	index    int
}

// item returns the item as it is when it has ended.
func (o openText) item() json.RawMessage {
	return json.RawMessage(`{"id":` + quoted(o.id) + `,"type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":` + quoted(o.text) + `,"annotations":[]}]}`)
}

type responsesEvent struct {
	Type     string            `json:"type"`
	Sequence *int              `json:"sequence_number"`
	Index    *int              `json:"output_index"`
	Item     json.RawMessage   `json:"item"`
	Delta    json.RawMessage   `json:"delta"`
	Response json.RawMessage   `json:"response"`
	Output   []json.RawMessage `json:"output"` // of a document
}

func (o *responsesRecall) read(event []byte) []byte {
	data := event
	if o.stream {
		data = eventData(event)
	}
	var e responsesEvent
	if json.Unmarshal(data, &e) != nil {
		return event
	}
	if !o.stream {
		return o.readDocument(event, e)
	}
	if o.later && (e.Type == "response.created" || e.Type == "response.queued" || e.Type == "response.in_progress") {
		return nil
	}
	o.note(e)
	event = o.continued(event, data, e)
	if len(o.calls) > 0 {
		o.hold(event)
		return nil
	}
	switch {
	case o.later:
		o.next++
	case e.Sequence != nil:
		o.next = *e.Sequence + 1
	}
	event, o.ending = append(o.ending, event...), nil
	return event
}

// note keeps what an event has of interest.
func (o *responsesRecall) note(e responsesEvent) {
	var it responsesItem
	if e.Item != nil && json.Unmarshal(e.Item, &it) != nil {
		return
	}
	switch e.Type {
	case "response.output_item.added":
		switch {
		case isClientCall(it):
			o.calls = append(o.calls, recallCall{id: it.CallID, name: it.Name})
		case len(o.calls) == 0:
			o.passed++
			if it.Type == "message" && e.Index != nil {
				o.open = openText{id: it.ID, index: *e.Index + o.shift}
			}
		}
	case "response.output_text.delta":
		if len(o.calls) == 0 {
			o.open.text += jsonText(e.Delta)
		}
	case "response.output_item.done":
		if !isClientCall(it) && len(o.calls) == 0 {
			o.open = openText{}
		}
		o.addItem(it, e.Item)
	}
}

// isClientCall reports whether an item is a call that the client answers.
func isClientCall(it responsesItem) bool {
	switch it.Type {
	case "function_call", "custom_tool_call", "local_shell_call", "shell_call", "apply_patch_call", "computer_call":
		return true
	}
	return false
}

// addItem adds an item that is complete.
func (o *responsesRecall) addItem(it responsesItem, raw json.RawMessage) {
	switch {
	case !isClientCall(it) && len(o.calls) == 0:
		o.items = append(o.items, bytes.Clone(raw))
	case it.Name == recallName:
		for i := range o.calls {
			if o.calls[i].id == it.CallID {
				o.calls[i].args = it.Arguments
			}
		}
		o.own = append(o.own, bytes.Clone(raw))
	}
}

// continued returns an event with the number and the index that it has for the client. A
// whole response gets the items of the answers before, and loses the tool.
func (o *responsesRecall) continued(event, data []byte, e responsesEvent) []byte {
	text := string(data)
	if e.Response != nil {
		if whole := o.wholeResponse(string(e.Response)); whole != string(e.Response) {
			text = withMember(text, "response", whole)
		}
	}
	if !o.later && text == string(data) {
		return event
	}
	if e.Sequence != nil && o.later {
		text = withMember(text, "sequence_number", jsonNumber(o.next+len(o.events)))
	}
	if e.Index != nil && o.shift > 0 {
		text = withMember(text, "output_index", jsonNumber(*e.Index+o.shift))
	}
	return []byte("event: " + e.Type + "\ndata: " + text + "\n\n")
}

func jsonNumber(n int) string {
	raw, _ := json.Marshal(n)
	return string(raw)
}

// wholeResponse returns a response with the items of the answers before, and without the
// tool recall, which servers repeat of the request.
func (o *responsesRecall) wholeResponse(response string) string {
	var r struct{ Output, Tools []json.RawMessage }
	if json.Unmarshal([]byte(response), &r) != nil {
		return response
	}
	if len(o.before) > 0 {
		response = withMember(response, "output", jsonList(append(o.before[:len(o.before):len(o.before)], r.Output...)))
	}
	tools := slices.DeleteFunc(slices.Clone(r.Tools), func(raw json.RawMessage) bool {
		var tool responsesItem
		return json.Unmarshal(raw, &tool) == nil && tool.Type == "function" && tool.Name == recallName
	})
	if len(tools) < len(r.Tools) {
		response = withMember(response, "tools", jsonList(tools))
	}
	return response
}

func jsonList(list []json.RawMessage) string {
	return "[" + string(bytes.Join(rawBytes(list), []byte(","))) + "]"
}

func (o *responsesRecall) readDocument(event []byte, e responsesEvent) []byte {
	for _, raw := range e.Output {
		var it responsesItem
		if json.Unmarshal(raw, &it) == nil && isClientCall(it) {
			o.calls = append(o.calls, recallCall{id: it.CallID, name: it.Name})
		}
		o.addItem(it, raw)
	}
	event = []byte(o.wholeResponse(string(event)))
	if len(o.calls) == 0 {
		return event
	}
	o.hold(event)
	return nil
}

func (o *responsesRecall) follow(calls []recallCall, results []string) string {
	var ending []byte
	if o.open.text != "" {
		o.items = append(o.items, o.open.item())
		ending = []byte("event: response.output_item.done\ndata: " + `{"type":"response.output_item.done","sequence_number":` + jsonNumber(o.next) +
			`,"output_index":` + jsonNumber(o.open.index) + `,"item":` + string(o.open.item()) + "}\n\n")
		o.next++
	}
	items := make([]string, 0, len(o.items)+2*len(calls))
	for _, raw := range append(o.items[:len(o.items):len(o.items)], o.own...) {
		items = append(items, string(raw))
	}
	for i, c := range calls {
		items = append(items, `{"type":"function_call_output","call_id":`+quoted(c.id)+`,"output":`+quoted(results[i])+`}`)
	}
	*o = responsesRecall{stream: o.stream, later: true, shift: o.shift + o.passed, next: o.next, before: append(o.before, o.items...), ending: ending}
	return strings.Join(items, ",")
}
