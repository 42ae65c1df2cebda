// Package tiercompact keeps the conversation of a coding assistant inside the
// context window of a local model, and loses nothing on the way.
//
// A [Compactor] holds the settings; a [Session] is one conversation. Each
// message that is added may start a round of compaction:
//
//	AddMessage -> count -> cooldown -> select -> plan -> apply -> archive -> swap -> trace
//
// Soft turns stale files into outlines, hard keeps the more relevant half of
// what is old, emergency writes one summary. What leaves the conversation is in
// the archive, and comes back by [Session.Recall] and [Session.Undo].
//
// The package reads no file, no environment and no network, and needs no model.
package tiercompact

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/internal/guard"
	"github.com/tiercompact/tiercompact/redact"
)

// What callers tell apart.
var (
	// ErrInsufficientBudget says that the conversation cannot be made small
	// enough: see [BudgetError] for what the floor costs.
	ErrInsufficientBudget = errors.New("conversation does not fit the budget")
	// ErrNotFound says that an id stands for nothing in this session.
	ErrNotFound = errors.New("not found")
	// ErrNothingToUndo says that no round is left to take back.
	ErrNothingToUndo = errors.New("no round to undo")
	// ErrBusy says that a round is being made, or taken back.
	ErrBusy = errors.New("a compaction or an undo is under way")
	// ErrClosed says that the session was closed.
	ErrClosed = errors.New("session is closed")
)

// A CallbackError says which callback of a [Config] did not do its work, and how:
// it panicked, did not return in time, or returned what cannot be. Its fields are
// Callback, a field of Config or Recorder, and Reason.
type CallbackError = guard.Error

// A Compactor makes sessions that share settings. It is safe for concurrent use.
type Compactor struct {
	cfg settings

	unsafe   sync.Once  // the warning that nothing is redacted
	mu       sync.Mutex // guards what follows; never held while a session works
	sessions map[string]*Session
	replays  map[string]*resentHistory
}

// New returns a compactor, or an error that names the setting at fault.
func New(cfg Config) (*Compactor, error) {
	s, err := cfg.resolveSettings()
	if err != nil {
		return nil, fmt.Errorf("tiercompact: %w", err)
	}
	return &Compactor{cfg: s, sessions: make(map[string]*Session), replays: make(map[string]*resentHistory)}, nil
}

// Session returns the session of an id; the first call for an id starts it. The
// empty id is "default".
func (c *Compactor) Session(id string) *Session {
	id = cmp.Or(id, "default")
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.sessions[id]
	if s == nil {
		s = c.startSession(id, nil)
		c.sessions[id] = s
	}
	return s
}

// startSession returns a new session that knows secrets, nil for none yet. The first
// one tells that nothing is redacted, where that is so.
func (c *Compactor) startSession(id string, known *redact.Known) *Session {
	cfg := c.cfg
	cfg.known = known
	s := newSession(id, cfg)
	if c.cfg.Redact.Off {
		c.unsafe.Do(func() {
			s.emitWarning("high", "redaction is off: archive, events and errors hold what the conversation holds, secrets included", "turn redaction on, or keep them where nobody else reads")
		})
	}
	return s
}

// Forget drops what the compactor holds of an id: a session, what
// [Compactor.Preflight] remembers, and what the archive holds of it in memory. What
// an archive keeps in a folder or a bucket stays.
func (c *Compactor) Forget(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.sessions, id)
	delete(c.replays, id)
	archive.Forget(c.cfg.Archive, id)
}

// Close writes what the recorders of its sessions could not write so far, and
// closes the archive.
func (c *Compactor) Close() error {
	c.mu.Lock()
	sessions := make([]*Session, 0, len(c.sessions))
	for _, id := range slices.Sorted(maps.Keys(c.sessions)) {
		sessions = append(sessions, c.sessions[id])
	}
	c.mu.Unlock()
	var errs []error
	for _, s := range sessions {
		errs = append(errs, s.writeMissed())
	}
	return errors.Join(append(errs, c.cfg.Archive.Close())...)
}

var _ archive.Store = (*archive.Memory)(nil)
