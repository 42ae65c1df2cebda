package wire

import (
	"slices"
	"strconv"

	"github.com/tiercompact/tiercompact/chat"
)

// fillIDs gives an id to every call of t that has none, and to every result
// that names no call the id of the first call of the newest calling message
// that has its tool's name, or else of the first at all, and is unanswered.
func fillIDs(t chat.Transcript) {
	ids := names{used: make(map[string]bool)}
	for _, m := range t {
		for _, p := range m.Parts {
			ids.used[p.ID] = true
		}
	}
	var open queue
	for _, m := range t {
		if m.HasCalls() {
			open = queue{byName: make(map[string][]int)}
		}
		for i := range m.Parts {
			switch p := &m.Parts[i]; {
			case p.Kind == chat.Call:
				if p.ID == "" {
					p.ID = ids.next("call")
				}
				open.add(p.Name, p.ID)
			case p.Kind == chat.Result && p.ID == "":
				p.ID = open.take(p.Name)
			case p.Kind == chat.Result:
				open.answer(p.ID)
			}
		}
	}
}

// A queue holds the unanswered calls of one message, in order.
type queue struct {
	ids    []string
	done   []bool
	first  int              // no call before it is unanswered
	byName map[string][]int // the calls of each tool
}

func (q *queue) add(name, id string) {
	q.byName[name] = append(q.byName[name], len(q.ids))
	q.ids, q.done = append(q.ids, id), append(q.done, false)
}

// take answers the first call of the named tool, or else the first of any, and
// returns its id; "" where all are answered.
func (q *queue) take(name string) string {
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

// answer marks the first call of that id, near the front, as answered.
func (q *queue) answer(id string) {
	for i := q.first; i < min(len(q.ids), q.first+64); i++ {
		if q.ids[i] == id && !q.done[i] {
			q.done[i] = true
			return
		}
	}
}

// names makes names that are not used yet.
type names struct {
	used map[string]bool
	n    map[string]int
}

// next returns a name that begins with stem, and takes it.
func (u *names) next(stem string) string {
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

// unique returns name where it is not used yet, else the next one like it.
func (u *names) unique(name string) string {
	if name == "" {
		return u.next("call")
	}
	if u.used[name] {
		return u.next(name)
	}
	u.used[name] = true
	return name
}

// prepared returns t with what d asks of messages that were not read in it:
// acceptable ids, none of them twice where d makes ids, and results that name
// their tool. Results follow the id of their call, paired as chat.PairUp does.
func prepared(t chat.Transcript, d dialect) chat.Transcript {
	if !slices.ContainsFunc(t, func(m chat.Message) bool { return !readIn(m, d) }) {
		return t
	}
	t = withOwnTools(t, d)
	out := slices.Clone(t)
	ids := names{used: make(map[string]bool)}
	for _, m := range t {
		if readIn(m, d) {
			for _, p := range partsOf(m.Parts, chat.Call) {
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
				if !readIn(m, d) {
					p.ID = d.callID(p.ID, &ids)
				}
				open[was] = pushed(open[was], i, p)
			case p.Kind == chat.Result:
				open[was] = d.answer(&p, open[was])
			}
			parts[j] = p
		}
		if !readIn(m, d) {
			out[i].Parts = parts
		}
	}
	return out
}

// answer gives a result the id and the tool of the call that it answers, and
// returns the calls of its id that are still open.
func (d dialect) answer(p *chat.Part, open []calls) []calls {
	call, rest := popped(open)
	if call.Kind == chat.Call {
		p.ID, p.Name = call.ID, call.Name
	} else if d.id != nil {
		p.ID = d.id(p.ID)
	}
	return rest
}

// readIn reports whether m was read in d.
func readIn(m chat.Message, d dialect) bool {
	return m.Source != nil && m.Source.Format == d.name
}

// callID returns the id that a fresh call gets.
func (d dialect) callID(id string, ids *names) string {
	if d.id != nil {
		return ids.unique(d.id(id))
	}
	if id == "" {
		return ids.next("call")
	}
	return id
}

// calls are the unanswered calls of one id in one message, in order.
type calls struct {
	message int
	parts   []chat.Part
}

func pushed(open []calls, message int, p chat.Part) []calls {
	if n := len(open); n > 0 && open[n-1].message == message {
		open[n-1].parts = append(open[n-1].parts, p)
		return open
	}
	return append(open, calls{message, []chat.Part{p}})
}

// popped takes the first call of the newest message.
func popped(open []calls) (chat.Part, []calls) {
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
