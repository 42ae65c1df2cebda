package levels

import (
	"slices"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/files"
	"github.com/tiercompact/tiercompact/internal/edit"
	"github.com/tiercompact/tiercompact/internal/protection"
)

// withMarkers puts the markers into the gaps. A marker covers its gap and those up to
// the next marker, the first marker also those before it: it counts their messages
// and carries their names, most relevant first, in no more tokens than the gaps have
// freed. All have the recall id of the edits. Without a marker, an outline covers
// all gaps.
func withMarkers(v View, edits []edit.Edit, names []string, answer int) []edit.Edit {
	gains := v.gapGains(edits)
	stands := standIns(v, edits, gains, answer, len(names) > 0)
	first := slices.IndexFunc(stands, func(s standIn) bool { return s.marker })
	if first < 0 {
		return addToOutline(v, edits, names)
	}
	carrier, room := make([]int, len(edits)), make([]int, len(edits))
	for k, last := 0, first; k < len(edits); k++ {
		if stands[k].marker {
			last = k
		}
		carrier[k] = last
		room[last] += gains[k]
	}
	lists := shareNames(v, edits, carrier, names)
	for k := 0; k < len(edits); {
		end := k + 1
		for end < len(edits) && carrier[end] == carrier[k] {
			end++
		}
		c, count := carrier[k], v.joinGaps(edits[k:end])
		mark := protection.NewMarker(chat.User, count, edits[c].Recall, v.carriedNames(lists[c], room[c]))
		edits[c].New = slices.Concat(stands[c].before, []chat.Message{mark}, stands[c].after)
		for i := range edits[c].New {
			edits[c].New[i].Recall = edits[c].Recall
		}
		k = end
	}
	return edits
}

// joinGaps gives edits one recall id, and returns the number of messages they drop.
func (v View) joinGaps(edits []edit.Edit) (count int) {
	if len(edits) == 1 {
		return edits[0].End - edits[0].Start
	}
	var gone []chat.Message
	for _, e := range edits {
		gone = append(gone, v.Messages[e.Start:e.End]...)
	}
	id := v.recallOf(gone)
	for k := range edits {
		edits[k].Recall = id
	}
	return len(gone)
}

// gapGains returns the number of tokens that each gap would free with a bare marker.
func (v View) gapGains(edits []edit.Edit) []int {
	gains := make([]int, len(edits))
	for k, e := range edits {
		gains[k] = -v.Size(protection.NewMarker(chat.User, e.End-e.Start, e.Recall, nil))
		for _, n := range v.Sizes[e.Start:e.End] {
			gains[k] += n
		}
	}
	return gains
}

// carriedNames returns as many names as a marker can carry in a number of tokens,
// heading included.
func (v View) carriedNames(names []string, room int) []string {
	bare, headed := protection.MarkerText(1, "", nil), protection.MarkerText(1, "", []string{""})
	return v.limitNames(names, room-(v.Count(headed)-v.Count(bare)))
}

// settledNames is the share of the window for names in an outline of an earlier
// round. Each round adds some, and they stay as long as the outline: with more of
// them the next round comes earlier.
const settledNames = 0.02

// addToOutline adds the content of a marker for all gaps to an outline, if it is
// worth the tokens: to the last one before the first gap if this round wrote it, or
// else to the first one after that gap, because the server must read that part again
// anyway. An outline that covers earlier gaps covers all in one marker.
func addToOutline(v View, edits []edit.Edit, names []string) []edit.Edit {
	room := 0
	for _, gain := range v.gapGains(edits) {
		room += gain
	}
	i := v.outlineFor(edits)
	if i < 0 {
		return edits
	}
	m := v.Messages[i]
	if _, fresh := v.Was[m.ID]; !fresh {
		room = min(room, int(settledNames*float64(v.Window)))
	}
	if names = v.carriedNames(names, room); len(names) == 0 {
		return edits
	}
	parts := slices.Clone(m.Parts)
	last := &parts[len(parts)-1]
	text, before, told := protection.CutMarker(last.Text)
	count := v.joinGaps(edits)
	last.Text, last.Raw = text+"\n"+protection.MarkerText(before+count, edits[0].Recall, slices.Concat(told, names)), ""
	return edit.Sorted(append(edits, edit.Edit{
		Start: i, End: i + 1, New: []chat.Message{m.With(chat.Outlined, parts...)},
		Why: "names of what is dropped beside it", Recall: edits[0].Recall, // the id of its present form
	}))
}

// outlineFor returns the outline that can cover edits, or -1.
func (v View) outlineFor(edits []edit.Edit) int {
	can := func(i int) bool {
		m := v.Messages[i]
		last := len(m.Parts) - 1
		return m.State == chat.Outlined && !v.Locked(i) && (m.Parts[last].Kind == chat.Result || m.Parts[last].Kind == chat.Text && m.Role == chat.User)
	}
	for i := edits[0].Start - 1; i >= 0; i-- {
		if _, fresh := v.Was[v.Messages[i].ID]; fresh && can(i) {
			return i
		}
	}
	for k, e := range edits {
		end := len(v.Messages)
		if k+1 < len(edits) {
			end = edits[k+1].Start
		}
		for i := e.End; i < end; i++ {
			if can(i) {
				return i
			}
		}
	}
	return -1
}

// shareNames returns the names of each gap's marker.
func shareNames(v View, edits []edit.Edit, carrier []int, names []string) [][]string {
	wanted := make(map[string]bool, len(names))
	for _, n := range names {
		wanted[n] = true
	}
	lists := make([][]string, len(edits))
	for k := len(edits) - 1; k >= 0; k-- {
		for _, m := range v.Messages[edits[k].Start:edits[k].End] {
			for _, n := range files.ListedNamesOf(m) {
				if wanted[n] {
					delete(wanted, n)
					lists[carrier[k]] = append(lists[carrier[k]], n)
				}
			}
		}
	}
	return lists
}

// A standIn fills a gap: a marker in the user's role, and around it the assistant's
// answers to the request before the gap and to the last one in it. The assistant's
// messages hold no records, because a model imitates its own messages.
type standIn struct {
	marker        bool
	before, after []chat.Message
}

// standIns returns the content of each gap. A marker separates two texts of the
// assistant that stay, in the first gap between them with a remaining gain, and a
// request from the answer to another one. If there is none and names must be carried,
// a marker replaces whole turns in the gap with the largest gain. If two requests
// would meet, edit.Separate puts the answer to the first between them; if nothing has
// room, it uses a smaller separator.
//
// The tokens of messages around a marker are subtracted from gains.
func standIns(v View, edits []edit.Edit, gains []int, answer int, named bool) []standIn {
	out, turns := make([]standIn, len(edits)), -1
	var best standIn
	found, gap := false, 0
	b := newGapState("")
	for i, m := range v.Messages {
		for gap < len(edits) && i >= edits[gap].End {
			gap++
		}
		if gap < len(edits) && i >= edits[gap].Start {
			b.dropMessage(m, i, gap, gains)
			continue
		}
		if !edit.Speaks(m) {
			continue
		}
		k, s := b.standInFor(v, m.Role, answer)
		switch cost := s.extraTokens(v); {
		case k < 0 || b.room <= 2*cost:
		case len(s.after) == 0:
			out[k], found = s, true
			gains[k] -= cost
		case gains[k] > 2*cost && (turns < 0 || gains[k] > gains[turns]):
			turns, best = k, s
		}
		b = newGapState(m.Role)
	}
	if named && !found && turns >= 0 {
		out[turns] = best
		gains[turns] -= best.extraTokens(v)
	}
	return out
}

// extraTokens returns the tokens of the messages around the marker.
func (s standIn) extraTokens(v View) (sum int) {
	for _, m := range s.before {
		sum += v.Size(m)
	}
	for _, m := range s.after {
		sum += v.Size(m)
	}
	return sum
}

// gapState describes the gaps between two spoken messages that stay, so far.
type gapState struct {
	last   chat.Role // role before it
	at     int       // the first gap with a remaining gain, or -1
	room   int       // total gain of its gaps
	gap    int       // the newest of them, or -1
	asked  int       // the first dropped request, or -1
	first  removedAt // the last answer dropped before a dropped request
	newest removedAt // the last answer dropped after a dropped request
}

// removedAt is a dropped message and its gap.
type removedAt struct{ message, gap int }

func newGapState(last chat.Role) gapState {
	return gapState{last: last, at: -1, gap: -1, asked: -1, first: removedAt{-1, -1}, newest: removedAt{-1, -1}}
}

func (b *gapState) dropMessage(m chat.Message, i, gap int, gains []int) {
	if b.at < 0 && gains[gap] > 0 {
		b.at = gap
	}
	if gap != b.gap {
		b.gap = gap
		b.room += gains[gap]
	}
	switch {
	case m.Role == chat.User: // a marker replaces requests
		if b.asked < 0 {
			b.asked = gap
		}
		b.newest = removedAt{-1, -1}
	case !protection.IsAnswer(m):
	case b.asked < 0:
		b.first = removedAt{i, gap}
	default:
		b.newest = removedAt{i, gap}
	}
}

// standInFor returns the optional content before a message of role next, and its
// gap, or -1 if nothing may be added.
func (b *gapState) standInFor(v View, next chat.Role, answer int) (gap int, s standIn) {
	s.marker = true
	if next == chat.Assistant && b.last != chat.User {
		return b.at, s
	}
	if b.asked < 0 || answer == 0 {
		return -1, s
	}
	gap = b.newest.gap
	if b.last == chat.User {
		if gap = b.first.gap; gap < 0 {
			return -1, s
		}
		s.before = v.answerEnding(b.first.message, answer)
	}
	if next == chat.User {
		if b.newest.gap != gap || gap < 0 {
			return -1, s
		}
		s.after = v.answerEnding(b.newest.message, answer)
	}
	if b.last == chat.User && len(s.before) == 0 || next == chat.User && len(s.after) == 0 {
		return -1, s
	}
	return gap, s
}

// answerEnding returns a message with the end of answer i, in at most most tokens;
// none if there is no room.
func (v View) answerEnding(i, most int) []chat.Message {
	text := protection.Excerpt(v.Messages[i].Text(), most, v.Count)
	if text == "" {
		return nil
	}
	m := protection.NewAnswer(text, v.Messages[i])
	m.ID = v.unusedID(m.ID) // the marker before that answer may have the id
	return []chat.Message{m}
}
