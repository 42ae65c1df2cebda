package tiercompact

import (
	"context"
	"errors"
	"strings"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/guard"
	"github.com/tiercompact/tiercompact/redact"
	"github.com/tiercompact/tiercompact/trace"
)

// withRedaction returns the settings of one session, of which archive and sink are
// given redacted texts. What the session has seen to be a secret is taken out of
// all that leaves it, also where only a part of its surroundings is left.
func (cfg settings) withRedaction() settings {
	cfg.faults = new(guard.Faults)
	cfg.guardCallbacks()
	cfg.Trace = cfg.guardSink(cfg.Trace)
	if cfg.outside {
		cfg.Trace = trace.Join(cfg.Trace, cfg.archived())
	}
	if cfg.NoRedact {
		cfg.known = nil
	} else {
		if cfg.known == nil {
			cfg.known = cfg.Redact.Known()
		}
		cfg.redact = cfg.redactor(cfg.known.String)
		if cfg.Trace != nil {
			cfg.Trace = cfg.unbroken(trace.Redacted(cfg.Trace, cfg.redact))
		}
		if cfg.outside {
			cfg.Archive = archive.Redacted(cfg.Archive, cfg.redact)
		}
	}
	return cfg
}

// unbroken returns a sink that drops what sink panics at: what is redacted by a
// redactor that fails.
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

// archived is the sink that puts every event into the archive. What cannot be
// written is dropped: events are no part of the conversation.
func (cfg *settings) archived() trace.Sink {
	faults, store := cfg.faults, cfg.Archive
	return func(e trace.Event) {
		line, err := e.MarshalJSON()
		if err != nil {
			return
		}
		err = store.Event(context.Background(), e.Session, line) // a session that ends still tells how
		if _, broken := errors.AsType[*CallbackError](err); broken {
			faults.Add(err)
		}
	}
}

// learnSecrets has the session know the secrets in messages before a round takes them
// apart.
func (s *Session) learnSecrets(messages chat.Transcript) {
	if s.cfg.known == nil {
		return
	}
	for _, m := range messages {
		if m.ID != "" && !s.learnt.Add(m.ID) {
			continue
		}
		for _, p := range m.Parts {
			s.cfg.known.Learn(p.Text)
			s.cfg.known.Learn(p.Args)
		}
	}
}

// redactText returns text as it may leave the session.
func (cfg *settings) redactText(text string) string {
	if cfg.known == nil {
		return text
	}
	return cfg.safely(cfg.redact)(text)
}

// nameless returns what takes secrets out of a text that names are taken from,
// with no mark that would be a name; nil where nothing is redacted.
func (cfg *settings) nameless() func(string) string {
	if cfg.known == nil {
		return nil
	}
	secrets := cfg.safely(cfg.redactor(cfg.known.Secrets))
	return func(text string) string { return strings.ReplaceAll(secrets(text), redact.Mark, " ") }
}

// redactError returns err as it may be shown: what its text quotes is redacted.
func (cfg *settings) redactError(err error) error {
	if err == nil {
		return nil
	}
	if text := cfg.redactText(err.Error()); text != err.Error() {
		return redactedError{err, text}
	}
	return err
}

// A redactedError is an error under another text.
type redactedError struct {
	cause error
	text  string
}

func (e redactedError) Error() string { return e.text }
func (e redactedError) Unwrap() error { return e.cause }

// promptRedactor returns what is made of texts for models, nil for nothing. Where the
// redactor fails, it panics: no model is given what was not redacted.
func (cfg *settings) promptRedactor() func(string) string {
	if !cfg.RedactPrompts {
		return nil
	}
	return cfg.redact
}

// writtenForms returns what the file is known by that left is written to, nil where
// ReadBack fails.
func (cfg *settings) writtenForms(left chat.Transcript) []archive.Written {
	if cfg.ReadBack == nil || !cfg.outside {
		return nil
	}
	failed := false
	read := func(t chat.Transcript) []archive.Reading {
		readings, err := guard.Do(cfg.guards.readBack, func() []archive.Reading { return cfg.ReadBack(guard.Copied(t)) })
		cfg.faults.Add(err)
		failed = failed || err != nil
		return readings
	}
	var clean []archive.Reading
	if cfg.known != nil {
		if t, changed := archive.Clean(left, cfg.redact); changed {
			clean = read(t)
		}
	}
	readings := read(left)
	if failed {
		return nil
	}
	return archive.NewWritten(readings, clean)
}
