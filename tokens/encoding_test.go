package tokens_test

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/tiercompact/tiercompact/tokens"
)

var encodings = []string{tokens.CL100K, tokens.O200K}

func TestCountEqualsTiktoken(t *testing.T) {
	for _, c := range corpora(t) {
		t.Run(c.name, func(t *testing.T) {
			text := c.text(t)
			text = text[:min(len(text), corpusBytes/3)]
			for _, name := range encodings {
				got, want := load(t, name).Count(text), len(reference[name]().EncodeOrdinary(text))
				if got != want {
					t.Errorf("%s: %d tokens, tiktoken-go has %d", name, got, want)
				}
			}
		})
	}
}

func TestCountEqualsTiktokenOnTrickyText(t *testing.T) {
	for _, name := range encodings {
		e, want := load(t, name), reference[name]()
		for _, text := range tricky {
			if got, want := e.Count(text), len(want.EncodeOrdinary(text)); got != want {
				t.Errorf("%s: %q has %d tokens, in tiktoken-go %d", name, text, got, want)
			}
		}
	}
}

// The beginnings of real sessions, byte for byte.
func TestCountEqualsTiktokenOnTranscripts(t *testing.T) {
	const root, files, bytes = "../../shared/transcripts", 60, 8000
	var paths []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Skip("no transcripts here:", err)
	}
	for i := range min(files, len(paths)) {
		path := paths[i*len(paths)/min(files, len(paths))]
		text := head(t, path, bytes)
		for _, name := range encodings {
			got, want := load(t, name).Count(text), len(reference[name]().EncodeOrdinary(text))
			if got != want {
				t.Errorf("%s: %s has %d tokens, in tiktoken-go %d", name, path, got, want)
			}
		}
	}
}

// head returns the first n bytes of a file.
func head(t *testing.T, path string, n int64) string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, n))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
