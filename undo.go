package tiercompact

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
	"github.com/tiercompact/tiercompact/levels"
)

// Undo reverts the newest round of this process: the conversation is byte for byte what
// it was before the round, followed by the messages added since. The cooldown begins.
// The report warns if usage is over a threshold afterwards. Each further call reverts
// the round before.
func (s *Session) Undo(ctx context.Context) (report Report, err error) {
	if err := s.markBusy(); err != nil {
		return Report{}, err
	}
	defer s.markIdle()
	defer s.reportFaults(&report)
	report, err = s.undoRound(ctx)
	return report, s.cfg.redactError(err)
}

// undoRound implements Undo. Its caller has made the session busy, and does not hold
// the lock: messages may be added while the archive is written.
func (s *Session) undoRound(ctx context.Context) (Report, error) {
	s.mu.Lock()
	report := Report{Before: s.promptTokens()}
	if len(s.rounds) == 0 {
		s.mu.Unlock()
		return report, ErrNothingToUndo
	}
	last, now := s.rounds[len(s.rounds)-1], s.t.snapshot()
	undoes := last.step
	step := archive.Step{
		Session: s.id, Number: s.steps + 1, Before: now.messages, Reason: "undo", Undoes: undoes, Time: s.cfg.Now(),
	}
	s.mu.Unlock()
	before, err := s.cfg.revertRound(ctx, s.id, &last, now.messages[:last.after])
	if err != nil {
		return report, err
	}
	number, err := archiveStep(ctx, s.cfg.Archive, s.cfg.Deadlines.Archive, step)
	if err != nil {
		return report, fmt.Errorf("archive undo of round %d: %w", undoes, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps = number
	err = s.restorePrevious(before, step.Time, &report)
	return report, err
}

// restorePrevious puts before, the conversation before the newest round, in place of
// the round's result, and fills the report. Its caller holds the lock.
func (s *Session) restorePrevious(before chat.Transcript, at time.Time, report *Report) error {
	if _, err := s.recordAgain(); err != nil {
		return err
	}
	last := s.rounds[len(s.rounds)-1]
	err := s.writeRecord(func(f Recorder) error {
		if last.recorded {
			err := f.Undo(at)
			if !errors.Is(err, archive.ErrNotFound) {
				return err
			}
			last.recorded = false
		}
		return f.Cut(0) // f does not know the round: all messages are written again
	})
	if err != nil {
		return err
	}
	was := s.t.messages
	s.rounds = s.rounds[:len(s.rounds)-1]
	s.t = s.rewritten(slices.Concat(before, was[last.after:]))
	if err := s.recordUndone(last.recorded, was); err != nil {
		return err
	}
	s.gate = s.cfg.gate.Start(0)
	s.cal, s.anchor = s.cal.WithoutAnchor(), 0
	s.summary = s.t.summaryNumber()
	clear(s.wait)
	report.Step, report.Usage = last.step, s.currentUsage()
	report.After = report.Usage.Tokens
	st := s.currentState()
	if picked, _ := pickLevel(&s.cfg, &st); picked != levels.None {
		report.Warnings = append(report.Warnings, fmt.Sprintf("usage is %.0f %% again: the next check after the cooldown may compact", 100*report.Usage.Share))
	}
	return nil
}

// rewritten returns the conversation with other messages. Its caller holds the lock.
func (s *Session) rewritten(messages chat.Transcript) conversation {
	return count(&s.cfg, func(own *counters) conversation { return s.t.withMessages(own, messages) })
}

// recordUndone records the messages that an undo restored: all of them, or, if the
// recorder knows the round, those that it may have in a form before they were
// protected. Its caller holds the lock.
func (s *Session) recordUndone(known bool, was chat.Transcript) error {
	now := s.t.messages[:len(s.t.messages):len(s.t.messages)]
	if !known {
		return s.recordDone(func(f Recorder) error { return f.Load(now) })
	}
	stood := make(map[string]chat.Message, len(was))
	for _, m := range was {
		stood[m.ID] = m
	}
	var errs []error
	for i, m := range now {
		if m.Protected && !edit.Same(m, stood[m.ID]) {
			errs = append(errs, s.recordDone(func(f Recorder) error { return f.Set(i, m) }))
		}
	}
	return errors.Join(errs...)
}

// Rewind returns the conversation to the message with an id: it undoes the rounds made
// after that message was added, then removes the messages that follow it.
func (s *Session) Rewind(ctx context.Context, id string) error {
	if err := s.markBusy(); err != nil {
		return err
	}
	defer s.markIdle()
	s.mu.Lock()
	rounds, now, known := slices.Clone(s.rounds), s.t.snapshot().messages, s.t.ids.Contains(id)
	s.mu.Unlock()
	if !known {
		return fmt.Errorf("rewind to message %q: %w", id, ErrNotFound)
	}
	first, err := s.cfg.firstRoundAfter(ctx, s.id, rounds, now, id)
	if err != nil {
		return s.cfg.redactError(err)
	}
	if first == len(rounds) && messageIndex(now, id) < 0 {
		return fmt.Errorf("rewind to message %q: %w", id, ErrNotFound)
	}
	for range len(rounds) - first { // no others are made while the session is busy
		if _, err := s.undoRound(ctx); err != nil {
			return s.cfg.redactError(err)
		}
	}
	return s.cutAfter(id)
}

// cutAfter removes the messages after the message with an id.
func (s *Session) cutAfter(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	keep := messageIndex(s.t.messages, id) + 1
	if keep == 0 {
		return fmt.Errorf("rewind to message %q: %w", id, ErrNotFound)
	}
	if err := s.writeRecord(func(f Recorder) error { return f.Cut(keep) }); err != nil {
		return err
	}
	s.t = s.rewritten(s.t.messages[:keep:keep])
	s.beginWork()
	s.forgetRounds(keep)
	s.cal, s.anchor = s.cal.WithoutAnchor(), 0
	clear(s.wait)
	return nil
}

// forgetRounds drops the rounds that left more than keep messages, and those before
// them: an undo would restore the messages that are cut now. Its caller holds the lock.
func (s *Session) forgetRounds(keep int) {
	for i := len(s.rounds) - 1; i >= 0; i-- {
		if s.rounds[i].after > keep {
			s.rounds = s.rounds[i+1:]
			break
		}
	}
	s.markUnrecorded() // a record may have dropped more of them
}

func messageIndex(t chat.Transcript, id string) int {
	for i, m := range t {
		if m.ID == id {
			return i
		}
	}
	return -1
}

// keptRounds is the number of rounds that can be reverted without the archive.
const keptRounds = 4

// revertRound returns the conversation before a round, of which now is the result. A round
// after forgetOldRounds is read from the archive.
func (cfg *settings) revertRound(ctx context.Context, session string, d *undoableRound, now chat.Transcript) (before chat.Transcript, err error) {
	if d.from != nil {
		before = make(chat.Transcript, len(d.from))
		for i, k := range d.from {
			if k >= 0 {
				before[i] = now[k]
			} else {
				before[i] = d.out[-1-k].message
			}
		}
		return edit.KeepProtection(before, now), nil
	}
	step, err := cfg.Archive.Get(ctx, session, d.step)
	if err != nil {
		return nil, fmt.Errorf("undo round %d, which is only in the archive: %w", d.step, err)
	}
	before, _, err = archive.TakeBack(step, now)
	if err != nil {
		return nil, fmt.Errorf("undo round %d, which is only in the archive: %w", d.step, err)
	}
	before = slices.Clone(before)
	for _, t := range d.out {
		if t.at >= 0 && t.at < len(before) {
			before[t.at] = t.message
		}
	}
	return edit.KeepProtection(before, now), nil
}

// firstRoundAfter returns the index of the first of rounds after the message with an id
// was added: it may have removed the message, and later ones have not seen it. now is
// the conversation. If there is none, it returns the number of rounds.
func (cfg *settings) firstRoundAfter(ctx context.Context, session string, rounds []undoableRound, now chat.Transcript, id string) (int, error) {
	first := len(rounds)
	for i := len(rounds) - 1; i >= 0; i-- {
		before, err := cfg.revertRound(ctx, session, &rounds[i], now[:rounds[i].after])
		if err != nil {
			return 0, err
		}
		switch {
		case messageIndex(before, id) >= 0:
			first = i
		case first < len(rounds) || messageIndex(now, id) >= 0:
			return first, nil // it was added since
		}
		now = slices.Concat(before, now[rounds[i].after:])
	}
	return first, nil
}
