package levels

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
	"github.com/tiercompact/tiercompact/internal/protection"
)

// Show proposes the edit by which a conversation shows the recall id of messages that
// were removed, count of them, if no marker or summary does: a marker at the end of a
// message that is not prose of the assistant, because a model imitates its own
// messages. Messages with a protection in mask do not change.
//
// It prefers a message after gap, because the server must read that part again anyway,
// to one before it: first a record between two messages of one role, then an outline,
// then a tool result or user text. One that holds a file comes last, since soft would
// skip it from then on. Otherwise a separate marker is put at gap, unless there are
// no spoken messages yet.
//
// If not even the session summary is protected, every token counts: a new id replaces
// an existing one, which is then listed below it. The same is done for an id in the
// arguments of a call, because their text cannot end with a marker.
func Show(v View, gap int, mask protection.Protection, count int, recall string) []edit.Edit {
	from := min(gap, len(v.Messages))
	if mask&protection.Session == 0 {
		from = 0
	}
	best := v.bestShown(from, len(v.Messages), mask)
	if best < 0 {
		best = v.bestShown(0, from, mask)
	}
	if best < 0 && !slices.ContainsFunc(v.Messages, edit.Speaks) {
		return nil // the first speaker might have the marker's role
	}
	if best < 0 {
		at := v.gapAt(gap)
		return []edit.Edit{{Start: at, End: at, New: []chat.Message{protection.NewMarker(chat.User, count, recall, nil)}, Why: whyShown}}
	}
	m := v.Messages[best]
	var changed chat.Message
	if (mask&protection.Session == 0 || tellingPart(m) < 0) && len(protection.RecallIDs(m)) > 0 {
		changed = v.otherRecall(m, recall)
		recall = changed.Recall
	} else {
		changed = withMarker(m, count, recall)
	}
	return []edit.Edit{{Start: best, End: best + 1, New: []chat.Message{changed}, Why: whyShown, Recall: recall}}
}

// otherRecall returns m with a new recall id, made of recall, in place of its present
// one: the first that takes no more tokens, or else the shortest of several.
func (v View) otherRecall(m chat.Message, recall string) chat.Message {
	const tries = 64
	var best chat.Message
	for k := range tries {
		put := protection.WithRecall(m, v.recallID(m.ID, "shown", recall, strconv.Itoa(k)))
		if k == 0 || v.Size(put) < v.Size(best) {
			best = put
		}
		if v.Size(best) <= v.Size(m) {
			break
		}
	}
	return best
}

// bestShown returns the message of start to end that is best suited to end with a
// marker, the first of equals, or -1.
func (v View) bestShown(start, end int, mask protection.Protection) int {
	best, rank := -1, 0
	for i := start; i < end; i++ {
		if n := v.showsWell(i, mask); n > rank {
			best, rank = i, n
		}
	}
	return best
}

const whyShown = "names what is left out"

// gapAt returns the last index up to from at which a message can be inserted: not
// between a call and its results, and not before the system message.
func (v View) gapAt(from int) int {
	if len(v.Messages) == 0 {
		return 0
	}
	groups, of := chat.Groups(v.Messages)
	at := groups[of[min(from, len(v.Messages)-1)]][0]
	for at < len(v.Messages) && (v.Messages[at].Role == chat.System || v.Messages[at].Role == chat.Developer) {
		at++
	}
	return at
}

// withMarker returns m with a marker at its end, which replaces one that is already
// there. A record becomes that marker.
func withMarker(m chat.Message, count int, recall string) chat.Message {
	parts := slices.Clone(m.Parts)
	last := &parts[tellingPart(m)]
	record := m.State == chat.Marked
	text := last.Text
	if record {
		text = "\n" + text
	}
	text, before, names := protection.CutMarker(text)
	mark := protection.MarkerText(before+count, recall, names)
	if last.Raw, last.Text = "", mark; record {
		changed := m.With(chat.Marked, parts...)
		changed.Recall = recall
		return changed
	}
	last.Text = text + "\n" + mark
	changed := m.With(chat.Outlined, parts...)
	changed.Recall = cmp.Or(m.Recall, recall)
	return changed
}

// tellingPart returns the last part of m that may end with a marker, or -1.
func tellingPart(m chat.Message) int {
	for i := len(m.Parts) - 1; i >= 0; i-- {
		if k := m.Parts[i].Kind; k == chat.Result || k == chat.Text && m.Role == chat.User {
			return i
		}
	}
	return -1
}

// showsWell returns how suitable message i is to end with a marker, 0 for not at all.
func (v View) showsWell(i int, mask protection.Protection) int {
	m := v.Messages[i]
	if v.Protections[i]&mask != 0 || len(m.Parts) == 0 || m.HasOpaque() {
		return 0
	}
	if mask&protection.Session == 0 && len(protection.RecallIDs(m)) > 0 {
		return 5
	}
	part := tellingPart(m)
	switch {
	case part < 0 && len(protection.RecallIDs(m)) > 0:
		return 1
	case part < 0 || m.IsSummary():
		return 0
	case m.State == chat.Marked && strings.HasPrefix(m.Parts[part].Text, "[marker "):
		return 4
	case m.State == chat.Marked:
		return 0
	case m.State == chat.Outlined:
		return 3
	case len(v.Facts) > i && len(v.Facts[i].Copies) > 0:
		return 1
	}
	return 2
}
