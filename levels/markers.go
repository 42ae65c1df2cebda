package levels

import (
	"slices"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/edit"
	"github.com/tiercompact/tiercompact/files"
	"github.com/tiercompact/tiercompact/memory"
)

// withMarkers gives each gap its marker where one stands there, and each name to
// the marker of the last gap that held it, else to the nearest before that, else
// to the first. A marker carries no more names than what it stands for has
// freed. Where no marker stands, an outline before the gap that this round has
// written anyway carries the names.
func withMarkers(v View, edits []edit.Edit, names []string) []edit.Edit {
	gains := v.gains(edits)
	roles := markerRoles(v.Messages, edits, gains)
	first := slices.IndexFunc(roles, func(r chat.Role) bool { return r != "" })
	if first < 0 {
		return onOutline(v, edits, names)
	}
	carrier, room := make([]int, len(edits)), make([]int, len(edits))
	for k, last := 0, first; k < len(edits); k++ {
		if roles[k] != "" {
			last = k
		}
		carrier[k] = last
		room[last] += gains[k]
	}
	lists := share(v, edits, carrier, names)
	for k, role := range roles {
		if role == "" {
			continue
		}
		e := &edits[k]
		e.New = []chat.Message{memory.NewMarker(role, e.End-e.Start, e.Recall, v.carried(lists[k], room[k]))}
	}
	return edits
}

// gains returns how many tokens each gap would free with a bare marker in it.
func (v View) gains(edits []edit.Edit) []int {
	gains := make([]int, len(edits))
	for k, e := range edits {
		gains[k] = -v.Size(memory.NewMarker(chat.Assistant, e.End-e.Start, e.Recall, nil))
		for _, n := range v.Sizes[e.Start:e.End] {
			gains[k] += n
		}
	}
	return gains
}

// carried returns as many names as a marker can carry for so many tokens, their
// heading included.
func (v View) carried(names []string, room int) []string {
	bare, headed := memory.MarkerText(1, "", nil), memory.MarkerText(1, "", []string{""})
	return v.fitting(names, room-(v.Count(headed)-v.Count(bare)))
}

// onOutline adds what a marker would say to the last outline before the first
// gap that this round has written, where it is worth the tokens.
func onOutline(v View, edits []edit.Edit, names []string) []edit.Edit {
	names = v.carried(names, v.gains(edits[:1])[0])
	if len(names) == 0 {
		return edits
	}
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

// markerRoles returns, for each gap, the role of the marker in it, or "" for
// none. Between two messages that speak and stay one marker can stand, where it
// meets none of its own role; it stands in the first gap that it leaves a gain.
// Where it leaves none and the two must be parted, edit.Separate does it for less.
func markerRoles(t chat.Transcript, edits []edit.Edit, gains []int) []chat.Role {
	roles, gap := make([]chat.Role, len(edits)), 0
	last, at := chat.Role(""), -1 // who spoke last and stays; the gap with a gain since then
	for i, m := range t {
		for gap < len(edits) && i >= edits[gap].End {
			gap++
		}
		switch gone := gap < len(edits) && i >= edits[gap].Start; {
		case gone && at < 0 && gains[gap] > 0:
			at = gap
		case !gone && edit.Speaks(m):
			if at >= 0 {
				roles[at] = between(last, m.Role)
			}
			last, at = m.Role, -1
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
