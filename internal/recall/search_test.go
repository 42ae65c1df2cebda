package recall

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
)

func searched(t testing.TB, entries ...archive.Entry) *IndexedStore {
	t.Helper()
	m := Indexed(archive.NewMemory(), "")
	if err := m.Put(t.Context(), archive.Step{Session: "s", Number: 1, Removed: entries}); err != nil {
		t.Fatal(err)
	}
	return m
}

func hitsOf(t testing.TB, store *IndexedStore, text string, n int) ([]Hit, error) {
	t.Helper()
	r, err := store.Search(t.Context(), []string{"s"}, Query{Text: text, Max: n, Tokens: 1 << 30})
	return r.Hits, errors.Join(err, r.Damaged)
}

func must(t testing.TB, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func entry(id, said string) archive.Entry {
	return archive.Entry{ID: id, Messages: []chat.Message{chat.NewText(chat.User, said)}}
}

func TestSearchFindsWhatWasRemoved(t *testing.T) {
	call := archive.Entry{ID: "call", Messages: []chat.Message{{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, Name: "read_file", Args: `{"path":"billing/invoice.go"}`}}}}}
	long := entry("long", strings.Repeat("the tests of the parser pass\n", 300)+"the port is 5433 on staging\n"+strings.Repeat("and nothing else\n", 300))
	outline := archive.Entry{ID: "outline", Text: "func ParseHeader(r io.Reader) error"}
	store := searched(t, call, long, outline, entry("db", "We chose PostgreSQL because the reports need window functions."), archive.Entry{ID: "empty"})
	for query, want := range map[string]string{
		"why postgresql":        "db",
		"WINDOW FUNCTIONS":      "db",
		"invoice.go":            "call",
		"which port on staging": "long",
		"ParseHeader":           "outline",
	} {
		hits, err := hitsOf(t, store, query, 2)
		if err != nil || len(hits) == 0 || hits[0].ID != want {
			t.Errorf("Search(%q) = %v, %v; want %s first", query, hits, err, want)
		}
	}
	hits, err := hitsOf(t, store, "port is 5433", 1)
	if err != nil || !strings.Contains(hits[0].Text, "5433") || len(hits[0].Text) > longest || hits[0].Score < 1 {
		t.Errorf("the piece found is %q, %v", hits[0].Text, err)
	}
}

func TestSearchWithoutHits(t *testing.T) {
	store := searched(t, entry("a", "text"))
	for _, q := range [][2]string{{"s", "word"}, {"other", "text"}, {"s", "\"a text\" zebra"}} {
		if r, err := store.Search(t.Context(), []string{q[0]}, Query{Text: q[1]}); err != nil || r.Verbatim || len(r.Hits) > 0 && q[1][0] != '"' {
			t.Errorf("Search(%q) = %+v, %v", q, r, err)
		}
	}
	must(t, store.Close())
	if _, err := hitsOf(t, store, "text", 1); !errors.Is(err, archive.ErrClosed) {
		t.Errorf("Search in a closed store: %v", err)
	}
}

func TestSearchIsDeterministic(t *testing.T) {
	var entries []archive.Entry
	for i := range 60 {
		entries = append(entries, entry(fmt.Sprintf("%02d", i), fmt.Sprintf("the same words, %d", 10+i)))
	}
	store := searched(t, entries...)
	first, err := hitsOf(t, store, "same words", 20)
	must(t, err)
	for i, h := range first {
		if want := fmt.Sprintf("%02d", 59-i); h.ID != want {
			t.Fatalf("hit %d is %s, want %s", i, h.ID, want)
		}
	}
	for range 10 {
		again, err := hitsOf(t, store, "same words", 20)
		must(t, err)
		if !reflect.DeepEqual(again, first) {
			t.Fatal("another order")
		}
	}
}
