package tiercompact

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
	"github.com/tiercompact/tiercompact/internal/guard"
	"github.com/tiercompact/tiercompact/internal/protection"
	"github.com/tiercompact/tiercompact/levels"
)

// archiveRound puts the round into the archive, before anything changes.
func (s *Session) archiveRound(ctx context.Context, r *round, report *Report) (int, error) {
	s.mu.Lock()
	next := s.steps + 1
	s.mu.Unlock()
	r.gone = r.entries()
	var written []archive.Written
	err := guard.Recovered(func() error { written = s.cfg.writtenForms(r.t.messages); return nil })
	if err != nil {
		return 0, fmt.Errorf("archive round %d: %w", next, err)
	}
	a := archive.Step{
		Session: s.id, Number: next, Before: r.before.messages, Removed: r.gone,
		Edits: r.roundEdits(), Reason: r.decisionReason(report), Level: r.strongestLevel(), Note: r.note, Time: s.cfg.Now(), Written: written,
	}
	for _, st := range r.steps {
		if st.summary != nil {
			a.Summary = json.RawMessage(st.summary.Payload)
		}
	}
	return s.putStep(ctx, r, a)
}

// putStep archives a step. One that could not be written is kept, to ask the
// archive by it before a model is asked for another round.
func (s *Session) putStep(ctx context.Context, r *round, a archive.Step) (int, error) {
	number, err := archiveStep(ctx, s.cfg.Archive, s.cfg.ArchiveDeadline, a)
	s.mu.Lock()
	defer s.mu.Unlock()
	if broken, ok := errors.AsType[*CallbackError](err); !ok || broken.Callback == s.cfg.guards.archive.Name {
		r.models.archive = r.models.archive.AfterCall(err != nil, r.added)
	} // else Redact failed before the archive was asked
	if err != nil {
		err = fmt.Errorf("archive round %d: %w", number, err)
		s.unkept = &unkept{step: a, err: err}
		return 0, err
	}
	s.unkept = nil
	s.steps = number // taken, whatever follows
	return number, nil
}

// An unkept is a step that could not be archived, and why.
type unkept struct {
	step archive.Step
	err  error
}

// archiveAgain puts the step that could not be archived, if there is one and
// the archive is not left out. The round itself is not made: it was planned for
// an earlier conversation, and an archive may hold steps of which nothing came.
//
// A step may be such that it can never be written. So where it fails again and
// the conversation is another, the round goes on without a model, and its step
// is put instead: other says so.
func (s *Session) archiveAgain(ctx context.Context, r *round) (other bool, err error) {
	s.mu.Lock()
	u := s.unkept
	if u == nil {
		s.mu.Unlock()
		return false, nil
	}
	a := u.step
	a.Number = max(a.Number, s.steps+1)
	s.mu.Unlock()
	if left := r.models.archive.MessagesLeft(r.added); left > 0 && r.cause != byHand {
		return false, fmt.Errorf("%w: the archive is asked again after %d more messages", u.err, left)
	}
	before := r.models.archive
	if _, err = s.putStep(ctx, r, a); err == nil {
		return false, nil
	}
	if late, ok := errors.AsType[*CallbackError](err); ok && late.Late() || ctx.Err() != nil {
		return false, err
	}
	if other = edit.Sum(a.Before) != r.sumBefore(); other {
		r.models.archive = before // it is asked once more, and fails once
	}
	return other, err
}

// sumBefore tells the conversation before the round from others.
func (r *round) sumBefore() string {
	if r.sum == "" {
		r.sum = edit.Sum(r.before.messages)
	}
	return r.sum
}

// writtenForms returns what the file is known by that left is written to, nil where
// ReadBack fails.
func (cfg *settings) writtenForms(left chat.Transcript) []archive.Written {
	if cfg.ReadBack == nil || !cfg.outside {
		return nil
	}
	failed := false
	read := func(t chat.Transcript) []archive.Reading {
		readings, err := guard.Do(cfg.guards.readBack, func() []archive.Reading { return cfg.ReadBack(guard.Copied(t)) })
		cfg.faults.Add(err)
		failed = failed || err != nil
		return readings
	}
	var clean []archive.Reading
	if cfg.known != nil {
		if t, changed := archive.Clean(left, cfg.redact); changed {
			clean = read(t)
		}
	}
	readings := read(left)
	if failed {
		return nil
	}
	return archive.NewWritten(readings, clean)
}

// decisionReason returns why nothing was done, or else why the round is made. r is nil
// where none was planned.
func (r *round) decisionReason(report *Report) string {
	if report.Reason != "" || r == nil {
		return report.Reason
	}
	return r.cause
}

// strongestLevel returns the last level of the round; fit, which only trims what the
// others left, only where it was alone.
func (r *round) strongestLevel() string {
	for _, st := range slices.Backward(r.steps) {
		if st.level != levels.TruncateName {
			return string(st.level)
		}
	}
	return string(levels.TruncateName)
}

// roundEdits returns the round as it can be made again on a history that is sent
// anew.
func (r *round) roundEdits() edit.Round {
	out := edit.Round{Seen: len(r.before.messages), Sum: r.sumBefore()}
	for _, st := range r.steps {
		out.Steps = append(out.Steps, st.edits)
	}
	return out
}

// removedEntries returns what each recall id of the round stands for, without what
// [round.entries] lists below it.
func (r *round) removedEntries() []archive.Entry {
	var out []archive.Entry
	at := make(map[string]int)
	for _, st := range r.steps {
		for _, e := range st.edits {
			gone := replacedMessages(st.before.messages[e.Start:e.End], e.New)
			id := recallID(e)
			if len(gone) == 0 || id == "" {
				continue // what was put in alone stands for nothing, or for what another edit drops
			}
			k, seen := at[id]
			if !seen {
				k, at[id] = len(out), len(out)
				out = append(out, archive.Entry{ID: id})
			}
			for _, m := range gone {
				out[k].Messages = append(out[k].Messages, m)
				for _, below := range append([]string{m.Recall}, protection.RecallIDs(m)...) {
					if below != "" && below != id && !slices.Contains(out[k].Below, below) {
						out[k].Below = append(out[k].Below, below)
					}
				}
			}
		}
	}
	return out
}

func recallID(e edit.Edit) string {
	if e.Recall != "" {
		return e.Recall
	}
	for _, m := range e.New {
		if m.Recall != "" {
			return m.Recall
		}
	}
	return ""
}

// replacedMessages returns the messages of run that do not stand unchanged in put.
func replacedMessages(run, put []chat.Message) []chat.Message {
	stays := make(map[string]chat.Message, len(put))
	for _, m := range put {
		stays[m.ID] = m
	}
	var out []chat.Message
	for _, m := range run {
		if p, ok := stays[m.ID]; !ok || !edit.Same(m, p) {
			out = append(out, m)
		}
	}
	return out
}
