// Package corpus generates coding sessions to measure compaction: file reads,
// edits, test logs, searches, errors and their repair, changes of topic. It plants
// facts in them that are searched for later. Names are invented. Nothing is stored:
// equal seeds give equal bytes.
package corpus

import (
	"fmt"

	"github.com/tiercompact/tiercompact/chat"
)

// A Session is a conversation to measure with.
type Session struct {
	Name     string
	Messages chat.Transcript
	Facts    []Fact // planted
}

// A Fact is a text that must still be found after compaction.
type Fact struct {
	ID      string
	Kind    Kind
	Message int    // index of its message, from 0
	Text    string // the text, verbatim
	Query   string // the question of a user who needs it
}

// A Kind is a kind of fact.
type Kind string

// The kinds of fact. The first four must survive every level.
const (
	Rule     Kind = "user rule"
	Changed  Kind = "file changed"
	Error    Kind = "last error"
	Todo     Kind = "open todo"
	Decision Kind = "decision"
	Prose    Kind = "name or number in prose"
	InResult Kind = "inside a tool result"
	InFile   Kind = "inside a file body"
)

// Kinds returns the kinds, those that must survive first.
func Kinds() []Kind {
	return []Kind{Rule, Changed, Error, Todo, Decision, Prose, InResult, InFile}
}

// MustKeep reports whether facts of this kind must survive every level.
func (k Kind) MustKeep() bool {
	return k == Rule || k == Changed || k == Error || k == Todo
}

// Default returns the built-in sessions, of 20 messages to 2,500.
func Default(seed uint64) []Session {
	return append(Small(seed), sizedSessions(seed, 250, 300, 400, 600, 1000, 2500)...)
}

// Small returns the short ones of the built-in sessions, of up to 200 messages.
func Small(seed uint64) []Session { return sizedSessions(seed, 20, 30, 45, 60, 80, 100, 120, 150, 200) }

func sizedSessions(seed uint64, sizes ...int) []Session {
	out := make([]Session, len(sizes))
	for i, n := range sizes {
		out[i] = Of(seed, n)
	}
	return out
}

// Of returns a session of about the given number of messages, of 20 to 20,000.
func Of(seed uint64, messages int) Session {
	messages = min(20000, max(20, messages))
	return generateSession(fmt.Sprintf("made-%05d", messages), seed, messages, messages)
}
