package wire

import (
	"slices"
	"strconv"

	"github.com/tiercompact/tiercompact/chat"
)

// fillCallIDs gives an id to every call of t without one. A result without a call
// gets the id of an unanswered call of the newest calling message: the first of its
// tool, or else the first.
func fillCallIDs(t chat.Transcript) {
	ids := usedNames{used: make(map[string]bool)}
	for _, m := range t {
		for _, p := range m.Parts {
			ids.used[p.ID] = true
		}
	}
	var open callQueue
	for _, m := range t {
		if m.HasCalls() {
			open = callQueue{byName: make(map[string][]int)}
		}
		for i := range m.Parts {
			switch p := &m.Parts[i]; {
			case p.Kind == chat.Call:
				if p.ID == "" {
					p.ID = ids.nextUnusedName("call")
				}
				open.addCallID(p.Name, p.ID)
			case p.Kind == chat.Result && p.ID == "":
				p.ID = open.takeForTool(p.Name)
			case p.Kind == chat.Result:
				open.answerCallID(p.ID)
			}
		}
	}
}

// A callQueue holds the unanswered calls of one message, in order.
type callQueue struct {
	ids    []string
	done   []bool
	first  int              // no call before it is unanswered
	byName map[string][]int // the calls of each tool
}

func (q *callQueue) addCallID(name, id string) {
	q.byName[name] = append(q.byName[name], len(q.ids))
	q.ids, q.done = append(q.ids, id), append(q.done, false)
}

// takeForTool answers the first call of the named tool, or else the first of any,
// and returns its id; "" if all are answered.
func (q *callQueue) takeForTool(name string) string {
	for at := q.byName[name]; len(at) > 0; at = q.byName[name] {
		q.byName[name] = at[1:]
		if !q.done[at[0]] {
			q.done[at[0]] = true
			return q.ids[at[0]]
		}
	}
	for ; q.first < len(q.ids); q.first++ {
		if !q.done[q.first] {
			q.done[q.first] = true
			return q.ids[q.first]
		}
	}
	return ""
}

// answerCallID marks the first call of that id, near the front, as answered.
func (q *callQueue) answerCallID(id string) {
	for i := q.first; i < min(len(q.ids), q.first+64); i++ {
		if q.ids[i] == id && !q.done[i] {
			q.done[i] = true
			return
		}
	}
}

// usedNames generates unused names.
type usedNames struct {
	used map[string]bool
	n    map[string]int
}

// nextUnusedName returns a name that begins with stem, and marks it as used.
func (u *usedNames) nextUnusedName(stem string) string {
	if u.n == nil {
		u.n = make(map[string]int)
	}
	for {
		u.n[stem]++
		name := stem + "_" + strconv.Itoa(u.n[stem])
		if !u.used[name] {
			u.used[name] = true
			return name
		}
	}
}

// uniqueName returns name if it is unused, else the next similar one.
func (u *usedNames) uniqueName(name string) string {
	if name == "" {
		return u.nextUnusedName("call")
	}
	if u.used[name] {
		return u.nextUnusedName(name)
	}
	u.used[name] = true
	return name
}

// prepared returns t with the requirements of d for messages from another dialect:
// valid ids, unique if d generates ids, and results that name their tool. Results
// follow the id of their call, paired as by chat.PairUp.
func prepared(t chat.Transcript, d dialect) chat.Transcript {
	if !slices.ContainsFunc(t, func(m chat.Message) bool { return !wasReadIn(m, d) }) {
		return t
	}
	t = withOwnTools(t, d)
	out := slices.Clone(t)
	ids := usedNames{used: make(map[string]bool)}
	for _, m := range t {
		if wasReadIn(m, d) {
			for _, p := range partsOfKinds(m.Parts, chat.Call) {
				ids.used[p.ID] = true
			}
		}
	}
	open := make(map[string][]calls)
	for i, m := range t {
		parts := make([]chat.Part, len(m.Parts))
		for j, p := range m.Parts {
			was := p.ID
			switch {
			case p.Kind == chat.Call:
				if !wasReadIn(m, d) {
					p.ID = d.freshCallID(p.ID, &ids)
				}
				open[was] = pushOpenCall(open[was], i, p)
			case p.Kind == chat.Result:
				open[was] = d.pairResult(&p, open[was])
			}
			parts[j] = p
		}
		if !wasReadIn(m, d) {
			out[i].Parts = parts
		}
	}
	return out
}

// pairResult sets the id and the tool of a result from its call, and returns the
// open calls of its id.
func (d dialect) pairResult(p *chat.Part, open []calls) []calls {
	call, rest := popOpenCall(open)
	if call.Kind == chat.Call {
		p.ID, p.Name = call.ID, call.Name
	} else if d.id != nil {
		p.ID = d.id(p.ID)
	}
	return rest
}

// wasReadIn reports whether m was read in d.
func wasReadIn(m chat.Message, d dialect) bool {
	return m.Source != nil && m.Source.Format == d.name
}

// freshCallID returns the id for a new call.
func (d dialect) freshCallID(id string, ids *usedNames) string {
	if d.id != nil {
		return ids.uniqueName(d.id(id))
	}
	if id == "" {
		return ids.nextUnusedName("call")
	}
	return id
}

// calls are the unanswered calls of one id in one message, in order.
type calls struct {
	message int
	parts   []chat.Part
}

func pushOpenCall(open []calls, message int, p chat.Part) []calls {
	if n := len(open); n > 0 && open[n-1].message == message {
		open[n-1].parts = append(open[n-1].parts, p)
		return open
	}
	return append(open, calls{message, []chat.Part{p}})
}

// popOpenCall removes the first call of the newest message.
func popOpenCall(open []calls) (chat.Part, []calls) {
	n := len(open)
	if n == 0 {
		return chat.Part{}, nil
	}
	last := &open[n-1]
	p := last.parts[0]
	if last.parts = last.parts[1:]; len(last.parts) == 0 {
		open = open[:n-1]
	}
	return p, open
}
