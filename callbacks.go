package tiercompact

import (
	"fmt"
	"time"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/guard"
	"github.com/tiercompact/tiercompact/redact"
	"github.com/tiercompact/tiercompact/summarize"
	"github.com/tiercompact/tiercompact/trace"
)

// guards are those of a compactor's callbacks.
type guards struct {
	summarizer, embedder, archive, events, count, protect, sink, progress, now, readBack, redact *guard.Guard
}

func newGuards(cfg Config) *guards {
	quick := func(name string) *guard.Guard {
		return &guard.Guard{Name: name, Within: cfg.CallbackDeadline, Backs: true}
	}
	return &guards{
		summarizer: &guard.Guard{Name: "Summarizer"}, embedder: &guard.Guard{Name: "Embedder"}, // contexts have their deadlines
		archive: &guard.Guard{Name: "Archive", Within: cfg.ArchiveDeadline},
		events:  &guard.Guard{Name: "Archive", Within: cfg.ArchiveDeadline, Backs: true},
		count:   quick("Count"), protect: quick("Protect"), sink: quick("Trace"), progress: quick("Progress"),
		now: quick("Now"), readBack: quick("ReadBack"), redact: quick("Redact"),
	}
}

// guardCallbacks has each callback that is the caller's called through its guard.
// It is called once a session: what fails is told by that session.
func (cfg *settings) guardCallbacks() {
	g := cfg.guards
	if cfg.Protect != nil {
		cfg.policy.Match = func(m chat.Message) bool {
			m = guard.Copied([]chat.Message{m})[0]
			protects, err := guard.Do(g.protect, func() bool { return cfg.Protect(m) })
			cfg.faults.Add(err)
			return protects || err != nil // what may be protected is not lost
		}
	}
	if cfg.ownNow {
		now := cfg.Now
		cfg.Now = func() time.Time {
			at, err := guard.Do(g.now, now)
			if err == nil && (at.Year() < 1 || at.Year() > 9999) {
				err = &CallbackError{Callback: g.now.Name, Reason: fmt.Sprintf("returned a time in the year %d", at.Year())}
			}
			if cfg.faults.Add(err); err != nil {
				return time.Now()
			}
			return at
		}
	}
	if told := cfg.Progress; told != nil {
		cfg.Progress = func(p summarize.Progress) {
			_, err := guard.Do(g.progress, func() struct{} { told(p); return struct{}{} })
			cfg.faults.Add(err)
		}
	}
	if _, builtIn := cfg.Summarizer.(summarize.Extractive); !builtIn {
		cfg.Summarizer = guard.Summarizer(cfg.Summarizer, g.summarizer)
	}
	if cfg.Embedder != nil {
		cfg.Embedder = guard.Embedder(cfg.Embedder, g.embedder)
	}
}

// guardSink returns a sink that drops the events that sink fails at.
func (cfg *settings) guardSink(sink trace.Sink) trace.Sink {
	if sink == nil {
		return nil
	}
	faults, g := cfg.faults, cfg.guards.sink
	return func(e trace.Event) {
		_, err := guard.Do(g, func() struct{} { sink.Emit(e); return struct{}{} })
		faults.Add(err)
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
		clean, err := guard.Do(g, func() string { return known(text) })
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
				cfg.faults.Add(cfg.guards.redact.Panicked(failed))
				clean = redact.Default().String(text)
			}
		}()
		return f(text)
	}
}
