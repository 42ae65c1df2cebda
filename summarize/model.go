package summarize

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/tiercompact/tiercompact/internal/model"
)

// A Chatter sends requests to a model on a server. each receives the answer as it
// arrives; an error that it returns ends the call. Errors of the server unwrap to
// those of package model; [model.ErrTooLong] means that the request is longer than
// the model's window.
type Chatter interface {
	Chat(ctx context.Context, r model.Request, each func(model.Delta) error) (model.Answer, error)
}

// A Model is a [Summarizer] that uses a chat model on a server. Input that does not
// fit into the model's window is summarised in chunks, whose summaries are merged,
// repeatedly if needed; no request exceeds the window. The speeds that were seen bound
// the input, so that calls end within their deadlines; after a call that missed one,
// the input is halved until the model answers in time. Its fields are set before the first use; its methods are safe for concurrent use.
type Model struct {
	Chat   Chatter // required
	Name   string  // name of the model on the server; required
	Window int     // tokens that the model is loaded with, the same for each call; 0: 4,096. If the server cuts a prompt silently, requests are no longer than what it read
	Seed   int     // 0: 42

	// Shared returns the window with which conversations use the model, too, 0 if they do
	// not; nil: 0. Calls then use that window, because with another the server would load the
	// model again, and an abandoned call leaves the model loaded, although a server that
	// reads the prompt reads it to its end.
	Shared func() (window int)

	// MaxInput limits the tokens of messages that are read for one summary, in at
	// most 32 chunks, so that a long session does not take hours; 0: 32,000. Tool
	// results and arguments are shortened first, then all texts. If that is not
	// enough, the oldest are omitted.
	MaxInput int

	mu     sync.Mutex              // guards the fields below; not held during calls of the model
	chunks map[[32]byte]partResult // former chunks, by request
	pace   pace                    // of the model, from missed deadlines
	speed  speed                   // of the model, from its answers
	prompt string                  // the newest that it answered
	served int                     // the window to which the server cut a prompt silently; 0: it cut none
}

// Defaults and limits of a [Model].
const (
	defaultWindow = 4096
	defaultSeed   = 42
	defaultInput  = 32_000
	maxChunks     = 32
)

// A Progress reports the progress of a summarizer. It is reported at the beginning
// of each model call, at most ten times a second while tokens arrive, and at the
// end of the call.
type Progress struct {
	Step      string  // StepChunk or StepMerge
	Call, Of  int     // from 1; Of is the expected number, and may grow
	Tokens    int     // of the answer so far
	PerSecond float64 // tokens of the answer; 0 until the first arrive
	Done      bool    // the call has ended
	Rejected  string  // if Done: why this answer is not used; a part's messages are then summarised without a model
}

// The steps of a summary.
const (
	StepChunk = "chunk" // messages are summarised: some of them, or all
	StepMerge = "merge" // the summaries of parts are joined
)

// A Rejection is the error of a summarizer whose model wrote a text that cannot be
// used. It is one of the reasons that [Accept] returns.
type Rejection string

func (r Rejection) Error() string { return string(r) }

// Summarize implements [Summarizer]. An unfinished text, a tool call, and thinking
// alone are a [Rejection]; a text that ends in repetition is used up to there. If
// the summary of a part is rejected, the part is summarised without a model; if
// that happens to half the parts, the first reason is the error. So is a prompt that
// the server cut silently. Any other error is the server's, or says that the window or
// the deadline is too small for any summary; then nothing was requested.
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
	w := &summaryRun{model: m, r: r, ratio: firstRatio, src: newSourceWords(r), load: cmp.Or(m.Window, defaultWindow)}
	if m.Shared != nil {
		if window := m.Shared(); window > 0 {
			w.load, w.shared = window, true
		}
	}
	m.mu.Lock()
	window := within(w.load, m.served)
	w.window, w.pace, w.speed = window, m.pace, m.speed
	m.mu.Unlock()
	w.limit = within(min(cmp.Or(max(r.MaxTokens, 0), defaultTokens), window/4), w.pace.limit)
	if room := w.dataRoom(w.limit); room < minRoom {
		return "", fmt.Errorf("its window of %d tokens has no room for messages beside the instructions and the answer: load it with at least %d", window, w.minWindow(room))
	}
	if err := w.boundByDeadline(ctx); err != nil {
		return "", err
	}
	text, err := w.runRequests(ctx)
	if err == nil {
		m.paced(pace.answered)
	}
	return text, err
}

// paced changes the pace of the model.
func (m *Model) paced(change func(pace) pace) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pace = change(m.pace)
}

func (m *Model) seedOrDefault() int { return cmp.Or(m.Seed, defaultSeed) }

// A partResult is the result of a chunk.
type partResult struct {
	text     string // its summary
	rejected string // why it has none
	prompt   int    // tokens that the server counted for the request
}

// formerPart returns the result of an equal request for a chunk.
func (m *Model) formerPart(key [32]byte) (partResult, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p, ok := m.chunks[key]
	return p, ok
}

// rememberPart stores the result of a chunk: if the summary itself is rejected, the
// same chunks are requested again.
func (m *Model) rememberPart(key [32]byte, p partResult) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.chunks == nil || len(m.chunks) >= 2*maxChunks {
		m.chunks = make(map[[32]byte]partResult)
	}
	m.chunks[key] = p
}
