// Package archive keeps the messages that compaction removes from a conversation,
// so that nothing is lost: each round is a [Step], put into a [Store] before the
// conversation changes, and the text that an outline, a marker or a summary
// replaced is available by its id. [Memory] and [Dir] are stores, and [Objects] is
// one on any service with whole objects, such as package s3. [Undo] undoes a round,
// [Verify] finds damages, [Prune] removes unreferenced steps, and [Removals] reads
// removed text, which package recall searches. A [SessionFile] is the conversation itself,
// on disk, as it grows and is compacted. The package reads no clock; times come
// from the caller.
package archive

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
)

// Version is the format of everything that this package writes; each record has it
// as "v". Data of a later version is rejected, never guessed.
const Version = 1

// The errors that callers distinguish.
var (
	ErrNotFound = errors.New("not found")
	ErrExists   = errors.New("already there")
	ErrLocked   = errors.New("in use by another process")
	ErrVersion  = errors.New("written by a newer tiercompact")
	ErrDamaged  = errors.New("damaged")
	ErrReadOnly = errors.New("opened for reading only")
	ErrClosed   = errors.New("closed")
)

// A Step is one round as it is archived, before the conversation changes.
type Step struct {
	Session string
	Number  int             // from 1; each is put once
	Before  chat.Transcript // the full conversation before the round
	Removed []Entry         // the text of each recall id
	Summary json.RawMessage // payload of the summary, nil if there is none; kept without insignificant space
	Edits   edit.Round      // what the round does to Before
	Reason  string
	Level   string // applied
	Note    string
	Time    time.Time
	// Undoes is the number of the round that this step undoes, 0 for a compaction.
	// Such a step has no edits.
	Undoes int
	// Redacted are the positions in Before of changed messages, ascending.
	Redacted []int
	// Left is edit.Sum of the outcome of the round, if Before and Edits are
	// redacted and do not determine it; else "".
	Left string
	// Written is the conversation of its file as readers get it, after the step;
	// nil if it has no file. Undo then recognises the conversation only by it.
	Written []Written
}

// An Entry is the text of one recall id.
type Entry struct {
	ID       string
	Messages []chat.Message
	Below    []string // ids listed under it, if it is a marker or a summary
	Text     string   // the removed text, if it is less than whole messages
}

// A StepInfo is a step without its messages.
type StepInfo struct {
	Session  string    `json:"session"`
	Number   int       `json:"step"`
	Time     time.Time `json:"time"`
	Level    string    `json:"level,omitempty"`
	Reason   string    `json:"reason,omitempty"`
	Note     string    `json:"note,omitempty"`
	Undoes   int       `json:"undoes,omitempty"`
	Redacted []int     `json:"redacted,omitempty"` // positions in the conversation before the round
	Messages int       `json:"messages"`           // in the conversation before the round
	Summary  bool      `json:"summary,omitempty"`
	Entries  []string  `json:"entries"` // recall ids, in the order of the step
	Written  []Written `json:"-"`
	// Damaged is why the step cannot be read, ErrDamaged or ErrVersion; only its
	// session and number are known then. Nil if it can.
	Damaged error `json:"-"`
}

// A Store keeps the steps of sessions. It shares its input with the caller: neither
// changes it. It is safe for concurrent use. Further abilities of a store are
// separate methods, used by [Where], [Sessions], [Verify] and [Prune]; a store that
// wraps another has a method Unwrap() Store.
type Store interface {
	// Put keeps s, whole or not at all. ErrExists if the number is taken.
	Put(ctx context.Context, s Step) error
	// Steps returns the steps of a session by number. Neither an unknown session
	// nor a damaged step is an error.
	Steps(ctx context.Context, session string) ([]StepInfo, error)
	// Get returns a step as it was put. ErrNotFound if there is none.
	Get(ctx context.Context, session string, number int) (Step, error)
	// Recall returns the newest entry with the id. ErrNotFound if there is none,
	// with ErrDamaged if it may be in an unreadable step.
	Recall(ctx context.Context, session, id string) (Entry, error)
	// Event adds one line of JSON, an object, to the events of a session.
	Event(ctx context.Context, session string, line []byte) error
	// Close ends the use of the store; its content stays if the store outlives its
	// process.
	Close() error
}

// Where returns the name of a store for traces (memory, dir, s3) and the place of a
// step: a path, an address, or "" if it has none.
func Where(store Store, session string, number int) (adapter, location string) {
	if w, ok := unwrapAs[interface {
		Where(session string, number int) (adapter, location string)
	}](store); ok {
		return w.Where(session, number)
	}
	return "unknown", ""
}

// Sessions returns the ids of the sessions in store, sorted.
func Sessions(ctx context.Context, store Store) ([]string, error) {
	if s, ok := unwrapAs[interface {
		Sessions(ctx context.Context) ([]string, error)
	}](store); ok {
		return s.Sessions(ctx)
	}
	return nil, errors.New("list sessions: this store cannot; name the session")
}

// unwrapAs returns store, or a store that it wraps, as a T.
func unwrapAs[T any](store Store) (T, bool) {
	for {
		if t, ok := store.(T); ok {
			return t, true
		}
		w, ok := store.(interface{ Unwrap() Store })
		if !ok {
			var no T
			return no, false
		}
		store = w.Unwrap()
	}
}

// stepInfo returns what s is without its messages.
func (s Step) stepInfo() StepInfo {
	ids := make([]string, len(s.Removed))
	for i, e := range s.Removed {
		ids[i] = e.ID
	}
	return StepInfo{
		Session: s.Session, Number: s.Number, Messages: len(s.Before), Entries: ids, Reason: s.Reason, Level: s.Level,
		Note: s.Note, Time: s.Time, Undoes: s.Undoes, Redacted: s.Redacted, Summary: s.Summary != nil, Written: s.Written,
	}
}

// checkedStep returns s in the form of a store, or the problem with it.
func (s Step) checkedStep() (Step, error) {
	if err := checkSession(s.Session); err != nil {
		return s, fmt.Errorf("archive step: %w", err)
	}
	if s.Number < 1 {
		return s, fmt.Errorf("archive step %d of session %s: numbers start at 1", s.Number, s.Session)
	}
	seen := make(map[string]bool, len(s.Removed))
	for _, e := range s.Removed {
		if e.ID == "" || seen[e.ID] {
			return s, fmt.Errorf("archive step %d of session %s: recall id %q is empty or given twice", s.Number, s.Session, e.ID)
		}
		seen[e.ID] = true
	}
	if s.Summary != nil {
		var b bytes.Buffer
		if err := json.Compact(&b, s.Summary); err != nil {
			return s, fmt.Errorf("archive step %d of session %s: summary: %w", s.Number, s.Session, err)
		}
		s.Summary = b.Bytes()
	}
	return s, nil
}

func checkSession(id string) error {
	if id == "" || !utf8.ValidString(id) {
		return fmt.Errorf("session id %q is empty or not UTF-8", id)
	}
	return nil
}

// checkEvent returns line in the form of a store: one JSON object on one line.
func checkEvent(session string, line []byte) ([]byte, error) {
	if err := checkSession(session); err != nil {
		return nil, fmt.Errorf("archive event: %w", err)
	}
	var b bytes.Buffer
	if err := json.Compact(&b, line); err != nil {
		return nil, fmt.Errorf("archive event of session %s: %w", session, err)
	}
	if b.Bytes()[0] != '{' {
		return nil, fmt.Errorf("archive event of session %s: not a JSON object", session)
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

// A Damage is a place in an archive that differs from what was written. As an
// error, it unwraps to the problem: [ErrDamaged], [ErrVersion], or why it cannot be
// read.
type Damage struct {
	Session string
	Step    int    // 0: it belongs to no step
	Entry   string // recall id; "": it is not an entry
	File    string // path or address; "": the store has no files
	Line    int    // from 1; 0: the whole file
	Err     error
}

func (d *Damage) Error() string {
	text := "read " + d.File
	if d.File == "" {
		text = fmt.Sprintf("read session %s", d.Session)
		if d.Step > 0 {
			text += fmt.Sprintf(": step %d", d.Step)
		}
	}
	if d.Line > 0 {
		text += fmt.Sprintf(": line %d", d.Line)
	}
	if d.Entry != "" {
		text += ": entry " + d.Entry
	}
	return text + ": " + d.Err.Error()
}

func (d *Damage) Unwrap() error { return d.Err }

// The kinds of damage of readable data.
var (
	errMissing    = fmt.Errorf("%w: it is missing", ErrDamaged)
	errChanged    = fmt.Errorf("%w: it is not as it was written", ErrDamaged)
	errUnresolved = fmt.Errorf("%w: the conversation refers to it, and no step has it", ErrDamaged)
	errTorn       = fmt.Errorf("%w: the end is missing", ErrDamaged)
)
