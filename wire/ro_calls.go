package wire

import "strconv"

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
	at := -1
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
