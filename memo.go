package tiercompact

import "sync"

// A textMemo remembers the results of a function of texts: the levels of a round read the
// same texts several times. It is safe for concurrent use.
type textMemo[T any] struct {
	compute  func(string) T // depends on its argument alone
	minBytes int            // shorter texts are not remembered
	maxTexts int            // if there are more, all are forgotten

	mu    sync.Mutex
	known map[string]T
}

// Limits of the memos of a round.
const (
	minCountBytes, maxCounts   = 2 << 10, 16 // texts of a summary, of which some are rejected
	minRedactBytes, maxRedacts = 64, 1 << 16 // texts of messages
)

func newTextMemo[T any](minBytes, maxTexts int, compute func(string) T) *textMemo[T] {
	return &textMemo[T]{compute: compute, minBytes: minBytes, maxTexts: maxTexts, known: make(map[string]T)}
}

// resultFor returns the result for a text, which compute is asked for at first.
func (m *textMemo[T]) resultFor(text string) T {
	if len(text) < m.minBytes {
		return m.compute(text)
	}
	m.mu.Lock()
	result, ok := m.known[text]
	m.mu.Unlock()
	if ok {
		return result
	}
	result = m.compute(text)
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.known) >= m.maxTexts {
		clear(m.known)
	}
	m.known[text] = result
	return result
}
