package embed

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// random returns n vectors of a dimension and length 1, each with its key.
func random(n, dim int) ([]cacheKey, []vector) {
	r := rand.New(rand.NewPCG(1, 2))
	keys, vectors := make([]cacheKey, n), make([]vector, n)
	for i := range keys {
		v := make([]float32, dim)
		for j := range v {
			v[j] = float32(r.NormFloat64())
		}
		normalise(v, v)
		keys[i], vectors[i] = cacheKeyOf("m", "", "", fmt.Sprint(i)), vector{of: v}
	}
	return keys, vectors
}

func open(t testing.TB, dir string) *Cache {
	t.Helper()
	c, err := OpenCache(dir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func equal(a, b vector) bool { return a.long == b.long && slices.Equal(a.of, b.of) }

func TestAnotherProcessReadsTheCache(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "anew")
	keys, vectors := random(100, 16)
	vectors[7] = vector{long: true, of: []float32{}}
	c := open(t, dir)
	for i, k := range keys {
		c.putVector(k, vectors[i])
	}
	for name, c := range map[string]*Cache{"the same": c, "another": open(t, dir)} {
		for i, k := range keys {
			if got, ok := c.getVector(k); !ok || !equal(got, vectors[i]) {
				t.Fatalf("%s process: entry %d: %v, found %v", name, i, got, ok)
			}
		}
		if _, ok := c.getVector(cacheKeyOf("m", "", "", "never put")); ok || c.Err() != nil {
			t.Errorf("%s process: what was not put is found %v, error %v", name, ok, c.Err())
		}
	}
}

func TestOthersCannotReadTheCache(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	keys, vectors := random(3, 4)
	c := open(t, dir)
	for i, k := range keys {
		c.putVector(k, vectors[i])
	}
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if want := map[bool]fs.FileMode{true: 0o700, false: 0o600}[d.IsDir()]; info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v", path, info.Mode().Perm(), want)
		}
		if !d.IsDir() {
			files++
		}
		return nil
	})
	if err != nil || files != 3 {
		t.Errorf("%d files, error %v", files, err)
	}
}

func TestADamagedEntryIsAbsentAndWrittenAnew(t *testing.T) {
	keys, vectors := random(2, 8)
	whole := encodeEntry(keys[0], vectors[0])
	flipped := bytes.Clone(whole)
	flipped[20] ^= 4
	version := bytes.Clone(whole)
	copy(version, "tcv2")
	for name, data := range map[string][]byte{
		"empty": nil, "one byte": {1}, "cut": whole[:len(whole)-5], "head alone": whole[:headSize], "longer": append(bytes.Clone(whole), 0),
		"a bit flipped": flipped, "of another format": version, "of another text": encodeEntry(keys[1], vectors[1]), "huge": make([]byte, 10<<20),
	} {
		dir := t.TempDir()
		c := open(t, dir)
		c.putVector(keys[0], vectors[0])
		if err := os.WriteFile(c.entryPath(keys[0]), data, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, ok := open(t, dir).getVector(keys[0]); ok {
			t.Errorf("%s: was believed", name)
		}
		open(t, dir).putVector(keys[0], vectors[0])
		if got, ok := open(t, dir).getVector(keys[0]); !ok || !equal(got, vectors[0]) {
			t.Errorf("%s: was not written anew", name)
		}
	}
}

func TestAFolderThatCannotBeWrittenIsNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	dirs := []string{file, filepath.Join(file, "below")}
	if os.Geteuid() > 0 {
		closed := filepath.Join(t.TempDir(), "closed")
		if err := os.Mkdir(closed, 0o500); err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, closed)
	}
	for _, dir := range dirs {
		if _, err := OpenCache(dir); err == nil || !strings.Contains(err.Error(), "open vector cache "+dir) {
			t.Errorf("%s: error %v", dir, err)
		}
	}
}

// constant embeds every text alike.
type constant struct{ texts int }

func (c *constant) Embed(_ context.Context, _ string, texts []string) ([][]float32, error) {
	c.texts += len(texts)
	vectors := make([][]float32, len(texts))
	for i := range vectors {
		vectors[i] = []float32{1, 0}
	}
	return vectors, nil
}

func TestEmbeddingContinuesWithoutAFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	server := new(constant)
	m := &Model{Server: server, Name: "m", Cache: open(t, dir)}
	// A file in place of the folder fails every write, for any user.
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := m.Embed(t.Context(), []string{"a", "b"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Cache.Err(); err == nil || !strings.Contains(err.Error(), "vector cache: ") || !strings.Contains(err.Error(), dir) {
		t.Errorf("error %v", err)
	}
	if server.texts != 2 {
		t.Errorf("%d texts embedded: memory did not keep them", server.texts)
	}
}

func TestAFolderThatWasRemovedIsMadeAgain(t *testing.T) {
	keys, vectors := random(2, 4)
	keys[1][0] = keys[0][0]
	c := open(t, t.TempDir())
	c.putVector(keys[0], vectors[0])
	if err := os.RemoveAll(filepath.Dir(c.entryPath(keys[0]))); err != nil {
		t.Fatal(err)
	}
	c.putVector(keys[1], vectors[1])
	c.putVector(keys[1], vectors[1])
	if _, ok := open(t, c.dir).getVector(keys[1]); !ok {
		t.Error("nothing was written")
	}
}

func TestAnEntryThatCannotBeReplacedIsReported(t *testing.T) {
	keys, vectors := random(1, 4)
	c := open(t, t.TempDir())
	if err := os.MkdirAll(filepath.Join(c.entryPath(keys[0]), "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	c.putVector(keys[0], vectors[0])
	if c.Err() == nil {
		t.Error("no error")
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(c.entryPath(keys[0])), "new-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// onDisk returns the files of a folder and their bytes.
func onDisk(t *testing.T, dir string) (files int, size int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			files, size = files+1, size+info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files, size
}

func TestTheOldestIsRemovedWhenTheFolderIsFull(t *testing.T) {
	const entry, room, used = 88, 64, 4 // bytes; entries in a subfolder; subfolders
	keys, vectors := random(1000, 16)
	for i := range keys {
		keys[i][0] = byte(i % used)
	}
	dir := t.TempDir()
	for part := range 4 { // the same number of processes, one after the other
		c := open(t, dir)
		c.MaxBytes = entry * room * shards
		for i := part * 250; i < (part+1)*250; i++ {
			c.putVector(keys[i], vectors[i])
		}
		if c.Err() != nil {
			t.Fatal(c.Err())
		}
	}
	if files, size := onDisk(t, dir); size > entry*room*used || files < room*used*3/4 {
		t.Errorf("%d files with %d bytes", files, size)
	}
	old, young := 0, 0
	c := open(t, dir)
	for i := range 200 { // of each end; files between them may have the same age
		if _, ok := c.getVector(keys[i]); ok {
			old++
		}
		if _, ok := c.getVector(keys[len(keys)-1-i]); ok {
			young++
		}
	}
	if old > 0 || young < 190 {
		t.Errorf("of the 200 oldest %d are there, of the newest %d", old, young)
	}
}

func TestAnEntryLargerThanItsShareIsKeptAlone(t *testing.T) {
	keys, vectors := random(3, 16)
	c := open(t, t.TempDir())
	c.MaxBytes = 1
	for i := range keys {
		keys[i][0] = 9
		c.putVector(keys[i], vectors[i])
	}
	if files, _ := onDisk(t, c.dir); files != 1 || c.Err() != nil {
		t.Errorf("%d files, error %v", files, c.Err())
	}
}

func TestCachesShareAFolder(t *testing.T) {
	dir := t.TempDir()
	keys, vectors := random(100, 8)
	var wg sync.WaitGroup
	for range 4 {
		c := open(t, dir)
		c.MaxBytes = 256 * 2 * 56 // so that they remove each other's entries
		for range 2 {
			wg.Go(func() {
				for i, k := range keys {
					if got, ok := c.getVector(k); ok && !equal(got, vectors[i]) {
						t.Errorf("entry %d is another's", i)
					}
					c.putVector(k, vectors[i])
				}
				if c.Err() != nil {
					t.Error(c.Err())
				}
			})
		}
	}
	wg.Wait()
}

func TestMemoryIsBounded(t *testing.T) {
	big := vector{of: make([]float32, 1<<15)}
	c := open(t, t.TempDir())
	c.dir = "unused" // remember writes no file
	for i := range 3000 {
		c.rememberVector(cacheKeyOf("m", "", "", fmt.Sprint(i)), big)
		if c.held > memoryBytes+entrySize(big) {
			t.Fatalf("%d bytes held after %d vectors", c.held, i+1)
		}
	}
	if len(c.memory) == 0 {
		t.Error("nothing is held")
	}
}

func FuzzEntry(f *testing.F) {
	keys, vectors := random(1, 4)
	f.Add(encodeEntry(keys[0], vectors[0]))
	f.Add(encodeEntry(keys[0], vector{long: true}))
	f.Add([]byte(magic + "\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		v, ok := decodeEntry(keys[0], data)
		if ok && !bytes.Equal(encodeEntry(keys[0], v), data) {
			t.Errorf("%q is believed, and is not what is written", data)
		}
		sealed := append(bytes.Clone(data), checksum(keys[0], data)...)
		decodeEntry(keys[0], sealed) // must not panic for any input with a valid checksum
	})
}

func BenchmarkCacheOf10000(b *testing.B) {
	keys, vectors := random(10_000, 768)
	put := func(b *testing.B, dir string) {
		c := open(b, dir)
		for i, k := range keys {
			c.putVector(k, vectors[i])
		}
		if c.Err() != nil {
			b.Fatal(c.Err())
		}
	}
	full := b.TempDir()
	put(b, full)
	b.Run("put", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			dir := b.TempDir()
			b.StartTimer()
			put(b, dir)
		}
	})
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			open(b, full)
		}
	})
	get := func(c *Cache) {
		for _, k := range keys {
			if _, ok := c.getVector(k); !ok {
				b.Fatal("an entry is missing")
			}
		}
	}
	b.Run("get", func(b *testing.B) {
		for b.Loop() {
			get(open(b, full))
		}
	})
	b.Run("get again", func(b *testing.B) {
		c := open(b, full)
		get(c)
		for b.Loop() {
			get(c)
		}
	})
}
