package archive

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/edit"
)

// Next returns the number that the next step has.
func Next(infos []StepInfo) int {
	next := 1
	for _, i := range infos {
		next = max(next, i.Number+1)
	}
	return next
}

// InEffect returns the rounds that no later step takes back, oldest first.
func InEffect(infos []StepInfo) []StepInfo {
	var rounds []StepInfo
	for _, i := range infos {
		if i.Undoes == 0 {
			rounds = append(rounds, i)
			continue
		}
		rounds = slices.DeleteFunc(rounds, func(r StepInfo) bool { return r.Number == i.Undoes })
	}
	return rounds
}

// Undo returns the conversation as it was before the newest round in effect,
// with what was added to now since, and that round. The caller puts a step that
// Undoes it, with now as Before, and goes on with the conversation returned.
//
// now must begin with what the round left. ErrNotFound where no round is in
// effect. Where the round is Redacted, so is the conversation returned.
func Undo(ctx context.Context, store Store, session string, now chat.Transcript) (chat.Transcript, StepInfo, error) {
	infos, err := store.Steps(ctx, session)
	if err != nil {
		return nil, StepInfo{}, err
	}
	rounds := InEffect(infos)
	if len(rounds) == 0 {
		return nil, StepInfo{}, fmt.Errorf("undo in session %s: round %w", session, ErrNotFound)
	}
	newest := rounds[len(rounds)-1]
	step, err := store.Get(ctx, session, newest.Number)
	if err != nil {
		return nil, newest, err
	}
	left, _, err := applyRound(step.Before, step.Edits.Steps)
	if err != nil {
		return nil, newest, fmt.Errorf("undo round %d of session %s: %w", newest.Number, session, err)
	}
	if len(now) < len(left) || step.Redacted == 0 && edit.Sum(now[:len(left)]) != edit.Sum(left) {
		return nil, newest, fmt.Errorf("undo round %d of session %s: the conversation does not begin with what the round left; give the one that it was made on", newest.Number, session)
	}
	return slices.Concat(step.Before, now[len(left):]), newest, nil
}

// applyRound makes the edits of a round on t, each list on what the one before
// left. inverse takes them back in the same way.
func applyRound(t chat.Transcript, steps [][]edit.Edit) (after chat.Transcript, inverse [][]edit.Edit, err error) {
	after = t
	for _, edits := range steps {
		back, err := invert(after, edits)
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

// invert returns the edits that take edits back where they were made on t.
func invert(t chat.Transcript, edits []edit.Edit) ([]edit.Edit, error) {
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
