package tiercompact

import "sync"

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
