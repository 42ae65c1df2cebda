package tiercompact

import (
	"context"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/redact"
	"github.com/tiercompact/tiercompact/trace"
)

// redacted returns cfg with an archive and a sink that are given redacted
// texts. The archive in memory is not one of them: nothing leaves the process
// with it.
func (cfg Config) redacted() Config {
	switch {
	case cfg.NoRedact:
		cfg.Redact = asIs
	case cfg.Redact == nil:
		cfg.Redact = redact.Default().String
	}
	if cfg.Archive != nil {
		cfg.Trace = trace.Join(cfg.Trace, archived(cfg.Archive))
	}
	if cfg.Trace != nil && !cfg.NoRedact {
		cfg.Trace = trace.Redacted(cfg.Trace, cfg.Redact)
	}
	switch {
	case cfg.Archive == nil:
		cfg.Archive = archive.NewMemory()
	case !cfg.NoRedact:
		cfg.Archive = archive.Redacted(cfg.Archive, cfg.Redact)
	}
	return cfg
}

func asIs(text string) string { return text }

// archived is the sink that puts every event into an archive. What cannot be
// written is dropped: events are no part of the conversation.
func archived(store archive.Store) trace.Sink {
	return func(e trace.Event) {
		if line, err := e.MarshalJSON(); err == nil {
			_ = store.Event(context.Background(), e.Session, line) // a session that ends still tells how
		}
	}
}

// shown returns err as it may be shown: what its text quotes is redacted.
func (cfg *settings) shown(err error) error {
	if err == nil {
		return nil
	}
	if text := cfg.Redact(err.Error()); text != err.Error() {
		return shownError{err, text}
	}
	return err
}

// A shownError is an error under another text.
type shownError struct {
	cause error
	text  string
}

func (e shownError) Error() string { return e.text }
func (e shownError) Unwrap() error { return e.cause }

// prompts returns what is made of texts for models, nil for nothing.
func (cfg *settings) prompts() func(string) string {
	if !cfg.RedactPrompts {
		return nil
	}
	return cfg.Redact
}
