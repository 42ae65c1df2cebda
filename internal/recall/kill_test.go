package recall

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
)

// stepOf returns a step that removes three messages, of which one has its own word.
func stepOf(n int) archive.Step {
	var t chat.Transcript
	for i := range 3 {
		m := chat.NewText(chat.User, fmt.Sprintf("step %d says word%dx%d and common things", n, n, i))
		m.ID = fmt.Sprintf("m%d", 3*n+i)
		t = append(t, m)
	}
	return archive.Step{Session: "s", Number: n, Before: t, Removed: []archive.Entry{{ID: fmt.Sprintf("%08x", n), Messages: t}}}
}

func openArchive(t *rapid.T, root string) *archive.Dir {
	d, err := archive.OpenDir(root, archive.DirOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// foundWords returns the steps that a search finds, of those up to last.
func foundWords(t *rapid.T, s *IndexedStore, last int) (found []int) {
	for n := 1; n <= last; n++ {
		r, err := s.Search(t.Context(), []string{"s"}, Query{Text: fmt.Sprintf("word%dx1", n), Max: 1})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Hits) > 0 && strings.Contains(r.Hits[0].Text, fmt.Sprintf("word%dx1 ", n)) {
			found = append(found, n)
		}
	}
	return found
}

// Whatever is left of the index, of whichever moment, by whichever process: a search
// finds what the archive has, and nothing else.
func TestAnIndexIsRightOrMadeAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		root, err := os.MkdirTemp("", "recall")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(root)
		d := openArchive(t, root)
		s := Indexed(d, "")
		path := d.IndexPath("s")
		var older []byte // the index at an earlier moment
		last := 0
		var want []int
		t.Repeat(map[string]func(*rapid.T){
			"round": func(t *rapid.T) {
				last++
				if err := s.Put(t.Context(), stepOf(last)); err != nil {
					t.Fatal(err)
				}
				want = append(want, last)
			},
			"round without an index": func(t *rapid.T) {
				last++
				if err := d.Put(t.Context(), stepOf(last)); err != nil {
					t.Fatal(err)
				}
				want = append(want, last)
			},
			"prune": func(t *rapid.T) {
				if len(want) < 3 {
					t.Skip()
				}
				if err := d.Remove(t.Context(), "s", want[0]); err != nil {
					t.Fatal(err)
				}
				want = want[1:]
			},
			"kill while the index is written": func(t *rapid.T) {
				data, err := os.ReadFile(path)
				if err != nil {
					t.Skip()
				}
				kept := data[:rapid.IntRange(0, len(data)).Draw(t, "bytes")]
				if err := os.WriteFile(path, kept, 0o600); err != nil {
					t.Fatal(err)
				}
			},
			"damage": func(t *rapid.T) {
				data, err := os.ReadFile(path)
				if err != nil || len(data) == 0 {
					t.Skip()
				}
				data[rapid.IntRange(0, len(data)-1).Draw(t, "at")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
				if err := os.WriteFile(path, data, 0o600); err != nil {
					t.Fatal(err)
				}
			},
			"keep":   func(*rapid.T) { older, _ = os.ReadFile(path) },
			"remove": func(*rapid.T) { os.Remove(path) },
			"an older index": func(t *rapid.T) {
				if older == nil {
					t.Skip()
				}
				if err := os.WriteFile(path, older, 0o600); err != nil {
					t.Fatal(err)
				}
			},
			"restart": func(t *rapid.T) {
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				d = openArchive(t, root)
				s = Indexed(d, "")
			},
			"": func(t *rapid.T) {
				if rapid.IntRange(0, 3).Draw(t, "search") > 0 {
					return
				}
				other, err := archive.OpenDir(root, archive.DirOptions{ReadOnly: true})
				if err != nil {
					t.Fatal(err)
				}
				for _, in := range []*IndexedStore{s, Indexed(other, "")} {
					if found := foundWords(t, in, last); !slices.Equal(found, want) {
						t.Fatalf("found %v of %v", found, want)
					}
				}
			},
		})
	})
}

// An index has no text, and no more than the archive has.
func TestAnIndexHasNoSecret(t *testing.T) {
	const secret = "hunter2hunter2"
	root := t.TempDir()
	d, err := archive.OpenDir(root, archive.DirOptions{})
	must(t, err)
	redact := func(text string) string { return strings.ReplaceAll(text, secret, "[redacted]") }
	s := Indexed(d, "")
	step := stepOf(1)
	step.Removed[0].Messages = append(step.Removed[0].Messages, chat.NewText(chat.User, "the password is "+secret),
		chat.Message{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, ID: "c", Name: "Bash", Args: `{"command":"login ` + secret + `"}`}}})
	must(t, archive.Redacted(s, redact).Put(t.Context(), step))
	data, err := os.ReadFile(d.IndexPath("s"))
	must(t, err)
	if strings.Contains(string(data), secret) || strings.Contains(string(data), "password") {
		t.Error("the index has text")
	}
	segments, _ := decodeFile(data)
	for _, seg := range segments {
		for _, word := range seg.words() {
			if strings.Contains(word, secret) {
				t.Errorf("the index has %q", word)
			}
		}
	}
	r, err := s.Search(t.Context(), []string{"s"}, Query{Text: secret + " password login"})
	must(t, err)
	if len(r.Hits) == 0 || strings.Contains(r.Text(), secret) || !strings.Contains(r.Text(), "[redacted]") {
		t.Errorf("found %q", r.Text())
	}
	k := &keeping{folder: t.TempDir()}
	_, err = s.Search(t.Context(), []string{"s"}, Query{Text: "password", Embedder: k})
	must(t, err)
	for _, name := range filesBelow(t, k.folder, "*.gob") {
		if data, err := os.ReadFile(name); err != nil || strings.Contains(string(data), "password") {
			t.Errorf("%s has text, or %v", name, err)
		}
	}
	for _, text := range k.made {
		if strings.Contains(text, secret) {
			t.Errorf("the model got %q", text)
		}
	}
	must(t, s.Close())
}

func TestAnIndexOfAnotherStoreIsInTheCache(t *testing.T) {
	cache := t.TempDir()
	s := Indexed(placed{archive.NewMemory()}, cache)
	must(t, s.Put(t.Context(), stepOf(1)))
	if r, err := s.Search(t.Context(), []string{"s"}, Query{Text: "word1x2"}); err != nil || len(r.Hits) == 0 {
		t.Errorf("Search = %+v, %v", r, err)
	}
	if names, err := filepath.Glob(filepath.Join(cache, "recall", "*.index")); err != nil || len(names) != 1 {
		t.Errorf("the cache has %q, %v", names, err)
	}
}

// placed is a store with an address, as one in a bucket.
type placed struct{ archive.Store }

func (placed) Where(string, int) (adapter, location string) { return "s3", "s3://bucket/s/1" }

// Blocks of an index are merged in place. Killed at any byte of that, it is made again.
func TestAnIndexIsMergedInPlace(t *testing.T) {
	root := t.TempDir()
	d, err := archive.OpenDir(root, archive.DirOptions{})
	must(t, err)
	s := Indexed(d, "")
	path := d.IndexPath("s")
	const rounds = 2*fanout + 2
	most, merges := 0, 0
	for n := 1; n <= rounds; n++ {
		before, _ := os.ReadFile(path)
		must(t, s.Put(t.Context(), stepOf(n)))
		after, err := os.ReadFile(path)
		must(t, err)
		segments, size := decodeFile(after)
		most = max(most, len(segments))
		if int(size) != len(after) {
			t.Fatalf("round %d leaves %d of %d bytes that cannot be read", n, len(after)-int(size), len(after))
		}
		if x, _ := decodeFile(before); len(segments) > len(x) {
			continue
		}
		merges++
		for cut := 0; cut < len(after); cut += 1 + len(after)/9 {
			overwritten := append(slices.Clone(after[:cut]), before[min(cut, len(before)):]...)
			must(t, os.WriteFile(path, overwritten, 0o600))
			if found := foundBy(t, root, n); len(found) != n {
				t.Errorf("after a kill at byte %d of round %d, found %v", cut, n, found)
			}
		}
		must(t, os.WriteFile(path, after, 0o600))
	}
	if most > fanout+1 || merges < 2 {
		t.Errorf("the index has up to %d blocks, merged %d times", most, merges)
	}
	must(t, s.Close())
}

// foundBy returns the steps that a new process finds.
func foundBy(t *testing.T, root string, last int) (found []int) {
	t.Helper()
	other, err := archive.OpenDir(root, archive.DirOptions{ReadOnly: true})
	must(t, err)
	s := Indexed(other, "")
	defer s.Close()
	for n := 1; n <= last; n++ {
		r, err := s.Search(t.Context(), []string{"s"}, Query{Text: fmt.Sprintf("word%dx1", n), Max: 1})
		must(t, err)
		if len(r.Hits) > 0 && strings.Contains(r.Hits[0].Text, fmt.Sprintf("word%dx1 ", n)) {
			found = append(found, n)
		}
	}
	return found
}
