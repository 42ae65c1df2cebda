package embedtest_test

import (
	"context"
	"math"
	"testing"

	"github.com/tiercompact/tiercompact/embed"
	"github.com/tiercompact/tiercompact/internal/embedtest"
)

func TestLexicalKeepsThePromisesOfAnEmbedder(t *testing.T) {
	if err := embedtest.Check(t.Context(), embed.Lexical{}); err != nil {
		t.Error(err)
	}
}

// broken violates one rule at a time.
type broken func([][]float32) [][]float32

func (b broken) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	v, err := embed.Lexical{}.Embed(ctx, texts)
	if err != nil {
		return nil, err
	}
	return b(v), nil
}

func TestCheckFindsBrokenEmbedders(t *testing.T) {
	calls := 0.0
	for name, b := range map[string]broken{
		"too few":         func(v [][]float32) [][]float32 { return v[:len(v)/2] },
		"not normalised":  func(v [][]float32) [][]float32 { scale(v, 3); return v },
		"not a number":    func(v [][]float32) [][]float32 { scale(v, math.NaN()); return v },
		"dimensions vary": func(v [][]float32) [][]float32 { return append(v[:max(0, len(v)-1)], []float32{1}) },
		"another vector in each call": func(v [][]float32) [][]float32 {
			calls++
			for i := range v {
				v[i] = []float32{float32(math.Sin(calls)), float32(math.Cos(calls))}
			}
			return v
		},
	} {
		if embedtest.Check(t.Context(), b) == nil {
			t.Errorf("%s: nothing found", name)
		}
	}
}

func scale(vectors [][]float32, f float64) {
	for _, v := range vectors {
		for i := range v {
			v[i] *= float32(f)
		}
	}
}
