package tiercompact

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/guard"
	"github.com/tiercompact/tiercompact/redact"
	"github.com/tiercompact/tiercompact/summarize"
	"github.com/tiercompact/tiercompact/trace"
)

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

// redactText returns text in the form that may leave the session.
func (cfg *settings) redactText(text string) string {
	if cfg.known == nil {
		return text
	}
	return cfg.safely(cfg.redact)(text)
}

// withoutMarks returns a function that removes secrets from a text before names are
// extracted, without markers that look like names.
func (cfg *settings) withoutMarks() func(string) string {
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

func (e redactedError) Error() string { return e.text }
func (e redactedError) Unwrap() error { return e.cause }

// A textMemo remembers the results of a redactor: the levels of a round read the same
// texts several times. It is safe for concurrent use.
type textMemo struct {
	redact func(string) string // depends on its argument alone

	mu    sync.Mutex
	known map[string]string
}

// Limits of a textMemo: shorter texts are not remembered; if there are more, all are
// forgotten.
const minMemoBytes, maxMemoTexts = 64, 1 << 16

func newTextMemo(redact func(string) string) *textMemo {
	return &textMemo{redact: redact, known: make(map[string]string)}
}

// resultFor returns text as redact returns it.
func (m *textMemo) resultFor(text string) string {
	if len(text) < minMemoBytes {
		return m.redact(text)
	}
	m.mu.Lock()
	clean, ok := m.known[text]
	m.mu.Unlock()
	if ok {
		return clean
	}
	clean = m.redact(text)
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.known) >= maxMemoTexts {
		clear(m.known)
	}
	m.known[text] = clean
	return clean
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
		own.nameless = own.withoutMarks()
	}
	return &own
}

// recordArrived adds new messages to the record of the work, so that a round need not. A
// caller's redaction is left to the rounds: only they wait for it.
func (s *Session) recordArrived(messages []chat.Message) {
	if s.cfg.ownRedact {
		return
	}
	plain := s.learnSecrets(messages)
	var secrets func(string) string
	if s.cfg.known != nil {
		secrets = s.cfg.secretsBeside(plain)
	}
	s.recording.Lock()
	s.recordFresh(secrets)
	s.recording.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plain = withTexts(s.plain, plain)
}

// recordWork adds the messages that are not yet in the record of the work, and returns a
// copy and the number of messages ever added that are in it. cfg is that of the round.
func (s *Session) recordWork(cfg *settings) (*summarize.Record, int) {
	s.recording.Lock() // a dry run and a round may plan at the same time
	defer s.recording.Unlock()
	var secrets func(string) string
	if cfg.known != nil {
		secrets = cfg.safely(cfg.secrets)
	}
	work, added := s.recordFresh(secrets)
	return work.Clone(), added
}

// recordFresh adds the messages that are not yet in the record of the work, without
// secrets; nil leaves them as they are. Its caller holds s.recording.
func (s *Session) recordFresh(secrets func(string) string) (work *summarize.Record, added int) {
	s.mu.Lock()
	fresh, added := s.fresh, s.t.added
	s.fresh = nil
	if s.work == nil {
		s.work = summarize.NewRecord("")
	}
	work = s.work
	s.mu.Unlock()
	request := summarize.Request{Messages: fresh}
	if secrets != nil {
		request = request.Redacted(secrets)
	}
	for _, m := range request.Messages {
		work.Add(m)
	}
	return work, added
}

// withTexts returns all with more.
func withTexts(all, more map[string]bool) map[string]bool {
	if len(all) == 0 {
		return more
	}
	maps.Copy(all, more)
	return all
}

// restoreWork continues the record of the work in a session file. Without one, it
// begins with the conversation.
func (s *Session) restoreWork(st archive.State) {
	s.work = summarize.NewRecord(st.Work.Text)
	since := len(st.Messages)
	if st.Work.Text != "" {
		since = min(since, max(0, st.Added-st.Work.Added))
	}
	s.fresh = slices.Clone(st.Messages[len(st.Messages)-since:])
}

// beginWork begins the record of the work anew with the conversation, after messages
// were taken back. Its caller holds the lock.
func (s *Session) beginWork() {
	s.work, s.fresh = nil, slices.Clone(s.t.messages)
}
