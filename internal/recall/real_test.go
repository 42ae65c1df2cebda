package recall_test

import (
	"path/filepath"
	"testing"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/embed"
	"github.com/tiercompact/tiercompact/internal/ollama"
	"github.com/tiercompact/tiercompact/internal/ollamatest"
	"github.com/tiercompact/tiercompact/internal/recall"
)

func TestRealVectorsAreKeptBetweenSearches(t *testing.T) {
	counter := ollamatest.Count(t, ollamatest.URL(t))
	client, err := ollama.New(counter.URL)
	if err != nil {
		t.Fatal(err)
	}
	client.Threads = ollamatest.Threads
	cache, err := embed.OpenCache(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m := &embed.Model{Server: client, Name: ollamatest.Embedder, Window: 512, Cache: cache}
	store := recall.Indexed(archive.NewMemory(), "")
	step := archive.Step{Session: "s", Number: 1, Removed: []archive.Entry{
		{ID: "pet", Messages: chat.Transcript{chat.NewText(chat.User, "the cat sleeps on the sofa")}},
		{ID: "car", Messages: chat.Transcript{chat.NewText(chat.User, "the engine runs on petrol")}},
	}}
	if err := store.Put(t.Context(), step); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		f, err := store.Search(t.Context(), []string{"s"}, recall.Query{Text: "an animal at home", Max: 1, Embedder: m})
		if err != nil || !f.ByMeaning || len(f.Hits) != 1 || f.Hits[0].ID != "pet" {
			t.Fatalf("Search = %+v, %v", f, err)
		}
	}
	if kept, err := filepath.Glob(filepath.Join(m.IndexFolder(), "*", "*", "*.gob")); err != nil || len(kept) != 3 {
		t.Errorf("%d files are kept, %v", len(kept), err)
	}
}
