package levels

import (
	"fmt"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/files"
	"github.com/tiercompact/tiercompact/internal/edit"
)

// A repeat is a call that was made repeatedly with similar results: the first and the
// last stay, the ones between are dropped.
type repeat struct {
	first      int  // the result of the first call, which gets the count
	start, end int  // the messages between
	calls      int  // in total
	gone       int  // of them dropped
	same       bool // the last result is the first, word for word
}

const (
	minRepeats   = 3   // min calls of a repeat
	maxCycle     = 3   // max calls in a repeated cycle: a pause, and a look at its condition
	longestAside = 200 // max bytes of the assistant's text beside such a call
)

// findRepeats returns the repeated calls of v that may be folded. Newest and locked
// messages stay.
func (v View) findRepeats(newest []bool) []repeat {
	groups, _ := chat.Groups(v.Messages)
	var out []repeat
	for g := 0; g < len(groups); {
		r, next := v.repeatAt(groups, g, newest)
		if r.gone > 0 {
			out = append(out, r)
		}
		g = next
	}
	return out
}

// repeatAt returns the repeat that begins with group g, and the group at which the
// next can begin.
func (v View) repeatAt(groups [][]int, g int, newest []bool) (r repeat, next int) {
	if !v.isCallRound(groups, g) {
		return r, g + 1
	}
	for cycle := 1; cycle <= maxCycle; cycle++ {
		times := v.countCycles(groups, g, cycle)
		if times < minRepeats {
			continue
		}
		last := groups[g+cycle-1]
		r = repeat{first: last[len(last)-1], calls: times * cycle}
		r.start = r.first + 1
		r.end = r.start
		for k := 1; k < times-1 && v.freeGroups(groups[g+k*cycle:g+(k+1)*cycle], newest); k++ {
			end := groups[g+(k+1)*cycle-1]
			r.end, r.gone = end[len(end)-1]+1, r.gone+cycle
		}
		if newest[r.first] || v.Locked(r.first) {
			r.gone = 0
		}
		closing := groups[g+times*cycle-1]
		r.same = v.Messages[r.first].Text() == v.Messages[closing[len(closing)-1]].Text()
		return r, g + times*cycle - cycle // the last may begin another
	}
	return r, g + 1
}

// countCycles returns how many times in a row a cycle of calls was made.
func (v View) countCycles(groups [][]int, g, cycle int) int {
	times := 1
	for ; ; times++ {
		for k := range cycle {
			at := g + times*cycle + k
			if at >= len(groups) || !v.isCallRound(groups, at) || groups[at][0] != groups[at-1][len(groups[at-1])-1]+1 || !v.sameRound(groups[g+k], groups[at]) {
				return times
			}
		}
	}
}

// isCallRound reports whether group g holds only adjacent calls and their results,
// and no text that matters.
func (v View) isCallRound(groups [][]int, g int) bool {
	members := groups[g]
	asked := v.Messages[members[0]]
	if len(members) < 2 || !asked.HasCalls() || members[len(members)-1] != members[0]+len(members)-1 {
		return false
	}
	said := 0
	for _, p := range asked.Parts {
		switch p.Kind {
		case chat.Text:
			said += len(p.Text)
		case chat.Image:
			return false
		}
	}
	for _, i := range members {
		if m := v.Messages[i]; m.State != chat.Active || i > members[0] && (len(m.Parts) != 1 || m.Parts[0].Kind != chat.Result) {
			return false
		}
	}
	return said <= longestAside
}

// sameRound reports whether two groups are the same calls with similar results.
func (v View) sameRound(a, b []int) bool {
	if len(a) != len(b) {
		return false
	}
	x, y := callsIn(v.Messages[a[0]]), callsIn(v.Messages[b[0]])
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		if !files.SameCall(x[i], y[i]) {
			return false
		}
	}
	for i := 1; i < len(a); i++ {
		p, q := v.Messages[a[i]].Parts[0], v.Messages[b[i]].Parts[0]
		if p.Error != q.Error || !files.Alike(p.Text, q.Text) {
			return false
		}
	}
	return true
}

func callsIn(m chat.Message) (calls []chat.Part) {
	for _, p := range m.Parts {
		if p.Kind == chat.Call {
			calls = append(calls, p)
		}
	}
	return calls
}

// freeGroups reports whether groups may go.
func (v View) freeGroups(groups [][]int, newest []bool) bool {
	for _, members := range groups {
		for _, i := range members {
			if newest[i] || v.Locked(i) {
				return false
			}
		}
	}
	return true
}

// notedResult returns the first result of r with the number of calls. recall is the
// id of the dropped messages. The result stays, in at most limit tokens, unless it is
// repeated below.
func (v View) notedResult(r repeat, gone int, recall string, limit int) edit.Edit {
	m := v.Messages[r.first]
	text := files.RepeatedCall(r.calls, gone, r.same, recall)
	if !r.same {
		body := m.Parts[0].Text
		if len(body) >= minOutput && v.Count(body) > limit {
			body = files.Digest(body, files.DigestOptions{Max: limit, Count: v.Count, Recall: recall})
		}
		text += "\n" + body
	}
	part := m.Parts[0]
	part.Text, part.Raw = text, ""
	changed := m.With(chat.Outlined, part)
	changed.Recall = recall
	return edit.Edit{Start: r.first, End: r.first + 1, New: []chat.Message{changed}, Why: fmt.Sprintf("one call, %d times", r.calls), Recall: recall}
}

// repeatEdits returns the edits that fold r: one notes the number of calls, one drops
// the messages between.
func (v View) repeatEdits(r repeat, limit int) []edit.Edit {
	recall := v.recallOf(v.Messages[r.first:r.end])
	note := v.notedResult(r, r.gone, recall, limit)
	return []edit.Edit{note, {Start: r.start, End: r.end, Why: note.Why, Recall: recall}}
}
