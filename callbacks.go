package tiercompact

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/redact"
	"github.com/tiercompact/tiercompact/summarize"
	"github.com/tiercompact/tiercompact/trace"
)

// guards are those of a compactor's callbacks.
type guards struct {
	summarizer, embedder, archive, events, count, protect, sink, progress, now, readBack, redact *guard
}

func newGuards(cfg Config) *guards {
	quick := func(name string) *guard { return &guard{name: name, within: cfg.Deadlines.Callback, backs: true} }
	return &guards{
		summarizer: &guard{name: "Summarizer"}, embedder: &guard{name: "Embedder"}, // contexts have their deadlines
		archive: &guard{name: "Archive", within: cfg.Deadlines.Archive},
		events:  &guard{name: "Archive", within: cfg.Deadlines.Archive, backs: true},
		count:   quick("Count"), protect: quick("Protect"), sink: quick("Trace"), progress: quick("Progress"),
		now: quick("Now"), readBack: quick("ReadBack"), redact: quick("Redact"),
	}
}

// guardCallbacks has each callback that is the caller's called through its guard.
// It is called once a session: what fails is told by that session.
func (cfg *settings) guardCallbacks() {
	g := cfg.guards
	if cfg.Policy.Protect != nil {
		cfg.policy.Match = func(m chat.Message) bool {
			m = copied([]chat.Message{m})[0]
			protects, err := do(g.protect, func() bool { return cfg.Policy.Protect(m) })
			cfg.faults.add(err)
			return protects || err != nil // what may be protected is not lost
		}
	}
	if cfg.ownNow {
		now := cfg.Now
		cfg.Now = func() time.Time {
			at, err := do(g.now, now)
			if err == nil && (at.Year() < 1 || at.Year() > 9999) {
				err = &CallbackError{Callback: g.now.name, Reason: fmt.Sprintf("returned a time in the year %d", at.Year())}
			}
			if cfg.faults.add(err); err != nil {
				return time.Now()
			}
			return at
		}
	}
	if told := cfg.Progress; told != nil {
		cfg.Progress = func(p summarize.Progress) {
			_, err := do(g.progress, func() struct{} { told(p); return struct{}{} })
			cfg.faults.add(err)
		}
	}
	if _, builtIn := cfg.Summary.Summarizer.(summarize.Extractive); !builtIn {
		cfg.Summary.Summarizer = guardedSummarizer{cfg.Summary.Summarizer, g.summarizer}
	}
	if cfg.Embed.Embedder != nil {
		cfg.Embed.Embedder = guardEmbedder(cfg.Embed.Embedder, g.embedder)
	}
}

// guardSink returns a sink that drops the events that sink fails at.
func (cfg *settings) guardSink(sink trace.Sink) trace.Sink {
	if sink == nil {
		return nil
	}
	faults, g := cfg.faults, cfg.guards.sink
	return func(e trace.Event) {
		_, err := do(g, func() struct{} { sink.Emit(e); return struct{}{} })
		faults.add(err)
	}
}

// redactor returns known.String, or another of known's. Where it fails nothing
// of the text may leave: it panics with an error that names it, which whoever
// guards what it is for takes up.
func (cfg *settings) redactor(known func(string) string) func(string) string {
	if !cfg.ownRedact {
		return known
	}
	g := cfg.guards.redact
	return func(text string) string {
		clean, err := do(g, func() string { return known(text) })
		if err != nil {
			panic(err)
		}
		return clean
	}
}

// safely is f, or where that panics the built-in redactor.
func (cfg *settings) safely(f func(string) string) func(string) string {
	if !cfg.ownRedact {
		return f
	}
	return func(text string) (clean string) {
		defer func() {
			if failed := recover(); failed != nil {
				cfg.faults.add(cfg.guards.redact.panicked(failed))
				clean = redact.Default().String(text)
			}
		}()
		return f(text)
	}
}

// A guardedSummarizer is a summarizer behind its guard.
type guardedSummarizer struct {
	summarize.Summarizer
	guard *guard
}

func (s guardedSummarizer) Summarize(ctx context.Context, r summarize.Request) (string, error) {
	r.Messages = copied(r.Messages) // a late call must not reach into the conversation
	told := &progress{to: r.Progress}
	if r.Progress != nil {
		r.Progress = told.tell
	}
	defer told.end()
	return guarded(ctx, s.guard, func(ctx context.Context) (string, error) { return s.Summarizer.Summarize(ctx, r) })
}

func copied(messages []chat.Message) []chat.Message {
	out := make([]chat.Message, len(messages))
	for i, m := range messages {
		m.Parts = append([]chat.Part(nil), m.Parts...)
		out[i] = m
	}
	return out
}

// progress hands on what a summarizer tells until its call has ended.
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
	guard *guard
}

func (e guardedEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return guarded(ctx, e.guard, func(ctx context.Context) ([][]float32, error) { return e.inner.Embed(ctx, texts) })
}

// A chunkEmbedder embeds queries in their own way, and texts in chunks.
type chunkEmbedder interface {
	levels.Embedder
	EmbedQuery(ctx context.Context, text string) ([]float32, error)
	EmbedChunks(ctx context.Context, texts []string) ([][][]float32, error)
}

// A queryEmbedder embeds queries in their own way.
type queryEmbedder interface {
	EmbedQuery(ctx context.Context, text string) ([]float32, error)
}

type guardedQueries struct {
	guardedEmbedder
	queries queryEmbedder
}

func (e guardedQueries) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	return guarded(ctx, e.guard, func(ctx context.Context) ([]float32, error) { return e.queries.EmbedQuery(ctx, text) })
}

type guardedChunks struct {
	guardedQueries
	chunks chunkEmbedder
}

func (e guardedChunks) EmbedChunks(ctx context.Context, texts []string) ([][][]float32, error) {
	return guarded(ctx, e.guard, func(ctx context.Context) ([][][]float32, error) { return e.chunks.EmbedChunks(ctx, texts) })
}

// guardEmbedder returns e behind g, with what e can do beyond embedding.
func guardEmbedder(e levels.Embedder, g *guard) levels.Embedder {
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

// A guardedStore is an archive behind its guard. While a call of it hangs,
// none is made, whatever it is for.
type guardedStore struct {
	archive.Store
	guards *guards
}

// Unwrap returns the store beneath.
func (s guardedStore) Unwrap() archive.Store { return s.Store }

func stored[T any](ctx context.Context, s guardedStore, f func(context.Context) (T, error)) (T, error) {
	if g := s.guards.events; g.hanging() {
		var none T
		return none, g.enter()
	}
	return guarded(ctx, s.guards.archive, f)
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
	if g := s.guards.archive; g.hanging() {
		return g.enter()
	}
	_, err := guarded(ctx, s.guards.events, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, s.Store.Event(ctx, session, line)
	})
	return err
}

// Where tells where a step is kept, as far as the store beneath tells.
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
