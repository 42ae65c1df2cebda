// Package edit describes changes to a transcript as data, and applies them in one
// place. Levels propose edits; only [Apply] executes them. The rules for every
// change are therefore checked once, here: nothing protected is touched, calls keep
// their results, the order stays, the conversation does not grow.
package edit

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/tiercompact/tiercompact/chat"
)

// An Edit replaces a run of messages. A message that no edit covers is kept.
type Edit struct {
	Start, End int            // half-open run, in the transcript planned for; an empty run inserts
	New        []chat.Message // the replacement; none drops the run
	Why        string         // for dry runs, reports and traces
	Recall     string         // the archive's id of the replaced run; edits may share one; empty: nothing to recall
}

// Rules are requirements of a session beside the invariants.
type Rules struct {
	// Locked reports the messages that must stay unchanged. Nil locks nothing.
	Locked func(i int) bool
	// Moved reports the messages that may move to the front, in their order.
	// Nothing else moves. Nil moves nothing.
	Moved func(i int) bool
	// Size returns the tokens of a message. Nil allows growth.
	Size func(chat.Message) int
	// NoUser allows a conversation without a user message.
	NoUser bool
}

// An Error reports an invalid edit. It is a bug in the level that proposed the
// edit, never the user's fault.
type Error struct {
	Edit    Edit
	Problem string
}

func (e *Error) Error() string {
	return fmt.Sprintf("edit of messages %d to %d: %s", e.Edit.Start, e.Edit.End, e.Problem)
}

// Apply returns a copy of t with edits applied, in order of position. It applies
// all of them or none: an error changes nothing.
func Apply(t chat.Transcript, edits []Edit, rules Rules) (chat.Transcript, error) {
	out, err := assemble(t, Sorted(edits))
	if err != nil {
		return nil, err
	}
	if err := checkInvariants(t, out, rules); err != nil {
		return nil, err
	}
	return out, nil
}

// Sorted returns edits in order of position, insertions before the edit of
// what follows them.
func Sorted(edits []Edit) []Edit {
	return slices.SortedStableFunc(slices.Values(edits), func(a, b Edit) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End))
	})
}

func assemble(t chat.Transcript, edits []Edit) (chat.Transcript, error) {
	size := len(t)
	for _, e := range edits {
		size += len(e.New)
	}
	out := make(chat.Transcript, 0, size)
	next := 0
	for _, e := range edits {
		if e.Start < next || e.End < e.Start || e.End > len(t) {
			return nil, &Error{e, "out of bounds or overlapping"}
		}
		out = append(append(out, t[next:e.Start]...), e.New...)
		next = e.End
	}
	return append(out, t[next:]...), nil
}

// FirstChanged returns the index of the first message in which after differs from
// before, or -1 if they are equal.
func FirstChanged(before, after chat.Transcript) int {
	for i := range min(len(before), len(after)) {
		if !Same(before[i], after[i]) {
			return i
		}
	}
	if len(before) == len(after) {
		return -1
	}
	return min(len(before), len(after))
}

// Same reports whether a and b are one message with one content.
func Same(a, b chat.Message) bool {
	return a.ID == b.ID && a.Role == b.Role && a.State == b.State && slices.Equal(a.Parts, b.Parts)
}
