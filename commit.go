package tiercompact

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
	"github.com/tiercompact/tiercompact/internal/guard"
	"github.com/tiercompact/tiercompact/levels"
)

// commit makes a planned round: it is archived, recorded and swapped in. A level
// that has too little to offer is put off instead.
func (s *Session) commit(ctx context.Context, o *outcome) {
	r := o.round
	if o.err == nil {
		o.skip = r.skipReason(o.forced)
	}
	if o.dryRun {
		return
	}
	if o.skip != "" {
		s.deferLevel(o.picked, o.skip, &r.before)
	} else if o.err == nil {
		if o.number, o.err = s.archiveRound(ctx, r); o.err != nil {
			o.failed = "archive"
		} else if o.err = s.swapIn(o); o.err != nil {
			o.failed = "record"
		} else {
			s.letGoOldRounds()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.models = r.models
}

// skipReason returns why the round is not worth making, "" where it is.
func (r *round) skipReason(forced bool) string {
	switch {
	case len(r.steps) == 0 && r.little:
		return ByMinGain
	case len(r.steps) == 0:
		return NothingToDo
	case !forced && r.belowMinGain(r.before.totalTokens()-r.t.totalTokens()):
		return ByMinGain
	}
	return ""
}

// deferLevel has the level of a round that changed nothing wait. No cooldown
// starts: only a compaction starts one, and a stronger level does not wait.
func (s *Session) deferLevel(level levels.Name, reason string, planned *conversation) {
	if level == levels.LayerName {
		return // it is never due by itself
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wait[level] = waitingSince(planned, reason)
	none := archive.Round{Level: string(level), Reason: reason, Edits: edit.Round{Seen: len(planned.messages)}, Time: s.cfg.Now()}
	_ = s.recordDone(func(f Recorder) error { return f.Round(none) }) // if it fails, it is written before the next record
}

func waitingSince(planned *conversation, reason string) levelWait {
	return levelWait{added: planned.messageTokens(), staled: planned.staleTokens(), reason: reason}
}

// archiveRound puts the round into the archive, before anything changes.
func (s *Session) archiveRound(ctx context.Context, r *round) (int, error) {
	s.mu.Lock()
	next := s.steps + 1
	s.mu.Unlock()
	var written []archive.Written
	err := guard.Recovered(func() error { written = s.cfg.writtenForms(r.t.messages); return nil })
	if err != nil {
		return 0, fmt.Errorf("archive round %d: %w", next, err)
	}
	a := archive.Step{
		Session: s.id, Number: next, Before: r.before.messages, Removed: r.gone,
		Edits: r.roundEdits(), Reason: r.cause, Level: r.strongestLevel(), Note: r.note, Time: s.cfg.Now(), Written: written,
	}
	for _, st := range r.steps {
		if st.summary != nil {
			a.Summary = json.RawMessage(st.summary.Payload)
		}
	}
	return s.putStep(ctx, r, a)
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

// putStep archives a step. One that could not be written is kept, to ask the
// archive by it before a model is asked for another round.
func (s *Session) putStep(ctx context.Context, r *round, a archive.Step) (int, error) {
	number, err := archiveStep(ctx, s.cfg.Archive, s.cfg.Deadlines.Archive, a)
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

// putPending puts the step that could not be archived, if there is one and the
// archive is not left out; with an error no round may be made now. The step's
// own round is not made: it was planned for an earlier conversation, and an archive
// may hold steps of which nothing came.
//
// A step may be such that it can never be written. So if it fails again and the
// conversation is another, the round goes on without a model, and its step is put
// instead.
func (s *Session) putPending(ctx context.Context, r *round) error {
	s.mu.Lock()
	u := s.unkept
	if u == nil {
		s.mu.Unlock()
		return nil
	}
	a := u.step
	a.Number = max(a.Number, s.steps+1)
	s.mu.Unlock()
	if left := r.models.archive.MessagesLeft(r.added); left > 0 && r.cause != byHand {
		return fmt.Errorf("%w: the archive is asked again after %d more messages", u.err, left)
	}
	before := r.models.archive
	_, err := s.putStep(ctx, r, a)
	if err == nil {
		return nil
	}
	late, ok := errors.AsType[*CallbackError](err)
	if ok && late.Late() || ctx.Err() != nil || edit.Sum(a.Before) == r.sumBefore() {
		return err
	}
	r.models.archive = before // it is asked once more, and fails once
	r.unsure = "the archive failed: it is asked before a model is"
	return nil
}

// archiveStep archives a under its number, or the next one where the archive knows the
// session from elsewhere: an earlier process, or a write that failed late.
// All of it has one deadline.
func archiveStep(ctx context.Context, store archive.Store, within time.Duration, a archive.Step) (number int, err error) {
	if within > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, within)
		defer stop()
	}
	const tries = 100 // each means that somebody else took the number
	for range tries {
		err = guard.Recovered(func() error { return store.Put(ctx, a) }) // a redactor in front of it may fail
		if !errors.Is(err, archive.ErrExists) {
			break
		}
		infos, listErr := store.Steps(ctx, a.Session)
		if listErr != nil {
			return a.Number, errors.Join(err, listErr)
		}
		a.Number = max(a.Number+1, archive.Next(infos))
	}
	return a.Number, err
}

// swapIn puts what the round made in the place of what it was planned for. The
// messages that arrived meanwhile follow it.
func (s *Session) swapIn(o *outcome) error {
	r, number := o.round, o.number
	s.mu.Lock()
	defer s.mu.Unlock()
	made := archive.Round{Number: number, Level: r.strongestLevel(), Edits: r.roundEdits(), Time: s.cfg.Now()}
	if err := s.writeRecord(func(f Recorder) error { return f.Round(made) }); err != nil {
		return err
	}
	for _, e := range r.gone {
		s.t.recalls.Add(e.ID)
	}
	s.unlisted = r.unlisted
	n := len(r.before.messages)
	arrived := len(s.t.messages) - n
	s.t = r.t.withLaterMessages(&s.t, n)
	s.gate = s.cfg.gate.Start(arrived)
	s.cal, s.anchor = s.cal.Void(), 0
	s.summary = r.number - 1
	d := s.cfg.newDone(number, r.before.messages, r.t.messages, r.gone)
	d.made = true
	s.rounds = append(s.rounds, d)
	clear(s.wait)
	o.after = s.currentUsage()
	return nil
}

// sumBefore tells the conversation before the round from others.
func (r *round) sumBefore() string {
	if r.sum == "" {
		r.sum = edit.Sum(r.before.messages)
	}
	return r.sum
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
