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
)

// Undo reverts the newest round that was made in this process: the conversation
// is again what it was, byte for byte, followed by the messages that came
// since. The cooldown begins. The report warns where usage is over a threshold
// afterwards. Called again, it reverts the round before.
func (s *Session) Undo(ctx context.Context) (report Report, err error) {
	if err := s.markBusy(); err != nil {
		return Report{FirstChanged: -1}, err
	}
	defer s.markIdle()
	defer s.tellFaults(&report)
	report, err = s.undoRound(ctx)
	return report, s.cfg.redactError(err)
}

// markBusy makes the session busy until idle is called, or returns why the
// conversation cannot be changed by hand just now.
func (s *Session) markBusy() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.checkEditable()
	s.busy = s.busy || err == nil
	return err
}

// checkEditable returns why the conversation cannot be changed by hand just now.
func (s *Session) checkEditable() error {
	if s.closed {
		return ErrClosed
	}
	if s.busy {
		return ErrBusy
	}
	return nil
}

// undoRound is Undo. Its caller has made the session busy, and does not hold the
// lock: messages may come while the archive is written.
func (s *Session) undoRound(ctx context.Context) (Report, error) {
	s.mu.Lock()
	report := Report{FirstChanged: -1, Before: s.promptTokens()}
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
	before, err := s.cfg.takeBack(ctx, s.id, &last, now.messages[:last.after])
	if err != nil {
		return report, err
	}
	number, err := archiveStep(ctx, s.cfg.Archive, s.cfg.ArchiveDeadline, step)
	if err != nil {
		return report, fmt.Errorf("archive undo of round %d: %w", undoes, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps = number
	err = s.restorePrevious(before, step.Time, &report)
	return report, err
}

// restorePrevious puts before, the conversation before the newest round, in the place of
// what that left, and fills the report. Its caller holds the lock.
func (s *Session) restorePrevious(before chat.Transcript, at time.Time, report *Report) error {
	if _, err := s.tellAnew(); err != nil {
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
		return f.Cut(0) // f does not know the round: all is told anew
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
	s.cal, s.anchor = s.cal.Void(), 0
	s.summary = s.t.summaryNumber()
	clear(s.wait)
	report.Step, report.Usage = last.step, s.currentUsage()
	report.After = report.Usage.Tokens
	if picked, _ := s.pickLevel(report.Usage); picked != "none" {
		report.Warnings = append(report.Warnings, fmt.Sprintf("usage is %.0f %% again: the next check after the cooldown may compact", 100*report.Usage.Share))
	}
	return nil
}

// rewritten returns the conversation with other messages. Its caller holds the
// lock.
func (s *Session) rewritten(messages chat.Transcript) conversation {
	return count(&s.cfg, func(own *counters) conversation { return s.t.withMessages(own, messages) })
}

// recordUndone records what an undo has brought back: all messages, or where
// the recorder knows the round those that it may have from before they were
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

// Rewind takes the conversation back to the message of an id: the rounds made
// after it was added are undone first, then what follows it is removed.
func (s *Session) Rewind(ctx context.Context, id string) error {
	if err := s.markBusy(); err != nil {
		return err
	}
	defer s.markIdle()
	s.mu.Lock()
	rounds, now, known := slices.Clone(s.rounds), s.t.snapshot().messages, s.t.ids.containsID(id)
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

// cutAfter removes what follows the message of an id.
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
	s.forgetRounds(keep)
	s.cal, s.anchor = s.cal.Void(), 0
	clear(s.wait)
	return nil
}

// forgetRounds gives up the rounds that left more than keep messages, and those before
// them: what is cut off now would come back with them. Its caller holds the lock.
func (s *Session) forgetRounds(keep int) {
	for i := len(s.rounds) - 1; i >= 0; i-- {
		if s.rounds[i].after > keep {
			s.rounds = s.rounds[i+1:]
			break
		}
	}
	s.markUnrecorded() // a record may have given up more of them
}

func messageIndex(t chat.Transcript, id string) int {
	for i, m := range t {
		if m.ID == id {
			return i
		}
	}
	return -1
}

// Recall returns what an outline, marker or summary stands for, by its recall
// id. What a standing round of this process took out comes back as it was, with
// its secrets, all else as it is archived, which is redacted.
func (s *Session) Recall(ctx context.Context, id string) (archive.Entry, error) {
	if e, ok := s.removedEntry(id); ok {
		return e, nil
	}
	e, err := s.cfg.Archive.Recall(ctx, s.id, id)
	if errors.Is(err, archive.ErrNotFound) && !errors.Is(err, archive.ErrDamaged) {
		return e, fmt.Errorf("recall %q: %w", id, ErrNotFound)
	}
	if err == nil {
		e.Messages = s.withSecrets(e.Messages)
	}
	return e, s.cfg.redactError(err)
}

// removedEntry returns what a standing round took out under a recall id.
func (s *Session) removedEntry(id string) (archive.Entry, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range slices.Backward(s.rounds) {
		for _, e := range r.removed {
			if e.ID == id {
				return e, true
			}
		}
	}
	return archive.Entry{}, false
}

// Search finds what was removed from the conversation, the best first, at most
// n: by meaning, where Config.Embedder answers within Config.RankDeadline, else
// by words. With Config.RedactPrompts no model is asked.
func (s *Session) Search(ctx context.Context, text string, n int) ([]archive.Hit, error) {
	by := archive.Meaning{Embedder: s.cfg.Embedder, Within: s.cfg.RankDeadline}
	if s.cfg.RedactPrompts {
		by.Embedder = nil
	}
	found, err := archive.SearchBy(ctx, s.cfg.Archive, s.id, text, n, by)
	return found.Hits, s.cfg.redactError(err)
}
