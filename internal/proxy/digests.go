package proxy

import (
	"hash/maphash"
	"sync"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
	"github.com/tiercompact/tiercompact/internal/texthash"
)

// A digestCache has the digests of messages that came before, by a hash that is ten
// times as fast. The hash is of this process alone, and not predictable. A nil cache
// knows none.
type digestCache struct {
	seed maphash.Seed

	mu          sync.Mutex
	now, before map[digestKey]edit.Digest // before is forgotten when now is full
}

type digestKey struct {
	hash uint64
	size int
}

// maxDigests is the size of each of the two generations, which take 10 MB.
const maxDigests = 1 << 17

func newDigestCache() *digestCache {
	return &digestCache{seed: maphash.MakeSeed(), now: make(map[digestKey]edit.Digest)}
}

// of returns the digest of each message.
func (c *digestCache) of(t chat.Transcript) []edit.Digest {
	out := make([]edit.Digest, len(t))
	if c == nil {
		for i, m := range t {
			out[i] = edit.MessageDigest(m)
		}
		return out
	}
	keys, known := make([]digestKey, len(t)), make([]bool, len(t))
	for i, m := range t {
		keys[i] = c.keyOf(m)
	}
	c.mu.Lock()
	for i, k := range keys {
		if out[i], known[i] = c.now[k]; !known[i] {
			if out[i], known[i] = c.before[k]; known[i] {
				c.add(k, out[i])
			}
		}
	}
	c.mu.Unlock()
	for i, m := range t {
		if !known[i] {
			out[i] = edit.MessageDigest(m)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, k := range keys {
		if !known[i] {
			c.add(k, out[i])
		}
	}
	return out
}

func (c *digestCache) add(k digestKey, d edit.Digest) {
	if len(c.now) >= maxDigests {
		c.now, c.before = make(map[digestKey]edit.Digest), c.now
	}
	c.now[k] = d
}

// keyOf hashes what [edit.MessageDigest] reads.
func (c *digestCache) keyOf(m chat.Message) digestKey {
	h := texthash.New(c.seed)
	h.AddText(string(m.Role))
	for i := range m.Parts {
		p := &m.Parts[i]
		h.AddText(string(p.Kind))
		h.AddText(p.Text)
		h.AddText(p.ID)
		h.AddText(p.Name)
		h.AddText(p.Args)
		if p.Image != nil {
			h.AddText(p.Image.MediaType)
			h.AddText(p.Image.Data)
			h.AddText(p.Image.URL)
		}
	}
	return digestKey{h.Sum(), h.Size()}
}
