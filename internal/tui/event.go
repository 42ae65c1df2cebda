package tui

import (
	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/model"
	"github.com/tiercompact/tiercompact/summarize"
)

// A Kind says what an event tells.
type Kind uint8

// The kinds of event.
const (
	Said      Kind = iota // Message enters the conversation
	Asked                 // the model was asked; pieces of an answer follow
	Streamed              // Delta came in
	Waiting               // the server says nothing, as Text tells
	Voided                // what streamed since Asked does not count, for the reason in Text
	Compacted             // Report tells of a round
	Summaries             // Progress of a summary that a model writes
	Noted                 // Text is for the user
	Warned                // the same, and it matters
	Checked               // a check was made: Status is new
)

// An Event is something that happened in a chat, with how it stands then.
type Event struct {
	Kind     Kind
	Text     string
	Message  chat.Message
	Delta    model.Delta
	Report   tiercompact.Report
	Progress summarize.Progress
	Status   Status
}
