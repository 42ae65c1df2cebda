package tiercompact

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/files"
	"github.com/tiercompact/tiercompact/internal/edit"
	"github.com/tiercompact/tiercompact/internal/guard"
	"github.com/tiercompact/tiercompact/levels"
)

// A Recorder persists a session, so that it outlives its process.
// [archive.SessionFile] is one. When a method returns, its data must be durable.
type Recorder interface {
	Append(m chat.Message) error
	Load(messages []chat.Message) error
	Round(r archive.Round) error
	Undo(at time.Time) error
	Cut(n int) error
	Set(i int, m chat.Message) error
}

// Record makes f record all later changes of the session. If the session already has
// messages, f gets them first, unless the session was resumed from f.
//
// If a call of f does not return within Deadlines.Archive, that is an error. Until it
// returns, each added message returns an error too. After that, f gets all messages
// again, since it is unknown what it has written.
func (s *Session) Record(f Recorder) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	writing := &guard.Guard{Name: "Recorder", Within: s.cfg.Deadlines.Archive}
	if !s.resumed && len(s.t.messages) > 0 {
		all := s.t.messages[:len(s.t.messages):len(s.t.messages)]
		if err := guardedWrite(writing, func() error { return f.Load(all) }); err != nil {
			return fmt.Errorf("record session: %w", err)
		}
		s.markUnrecorded() // f lacks the rounds so far
	}
	s.recorder, s.writing, s.missed, s.unsure = f, writing, nil, false
	return nil
}

// guardedWrite runs a write of the recorder.
func guardedWrite(g *guard.Guard, write func() error) error {
	_, err := guard.Call(context.Background(), g, func(context.Context) (struct{}, error) { return struct{}{}, write() })
	return err
}

// callRecorder runs a write of the recorder. If its outcome is unknown, all messages are
// written again before anything else.
func (s *Session) callRecorder(write func(Recorder) error) error {
	f := s.recorder
	err := guardedWrite(s.writing, func() error { return write(f) })
	if err == nil {
		return nil
	}
	if _, broken := errors.AsType[*CallbackError](err); broken && !errors.Is(err, guard.ErrLeftOut) {
		s.unsure = true
	}
	return fmt.Errorf("record session: %w", err)
}

// recordAgain gives the recorder the present conversation, if it is unknown what the
// recorder has. Its caller holds the lock.
func (s *Session) recordAgain() (again bool, err error) {
	if s.recorder == nil || !s.unsure {
		return false, nil
	}
	all := s.t.messages[:len(s.t.messages):len(s.t.messages)]
	err = s.callRecorder(func(f Recorder) error {
		if err := f.Cut(0); err != nil {
			return err
		}
		return f.Load(all)
	})
	if err != nil {
		return false, err
	}
	s.missed, s.unsure = nil, false
	s.markUnrecorded()
	return true, nil
}

// markUnrecorded marks the rounds that can be undone as not in the record.
func (s *Session) markUnrecorded() {
	for i := range s.rounds {
		s.rounds[i].recorded = false
	}
}

// writeRecord runs a write of the recorder, if there is one, after the missed ones.
// Its caller holds the lock, so that records are in the order of the changes. If it
// returns an error, the change must not be made.
func (s *Session) writeRecord(write func(Recorder) error) error {
	if s.recorder == nil {
		return nil
	}
	defer s.noteRestorations()
	if err := s.recordMissed(); err != nil {
		return err
	}
	return s.callRecorder(write)
}

// recordMissed writes the missed records. Its caller holds the lock.
func (s *Session) recordMissed() error {
	if _, err := s.recordAgain(); err != nil {
		return err
	}
	for len(s.missed) > 0 {
		if err := s.callRecorder(s.missed[0]); err != nil {
			return err
		}
		s.missed = s.missed[1:]
	}
	return nil
}

// noteRestorations keeps the recorder's notes on rewritten files for the next report.
// Its caller holds the lock.
func (s *Session) noteRestorations() {
	f, ok := s.recorder.(interface{ Restorations() []archive.Restoration })
	if !ok {
		return
	}
	var all []archive.Restoration
	if guardedWrite(s.writing, func() error { all = f.Restorations(); return nil }) == nil {
		s.restored = append(s.restored, all...)
	}
}

// writeMissed writes the missed records, or returns an error with their number.
func (s *Session) writeMissed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.recorder == nil {
		return nil
	}
	defer s.noteRestorations()
	switch err := s.recordMissed(); {
	case err != nil && s.unsure:
		return fmt.Errorf("session %q: it is unknown which of the newest messages are on disk: %w", s.id, s.cfg.redactError(err))
	case err != nil:
		return fmt.Errorf("session %q: %d changes are not on disk, the newest messages among them: %w", s.id, len(s.missed), s.cfg.redactError(err))
	}
	return nil
}

// recordDone is record for a change that was made already: if it fails, it is written
// before anything else.
func (s *Session) recordDone(write func(Recorder) error) error {
	if again, err := s.recordAgain(); again || err != nil {
		return err // the rewrite of all messages includes the change
	}
	err := s.writeRecord(write)
	if err != nil && !s.unsure {
		s.missed = append(s.missed, write)
	}
	return err
}

// Resume continues a session from a session file, with its messages, the rounds that
// can be undone, the cooldown and the waiting levels. It compacts nothing. Ids of
// earlier messages of the session stay reserved, as in one process: a new message with
// such an id gets another one.
func (c *Compactor) Resume(ctx context.Context, st archive.State) (*Session, error) {
	id := st.Meta.Session
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sessions[id] != nil {
		return nil, fmt.Errorf("resume session %q: it is already open", id)
	}
	infos, err := c.cfg.Archive.Steps(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("resume session %q: %w", id, err)
	}
	s := c.startSession(id, nil)
	s.resumed = true
	for _, e := range s.cfg.measured(st.Messages) {
		s.t.addMessage(e)
	}
	s.t.added = max(s.t.added, st.Added)
	if st.Since >= 0 {
		s.gate = c.cfg.gate.Start(st.Since)
	}
	s.steps = max(archive.Next(infos)-1, st.Number)
	for _, info := range infos {
		for _, recall := range info.Entries {
			s.t.recalls.Add(recall)
		}
	}
	s.summary = s.t.summaryNumber()
	s.restoreWork(st)
	s.restoreWaits(st)
	if s.rounds, err = s.undoableRounds(st); err != nil {
		return nil, fmt.Errorf("resume session %q: %w", id, err)
	}
	s.reserveUsed(ctx, st, infos)
	kept := make(map[int]bool, len(infos))
	for _, info := range infos {
		kept[info.Number] = info.Damaged == nil
	}
	for i := range s.rounds {
		s.rounds[i].alone = !kept[s.rounds[i].step]
	}
	s.forgetOldRounds()
	c.sessions[id] = s
	return s, nil
}

// reserveUsed reserves the ids of all messages that the session ever had: those in the
// file, and those in archive steps that are older than the file.
func (s *Session) reserveUsed(ctx context.Context, st archive.State, infos []archive.StepInfo) {
	for _, id := range st.IDs {
		s.t.ids.Add(id)
	}
	listed := make(map[int]bool, len(st.Steps))
	for _, n := range st.Steps {
		listed[n] = true
	}
	for _, info := range infos {
		if listed[info.Number] || info.Undoes > 0 || info.Damaged != nil {
			continue
		}
		if step, err := s.cfg.Archive.Get(ctx, s.id, info.Number); err == nil { // otherwise its ids cannot be read
			s.t.reserveIDs(step.Before)
		}
	}
}

// restoreWaits restores the levels that waited at the end of the session.
func (s *Session) restoreWaits(st archive.State) {
	for _, w := range st.Waiting {
		planned := newConversation(s.cfg)
		for i, m := range s.t.messages[:min(w.Seen, len(s.t.messages))] {
			planned.appendEntry(measuredMessage{message: m, size: s.t.sizes[i]}, files.Scan{})
		}
		s.wait[levels.Name(w.Level)] = waitingSince(&planned, w.Reason)
	}
}

// undoableRounds returns the rounds of st that can be undone, oldest first. The conversation
// before each follows from its inverse, newest first.
func (s *Session) undoableRounds(st archive.State) ([]undoableRound, error) {
	rounds := make([]undoableRound, len(st.Rounds))
	t := st.Messages
	for i := len(st.Rounds) - 1; i >= 0; i-- {
		r := st.Rounds[i]
		back := edit.Round{Seen: len(t), Sum: edit.Sum(t), Steps: r.Inverse}
		before, made := edit.Replay(t, []edit.Round{back})
		if len(made) == 0 || len(before) < r.Edits.Seen {
			return nil, fmt.Errorf("round %d cannot be undone", r.Number)
		}
		after := r.Edits.Seen + len(t) - len(before)
		s.t.reserveIDs(before)
		s.learnSecrets(before)
		rounds[i] = s.cfg.newUndoableRound(r.Number, before[:r.Edits.Seen], t[:after], nil)
		t = before
	}
	return rounds, nil
}
