// Package tiercompact keeps the conversation of a coding assistant inside the context
// window of a local model. All removed text stays recoverable.
//
// A [Compactor] holds the settings; a [Session] is one conversation. Each
// message that is added may start a round of compaction:
//
//	AddMessage -> count -> cooldown -> select -> plan -> apply -> archive -> swap -> trace
//
// Soft replaces stale files with outlines, hard keeps the more relevant half of the old
// messages, emergency writes one summary. Removed messages are in the archive;
// [Session.Recall] and [Session.Undo] return them.
//
// The package reads no files, environment or network, and needs no model.
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

// Errors that callers can check for.
var (
	// ErrInsufficientBudget reports that the conversation cannot be made small enough:
	// [BudgetError] has the tokens of the floor.
	ErrInsufficientBudget = errors.New("conversation does not fit the budget")
	// ErrNotFound reports that this session has nothing under an id.
	ErrNotFound = errors.New("not found")
	// ErrNothingToUndo reports that there is no round to revert.
	ErrNothingToUndo = errors.New("no round to undo")
	// ErrBusy reports that a compaction or an undo is in progress.
	ErrBusy = errors.New("a compaction or an undo is under way")
	// ErrClosed reports that the session was closed.
	ErrClosed = errors.New("session is closed")
)

// A CallbackError names a callback of a [Config] that failed, and the reason: it
// panicked, did not return in time, or returned an invalid value. Its fields are
// Callback, a field of Config or Recorder, and Reason.
type CallbackError = guard.Error

// A Compactor makes sessions that share settings. It is safe for concurrent use.
type Compactor struct {
	cfg settings

	unsafe   sync.Once  // the warning that redaction is off
	mu       sync.Mutex // guards the fields below; never held while a session works
	sessions map[string]*Session
	replays  map[string]*resentHistory
}

// New returns a compactor, or an error that names the invalid setting.
func New(cfg Config) (*Compactor, error) {
	s, err := cfg.resolveSettings()
	if err != nil {
		return nil, fmt.Errorf("tiercompact: %w", err)
	}
	return &Compactor{cfg: s, sessions: make(map[string]*Session), replays: make(map[string]*resentHistory)}, nil
}

// Session returns the session with an id; the first call with an id starts it. The
// empty id means "default".
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

// startSession returns a new session with known secrets, nil for none yet. The first
// session warns if redaction is off.
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

// Forget drops the compactor's state of an id: the session, the state of
// [Compactor.Preflight], and its archive in memory. An archive in a folder or a bucket
// stays.
func (c *Compactor) Forget(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.sessions, id)
	delete(c.replays, id)
	archive.Forget(c.cfg.Archive, id)
}

// Close writes the missed records of its sessions, and closes the archive.
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
