// Package summarize makes one text of messages that leave the conversation,
// and takes care that it says nothing that they did not.
//
// A [Summarizer] writes; [Accept] says whether what it wrote may be used;
// [Verify] takes out lines that the source does not bear out; [FactsOf] takes
// the facts without any model; [Finish] joins them into the content of the
// session summary and [Split] takes that apart again. [Extractive] is the
// summarizer that is built in.
package summarize

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/redact"
)

// A Strategy is a form of summary.
type Strategy string

// The strategies.
const (
	TaskState   Strategy = "task_state"   // goals, entities, constraints, decisions, what is outstanding
	DecisionLog Strategy = "decision_log" // decision :: rationale :: inputs :: outputs, in order
	CodeDelta   Strategy = "code_delta"   // what changed, by path
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

// A Request is what a summarizer is given.
type Request struct {
	Messages  []chat.Message   // to be summarised, oldest first; never protected ones
	Previous  string           // content of the summary that this one replaces, "" for the first
	Note      string           // the user's wish for a manual compaction
	Strategy  Strategy         // "" is TaskState
	MaxTokens int              // of the text; 0 or less is not a limit
	Count     func(string) int // tokens of a text; nil counts four bytes as one
	Facts     string           // the facts section that Finish attaches: what it says need not be said again
	Progress  func(Progress)   // is told how a model gets on, by one goroutine; nil: nobody is
}

// Redacted returns r with what f makes of each text that a summarizer is shown.
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

// A Summarizer writes the text of a summary. The same request gives the same
// text.
type Summarizer interface {
	Summarize(ctx context.Context, r Request) (string, error)
}

// countTokens returns the tokens of s.
func (r Request) countTokens(s string) int { return tokenCounter(r.Count)(s) }

// tokenCounter returns count, or if that is nil an estimate.
func tokenCounter(count func(string) int) func(string) int {
	if count != nil {
		return count
	}
	return func(s string) int { return (len(s) + 3) / 4 }
}
