package tokens_test

import (
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
