package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
)

// Next returns the number that the next step has.
func Next(infos []StepInfo) int {
	next := 1
	for _, i := range infos {
		next = max(next, i.Number+1)
	}
	return next
}

// An Undone is a conversation with a round undone.
type Undone struct {
	Messages chat.Transcript // as they were before the round, with later messages
	Round    StepInfo        // Redacted are the positions in Messages of changed ones
	Left     int             // number of messages in the round's outcome
	Format   string          // of the file of the round's conversation; "" if there was none
}

// Undo returns the conversation before the newest round whose outcome it is, with
// the messages added to now since. The caller puts a step that Undoes the round,
// with now as Before, and continues with the returned conversation. now must begin
// with the outcome of the round: otherwise the round was undone, or archived and
// never applied. If no round fits, the error is a [*NotLeftError]. Redacted
// messages are copied from now, if the round left them unchanged.
func Undo(ctx context.Context, store Store, session string, now chat.Transcript) (Undone, error) {
	u := undoSearch{store: store, session: session, now: now, sums: messageSums(now)}
	done, found, err := u.findRound(ctx)
	if err == nil && !found {
		err = u.explainNotLeft(ctx)
	}
	return done, err
}

// An undoSearch is the search for the round whose outcome is a conversation.
type undoSearch struct {
	store   Store
	session string
	now     chat.Transcript
	sums    []string // of its messages
	infos   []StepInfo
	miss    NotLeftError
}

// findRound returns the conversation before the newest round whose outcome is now,
// and whether there is one.
func (u *undoSearch) findRound(ctx context.Context) (done Undone, found bool, err error) {
	u.miss.Sessions = []string{u.session}
	if u.infos, err = u.store.Steps(ctx, u.session); err != nil {
		return done, false, err
	}
	for _, info := range slices.Backward(u.infos) {
		if info.Undoes > 0 {
			continue
		}
		if done, found, err := u.matchRound(ctx, info); found || err != nil {
			return done, found, err
		}
	}
	if u.miss.Rounds == 0 {
		u.miss.Empty = u.miss.Sessions
	}
	return done, false, nil
}

// matchRound returns the conversation before a round, if now begins with its
// outcome.
func (u *undoSearch) matchRound(ctx context.Context, info StepInfo) (done Undone, found bool, err error) {
	u.miss.Rounds++
	w, ok := findWritten(info.Written, u.sums)
	if len(info.Written) > 0 && !ok {
		u.rememberNearest(info)
		return done, false, nil
	}
	step, err := u.store.Get(ctx, u.session, info.Number)
	if err != nil {
		return Undone{Round: info}, false, err
	}
	after, _, err := applyRound(step.Before, step.Edits.Steps)
	if err != nil {
		return done, false, nil // changed by hand, or by another program
	}
	done = Undone{Round: info, Left: len(after), Format: w.Format}
	var at []int
	switch {
	case ok:
		done.Left, at = len(w.Sums), u.matchPlaces(w, after)
	case leftByRound(step, after, u.now):
		for j := range after {
			at = append(at, j)
		}
	default:
		return done, false, nil
	}
	before, redacted := withRedactedParts(step, after, at, u.now)
	before = edit.KeepProtection(before, u.now[:done.Left])
	done.Messages, done.Round.Redacted = slices.Concat(before, u.now[done.Left:]), redacted
	return done, true, nil
}

// matchPlaces returns the index of each message of after in now, which begins with
// w; -1 if unknown, or if it is there without its secrets.
func (u *undoSearch) matchPlaces(w Written, after chat.Transcript) []int {
	at := alignMessages(after, u.now[:len(w.Sums)])
	for j, k := range at {
		if k >= 0 && u.sums[k] != w.Sums[k] {
			at[j] = -1
		}
	}
	return at
}

// rememberNearest remembers the round with the most messages at the front of now.
func (u *undoSearch) rememberNearest(info StepInfo) {
	for _, w := range info.Written {
		if n := w.commonStart(u.sums); n > u.miss.Alike {
			u.miss.Near, u.miss.Alike = info, n
		}
	}
}

// explainNotLeft returns why now is not the outcome of a round.
func (u *undoSearch) explainNotLeft(ctx context.Context) error {
	byNumber := make(map[int]StepInfo, len(u.infos))
	for _, info := range u.infos {
		byNumber[info.Number] = info
	}
	for _, info := range slices.Backward(u.infos) {
		if info.Undoes > 0 {
			if _, ok := findWritten(info.Written, u.sums); ok {
				u.miss.Made = byNumber[info.Undoes]
				return &u.miss
			}
			continue
		}
		step, err := u.store.Get(ctx, u.session, info.Number)
		if err != nil {
			return err
		}
		if r := step.Edits; r.Seen <= len(u.now) && r.Seen > 0 && r.Sum == edit.Sum(u.now[:r.Seen]) {
			u.miss.Made = info
			return &u.miss
		}
	}
	return &u.miss
}

// leftByRound reports whether now begins with after, the outcome of a round.
func leftByRound(s Step, after, now chat.Transcript) bool {
	return len(now) >= len(after) && edit.Sum(now[:len(after)]) == cmp.Or(s.Left, edit.Sum(after))
}

// alignMessages returns the index of each message of after in now, which was read
// from the file to which after was written; -1 if unknown. A writer omits empty
// messages, and merges those at the front into one.
func alignMessages(after, now chat.Transcript) []int {
	at := make([]int, len(after))
	for i := range at {
		at[i] = -1
	}
	k := len(now) - 1
	for j := len(after) - 1; j >= 0; j-- {
		if !everyFormatKeeps(after[j]) {
			continue
		}
		for k >= 0 && !everyFormatKeeps(now[k]) {
			k--
		}
		if k < 0 || speakerRole(after[j].Role) != speakerRole(now[k].Role) {
			break
		}
		at[j] = k
		k--
	}
	return at
}

// everyFormatKeeps reports whether every format keeps m.
func everyFormatKeeps(m chat.Message) bool {
	return slices.ContainsFunc(m.Parts, func(p chat.Part) bool {
		return p.Kind == chat.Call || p.Kind == chat.Result || p.Image != nil || p.Kind != chat.Thinking && p.Text != ""
	})
}

// speakerRole returns a role as every format distinguishes it.
func speakerRole(r chat.Role) chat.Role {
	if r == chat.System || r == chat.Developer {
		return chat.User
	}
	return r
}

// withRedactedParts returns the conversation before a round with the outcome after.
// Redacted messages are taken from now if the round did not change them; it also
// returns the positions of the others. at are the indices of the messages of after
// in now.
func withRedactedParts(s Step, after chat.Transcript, at []int, now chat.Transcript) (before chat.Transcript, redacted []int) {
	if len(s.Redacted) == 0 {
		return s.Before, nil
	}
	places := make(map[string]int, len(after)) // -1 if an id occurs twice
	for i, m := range after {
		if _, twice := places[m.ID]; twice {
			i = -1
		}
		places[m.ID] = i
	}
	before = slices.Clone(s.Before)
	for _, i := range s.Redacted {
		if j, ok := places[before[i].ID]; ok && j >= 0 && at[j] >= 0 && edit.Same(after[j], before[i]) {
			before[i] = now[at[j]]
			continue
		}
		redacted = append(redacted, i)
	}
	return before, redacted
}

// TakeBack returns the conversation before the round of step, whose outcome is now,
// and the positions of changed messages.
func TakeBack(step Step, now chat.Transcript) (before chat.Transcript, redacted []int, err error) {
	after, _, err := applyRound(step.Before, step.Edits.Steps)
	if err != nil {
		return nil, nil, err
	}
	if len(after) != len(now) || !leftByRound(step, after, now) {
		return nil, nil, errors.New("the conversation is not what it left")
	}
	at := make([]int, len(after))
	for i := range at {
		at[i] = i
	}
	before, redacted = withRedactedParts(step, after, at, now)
	return before, redacted, nil
}

// outcomeSum returns edit.Sum of the outcome of a round, or "" if its edits do not
// fit.
func outcomeSum(s Step) string {
	after, _, err := applyRound(s.Before, s.Edits.Steps)
	if err != nil {
		return ""
	}
	return edit.Sum(after)
}

// applyRound applies the edits of a round to t, each list to the result of the one
// before. inverse undoes them in the same way.
func applyRound(t chat.Transcript, steps [][]edit.Edit) (after chat.Transcript, inverse [][]edit.Edit, err error) {
	after = t
	for _, edits := range steps {
		back, err := invertEdits(after, edits)
		if err != nil {
			return nil, nil, err
		}
		one := edit.Round{Seen: len(after), Sum: edit.Sum(after), Steps: [][]edit.Edit{edits}}
		next, made := edit.Replay(after, []edit.Round{one})
		if len(made) == 0 {
			return nil, nil, errors.New("its edits do not fit the conversation")
		}
		after, inverse = next, append(inverse, back)
	}
	slices.Reverse(inverse)
	return after, inverse, nil
}

// invertEdits returns the edits that undo edits of t.
func invertEdits(t chat.Transcript, edits []edit.Edit) ([]edit.Edit, error) {
	var back []edit.Edit
	moved := 0
	for _, e := range edit.Sorted(edits) {
		if e.Start < 0 || e.End < e.Start || e.End > len(t) {
			return nil, &edit.Error{Edit: e, Problem: "out of bounds"}
		}
		at := e.Start + moved
		back = append(back, edit.Edit{Start: at, End: at + len(e.New), New: t[e.Start:e.End:e.End], Why: "undo"})
		moved += len(e.New) - (e.End - e.Start)
	}
	return back, nil
}

// A NotLeftError says that a conversation is not the outcome of a round, with the
// nearest matches. It wraps [ErrNotFound].
type NotLeftError struct {
	Sessions []string // number of steps searched
	Empty    []string // of these, the ones without a round
	Rounds   int      // of all of them
	// Made is the newest round on the conversation: it is not compacted, or the
	// round was undone. Its Number is 0 if there is none.
	Made StepInfo
	// Near is the round whose file has the most messages at the front of the
	// conversation in common, Alike, but not the next one. Its Number is 0 if there
	// is none.
	Near  StepInfo
	Alike int
}

// Error implements error.
func (e *NotLeftError) Error() string {
	return fmt.Sprintf("undo in %v: a round that left this conversation: %v", e.Sessions, ErrNotFound)
}

// Unwrap returns ErrNotFound.
func (e *NotLeftError) Unwrap() error { return ErrNotFound }

// addSession adds the findings of another session.
func (e *NotLeftError) addSession(o *NotLeftError) {
	e.Sessions, e.Empty = append(e.Sessions, o.Sessions...), append(e.Empty, o.Empty...)
	e.Rounds += o.Rounds
	if o.Made.Number > 0 && (e.Made.Number == 0 || o.Made.Time.After(e.Made.Time)) {
		e.Made = o.Made
	}
	if o.Alike > e.Alike {
		e.Near, e.Alike = o.Near, o.Alike
	}
}

// An AmbiguousError says that a conversation is the outcome of two sessions, whose
// conversations before it differ.
type AmbiguousError struct{ Rounds [2]StepInfo }

// Error implements error.
func (e *AmbiguousError) Error() string {
	a, b := e.Rounds[0], e.Rounds[1]
	return fmt.Sprintf("round %d of session %s and round %d of session %s left this conversation, each of another one", a.Number, a.Session, b.Number, b.Session)
}

// UndoIn is [Undo] in several sessions, each of which may have compacted the
// outcome of another: it undoes the newest of the rounds. A damaged session counts
// only if no other has a round.
func UndoIn(ctx context.Context, store Store, sessions []string, now chat.Transcript) (Undone, error) {
	var found []Undone
	var others []*undoSearch
	var damaged error
	sums := messageSums(now)
	for _, s := range sessions {
		u := &undoSearch{store: store, session: s, now: now, sums: sums}
		done, ok, err := u.findRound(ctx)
		switch {
		case unreadable(err):
			damaged = errors.Join(damaged, err)
		case err != nil:
			return done, err
		case ok:
			found = append(found, done)
		default:
			others = append(others, u)
		}
	}
	switch {
	case len(found) > 0:
		return newestUndone(found)
	case damaged != nil:
		return Undone{}, damaged
	}
	return Undone{}, explainAll(ctx, others)
}

// explainAll returns why a conversation is not the outcome of a round in several
// sessions.
func explainAll(ctx context.Context, sessions []*undoSearch) error {
	var all NotLeftError
	for _, u := range sessions {
		err := u.explainNotLeft(ctx)
		var miss *NotLeftError
		if !errors.As(err, &miss) {
			return err
		}
		all.addSession(miss)
	}
	return &all
}

// newestUndone returns the newest of the rounds with the same outcome.
func newestUndone(found []Undone) (Undone, error) {
	u := slices.MaxFunc(found, func(a, b Undone) int {
		return cmp.Or(a.Round.Time.Compare(b.Round.Time), cmp.Compare(a.Left, b.Left))
	})
	for _, other := range found {
		if other.Left == u.Left && edit.Sum(other.Messages) != edit.Sum(u.Messages) {
			return Undone{}, &AmbiguousError{[2]StepInfo{other.Round, u.Round}}
		}
	}
	return u, nil
}
