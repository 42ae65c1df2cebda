package levels

import (
	"fmt"
	"slices"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/edit"
	"github.com/tiercompact/tiercompact/embed"
	"github.com/tiercompact/tiercompact/files"
	"github.com/tiercompact/tiercompact/memory"
)

// keepHard is how many of the newest messages hard always keeps.
const keepHard = 5

// Hard drops the less relevant half of the old messages.
type Hard struct {
	Keep   int // newest messages that always stay; 0: 5
	Target int // go on, lowest first, until the conversation is below this many tokens; 0: half, no further
	Ledger int // tokens for the names that would be lost
}

// Plan proposes which messages go, given the score of each message of v. The
// old messages are all but the last five, the query (the last user message),
// and what is held; floor(n/2) of those n stay. Groups are taken by score; one
// that does not fit is passed over.
func (h Hard) Plan(v View, scores []float64) []edit.Edit {
	old, groups := h.old(v)
	order := rankGroups(old, groups, scores)
	n := 0
	for _, g := range order {
		n += len(groups[g])
	}
	room, drop := n/2, make([]bool, len(v.Messages))
	var stay []int // groups, best first
	for _, g := range order {
		if len(groups[g]) <= room {
			room -= len(groups[g])
			stay = append(stay, g)
			continue
		}
		mark(drop, groups[g])
	}
	if h.Target > 0 {
		h.until(v, groups, stay, drop)
	}
	return gaps(v, drop, h.Ledger, "less relevant")
}

// old returns which messages are old and free, by group: a group stays out as a
// whole where one of its messages is held, new, or the query.
func (h Hard) old(v View) ([]bool, [][]int) {
	keep := h.Keep
	if keep == 0 {
		keep = keepHard
	}
	if last := len(v.Messages) - 1; last >= 0 && v.Messages[last].Typed() {
		keep++ // the query stands apart
	}
	groups, of := chat.Groups(v.Messages)
	newest := tail(v, keep, groups, of)
	old := make([]bool, len(groups))
	for g, members := range groups {
		old[g] = true
		for _, i := range members {
			if newest[i] || v.Locked(i) || v.Messages[i].State == chat.Marked {
				old[g] = false
			}
		}
	}
	return old, groups
}

// rankGroups returns the groups that are old, best first. A group scores as
// its best message; ties go to the newer one.
func rankGroups(old []bool, groups [][]int, scores []float64) []int {
	var at []int
	var best []float64
	for g, members := range groups {
		if !old[g] {
			continue
		}
		score := scores[members[0]]
		for _, i := range members[1:] {
			score = max(score, scores[i])
		}
		at, best = append(at, g), append(best, score)
	}
	order := embed.Rank(best)
	for k, i := range order {
		order[k] = at[i]
	}
	return order
}

// until drops further groups of stay, the lowest first, until v is below Target.
func (h Hard) until(v View, groups [][]int, stay []int, drop []bool) {
	total := v.Total()
	for i, gone := range drop {
		if gone {
			total -= v.Sizes[i]
		}
	}
	for k := len(stay) - 1; k >= 0 && total >= h.Target; k-- {
		mark(drop, groups[stay[k]])
		for _, i := range groups[stay[k]] {
			total -= v.Sizes[i]
		}
	}
}

func mark(in []bool, members []int) {
	for _, i := range members {
		in[i] = true
	}
}

// gaps makes the edits that drop messages: one for each run, with a marker
// where invariant 11 asks for one or allows it. Markers of earlier rounds that
// touch a gap go with it, and their names are carried over.
func gaps(v View, drop []bool, ledger int, why string) []edit.Edit {
	absorb(v, drop)
	var edits []edit.Edit
	runs(drop, func(start, end int) {
		edits = append(edits, edit.Edit{
			Start: start, End: end, Recall: recallOf(v.Messages[start:end]),
			Why: fmt.Sprintf("%s: %d messages", why, end-start),
		})
	})
	if len(edits) == 0 {
		return nil
	}
	names := v.names(v.before(pick(v.Messages, drop, true)), pick(v.Messages, drop, false), "", ledger)
	return withMarkers(v, edits, names)
}

// absorb adds markers of earlier rounds that stand beside a dropped message.
func absorb(v View, drop []bool) {
	for i := range drop {
		if v.Messages[i].State == chat.Marked && !drop[i] && (i > 0 && drop[i-1] || i+1 < len(drop) && drop[i+1]) {
			drop[i] = true
		}
	}
}

func recallOf(run []chat.Message) string {
	ids := make([]string, 0, len(run))
	for _, m := range run {
		ids = append(ids, m.ID)
	}
	return files.RecallID(ids...)
}

// withMarkers gives each gap its marker where one is allowed, and each name to
// the marker of the last gap that held it, else to the nearest before that, else
// to the first. Where no marker is allowed, an outline before the gap that this
// round has written anyway carries the names.
func withMarkers(v View, edits []edit.Edit, names []string) []edit.Edit {
	roles := markerRoles(v.Messages, edits)
	first := slices.IndexFunc(roles, func(r chat.Role) bool { return r != "" })
	if first < 0 && len(names) > 0 {
		return onOutline(v, edits, names)
	}
	if first < 0 {
		return edits
	}
	carrier := make([]int, len(edits))
	for k, last := 0, first; k < len(edits); k++ {
		if roles[k] != "" {
			last = k
		}
		carrier[k] = last
	}
	lists := share(v, edits, carrier, names)
	for k, role := range roles {
		if role == "" {
			continue
		}
		e := &edits[k]
		e.New = []chat.Message{memory.NewMarker(role, e.End-e.Start, e.Recall, lists[k])}
	}
	return edits
}

// onOutline adds what a marker would say to the last outline before the first
// gap that this round has written.
func onOutline(v View, edits []edit.Edit, names []string) []edit.Edit {
	for i := edits[0].Start - 1; i >= 0; i-- {
		m := v.Messages[i]
		_, fresh := v.Was[m.ID]
		last := len(m.Parts) - 1
		if !fresh || m.State != chat.Outlined || m.Parts[last].Kind != chat.Result && m.Parts[last].Kind != chat.Text {
			continue
		}
		parts := slices.Clone(m.Parts)
		parts[last].Text += "\n" + memory.MarkerText(edits[0].End-edits[0].Start, edits[0].Recall, names)
		return append([]edit.Edit{{Start: i, End: i + 1, New: []chat.Message{m.With(chat.Outlined, parts...)}, Why: "names of what is dropped behind it"}}, edits...)
	}
	return edits
}

// share returns the names of each gap's marker.
func share(v View, edits []edit.Edit, carrier []int, names []string) [][]string {
	wanted := make(map[string]bool, len(names))
	for _, n := range names {
		wanted[n] = true
	}
	lists := make([][]string, len(edits))
	for k := len(edits) - 1; k >= 0; k-- {
		for _, m := range v.Messages[edits[k].Start:edits[k].End] {
			for _, n := range files.Identifiers(EmbedText(m)) {
				if wanted[n] {
					delete(wanted, n)
					lists[carrier[k]] = append(lists[carrier[k]], n)
				}
			}
		}
	}
	return lists
}

// markerRoles returns, for each gap, the role that a marker in it can have, or
// "" where a marker would stand beside one of its own role.
func markerRoles(t chat.Transcript, edits []edit.Edit) []chat.Role {
	next := make([]chat.Role, len(edits)) // who speaks first behind each gap, of what stays
	speaker := chat.Role("")
	for i, gap := len(t)-1, len(edits)-1; i >= 0; i-- {
		if gap >= 0 && i == edits[gap].End-1 {
			next[gap] = speaker
			i = edits[gap].Start
			gap--
		} else if edit.Speaks(t[i]) {
			speaker = t[i].Role
		}
	}
	roles := make([]chat.Role, len(edits))
	speaker = ""
	for i, gap := 0, 0; i < len(t); i++ {
		if gap < len(edits) && i == edits[gap].Start {
			roles[gap] = between(speaker, next[gap])
			if roles[gap] != "" {
				speaker = roles[gap]
			}
			i = edits[gap].End - 1
			gap++
		} else if edit.Speaks(t[i]) {
			speaker = t[i].Role
		}
	}
	return roles
}

// between returns the role that may speak between last and next, neither of
// which it may meet.
func between(last, next chat.Role) chat.Role {
	switch {
	case last == chat.User && next == chat.User:
		return chat.Assistant
	case next == chat.Assistant && (last == chat.Assistant || last == ""):
		return chat.User
	}
	return ""
}
