package embed

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// An entry on disk, all little endian:
//
//	4 bytes       "tcv1", the format
//	4 bytes       n, the dimension; 0 says that the text is too long for the model
//	4 n bytes     float32s
//	16 bytes      sha256 of the key and all above, cut
const (
	magic    = "tcv1"
	headSize = 8
	sumSize  = 16
)

// maxDim is the maximum dimension of a valid vector.
const maxDim = 1 << 16

func entrySize(v vector) int { return headSize + 4*len(v.of) + sumSize }

func encodeEntry(k cacheKey, v vector) []byte {
	data := make([]byte, headSize, entrySize(v))
	copy(data, magic)
	binary.LittleEndian.PutUint32(data[4:], uint32(len(v.of)))
	for _, x := range v.of {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
	}
	return append(data, checksum(k, data)...)
}

// decodeEntry reports false for anything but the output of encodeEntry for k.
func decodeEntry(k cacheKey, data []byte) (vector, bool) {
	body := len(data) - sumSize
	if body < headSize || string(data[:4]) != magic || !bytes.Equal(data[body:], checksum(k, data[:body])) {
		return vector{}, false
	}
	floats := data[headSize:body]
	n := int(binary.LittleEndian.Uint32(data[4:]))
	if n > maxDim || len(floats) != 4*n {
		return vector{}, false
	}
	v := vector{long: n == 0, of: make([]float32, n)}
	for i := range v.of {
		v.of[i] = math.Float32frombits(binary.LittleEndian.Uint32(floats[4*i:]))
	}
	return v, true
}

func checksum(k cacheKey, data []byte) []byte {
	h := sha256.New()
	h.Write(k[:])
	h.Write(data)
	return h.Sum(nil)[:sumSize]
}

// readEntry reads at most the length of an entry.
func readEntry(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, headSize+4*maxDim+sumSize+1))
}

// unfinishedPrefix begins the names of unfinished files. Those of killed processes
// are removed with the entries of their age.
const unfinishedPrefix = "new-"

// writeWholeFile writes a file atomically, for this user alone. It does not sync
// the file: the checksum reveals damage by a power failure.
func writeWholeFile(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), unfinishedPrefix+"*") // has mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = cmp.Or(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// shards is the number of folders. Keys are evenly distributed, so each folder has
// its share of the cache.
const shards = 256

// writeEntry writes an entry, and makes room for it in its folder first.
func (c *Cache) writeEntry(k cacheKey, data []byte) error {
	path, shard, size := c.entryPath(k), k[0], int64(len(data))
	share := cmp.Or(c.MaxBytes, defaultMaxBytes) / shards
	c.mu.Lock()
	held, known := c.sizes[shard]
	c.mu.Unlock()
	var err error
	if !known || held+size > share {
		// Other processes write here too, so the folder is read again.
		held, err = pruneFolder(filepath.Dir(path), share-size)
	}
	if err == nil {
		err = writeWholeFile(path, data)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sizes == nil {
		c.sizes = make(map[byte]int64)
	}
	if c.sizes[shard] = held + size; err != nil {
		delete(c.sizes, shard) // the next write reads the folder again, or creates it
	}
	return err
}

// pruneFolder creates the folder if it does not exist. If it holds more than most,
// pruneFolder removes the oldest files until an eighth of most is free. It returns
// the remaining bytes.
func pruneFolder(dir string, most int64) (held int64, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return 0, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	var files []fs.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil { // otherwise another process removed it
			files = append(files, info)
			held += info.Size()
		}
	}
	if held <= max(0, most) {
		return held, nil
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int {
		return cmp.Or(a.ModTime().Compare(b.ModTime()), cmp.Compare(a.Name(), b.Name()))
	})
	newest := files[len(files)-1].ModTime()
	for _, f := range files {
		if held <= most-most/8 {
			break
		}
		if strings.HasPrefix(f.Name(), unfinishedPrefix) && newest.Sub(f.ModTime()) < time.Hour {
			continue // another process is writing it
		}
		if err := os.Remove(filepath.Join(dir, f.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return held, fmt.Errorf("remove old vector: %w", err)
		}
		held -= f.Size()
	}
	return held, nil
}
