package tiercompact

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/guard"
	"github.com/tiercompact/tiercompact/summarize"
	"github.com/tiercompact/tiercompact/trace"
)

// guards are the guards of a compactor's callbacks.
type guards struct {
	summarizer, embedder, archive, events, count, protect, sink, progress, now, readBack, redact *guard.Guard
}

func newGuards(cfg Config) *guards {
	quick := func(name string) *guard.Guard {
		return &guard.Guard{Name: name, Within: cfg.Deadlines.Callback, Backs: true}
	}
	return &guards{
		summarizer: &guard.Guard{Name: "Summarizer"}, embedder: &guard.Guard{Name: "Embedder"}, // their contexts have deadlines
		archive: &guard.Guard{Name: "Archive", Within: cfg.Deadlines.Archive},
		events:  &guard.Guard{Name: "Archive", Within: cfg.Deadlines.Archive, Backs: true},
		count:   quick("Count"), protect: quick("Protect"), sink: quick("Trace"), progress: quick("Progress"),
		now: quick("Now"), readBack: quick("ReadBack"), redact: quick("Redact"),
	}
}

// guardCallbacks wraps each callback of the caller in its guard. It is called once for
// each session, which reports the failures.
func (cfg *settings) guardCallbacks() {
	g := cfg.guards
	if cfg.Policy.Protect != nil {
		cfg.policy.Match = func(m chat.Message) bool {
			m = guard.Copied([]chat.Message{m})[0]
			protects, err := guard.Do(g.protect, func() bool { return cfg.Policy.Protect(m) })
			cfg.faults.Add(err)
			return protects || err != nil // if Protect fails, the message is kept
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
	if _, builtIn := cfg.Summary.Summarizer.(summarize.Extractive); !builtIn {
		cfg.Summary.Summarizer = guard.Summarizer(cfg.Summary.Summarizer, g.summarizer)
	}
	if cfg.Embed.Embedder != nil {
		cfg.Embed.Embedder = guard.Embedder(cfg.Embed.Embedder, g.embedder)
	}
}

// guardSink returns a sink that drops events on which sink fails.
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

// withRedaction returns the settings of one session, with redaction in front of
// archive and sink. A secret that the session has seen is removed from all output,
// even if only part of its context is left.
func (cfg settings) withRedaction() settings {
	cfg.faults = new(guard.Faults)
	cfg.guardCallbacks()
	cfg.Trace = cfg.guardSink(cfg.Trace)
	if cfg.outside {
		cfg.Trace = trace.Join(cfg.Trace, cfg.archived())
	}
	if cfg.Redact.Off {
		cfg.known = nil
	} else {
		if cfg.known == nil {
			cfg.known = cfg.Redact.Redactor.Known()
		}
		cfg.redact, cfg.secrets = cfg.redactor(cfg.known.String), cfg.redactor(cfg.known.Secrets)
		if cfg.Trace != nil {
			cfg.Trace = cfg.unbroken(trace.Redacted(cfg.Trace, cfg.redact))
		}
		if cfg.outside {
			cfg.Archive = archive.Redacted(cfg.Archive, cfg.redact)
		}
	}
	return cfg
}

// archived is the sink that puts every event into the archive. Events that cannot be
// written are dropped: they are not part of the conversation.
func (cfg *settings) archived() trace.Sink {
	faults, store := cfg.faults, cfg.Archive
	return func(e trace.Event) {
		line, err := e.MarshalJSON()
		if err != nil {
			return
		}
		err = store.Event(context.Background(), e.Session, line) // the end of a session is recorded too
		if _, broken := errors.AsType[*CallbackError](err); broken {
			faults.Add(err)
		}
	}
}
