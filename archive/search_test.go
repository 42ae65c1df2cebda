package archive

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tiercompact/tiercompact/chat"
)

func searched(t testing.TB, entries ...Entry) Store {
	t.Helper()
	m := NewMemory()
	if err := m.Put(t.Context(), Step{Session: "s", Number: 1, Removed: entries}); err != nil {
		t.Fatal(err)
	}
	return m
}

func entry(id, said string) Entry {
	return Entry{ID: id, Messages: []chat.Message{chat.NewText(chat.User, said)}}
}

func TestSearchFindsWhatWasRemoved(t *testing.T) {
	call := Entry{ID: "call", Messages: []chat.Message{{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, Name: "read_file", Args: `{"path":"billing/invoice.go"}`}}}}}
	long := entry("long", strings.Repeat("the tests of the parser pass\n", 300)+"the port is 5433 on staging\n"+strings.Repeat("and nothing else\n", 300))
	outline := Entry{ID: "outline", Text: "func ParseHeader(r io.Reader) error"}
	store := searched(t, call, long, outline, entry("db", "We chose PostgreSQL because the reports need window functions."), Entry{ID: "empty"})
	for query, want := range map[string]string{
		"why postgresql":        "db",
		"WINDOW FUNCTIONS":      "db",
		"invoice.go":            "call",
		"which port on staging": "long",
		"ParseHeader":           "outline",
	} {
		hits, err := Search(t.Context(), store, "s", query, 2)
		if err != nil || len(hits) == 0 || hits[0].ID != want || hits[0].Entry.ID != want {
			t.Errorf("Search(%q) = %v, %v; want %s first", query, hits, err, want)
		}
	}
	hits, err := Search(t.Context(), store, "s", "port is 5433", 1)
	if err != nil || !strings.Contains(hits[0].Text, "5433") || len(hits[0].Text) > pieceSize || hits[0].Score < 1 {
		t.Errorf("the piece found is %q, %v", hits[0].Text, err)
	}
}

func TestSearchWithoutHits(t *testing.T) {
	store := searched(t, entry("a", "text"))
	for _, q := range []struct {
		session, query string
		n              int
	}{{"s", "", 3}, {"s", " \n", 3}, {"s", "text", 0}, {"other", "text", 3}} {
		if hits, err := Search(t.Context(), store, q.session, q.query, q.n); err != nil || len(hits) > 0 {
			t.Errorf("Search(%q, %q, %d) = %v, %v", q.session, q.query, q.n, hits, err)
		}
	}
	must(t, store.Close())
	if _, err := Search(t.Context(), store, "s", "text", 1); !errors.Is(err, ErrClosed) {
		t.Errorf("Search in a closed store: %v", err)
	}
}

func TestSearchIsDeterministic(t *testing.T) {
	var entries []Entry
	for i := range 60 {
		entries = append(entries, entry(fmt.Sprintf("%02d", 59-i), "the same words"))
	}
	store := searched(t, entries...)
	first, err := Search(t.Context(), store, "s", "same words", 20)
	must(t, err)
	for i, h := range first {
		if want := fmt.Sprintf("%02d", i); h.ID != want {
			t.Fatalf("hit %d is %s, want %s", i, h.ID, want)
		}
	}
	for range 10 {
		again, err := Search(t.Context(), store, "s", "same words", 20)
		must(t, err)
		if !reflect.DeepEqual(again, first) {
			t.Fatal("another order")
		}
	}
}

func TestCutLosesNothingVisible(t *testing.T) {
	for _, text := range []string{"", "\n\n", "short", strings.Repeat("é", 50), strings.Repeat("line\n", 20), "\xff\xfe" + strings.Repeat("日", 30)} {
		pieces := cutPieces(text, 20)
		whole := strings.Join(pieces, "")
		if want := strings.ToValidUTF8(text, "\uFFFD"); strings.TrimSpace(whole) != strings.TrimSpace(want) {
			t.Errorf("cut(%q) = %q", text, pieces)
		}
		for _, p := range pieces {
			if len(p) > 20 || !utf8.ValidString(p) {
				t.Errorf("cut(%q) has the piece %q", text, p)
			}
		}
	}
}

func BenchmarkSearch(b *testing.B) {
	var entries []Entry
	for i := range 1000 {
		entries = append(entries, entry(fmt.Sprint(i), strings.Repeat(fmt.Sprintf("func number%d returns what it was given\n", i), 40)))
	}
	store := searched(b, entries...)
	b.Run("index and search", func(b *testing.B) {
		for b.Loop() {
			if _, err := Search(b.Context(), store, "s", "number77 returns", 5); err != nil {
				b.Fatal(err)
			}
		}
	})
	x, err := NewIndex(b.Context(), store, "s")
	if err != nil {
		b.Fatal(err)
	}
	b.Run("search", func(b *testing.B) {
		for b.Loop() {
			if _, err := x.Search(b.Context(), "number77 returns", 5); err != nil {
				b.Fatal(err)
			}
		}
	})
}
