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
