package summarize

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/tiercompact/tiercompact/internal/model"
)

// A Chatter has a model on a server answer. each is given the answer as it
// comes in; an error that it returns ends the call. Errors of the server
// unwrap to those of package model; [model.ErrTooLong] means that the request
// is longer than the model's window.
type Chatter interface {
	Chat(ctx context.Context, r model.Request, each func(model.Delta) error) (model.Answer, error)
}

// A Model is a [Summarizer] over a chat model on a server. What does not fit
// into the model's window is summarised in chunks, whose summaries are merged,
// as often as it takes; it never asks for more than the window. After a call
// that passed the deadline of its context, half as much is given, until the model
// answers in time. Its fields are set before the first use; its methods are safe
// for concurrent use.
type Model struct {
	Chat   Chatter // required
	Name   string  // of the model, as the server knows it; required
	Window int     // tokens that the model is loaded with, the same for each call; 0: 4,096
	Seed   int     // 0: 42

	// MaxInput is how many tokens of messages are read for one summary, in at
	// most 32 chunks, so that a long session does not take hours; 0: 32,000.
	// Tool results and arguments are shortened first, then all texts; where
	// that is not enough, the oldest are left out.
	MaxInput int

	mu     sync.Mutex              // guards what follows; not held while the model is asked
	chunks map[[32]byte]partResult // former chunks, by what was asked
	pace   pace                    // of the model, as far as it missed deadlines
}

// Defaults and limits of a [Model].
const (
	defaultWindow = 4096
	defaultSeed   = 42
	defaultInput  = 32_000
	maxChunks     = 32
)

// A Progress says how a summarizer gets on. It is told at the beginning of
// each model call, at most ten times a second while tokens come in, and at the
// end of the call.
type Progress struct {
	Step      string  // StepChunk or StepMerge
	Call, Of  int     // from 1; Of is what is foreseen, and may grow
	Tokens    int     // of the answer so far
	PerSecond float64 // tokens of the answer; 0 until some have come in
	Done      bool    // the call has ended
	Rejected  string  // where Done: why this answer is not used; a part's messages are then summarised without a model
}

// The steps of a summary.
const (
	StepChunk = "chunk" // messages are summarised: a part of them, or all
	StepMerge = "merge" // the summaries of parts are joined
)

// A Rejection is the error of a summarizer that got a text which may not be
// used: one of the reasons that [Accept] knows.
type Rejection string

func (r Rejection) Error() string { return string(r) }

// Summarize implements [Summarizer]. A text that the model did not end, a tool
// call, and thinking alone are a [Rejection]; a text whose end is only what it
// said before is used up to there. The summary of a part that may not be used
// is taken without a model; where that is so of half the parts, the first
// reason is the error. Any other error is the server's, or says which window
// is the least.
func (m *Model) Summarize(ctx context.Context, r Request) (string, error) {
	text, err := m.summarizeOnce(ctx, r)
	if err != nil {
		return "", fmt.Errorf("summarize with %s: %w", m.Name, err)
	}
	return text, nil
}

func (m *Model) summarizeOnce(ctx context.Context, r Request) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if m.Chat == nil || m.Name == "" {
		return "", errors.New("a Model needs a Chat and a Name")
	}
	if _, err := ParseStrategy(string(r.Strategy)); err != nil {
		return "", err
	}
	r.Count = tokenCounter(r.Count)
	window := cmp.Or(m.Window, defaultWindow)
	w := &summaryRun{
		model: m, r: r, window: window, ratio: firstRatio, pace: m.paced(nil),
		src: newSourceWords(r),
	}
	w.limit = within(min(cmp.Or(max(r.MaxTokens, 0), defaultTokens), window/4), w.pace.limit)
	if room := w.dataRoom(w.limit); room < leastRoom {
		return "", fmt.Errorf("its window of %d tokens has no room for messages beside the instructions and the answer: load it with at least %d", window, w.leastWindow(room))
	}
	text, err := w.runRequests(ctx)
	if err == nil {
		m.paced(pace.answered)
	}
	return text, err
}

// paced returns the pace of the model, after change, nil for none.
func (m *Model) paced(change func(pace) pace) pace {
	m.mu.Lock()
	defer m.mu.Unlock()
	if change != nil {
		m.pace = change(m.pace)
	}
	return m.pace
}

func (m *Model) seedOrDefault() int { return cmp.Or(m.Seed, defaultSeed) }

// A partResult is what came of a chunk.
type partResult struct {
	text     string // its summary
	rejected string // why there is none
	prompt   int    // tokens that the server counted for the request
}

// formerPart returns what came of a chunk that was asked for in the same words.
func (m *Model) formerPart(key [32]byte) (partResult, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p, ok := m.chunks[key]
	return p, ok
}

// rememberPart remembers what came of a chunk: where the summary itself is rejected,
// the same chunks are asked for again.
func (m *Model) rememberPart(key [32]byte, p partResult) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.chunks == nil || len(m.chunks) >= 2*maxChunks {
		m.chunks = make(map[[32]byte]partResult)
	}
	m.chunks[key] = p
}
