package proxy

import (
	"encoding/binary"
	"hash/maphash"
	"sync"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
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
	var h maphash.Hash
	h.SetSeed(c.seed)
	size := 0
	text := func(s string) {
		var n [8]byte
		binary.LittleEndian.PutUint64(n[:], uint64(len(s)))
		h.Write(n[:])
		h.WriteString(s)
		size += len(s)
	}
	text(string(m.Role))
	for _, p := range m.Parts {
		text(string(p.Kind))
		text(p.Text)
		text(p.ID)
		text(p.Name)
		text(p.Args)
		if p.Image != nil {
			text(p.Image.MediaType)
			text(p.Image.Data)
			text(p.Image.URL)
		}
	}
	return digestKey{h.Sum64(), size}
}
