// Package edit describes changes to a transcript as data, and applies them in one
// place. Levels propose edits; only [Apply] executes them. The rules for every
// change are therefore checked once, here: nothing protected is touched, calls keep
// their results, the order stays, the conversation does not grow.
package edit

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"

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

// KeepProtection returns t with the protection of messages in now, under whatever
// text: a round to be undone may be older than the protection.
func KeepProtection(t, now chat.Transcript) chat.Transcript {
	protected := make(map[string]bool)
	for _, m := range now {
		if m.Protected {
			protected[m.ID] = true
		}
	}
	if len(protected) == 0 {
		return t
	}
	t = slices.Clone(t)
	for i := range t {
		t[i].Protected = t[i].Protected || protected[t[i].ID]
	}
	return t
}

// A Round is one applied compaction: one list of edits for each level that ran,
// each for the outcome of the one before. A client that sends its whole
// conversation with every request gets the same rounds each time, so that the
// server's prompt cache stays valid.
type Round struct {
	Seen  int      // number of messages of the original conversation
	Sum   string   // of those messages
	Steps [][]Edit // in order
}

// Replay repeats rounds on the original conversation. If the original has changed
// under a round, that round and those after it are dropped; fit are the rounds that
// were applied.
func Replay(original chat.Transcript, rounds []Round) (t chat.Transcript, fit []Round) {
	seen := 0
	for i, r := range rounds {
		if r.Seen > len(original) || r.Seen < seen || r.Sum != Sum(original[:r.Seen]) {
			return append(t, original[seen:]...), rounds[:i]
		}
		next := append(t[:len(t):len(t)], original[seen:r.Seen]...)
		for _, edits := range r.Steps {
			var err error
			if next, err = assemble(next, Sorted(edits)); err != nil {
				return append(t, original[seen:]...), rounds[:i]
			}
		}
		t, seen = next, r.Seen
	}
	return append(t[:len(t):len(t)], original[seen:]...), rounds
}

// Sum returns a hash of the content of t: roles, parts and pairing, not ids of
// messages, which a client need not send. A summary has the same hash as a block
// and as its text on the wire, and so has an opaque part.
func Sum(t chat.Transcript) string {
	h := sha256.New()
	w := bufio.NewWriterSize(h, sumBuffer) // a hash gets many short texts; writing to it never fails
	for _, m := range t {
		_, _ = w.Write(appendHead(w.AvailableBuffer(), string(m.Role), len(m.Parts)))
		for _, p := range m.Parts {
			kind := p.Kind
			if kind == chat.Summary || kind == chat.Opaque {
				kind = chat.Text
			}
			_, _ = w.Write(appendHead(w.AvailableBuffer(), string(kind), len(p.Text), len(p.ID), len(p.Name), len(p.Args)))
			for _, s := range []string{p.Text, p.ID, p.Name, p.Args} {
				_, _ = w.WriteString(s)
			}
			if p.Image != nil {
				fmt.Fprintf(w, "%s %d %s", p.Image.MediaType, len(p.Image.Data), p.Image.Data+p.Image.URL)
			}
		}
	}
	_ = w.Flush()
	return hex.EncodeToString(h.Sum(nil)[:16])
}

const sumBuffer = 4 << 10

// appendHead appends a line with a name and numbers to b.
func appendHead(b []byte, name string, numbers ...int) []byte {
	b = append(b, name...)
	for _, n := range numbers {
		b = strconv.AppendInt(append(b, ' '), int64(n), 10)
	}
	return append(b, '\n')
}
