// Package summarize writes one text for messages that leave the conversation, and
// makes sure that the text states nothing that the messages do not. A [Summarizer]
// writes the text; [Accept] decides whether it can be used; [Verify] removes lines
// that the source does not support; [FactsOf] extracts the facts without a model;
// [Finish] joins them into the content of the session summary and [Split] divides
// it again. [Extractive] is the built-in summarizer.
package summarize

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/redact"
)

// A Strategy is a form of summary.
type Strategy string

// The strategies.
const (
	TaskState   Strategy = "task_state"   // goals, entities, constraints, decisions, outstanding work
	DecisionLog Strategy = "decision_log" // decision :: rationale :: inputs :: outputs, in order
	CodeDelta   Strategy = "code_delta"   // changes, by path
	Brief       Strategy = "brief"        // a few sentences
)

// Strategies returns all strategies, the default first.
func Strategies() []Strategy { return []Strategy{TaskState, DecisionLog, CodeDelta, Brief} }

// ParseStrategy returns the strategy named s; empty is [TaskState].
func ParseStrategy(s string) (Strategy, error) {
	if s == "" {
		return TaskState, nil
	}
	var names []string
	for _, known := range Strategies() {
		if s == string(known) {
			return known, nil
		}
		names = append(names, string(known))
	}
	return "", fmt.Errorf("parse strategy %q: must be one of %s", s, strings.Join(names, ", "))
}

// A Request is the input of a summarizer.
type Request struct {
	Messages  []chat.Message    // to be summarised, oldest first; never protected ones
	Previous  string            // content of the summary that this one replaces, "" for the first
	Note      string            // the user's wish for a manual compaction
	Strategy  Strategy          // "" is TaskState
	MaxTokens int               // of the text; 0 or less means no limit
	Count     func(string) int  // tokens of a text; nil counts four bytes as one
	Facts     string            // the facts section that Finish attaches: the text need not repeat it
	Work      *Record           // the built-in summarizer writes from it, if it is not nil: it has all that former summaries said
	Stays     func(string) bool // with Work: reports the messages that stay beside the summary, by id; nil: none
	Deadline  time.Duration     // of each call to a model; 0: only that of the context
	Progress  func(Progress)    // receives the progress of a model, from one goroutine; may be nil
}

// Redacted returns r with f applied to each text that a summarizer sees.
func (r Request) Redacted(f func(string) string) Request {
	messages := make([]chat.Message, len(r.Messages))
	for i, m := range r.Messages {
		m.Parts = slices.Clone(m.Parts)
		for j, p := range m.Parts {
			m.Parts[j].Text, m.Parts[j].Args = f(p.Text), redact.JSON(f, p.Args)
		}
		messages[i] = m
	}
	r.Messages, r.Previous, r.Note, r.Facts = messages, f(r.Previous), f(r.Note), f(r.Facts)
	return r
}

// A Summarizer writes the text of a summary. Equal requests give equal texts.
type Summarizer interface {
	Summarize(ctx context.Context, r Request) (string, error)
}

// countTokens returns the tokens of s.
func (r Request) countTokens(s string) int { return tokenCounter(r.Count)(s) }

// tokenCounter returns count, or an estimate if count is nil.
func tokenCounter(count func(string) int) func(string) int {
	if count != nil {
		return count
	}
	return func(s string) int { return (len(s) + 3) / 4 }
}
