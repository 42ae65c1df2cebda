package embed

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// Limits of a Cache.
const (
	defaultMaxBytes = 1 << 30
	memoryBytes     = 64 << 20  // of a cache with a folder
	aloneBytes      = 256 << 20 // of one without a folder
)

// A Cache keeps vectors in memory and, if [OpenCache] opened it, in a folder, so
// that a text is embedded once for all processes. Processes may share a folder. The
// zero Cache is in memory only, and is emptied when it holds 256 MiB. Its methods
// are safe for concurrent use.
type Cache struct {
	// MaxBytes limits the folder: each of its 256 subfolders has an equal share,
	// and its oldest files are removed first. It is set before the first use; 0: 1
	// GiB.
	MaxBytes int64

	dir string // "": memory only

	mu     sync.Mutex // guards the fields below; not held during file access
	memory map[cacheKey]vector
	held   int            // bytes in memory
	sizes  map[byte]int64 // bytes in each subfolder with a file written by this process
	err    error
}

// OpenCache opens the cache in a folder, and creates the folder, for this user
// alone, if it does not exist. It fails if the folder is not writable. A vector is
// a file of its own, <folder>/<2 hex digits>/<62 hex digits>, written atomically; a
// damaged one counts as absent.
func OpenCache(dir string) (*Cache, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open vector cache %s: %w", dir, err)
	}
	f, err := os.CreateTemp(dir, unfinishedPrefix+"*")
	if err != nil {
		return nil, fmt.Errorf("open vector cache %s: %w", dir, err)
	}
	f.Close()
	os.Remove(f.Name())
	return &Cache{dir: dir}, nil
}

// Err returns the first error of reading or writing the folder, or nil. Such an
// error fails no embedding: the next process embeds again what could not be stored.
func (c *Cache) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

func (c *Cache) getVector(k cacheKey) (vector, bool) {
	c.mu.Lock()
	v, ok := c.memory[k]
	c.mu.Unlock()
	if ok || c.dir == "" {
		return v, ok
	}
	data, err := readEntry(c.entryPath(k))
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			c.recordError("read", err)
		}
		return vector{}, false
	}
	if v, ok = decodeEntry(k, data); ok {
		c.rememberVector(k, v)
	}
	return v, ok
}

func (c *Cache) putVector(k cacheKey, v vector) {
	c.rememberVector(k, v)
	if c.dir == "" {
		return
	}
	if err := c.writeEntry(k, encodeEntry(k, v)); err != nil {
		c.recordError("write", err)
	}
}

func (c *Cache) rememberVector(k cacheKey, v vector) {
	c.mu.Lock()
	defer c.mu.Unlock()
	most := memoryBytes
	if c.dir == "" {
		most = aloneBytes
	}
	if c.memory == nil || c.held > most {
		c.memory, c.held = make(map[cacheKey]vector), 0
	}
	c.memory[k] = v
	c.held += entrySize(v)
}

func (c *Cache) recordError(verb string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = fmt.Errorf("%s vector cache: %w", verb, err)
	}
}

func (c *Cache) entryPath(k cacheKey) string {
	name := hex.EncodeToString(k[:])
	return filepath.Join(c.dir, name[:2], name[2:])
}

// A cacheKey identifies a text as input of one model. Keys are evenly distributed.
type cacheKey [sha256.Size]byte

// cacheKeyOf returns the key of a text after a prefix. The parts are separated
// unambiguously.
func cacheKeyOf(model, digest, prefix, text string) cacheKey {
	h := sha256.New()
	var size [8]byte
	for _, part := range []string{strings.TrimSuffix(model, ":latest"), digest, prefix, text} {
		binary.LittleEndian.PutUint64(size[:], uint64(len(part)))
		h.Write(size[:])
		h.Write([]byte(part))
	}
	return cacheKey(h.Sum(nil))
}
