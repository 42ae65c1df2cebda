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
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

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

// checkInvariants reports the first invariant of docs/INVARIANTS.md that after
// breaks; before is the transcript that was edited.
func checkInvariants(before, after chat.Transcript, rules Rules) error {
	at, err := idPositions(before)
	if err != nil {
		return fmt.Errorf("transcript: %w", err)
	}
	if _, err := idPositions(after); err != nil {
		return fmt.Errorf("edited transcript: %w", err)
	}
	for _, check := range []func() error{
		func() error { return checkLocked(before, after, rules.Locked) },
		func() error { return checkOrder(after, at, rules.Moved) },
		func() error { return checkMessages(before, after, at) },
		func() error { return checkPairs(before, after) },
		func() error { return checkUsers(before, after, rules.NoUser) },
		func() error { return checkAlternation(before, after) },
		func() error { return checkSize(before, after, rules.Size) },
	} {
		if err := check(); err != nil {
			return fmt.Errorf("edited transcript: %w", err)
		}
	}
	return nil
}

func idPositions(t chat.Transcript) (map[string]int, error) {
	at := make(map[string]int, len(t))
	for i, m := range t {
		if j, twice := at[m.ID]; twice {
			return nil, fmt.Errorf("messages %d and %d have one id, %q", j, i, m.ID)
		}
		at[m.ID] = i
	}
	return at, nil
}

func checkLocked(before, after chat.Transcript, locked func(int) bool) error {
	if locked == nil {
		return nil
	}
	now, err := idPositions(after)
	if err != nil {
		return err
	}
	for i, m := range before {
		if !locked(i) {
			continue
		}
		switch k, present := now[m.ID]; {
		case !present:
			return fmt.Errorf("protected message %d (%s) is gone", i, m.ID)
		case !Same(m, after[k]):
			return fmt.Errorf("protected message %d (%s) is changed", i, m.ID)
		}
	}
	return nil
}

// checkOrder checks that the messages of before are in after in their order: those
// that may move, and the others.
func checkOrder(after chat.Transcript, at map[string]int, moved func(int) bool) error {
	last := map[bool]int{true: -1, false: -1}
	for _, m := range after {
		i, old := at[m.ID]
		if !old {
			continue
		}
		class := moved != nil && moved(i)
		if i < last[class] {
			return fmt.Errorf("message %d (%s) comes after message %d", i, m.ID, last[class])
		}
		last[class] = i
	}
	return nil
}

// checkMessages checks that no message was emptied, that changed text is UTF-8,
// that changed arguments are JSON if they were before, and that thinking is
// unchanged.
func checkMessages(before, after chat.Transcript, at map[string]int) error {
	for _, m := range after {
		i, old := at[m.ID]
		if old && Same(before[i], m) {
			continue
		}
		if err := checkParts(m); err != nil {
			return fmt.Errorf("message %s: %w", m.ID, err)
		}
		if old {
			if err := checkChanged(before[i], m); err != nil {
				return fmt.Errorf("message %d (%s): %w", i, m.ID, err)
			}
		}
	}
	return nil
}

func checkParts(m chat.Message) error {
	if len(m.Parts) == 0 {
		return errors.New("empty")
	}
	for _, p := range m.Parts {
		if !utf8.ValidString(p.Text) || !utf8.ValidString(p.Args) {
			return errors.New("text is not valid UTF-8")
		}
		if (p.Kind == chat.Text || p.Kind == chat.Summary) && strings.TrimSpace(p.Text) == "" && len(m.Parts) == 1 {
			return errors.New("empty text")
		}
	}
	return nil
}

func checkChanged(old, m chat.Message) error {
	if old.Role != m.Role {
		return errors.New("role changed")
	}
	if old.HasOpaque() {
		return errors.New("it was rewritten, but contains a part that must not be")
	}
	if len(old.Parts) != len(m.Parts) {
		return fmt.Errorf("%d parts were %d", len(m.Parts), len(old.Parts))
	}
	for i, p := range m.Parts {
		q := old.Parts[i]
		if p.Kind != q.Kind || p.ID != q.ID || p.Name != q.Name {
			return fmt.Errorf("part %d became another", i)
		}
		if p.Kind == chat.Thinking && p != q {
			return errors.New("thinking changed")
		}
		if p.Args != q.Args && json.Valid([]byte(q.Args)) && !json.Valid([]byte(p.Args)) {
			return fmt.Errorf("arguments of call %s are no JSON", p.ID)
		}
	}
	return nil
}

// A pairFault is a call without result or a result without call, by the messages
// and the id.
type pairFault struct {
	message, call string
	kind          chat.Kind
}

// countFaults counts the faults of t, and all its results without a call: a message
// with results of both kinds is not among the faults.
func countFaults(t chat.Transcript) (out map[pairFault]int, orphans int) {
	p := chat.PairUp(t)
	out = make(map[pairFault]int)
	for i, m := range t {
		if p.Unanswered[i] > 0 {
			out[pairFault{m.ID, "", chat.Call}] = p.Unanswered[i]
			orphans += p.Unanswered[i]
		}
		for k, part := range m.Parts {
			switch part.Kind {
			case chat.Call, chat.ServerCall:
				orphans--
			case chat.Result, chat.ServerResult:
				orphans++
				if p.Orphan(i, k, part.Kind) {
					out[pairFault{m.ID, part.ID, part.Kind}]++
				}
			}
		}
	}
	return out, orphans
}

// checkPairs checks that no call lost its result and no result its call, and that
// the calls waiting for a result at the end are still there.
func checkPairs(before, after chat.Transcript) error {
	was, orphansWere := countFaults(before)
	is, orphans := countFaults(after)
	var made []string
	for f, n := range is {
		if n > was[f] {
			made = append(made, fmt.Sprintf("message %s: %s without its partner", f.message, f.kind))
		}
	}
	if len(made) > 0 {
		return errors.New(slices.Min(made))
	}
	if orphans > orphansWere {
		return fmt.Errorf("%d results without their partner were %d", orphans, orphansWere)
	}
	now, err := idPositions(after)
	if err != nil {
		return err
	}
	for _, m := range before[chat.Open(before):] {
		if _, present := now[m.ID]; !present {
			return fmt.Errorf("message %s of the open group is gone", m.ID)
		}
	}
	return nil
}

func checkUsers(before, after chat.Transcript, noUser bool) error {
	if noUser {
		return nil
	}
	if i := chat.Newest(before, chat.Message.Typed); i >= 0 {
		id := before[i].ID
		if chat.Newest(after, func(m chat.Message) bool { return m.ID == id }) < 0 {
			return fmt.Errorf("latest user message %d (%s) is gone", i, id)
		}
	}
	if chat.Newest(before, isUserMessage) >= 0 && chat.Newest(after, isUserMessage) < 0 {
		return errors.New("no user message is left")
	}
	return nil
}

func checkAlternation(before, after chat.Transcript) error {
	if repeated := repeatedRoles(before, after); len(repeated) > 0 {
		i := repeated[0].second
		return fmt.Errorf("message %d (%s): two %s messages meet that did not meet before", i, after[i].ID, after[i].Role)
	}
	if i, role := changedSpeaker(before, after); i >= 0 {
		return fmt.Errorf("message %d (%s) speaks last, but the %s did before", i, after[i].ID, role)
	}
	return nil
}

// A repeatedRole is two messages of one role, by index, with none between them that
// counts.
type repeatedRole struct{ first, second int }

// repeatedRoles returns the messages of after that follow one of their own role, if the
// two were not adjacent in before.
func repeatedRoles(before, after chat.Transcript) (out []repeatedRole) {
	previous, last := previousSpeakers(before), -1
	for i, m := range after {
		if !Speaks(m) {
			continue
		}
		if last >= 0 && after[last].Role == m.Role {
			if was, old := previous[m.ID]; !old || was != after[last].ID {
				out = append(out, repeatedRole{last, i})
			}
		}
		last = i
	}
	return out
}

// previousSpeakers returns, for each message that counts, the one before it.
func previousSpeakers(t chat.Transcript) map[string]string {
	before := make(map[string]string)
	last := ""
	for _, m := range t {
		if Speaks(m) {
			before[m.ID] = last
			last = m.ID
		}
	}
	return before
}

// changedSpeaker returns the last message of after that counts, and the role of the
// last one in before, if they differ: the next added message would then meet one of
// its own role. Otherwise it returns -1.
func changedSpeaker(before, after chat.Transcript) (i int, role chat.Role) {
	was, is := chat.Newest(before, Speaks), chat.Newest(after, Speaks)
	if was < 0 || is < 0 || before[was].Role == after[is].Role {
		return -1, ""
	}
	return is, before[was].Role
}

func isUserMessage(m chat.Message) bool {
	return m.Role == chat.User && m.State != chat.Marked && m.Says()
}

func checkSize(before, after chat.Transcript, size func(chat.Message) int) error {
	if size == nil {
		return nil
	}
	was, is := totalSize(before, size), totalSize(after, size)
	if is > was {
		return fmt.Errorf("%d tokens were %d", is, was)
	}
	return nil
}

func totalSize(t chat.Transcript, size func(chat.Message) int) (sum int) {
	for _, m := range t {
		sum += size(m)
	}
	return sum
}
