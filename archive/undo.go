package archive

import (
	"cmp"
	"context"
	"errors"
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

// InEffect returns the rounds that no later step undoes, oldest first. The archive
// is written first, so the last step may be one that was never applied.
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
