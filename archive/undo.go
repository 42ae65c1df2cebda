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

// InEffect returns the rounds that no later step takes back, oldest first. The
// archive is written first, so the last step may be one that was never made.
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
// now must begin with what the round left, which decides: a round of which that
// is not so was taken back, or archived and never made. ErrNotFound where none
// fits. Redacted messages come back from now, where the round left them as they
// were; info.Redacted are the positions of those that do not.
func Undo(ctx context.Context, store Store, session string, now chat.Transcript) (before chat.Transcript, info StepInfo, err error) {
	infos, err := store.Steps(ctx, session)
	if err != nil {
		return nil, StepInfo{}, err
	}
	for _, info := range slices.Backward(infos) {
		if info.Undoes > 0 {
			continue
		}
		step, err := store.Get(ctx, session, info.Number)
		if err != nil {
			return nil, info, err
		}
		if after, made := left(step, now); made {
			step.Before, info.Redacted = mended(step, after, now)
			return slices.Concat(step.Before, now[len(after):]), info, nil
		}
	}
	return nil, StepInfo{}, fmt.Errorf("undo in session %s: a round that left this conversation: %w", session, ErrNotFound)
}

// left returns what a round left, as it is archived, and whether now begins
// with it.
func left(s Step, now chat.Transcript) (after chat.Transcript, made bool) {
	after, _, err := applyRound(s.Before, s.Edits.Steps)
	if err != nil || len(now) < len(after) {
		return nil, false
	}
	sum := s.Left
	if sum == "" {
		sum = edit.Sum(after)
	}
	return after, edit.Sum(now[:len(after)]) == sum
}

// mended returns the conversation before a round that left after, with redacted
// messages as now has them where the round did not touch them, and the positions
// of the others.
func mended(s Step, after, now chat.Transcript) (before chat.Transcript, redacted []int) {
	if len(s.Redacted) == 0 {
		return s.Before, nil
	}
	at := make(map[string]int, len(after)) // -1 where an id stands twice
	for i, m := range after {
		if _, twice := at[m.ID]; twice {
			i = -1
		}
		at[m.ID] = i
	}
	before = slices.Clone(s.Before)
	for _, i := range s.Redacted {
		if j, ok := at[before[i].ID]; ok && j >= 0 && edit.Same(after[j], before[i]) {
			before[i] = now[j]
			continue
		}
		redacted = append(redacted, i)
	}
	return before, redacted
}

// leaves returns edit.Sum of what a round leaves, or "" where its edits do not
// fit.
func leaves(s Step) string {
	after, _, err := applyRound(s.Before, s.Edits.Steps)
	if err != nil {
		return ""
	}
	return edit.Sum(after)
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
