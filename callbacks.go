package tiercompact

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/guard"
	"github.com/tiercompact/tiercompact/redact"
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

// redactor returns known.String, or a variant of it. If it fails, the text must not
// leave the session: it panics with an error that names it, and the caller's guard
// recovers that.
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

// safely returns f, with the built-in redactor as the fallback if f panics.
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

// unbroken returns a sink that drops the events on which sink panics because the
// redactor failed.
func (cfg *settings) unbroken(sink trace.Sink) trace.Sink {
	faults, g := cfg.faults, cfg.guards.redact
	return func(e trace.Event) {
		defer func() {
			if failed := recover(); failed != nil {
				faults.Add(g.Panicked(failed))
			}
		}()
		sink.Emit(e)
	}
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

// learnSecrets collects the secrets in messages before a round splits them. It returns
// texts in which the rules find none.
func (s *Session) learnSecrets(messages chat.Transcript) (plain map[string]bool) {
	if s.cfg.known == nil {
		return nil
	}
	plain = make(map[string]bool)
	for _, m := range messages {
		if m.ID != "" && !s.learnt.Add(m.ID) {
			continue
		}
		for _, p := range m.Parts {
			for _, text := range [2]string{p.Text, p.Args} {
				if s.cfg.known.Learn(text) && len(text) >= minMemoBytes {
					plain[text] = true
				}
			}
		}
	}
	return plain
}

// redactText returns text in the form that may leave the session.
func (cfg *settings) redactText(text string) string {
	if cfg.known == nil {
		return text
	}
	return cfg.safely(cfg.redact)(text)
}

// nameless returns a function that removes secrets from a text before names are
// extracted, without markers that look like names; nil without redaction.
func (cfg *settings) nameless() func(string) string {
	if cfg.known == nil {
		return nil
	}
	secrets := cfg.safely(cfg.secrets)
	return func(text string) string { return strings.ReplaceAll(secrets(text), redact.Mark, " ") }
}

// redactError returns err with a redacted text: errors may quote content.
func (cfg *settings) redactError(err error) error {
	if err == nil {
		return nil
	}
	if text := cfg.redactText(err.Error()); text != err.Error() {
		return redactedError{err, text}
	}
	return err
}

// A redactedError is an error with another text.
type redactedError struct {
	cause error
	text  string
}

func (e redactedError) Error() string { return e.text }
func (e redactedError) Unwrap() error { return e.cause }

// counters count texts, messages and tool schemas during one operation: a message
// that is added, or a round.
type counters struct {
	counting     *guard.Counter // calls Config.Count; nil without it
	countText    func(string) int
	countMessage func(chat.Message) int
	countTools   func([]byte) int
}

// newCounters returns the counters of one operation. It needs no lock.
func (cfg *settings) newCounters() *counters {
	if cfg.Count == nil {
		return &cfg.counters
	}
	return cfg.countersBy(guard.NewCounter(cfg.guards.count, cfg.Count, cfg.builtIn, cfg.faults))
}

func (cfg *settings) countersBy(c *guard.Counter) *counters {
	return &counters{
		counting: c, countText: c.Text, countMessage: cfg.builtIn.With(c.Text).Message,
		countTools: func(raw []byte) int {
			if len(raw) == 0 {
				return 0
			}
			return c.Text(string(raw))
		},
	}
}

// forRound returns cfg with the counters of a round, and with memos of what it counts
// and redacts. It knows the secrets that were learnt before, and the texts in which the
// rules find none. Its caller holds the lock.
func (cfg *settings) forRound(plain map[string]bool) *settings {
	own := *cfg
	own.counters = *cfg.newCounters()
	if cfg.Count == nil { // calls of the caller's Count are not left out
		c := cfg.builtIn.WithMemo()
		own.countText, own.countMessage = c.Text, c.Message
	}
	if cfg.known != nil {
		own.secrets = newTextMemo(cfg.secretsBeside(plain)).resultFor
	}
	return &own
}

// secretsBeside returns cfg.secrets for texts of which plain are known to change only by
// the secrets that were learnt.
func (cfg *settings) secretsBeside(plain map[string]bool) func(string) string {
	rules, remembered := cfg.secrets, cfg.redactor(cfg.known.Remembered)
	return func(text string) string {
		if plain[text] {
			return remembered(text)
		}
		return rules(text)
	}
}

// count has f count with the given functions; if a call of Count does not return, f
// is called again with the built-in ones. f must not change anything.
func count[T any](cfg *settings, f func(*counters) T) T {
	own := cfg.newCounters()
	made, err := guard.Watch(own.counting, func() (T, error) { return f(own), nil })
	if err != nil {
		cfg.faults.Add(err)
		return f(cfg.countersBy(guard.BuiltIn(cfg.builtIn)))
	}
	return made
}

// measured measures messages with a Count that may hang or panic.
func (cfg *settings) measured(messages []chat.Message) []measuredMessage {
	return count(cfg, func(own *counters) []measuredMessage {
		entries := make([]measuredMessage, len(messages))
		for i, m := range messages {
			entries[i] = own.measure(m)
		}
		return entries
	})
}

// toolTokens returns the tokens of tool schemas.
func (cfg *settings) toolTokens(raw []byte) int {
	return count(cfg, func(own *counters) int { return own.countTools(raw) })
}
