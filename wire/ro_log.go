package wire

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

// A messageLog collects the messages of a read-only format.
type messageLog struct {
	messages chat.Transcript
	seen     map[string]bool // ids of messages
	calls    callIDAssigner
}

// appendMessage appends m without empty parts. It skips a message that is empty, or
// has only white space or thinking: it was never sent to the model. It does not
// reuse an id of an earlier message.
func (l *messageLog) appendMessage(m chat.Message) {
	if slices.ContainsFunc(m.Parts, isServerTool) {
		l.addServerTools(m)
		return
	}
	m.Parts = withContent(m.Parts)
	if !worthSending(m.Parts) {
		return
	}
	if l.seen[m.ID] {
		m.ID = ""
	} else if m.ID != "" {
		if l.seen == nil {
			l.seen = make(map[string]bool)
		}
		l.seen[m.ID] = true
	}
	machine := m.Machine
	classify(&m)
	m.Machine = (m.Machine || machine) && m.Role == chat.User
	l.messages = append(l.messages, m)
}

// addServerTools appends a message whose tools ran on the API's server. Because it
// is never written back to that API, they are ordinary calls and results.
func (l *messageLog) addServerTools(m chat.Message) {
	m.Parts = slices.Clone(m.Parts)
	for i, p := range m.Parts {
		switch p.Kind {
		case chat.ServerCall:
			m.Parts[i].ID = l.calls.assignCallID(p.ID, p.Name)
		case chat.ServerResult:
			m.Parts[i].ID = l.calls.resultCallID(p.ID, p.Name)
		}
	}
	for _, own := range ownTools(m) {
		l.appendMessage(own)
	}
}

func (l *messageLog) appendText(id string, role chat.Role, text string) {
	m := chat.NewText(role, text)
	m.ID = id
	l.appendMessage(m)
}

// appendUserNote appends a user message that no person typed.
func (l *messageLog) appendUserNote(id, text string) {
	m := chat.NewText(chat.User, text)
	m.ID, m.Machine = id, true
	l.appendMessage(m)
}

// appendResult appends the result of a call, and images after its text.
func (l *messageLog) appendResult(id string, result chat.Part, images []chat.Part) {
	result.Kind = chat.Result
	l.appendMessage(chat.Message{ID: id, Role: chat.Tool, Parts: append([]chat.Part{result}, images...)})
}

// singleConversation returns the single conversation of a file, none if it has
// no messages.
func (l *messageLog) singleConversation(c Conversation) []Conversation {
	if len(l.messages) == 0 {
		return nil
	}
	c.Messages = reorderResults(l.messages)
	return []Conversation{c}
}

func withContent(parts []chat.Part) []chat.Part {
	var kept []chat.Part
	for _, p := range parts {
		if (p.Kind == chat.Text || p.Kind == chat.Thinking) && p.Text == "" {
			continue
		}
		kept = append(kept, p)
	}
	return kept
}

func worthSending(parts []chat.Part) bool {
	for _, p := range parts {
		switch p.Kind {
		case chat.Text:
			if strings.TrimSpace(p.Text) != "" {
				return true
			}
		case chat.Image, chat.Call, chat.Result, chat.Opaque:
			return true
		}
	}
	return false
}

// reorderResults returns t with each result directly after the message of its call,
// in their order: a log may have other records between them, the model's API may
// not. A result without a call keeps its place.
func reorderResults(t chat.Transcript) chat.Transcript {
	pairs := chat.PairUp(t)
	results := make(map[int][]int)
	for i, call := range pairs.CallOf {
		if call >= 0 {
			results[call] = append(results[call], i)
		}
	}
	out := make(chat.Transcript, 0, len(t))
	for i, m := range t {
		if pairs.CallOf[i] >= 0 {
			continue
		}
		out = append(out, m)
		for _, r := range results[i] {
			out = append(out, t[r])
		}
	}
	return out
}

// callIDAssigner gives ids to calls without one, and finds the call of a result.
type callIDAssigner struct {
	given   int
	known   map[string]bool // original ids of calls
	with    openCalls       // calls of this turn with their original id
	without openCalls       // and those with an assigned one
}

// assignCallID returns the id of a call: its own, or a new one.
func (n *callIDAssigner) assignCallID(id, tool string) string {
	if id == "" {
		id = n.newCallID()
		n.without.addOpenCall(id, tool)
		return id
	}
	if n.known == nil {
		n.known = make(map[string]bool)
	}
	n.known[id] = true
	n.with.addOpenCall(id, tool)
	return id
}

// resultCallID returns the id of the call that a result answers. A result without
// an id answers the oldest open call of its tool, else the oldest open one. If its
// id belongs to no call, only calls without an original id qualify.
func (n *callIDAssigner) resultCallID(id, tool string) string {
	if id != "" && n.known[id] {
		n.with.closeCall(id, "")
		return id
	}
	if call, ok := n.without.closeCall("", tool); ok {
		return call
	}
	if id != "" {
		return id
	}
	if call, ok := n.with.closeCall("", tool); ok {
		return call
	}
	return n.newCallID()
}

// takeOpenCall returns the call that a result of a tool would answer, and closes
// it; ok is false if no call of this turn is open.
func (n *callIDAssigner) takeOpenCall(tool string) (id string, ok bool) {
	if id, ok = n.without.closeCall("", tool); ok {
		return id, ok
	}
	return n.with.closeCall("", tool)
}

// beginTurn begins a turn of the model: results without an id answer its calls only.
func (n *callIDAssigner) beginTurn() { n.with, n.without = openCalls{}, openCalls{} }

func (n *callIDAssigner) newCallID() string {
	n.given++
	return "call_" + strconv.Itoa(n.given)
}

// openCalls are calls without a result.
type openCalls struct {
	ids    []string // oldest first
	closed []bool
	next   int              // all before it are closed
	byTool map[string][]int // indices into ids, closed ones possibly among them
	byID   map[string][]int
}

func (o *openCalls) addOpenCall(id, tool string) {
	if o.byTool == nil {
		o.byTool, o.byID = make(map[string][]int), make(map[string][]int)
	}
	at := len(o.ids)
	o.ids, o.closed = append(o.ids, id), append(o.closed, false)
	o.byTool[tool], o.byID[id] = append(o.byTool[tool], at), append(o.byID[id], at)
}

// closeCall closes a call and returns its id: the oldest with the id if one is
// given, else the oldest of the tool, else the oldest.
func (o *openCalls) closeCall(id, tool string) (string, bool) {
	var at int
	switch {
	case id != "":
		at = o.firstOpenCall(o.byID, id)
	default:
		if at = o.firstOpenCall(o.byTool, tool); at < 0 {
			for o.next < len(o.ids) && o.closed[o.next] {
				o.next++
			}
			at = o.next
		}
	}
	if at < 0 || at >= len(o.ids) {
		return "", false
	}
	o.closed[at] = true
	return o.ids[at], true
}

// firstOpenCall returns the first open call of a queue, -1 if there is none. It
// drops the closed ones before it.
func (o *openCalls) firstOpenCall(queues map[string][]int, key string) int {
	queue := queues[key]
	for len(queue) > 0 && o.closed[queue[0]] {
		queue = queue[1:]
	}
	if len(queue) == 0 {
		delete(queues, key)
		return -1
	}
	queues[key] = queue
	return queue[0]
}
