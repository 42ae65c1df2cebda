// Package corpus makes up coding sessions to measure compaction with: file
// reads, edits, test logs, searches, errors and their repair, changes of topic.
// Facts are planted in them, to be looked for later. Names are invented.
//
// Nothing is stored: the same seed gives the same bytes.
package corpus

import "github.com/tiercompact/tiercompact/chat"

// A Session is a conversation to measure with.
type Session struct {
	Name     string
	Messages chat.Transcript
	Facts    []Fact // planted, in order of messages
}

// A Fact is a text that must be found again after compaction.
type Fact struct {
	ID      string
	Kind    Kind
	Message int    // where it stands, from 0
	Text    string // what must be found, verbatim
	Query   string // what a user asks who needs it
}

// A Kind is a kind of fact.
type Kind string

// The kinds of fact. The first four must outlive every level.
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

// Kinds returns the kinds, those that must be kept first.
func Kinds() []Kind {
	return []Kind{Rule, Changed, Error, Todo, Decision, Prose, InResult, InFile}
}

// MustKeep reports whether facts of this kind must outlive every level.
func (k Kind) MustKeep() bool {
	return k == Rule || k == Changed || k == Error || k == Todo
}
