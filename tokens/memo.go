package tokens

import (
	"strings"
	"sync"
)

// A countMemo remembers the tokens of parts of texts, so that a text that shares lines
// with an earlier one is counted quickly. It is safe for concurrent use.
type countMemo struct {
	encoding *Encoding

	mu    sync.Mutex
	known map[string]int // by part
	bytes int            // of the parts
}

// Limits of a countMemo.
const (
	minMemoText  = 2 << 10 // bytes; shorter texts are counted as they are
	minMemoPart  = 256     // bytes of a part
	maxMemoBytes = 8 << 20 // bytes of all parts; if there are more, all are forgotten
)

// WithMemo returns a counter that counts as c does, and remembers the parts of long
// texts as long as it exists: for a time in which similar texts are counted.
func (c *Counter) WithMemo() *Counter {
	if c.raw == nil || c.raw.retired != nil {
		return c
	}
	m := &countMemo{encoding: c.raw, known: make(map[string]int)}
	return c.With(func(text string) int { return c.scaledCount(m.count(text)) })
}

// count returns the tokens of text.
func (m *countMemo) count(text string) int {
	if len(text) < minMemoText {
		return m.encoding.Count(text)
	}
	sum := 0
	for text != "" {
		part := text[:endOfPart(text)]
		text = text[len(part):]
		sum += m.countPart(part)
	}
	return sum
}

func (m *countMemo) countPart(part string) int {
	m.mu.Lock()
	n, ok := m.known[part]
	m.mu.Unlock()
	if ok {
		return n
	}
	n = m.encoding.Count(part)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.bytes += len(part); m.bytes > maxMemoBytes {
		clear(m.known)
		m.bytes = len(part)
	}
	m.known[part] = n
	return n
}

// endOfPart returns the length of the first part of text: whole lines before one that
// begins with a visible ASCII character. In either encoding no piece goes on from a line
// end to such a character, except to a slash.
func endOfPart(text string) int {
	for at := min(len(text), minMemoPart); ; {
		i := strings.IndexByte(text[at:], '\n')
		if at += i + 1; i < 0 || at == len(text) {
			return len(text)
		}
		if c := text[at]; c > ' ' && c <= '~' && c != '/' {
			return at
		}
	}
}
