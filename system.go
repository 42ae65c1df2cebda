package tiercompact

import (
	"fmt"
	"slices"

	"github.com/tiercompact/tiercompact/chat"
)

// SetSystem replaces the text of the system prompt, which is the first message of the
// conversation. The error is [ErrNotFound] if the conversation has none, and [ErrBusy]
// during a round.
func (s *Session) SetSystem(text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return ErrClosed
	case s.busy:
		return ErrBusy
	case len(s.t.messages) == 0 || s.t.messages[0].Role != chat.System || s.t.messages[0].IsSummary():
		return fmt.Errorf("set system prompt: the first message is none: %w", ErrNotFound)
	}
	m := s.t.messages[0]
	m.Parts = validMessage(chat.NewText(chat.System, text)).Parts
	messages := slices.Clone(s.t.messages) // snapshots share the old ones
	messages[0] = m
	s.t = count(&s.cfg, func(own *counters) conversation { return s.t.withMessages(own, messages) })
	return s.recordDone(func(f Recorder) error { return f.Set(0, m) })
}
