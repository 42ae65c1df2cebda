package archive

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
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

func (k *keeping) findsPet(t *testing.T, entries ...Entry) (made int) {
	t.Helper()
	k.made = nil
	f, err := SearchBy(t.Context(), searched(t, entries...), "s", "dogs", 1, Meaning{Embedder: k})
	if err != nil || len(f.Hits) != 1 || f.Hits[0].ID != "pet" || !f.ByMeaning || f.Failed != nil {
		t.Fatalf("SearchBy = %+v, %v", f, err)
	}
	return len(k.made)
}

func TestVectorsAreKeptBetweenSearches(t *testing.T) {
	pet, car, tea := entry("pet", "the cat sleeps"), entry("car", "the engine runs"), entry("tea", "the kettle sings")
	k := &keeping{folder: t.TempDir()}
	for _, step := range []struct {
		name    string
		change  func()
		entries []Entry
		made    int
	}{
		{"first", nil, []Entry{pet, car}, 2},
		{"again", nil, []Entry{pet, car}, 0},
		{"one more", nil, []Entry{pet, car, tea}, 1},
		{"a text twice", nil, []Entry{pet, car, tea, entry("two", "the engine runs")}, 0},
		{"pruned", nil, []Entry{pet, tea}, 2},
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
		}, []Entry{pet, tea}, 2},
		{"cut short", func() {
			if err := os.Truncate(filesBelow(t, k.folder, "*.gob")[0], 5); err != nil {
				t.Fatal(err)
			}
		}, []Entry{pet, tea}, 2},
		{"missing", func() {
			if err := os.RemoveAll(k.folder); err != nil {
				t.Fatal(err)
			}
		}, []Entry{pet, tea}, 2},
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
			if f, err := SearchBy(t.Context(), store, "s", "dogs", 1, Meaning{Embedder: k}); err != nil || f.Hits[0].ID != "pet" || !f.ByMeaning {
				t.Errorf("SearchBy = %+v, %v", f, err)
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
	db, ids := filesBelow(t, k.folder, "*.gob"), hashOf("the cat sleeps")
	if len(db) == 0 {
		t.Fatal("nothing is kept")
	}
	kept := readVectors(t.Context(), filepath.Join(k.folder, hashOf("s")), []string{ids})
	if len(kept) != 1 || len(kept[ids]) != 2 {
		t.Errorf("kept are %v", kept)
	}
}
