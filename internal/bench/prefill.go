package bench

import (
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

// A Prefill sums what a server with a prompt cache must read again over the
// requests of a session.
type Prefill struct {
	Tokens   int
	Requests int

	count func(string) int
	last  chat.Transcript
}

// NewPrefill returns a Prefill that counts text by count.
func NewPrefill(count func(string) int) *Prefill { return &Prefill{count: count} }

// minPrefix is the minimum number of bytes that the first different message must
// have in common with its predecessor to count as cached up to there.
const minPrefix = 40

// Request adds the tokens of t after the longest common prefix with the request
// before. It keeps t.
func (p *Prefill) Request(t chat.Transcript) {
	same := 0
	for same < len(t) && same < len(p.last) && sameMessage(t[same], p.last[same]) {
		same++
	}
	for _, m := range t[same:] {
		p.Tokens += p.count(TextOf(m)) + frame
	}
	if same < len(t) && same < len(p.last) {
		if shared := commonPrefix(TextOf(t[same]), TextOf(p.last[same])); len(shared) > minPrefix {
			p.Tokens -= p.count(shared)
		}
	}
	p.last = t
	p.Requests++
}

func sameMessage(a, b chat.Message) bool {
	if a.Role != b.Role || len(a.Parts) != len(b.Parts) {
		return false
	}
	for i, p := range a.Parts {
		q := b.Parts[i]
		if p.Kind != q.Kind || p.Text != q.Text || p.ID != q.ID || p.Name != q.Name || p.Args != q.Args {
			return false
		}
	}
	return true
}

func commonPrefix(a, b string) string {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return strings.ToValidUTF8(a[:n], "")
}
