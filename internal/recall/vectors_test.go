package recall

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/tiercompact/tiercompact/archive"
)

// keeping is an embedder with a folder, like embed.Model with a cache on disk.
type keeping struct {
	topics
	folder string
	wide   bool // vectors of another dimension, as from other weights

	mu   sync.Mutex
	made []string // embedded texts, without queries
}

func (k *keeping) IndexFolder() string { return k.folder }

func (k *keeping) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	k.mu.Lock()
	k.made = append(k.made, texts...)
	k.mu.Unlock()
	return k.vectors(ctx, texts)
}

func (k *keeping) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	v, err := k.vectors(ctx, []string{text})
	return v[0], err
}

func (k *keeping) vectors(ctx context.Context, texts []string) ([][]float32, error) {
	v, err := k.topics.Embed(ctx, texts)
	for i := range v {
		if k.wide {
			v[i] = append(v[i], 0)
		}
	}
	return v, err
}

// filesBelow returns the names of the files below a folder.
func filesBelow(t *testing.T, folder, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(folder, "*", "*", pattern))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func (k *keeping) findsPet(t *testing.T, entries ...archive.Entry) (made int) {
	t.Helper()
	k.made = nil
	f, err := searched(t, entries...).Search(t.Context(), []string{"s"}, Query{Text: "dogs", Max: 1, Embedder: k})
	if err != nil || len(f.Hits) != 1 || f.Hits[0].ID != "pet" || !f.ByMeaning || f.Failed != nil {
		t.Fatalf("Search = %+v, %v", f, err)
	}
	return len(k.made)
}

func TestVectorsAreKeptBetweenSearches(t *testing.T) {
	pet, car, tea := entry("pet", "the cat sleeps"), entry("car", "the engine runs"), entry("tea", "the kettle sings")
	k := &keeping{folder: t.TempDir()}
	for _, step := range []struct {
		name    string
		change  func()
		entries []archive.Entry
		made    int
	}{
		{"first", nil, []archive.Entry{pet, car}, 2},
		{"again", nil, []archive.Entry{pet, car}, 0},
		{"one more", nil, []archive.Entry{pet, car, tea}, 1},
		{"a text twice", nil, []archive.Entry{pet, car, tea, entry("two", "the engine runs")}, 0},
		{"pruned", nil, []archive.Entry{pet, tea}, 2},
		{"damaged", func() {
			for _, name := range filesBelow(t, k.folder, "*.gob") {
				data, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				data = bytes.ReplaceAll(data, []byte{0xF0, 0x3F}, []byte{0xE0, 0x3F}) // 0.5 in place of 1, in gob's encoding
				if err := os.WriteFile(name, data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}, []archive.Entry{pet, tea}, 2},
		{"cut short", func() {
			if err := os.Truncate(filesBelow(t, k.folder, "*.gob")[0], 5); err != nil {
				t.Fatal(err)
			}
		}, []archive.Entry{pet, tea}, 2},
		{"missing", func() {
			if err := os.RemoveAll(k.folder); err != nil {
				t.Fatal(err)
			}
		}, []archive.Entry{pet, tea}, 2},
	} {
		if step.change != nil {
			step.change()
		}
		if made := k.findsPet(t, step.entries...); made != step.made {
			t.Errorf("%s: %d texts are embedded, want %d", step.name, made, step.made)
		}
	}
	k.wide = true // the first search finds vectors of another dimension
	k.findsPet(t, pet, tea, car)
	if made := k.findsPet(t, pet, tea, car); made > 3 {
		t.Errorf("with other weights, %d texts are embedded", made)
	}
	if made := k.findsPet(t, pet, tea, car); made != 0 {
		t.Errorf("at last, %d texts are embedded", made)
	}
}

func TestAFolderThatCannotBeUsedCostsNoSearch(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	k := &keeping{folder: filepath.Join(file, "index")}
	if made := k.findsPet(t, entry("pet", "the cat sleeps"), entry("car", "the engine runs")); made != 2 {
		t.Errorf("%d texts are embedded", made)
	}
}

func TestSearchesMayShareAFolder(t *testing.T) {
	k := &keeping{folder: t.TempDir()}
	store := searched(t, entry("pet", "the cat sleeps"), entry("car", "the engine runs"))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if f, err := store.Search(t.Context(), []string{"s"}, Query{Text: "dogs", Max: 1, Embedder: k}); err != nil || f.Hits[0].ID != "pet" || !f.ByMeaning {
				t.Errorf("Search = %+v, %v", f, err)
			}
		})
	}
	all.Wait()
	if len(k.made) != 2 {
		t.Errorf("%d texts are embedded", len(k.made))
	}
}

func TestKeptVectorsHoldNoText(t *testing.T) {
	k := &keeping{folder: t.TempDir()}
	k.findsPet(t, entry("pet", "the cat sleeps"))
	names := filesBelow(t, k.folder, "*.gob")
	if len(names) == 0 {
		t.Fatal("nothing is kept")
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil || bytes.Contains(data, []byte("cat")) || bytes.Contains(data, []byte("sleeps")) {
			t.Errorf("%s has text, or %v", name, err)
		}
	}
}
