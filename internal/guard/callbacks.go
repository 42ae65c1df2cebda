package guard

import (
	"context"
	"sync"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/summarize"
)

// A guardedSummarizer is a summarizer with a guard.
type guardedSummarizer struct {
	summarize.Summarizer
	guard *Guard
}

// Summarizer returns s with the guard g.
func Summarizer(s summarize.Summarizer, g *Guard) summarize.Summarizer {
	return guardedSummarizer{s, g}
}

func (s guardedSummarizer) Summarize(ctx context.Context, r summarize.Request) (string, error) {
	r.Messages = Copied(r.Messages) // a late call must not share memory with the conversation
	told := &progress{to: r.Progress}
	if r.Progress != nil {
		r.Progress = told.tell
	}
	defer told.end()
	return Call(ctx, s.guard, func(ctx context.Context) (string, error) { return s.Summarizer.Summarize(ctx, r) })
}

// Copied returns messages with their own parts.
func Copied(messages []chat.Message) []chat.Message {
	out := make([]chat.Message, len(messages))
	for i, m := range messages {
		m.Parts = append([]chat.Part(nil), m.Parts...)
		out[i] = m
	}
	return out
}

// progress forwards the summarizer's reports until its call has ended.
type progress struct {
	mu    sync.Mutex
	to    func(summarize.Progress)
	ended bool
}

func (p *progress) tell(now summarize.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended {
		p.to(now)
	}
}

func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
}

// A guardedEmbedder is an embedder behind its guard.
type guardedEmbedder struct {
	inner levels.Embedder
	guard *Guard
}

func (e guardedEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return Call(ctx, e.guard, func(ctx context.Context) ([][]float32, error) { return e.inner.Embed(ctx, texts) })
}

// A chunkEmbedder embeds queries in a separate way, and texts in chunks.
type chunkEmbedder interface {
	levels.Embedder
	EmbedQuery(ctx context.Context, text string) ([]float32, error)
	EmbedChunks(ctx context.Context, texts []string) ([][][]float32, error)
}

// A queryEmbedder embeds queries in a separate way.
type queryEmbedder interface {
	EmbedQuery(ctx context.Context, text string) ([]float32, error)
}

type guardedQueries struct {
	guardedEmbedder
	queries queryEmbedder
}

func (e guardedQueries) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	return Call(ctx, e.guard, func(ctx context.Context) ([]float32, error) { return e.queries.EmbedQuery(ctx, text) })
}

type guardedChunks struct {
	guardedQueries
	chunks chunkEmbedder
}

func (e guardedChunks) EmbedChunks(ctx context.Context, texts []string) ([][][]float32, error) {
	return Call(ctx, e.guard, func(ctx context.Context) ([][][]float32, error) { return e.chunks.EmbedChunks(ctx, texts) })
}

// Embedder returns e with the guard g, and with e's optional methods.
func Embedder(e levels.Embedder, g *Guard) levels.Embedder {
	own := guardedEmbedder{e, g}
	q, ok := e.(queryEmbedder)
	if !ok {
		return own
	}
	queries := guardedQueries{own, q}
	if c, ok := e.(chunkEmbedder); ok {
		return guardedChunks{queries, c}
	}
	return queries
}

// A guardedStore is an archive with a guard. While one of its calls hangs, no other is
// made, for any purpose.
type guardedStore struct {
	archive.Store
	calls, events *Guard
}

// Store returns s with two guards, one for its calls and one for its events.
func Store(s archive.Store, calls, events *Guard) archive.Store {
	return guardedStore{s, calls, events}
}

// Unwrap returns the underlying store.
func (s guardedStore) Unwrap() archive.Store { return s.Store }

func stored[T any](ctx context.Context, s guardedStore, f func(context.Context) (T, error)) (T, error) {
	if g := s.events; g.Hanging() {
		var none T
		return none, g.Enter()
	}
	return Call(ctx, s.calls, f)
}

func (s guardedStore) Put(ctx context.Context, a archive.Step) error {
	_, err := stored(ctx, s, func(ctx context.Context) (struct{}, error) { return struct{}{}, s.Store.Put(ctx, a) })
	return err
}

func (s guardedStore) Steps(ctx context.Context, session string) ([]archive.StepInfo, error) {
	return stored(ctx, s, func(ctx context.Context) ([]archive.StepInfo, error) { return s.Store.Steps(ctx, session) })
}

func (s guardedStore) Get(ctx context.Context, session string, number int) (archive.Step, error) {
	return stored(ctx, s, func(ctx context.Context) (archive.Step, error) { return s.Store.Get(ctx, session, number) })
}

func (s guardedStore) Recall(ctx context.Context, session, id string) (archive.Entry, error) {
	return stored(ctx, s, func(ctx context.Context) (archive.Entry, error) { return s.Store.Recall(ctx, session, id) })
}

func (s guardedStore) Close() error {
	_, err := stored(context.Background(), s, func(context.Context) (struct{}, error) { return struct{}{}, s.Store.Close() })
	return err
}

func (s guardedStore) Event(ctx context.Context, session string, line []byte) error {
	if g := s.calls; g.Hanging() {
		return g.Enter()
	}
	_, err := Call(ctx, s.events, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, s.Store.Event(ctx, session, line)
	})
	return err
}

// Where returns the location of a step, if the underlying store knows it.
func (s guardedStore) Where(session string, number int) (adapter, location string) {
	where, err := stored(context.Background(), s, func(context.Context) ([2]string, error) {
		adapter, location := archive.Where(s.Store, session, number)
		return [2]string{adapter, location}, nil
	})
	if err != nil {
		return "unknown", ""
	}
	return where[0], where[1]
}
