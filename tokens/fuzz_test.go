package tokens_test

import (
	"testing"
	"unicode/utf8"

	"github.com/tiercompact/tiercompact/tokens"
)

// fuzzBytes limits the compared text: tiktoken-go takes time quadratic in the
// length of a piece.
const fuzzBytes = 2000

func FuzzCountCL100K(f *testing.F) { fuzzCount(f, tokens.CL100K) }

func FuzzCountO200K(f *testing.F) { fuzzCount(f, tokens.O200K) }

func fuzzCount(f *testing.F, name string) {
	for _, text := range tricky {
		f.Add(text, uint8(3))
	}
	e, want := load(f, name), reference[name]()
	f.Fuzz(func(t *testing.T, text string, times uint8) {
		if text = repeat(text, times); len(text) > fuzzBytes {
			t.Skip("slow in tiktoken-go")
		}
		if got, want := e.Count(text), len(want.EncodeOrdinary(text)); got != want {
			t.Errorf("%q (valid: %t): %d tokens, tiktoken-go has %d", text, utf8.ValidString(text), got, want)
		}
	})
}

// repeat returns text as often as fits, at least once and at most 16 times:
// mutation alone seldom makes runs.
func repeat(text string, times uint8) string {
	all := text
	for range times % 16 {
		if len(all)+len(text) > fuzzBytes {
			break
		}
		all += text
	}
	return all
}
