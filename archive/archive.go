// Package archive keeps what compaction takes out of a conversation, so that
// nothing is lost: each round is a [Step], put into a [Store] before the
// conversation changes, and what an outline, a marker or a summary stands for
// can be had back by its id.
//
// [Memory] and [Dir] are stores, and [Objects] is one in whatever keeps whole
// objects, such as package s3. [Undo] takes a round back, [Search] finds what
// was removed by its words, [Verify] what is not as it was written, and [Prune]
// removes what nothing refers to. A [SessionFile] is the conversation itself, on
// disk, as it grows and is compacted. The package reads no clock; times come
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

// Version is the format of everything that this package writes; each record
// carries it as "v". What a later version wrote is refused, never guessed at.
const Version = 1

// What callers tell apart.
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
	Removed []Entry         // what each recall id stands for
	Summary json.RawMessage // payload of the summary, nil where none was made; kept without insignificant space
	Edits   edit.Round      // what the round does to Before
	Reason  string
	Level   string // applied
	Note    string
	Time    time.Time
	// Undoes is the number of the round that this step takes back, 0 where it
	// is a compaction. Such a step has no edits.
	Undoes int
	// Redacted are the positions in Before of messages that are not as they
	// were, ascending.
	Redacted []int
	// Left is edit.Sum of what the round leaves, where that cannot be told from
	// Before and Edits because they are redacted; else "".
	Left string
	// Written is what readers get of the file that the conversation is written
	// to after the step; nil where it goes into no file. Undo then knows the
	// conversation by it alone.
	Written []Written
}

// An Entry is what one recall id stands for.
type Entry struct {
	ID       string
	Messages []chat.Message
	Below    []string // ids listed under it, where it is a marker or a summary
	Text     string   // what was removed, where it is less than whole messages
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
	// Damaged says why the step cannot be read, ErrDamaged or ErrVersion; only
	// its session and number are known then. Nil where it can.
	Damaged error `json:"-"`
}

// A Store keeps the steps of sessions. What it was given it shares with the
// caller: neither changes it. It may be used concurrently.
//
// What a store can do beyond that are methods of their own, which [Where],
// [Sessions], [Verify] and [Prune] look for; a store that wraps another has a
// method Unwrap() Store.
type Store interface {
	// Put keeps s, whole or not at all. ErrExists where the number is taken.
	Put(ctx context.Context, s Step) error
	// Steps returns the steps of a session by number; none is no error, and
	// neither is one that is damaged.
	Steps(ctx context.Context, session string) ([]StepInfo, error)
	// Get returns a step as it was put. ErrNotFound where there is none.
	Get(ctx context.Context, session string, number int) (Step, error)
	// Recall returns the newest entry with the id. ErrNotFound where there is
	// none, with ErrDamaged where it may be in a step that cannot be read.
	Recall(ctx context.Context, session, id string) (Entry, error)
	// Event adds one line of JSON, an object, to the events of a session.
	Event(ctx context.Context, session string, line []byte) error
	// Close ends the use of the store; what was put stays where the store
	// outlives its process.
	Close() error
}

// Where returns the name of a store for traces (memory, dir, s3) and where it
// keeps a step: a path, an address, or "" where it is nowhere.
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

// unwrapAs returns what store, or a store that it wraps, can do beyond [Store].
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

// checkedStep returns s as a store keeps it, or what is wrong with it.
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

// checkEvent returns line as it is kept: one JSON object on one line.
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
