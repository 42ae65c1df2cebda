package tui

import (
	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/model"
	"github.com/tiercompact/tiercompact/summarize"
)

// A Kind is the kind of an event.
type Kind uint8

// The kinds of event.
const (
	Said      Kind = iota // Message enters the conversation
	Asked                 // the model was asked; pieces of an answer follow
	Streamed              // Delta came in
	Waiting               // the server is silent; Text describes the wait
	Voided                // what streamed since Asked does not count, for the reason in Text
	Compacted             // Report is the result of a round
	Summaries             // Progress of a summary by a model
	Noted                 // Text is for the user
	Warned                // the same, but important
	Checked               // a check was made: Status is new
)

// An Event is something that happened in a chat, with the status after it.
type Event struct {
	Kind     Kind
	Text     string
	Message  chat.Message
	Delta    model.Delta
	Report   tiercompact.Report
	Progress summarize.Progress
	Status   Status
}
