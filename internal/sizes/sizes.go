// Package sizes caches the tokens of messages that are sent repeatedly.
package sizes

import (
	"hash/maphash"
	"sync"
	"sync/atomic"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/texthash"
)

// A Memo caches the tokens of the messages of one history. The zero Memo caches nothing;
// [NewMemo] returns one that does.
type Memo struct {
	seed  maphash.Seed // hashes never leave the process
	known map[uint64]int
}

// NewMemo returns an empty memo.
func NewMemo() Memo { return Memo{seed: maphash.MakeSeed(), known: make(map[uint64]int)} }

// Sizes are the tokens of a history's messages.
type Sizes struct {
	Tokens []int
	keys   []uint64
}

// Count counts t on the given number of cores. It does not change the memo, because an
// abandoned count must not.
func (m *Memo) Count(cores int, t chat.Transcript, count func(chat.Message) int) Sizes {
	s := Sizes{make([]int, len(t)), make([]uint64, len(t))}
	runParallel(cores, len(t), func(i int) {
		known := false
		if m.known != nil {
			s.keys[i] = messageKey(m.seed, t[i])
			s.Tokens[i], known = m.known[s.keys[i]]
		}
		if !known {
			s.Tokens[i] = count(t[i])
		}
	})
	return s
}

// Keep stores s. If most of what the memo knows is not in s, it forgets the rest, so
// that messages that were edited or replaced do not collect in it.
func (m *Memo) Keep(s Sizes) {
	if m.known == nil {
		return
	}
	if len(m.known) > max(maxOutdated, 4*len(s.keys)) {
		clear(m.known)
	}
	for i, key := range s.keys {
		m.known[key] = s.Tokens[i]
	}
}

// maxOutdated is how many messages that are not in a history a memo may know in any case.
const maxOutdated = 256

// Len returns the number of messages whose tokens the memo knows.
func (m *Memo) Len() int { return len(m.known) }

// runParallel calls f with 0 to n-1, on the given number of cores: a model call waits for it.
func runParallel(cores, n int, f func(i int)) {
	const block = 16
	var next atomic.Int64
	work := func() {
		for {
			end := int(next.Add(block))
			for i := end - block; i < min(end, n); i++ {
				f(i)
			}
			if end >= n {
				return
			}
		}
	}
	var others sync.WaitGroup
	for range min(cores, n/block) - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
}

// messageKey identifies messages by the fields that count.
func messageKey(seed maphash.Seed, m chat.Message) uint64 {
	h := texthash.New(seed)
	h.AddText(string(m.Role))
	for i := range m.Parts {
		p := &m.Parts[i]
		h.AddText(string(p.Kind))
		h.AddText(p.Text)
		h.AddText(p.Args)
		h.AddText(p.Name)
		h.AddText(p.ID)
		if p.Image != nil {
			h.AddNumber(p.Image.Width)
			h.AddNumber(p.Image.Height)
			h.AddText(p.Image.Detail)
			h.AddText(p.Image.Data)
		}
	}
	return h.Sum()
}
