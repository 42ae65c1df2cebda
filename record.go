package tiercompact

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/edit"
	"github.com/tiercompact/tiercompact/files"
	"github.com/tiercompact/tiercompact/levels"
)

// A Recorder keeps a session as it goes on, so that it outlives its process.
// [archive.SessionFile] is one. What it returned from must be safe.
type Recorder interface {
	Append(m chat.Message) error
	Load(messages []chat.Message) error
	Round(r archive.Round) error
	Undo(at time.Time) error
	Cut(n int) error
	Set(i int, m chat.Message) error
}

// Record has f keep what happens to the session from now on. A session that
// already has messages gives them to f first, unless it was resumed from f.
//
// A call of f that does not return within Config.ArchiveDeadline is an error,
// and as long as it has not returned, each message that is added returns one.
// When f can be called again it is told all messages anew, since nobody knows
// what it has written.
func (s *Session) Record(f Recorder) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	writing := &guard{name: "Recorder", within: s.cfg.ArchiveDeadline}
	if !s.resumed && len(s.t.messages) > 0 {
		all := s.t.messages[:len(s.t.messages):len(s.t.messages)]
		if err := written(writing, func() error { return f.Load(all) }); err != nil {
			return fmt.Errorf("record session: %w", err)
		}
		s.unrecorded() // f has not seen the rounds so far
	}
	s.recorder, s.writing, s.missed, s.unsure = f, writing, nil, false
	return nil
}

// written has a recorder write.
func written(g *guard, write func() error) error {
	_, err := guarded(context.Background(), g, func(context.Context) (struct{}, error) { return struct{}{}, write() })
	return err
}

// tell has the recorder write. Where it is not known what came of that, all is
// told anew before anything else.
func (s *Session) tell(write func(Recorder) error) error {
	f := s.recorder
	err := written(s.writing, func() error { return write(f) })
	if err == nil {
		return nil
	}
	if _, broken := errors.AsType[*CallbackError](err); broken && !errors.Is(err, errLeftOut) {
		s.unsure = true
	}
	return fmt.Errorf("record session: %w", err)
}

// tellAnew tells the recorder the conversation as it stands, if it is not known
// what it has. Its caller holds the lock.
func (s *Session) tellAnew() (told bool, err error) {
	if s.recorder == nil || !s.unsure {
		return false, nil
	}
	all := s.t.messages[:len(s.t.messages):len(s.t.messages)]
	err = s.tell(func(f Recorder) error {
		if err := f.Cut(0); err != nil {
			return err
		}
		return f.Load(all)
	})
	if err != nil {
		return false, err
	}
	s.missed, s.unsure = nil, false
	s.unrecorded()
	return true, nil
}

// unrecorded marks the rounds that can be undone as not in the record.
func (s *Session) unrecorded() {
	for i := range s.rounds {
		s.rounds[i].recorded = false
	}
}

// record has the recorder, if there is one, write, and before that what it has
// missed. Its caller holds the lock, so that records have the order of what
// they tell. Where it fails, what it was to tell must not happen.
func (s *Session) record(write func(Recorder) error) error {
	if s.recorder == nil {
		return nil
	}
	if _, err := s.tellAnew(); err != nil {
		return err
	}
	for len(s.missed) > 0 {
		if err := s.tell(s.missed[0]); err != nil {
			return err
		}
		s.missed = s.missed[1:]
	}
	return s.tell(write)
}

// recordDone is record for what has happened already: where it fails, it is
// written before anything else is.
func (s *Session) recordDone(write func(Recorder) error) error {
	if told, err := s.tellAnew(); told || err != nil {
		return err // what has happened is in what is told anew
	}
	err := s.record(write)
	if err != nil && !s.unsure {
		s.missed = append(s.missed, write)
	}
	return err
}

// Resume starts a session where a session file ended: with its messages, the
// rounds that can be undone, the place in the cooldown and the levels that wait,
// compacting nothing.
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
	s := c.begin(id, nil)
	s.resumed = true
	for _, e := range s.cfg.measured(st.Messages) {
		s.t.add(e)
	}
	s.t.added = max(s.t.added, st.Added)
	if st.Since >= 0 {
		s.gate = c.cfg.gate.Start(st.Since)
	}
	s.steps = max(archive.Next(infos)-1, st.Number)
	s.summary = s.t.summaryNumber()
	s.resumeWaits(st)
	if s.rounds, err = s.cfg.standing(st); err != nil {
		return nil, fmt.Errorf("resume session %q: %w", id, err)
	}
	for _, r := range s.rounds {
		s.t.reserve(r.before.messages)
		s.learn(r.before.messages)
	}
	c.sessions[id] = s
	return s, nil
}

// resumeWaits has the levels wait that waited when the session ended.
func (s *Session) resumeWaits(st archive.State) {
	for _, w := range st.Waiting {
		planned := newConversation(s.cfg)
		for i, m := range s.t.messages[:min(w.Seen, len(s.t.messages))] {
			planned.push(entry{message: m, size: s.t.sizes[i]}, files.Facts{})
		}
		s.wait[levels.Name(w.Level)] = waitingSince(&planned, w.Reason)
	}
}

// standing returns the rounds of st that can be undone, oldest first: what each
// was planned for follows from its inverse, newest first.
func (cfg *settings) standing(st archive.State) ([]done, error) {
	rounds := make([]done, len(st.Rounds))
	t := st.Messages
	protected := make(map[string]bool) // also where a round has put another text since
	for _, m := range t {
		protected[m.ID] = m.Protected
	}
	for i := len(st.Rounds) - 1; i >= 0; i-- {
		r := st.Rounds[i]
		back := edit.Round{Seen: len(t), Sum: edit.Sum(t), Steps: r.Inverse}
		before, made := edit.Replay(t, []edit.Round{back})
		if len(made) == 0 || len(before) < r.Edits.Seen {
			return nil, fmt.Errorf("round %d cannot be taken back", r.Number)
		}
		conv := newConversation(*cfg)
		for _, e := range cfg.measured(before[:r.Edits.Seen]) {
			e.message.Protected = e.message.Protected || protected[e.message.ID]
			conv.add(e)
		}
		rounds[i] = done{step: r.Number, before: conv.laidBy(), after: r.Edits.Seen + len(t) - len(before), recorded: true}
		t = before
	}
	return rounds, nil
}
