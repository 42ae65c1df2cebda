// Package embed says how near messages are to a query: by vectors of an
// [Embedder], by the words they share, or by both.
//
// [Terms] and [Score] are the built-in lexical scorer, which needs no model;
// [Lexical] is the same idea as vectors. [Model] has a server make vectors, and
// keeps them in a [Cache]. [Cosine] compares vectors, [Fuse] joins both measures
// with what the order of messages says, [Rank] sorts.
package embed

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
)

// An Embedder makes vectors of texts: one for each, in order, of one
// dimension and of length 1. The same text has the same vector. A text that is
// longer than what a model reads at once has one too, such as the mean of its
// parts'. It returns an error, never fewer vectors than texts.
type Embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// Cosine returns the cosine of the angle between query and each of docs, -1
// to 1. A document of another dimension, without direction, or with a
// component that is no number scores 0.
func Cosine(query []float32, docs [][]float32) []float64 {
	scores := make([]float64, len(docs))
	dim := len(query)
	q := make([]float32, dim)
	if len(docs) == 0 || !normalise(q, query) {
		return scores
	}
	rows := make([]float32, len(docs)*dim)
	for i, d := range docs {
		if len(d) != dim || !normalise(rows[i*dim:(i+1)*dim], d) {
			clear(rows[i*dim : (i+1)*dim])
		}
	}
	out := make([]float32, len(docs))
	blas32.Gemv(blas.NoTrans, 1,
		blas32.General{Rows: len(docs), Cols: dim, Stride: dim, Data: rows},
		blas32.Vector{N: dim, Inc: 1, Data: q},
		0, blas32.Vector{N: len(docs), Inc: 1, Data: out})
	for i, s := range out {
		scores[i] = float64(s)
	}
	return scores
}

// normalise puts v, scaled to length 1, into dst. It reports whether v has a
// direction.
func normalise(dst, v []float32) bool {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum == 0 || math.IsNaN(sum) || math.IsInf(sum, 0) {
		return false
	}
	scale := 1 / math.Sqrt(sum)
	for i, x := range v {
		dst[i] = float32(float64(x) * scale)
	}
	return true
}

// Weights says how much each measure counts beside the cosine, which counts 1.
type Weights struct {
	Lexical   float64 // of the lexical score, as a share of the highest
	Neighbour float64 // of the better neighbour's score: a question and its answer belong together
	Recency   float64 // of the place: 0 oldest, 1 newest
}

// DefaultWeights returns the weights that kept most in measurements on long
// dialogues and coding sessions.
func DefaultWeights() Weights { return Weights{Lexical: 0.5, Neighbour: 0.3, Recency: 0.6} }

// Fuse joins the cosines and the lexical scores of documents in the order of
// the conversation into one score each. Without cosines (nil) the lexical
// share takes their place, at weight 1. The zero Weights stands for
// [DefaultWeights]. Scores are rounded to 1e-6; what is no number counts 0.
func Fuse(cos, lex []float64, w Weights) []float64 {
	if w == (Weights{}) {
		w = DefaultWeights()
	}
	n := max(len(cos), len(lex))
	own := make([]float64, n)
	lexical := w.Lexical
	if cos == nil {
		lexical = 1
	}
	top := highest(lex)
	for i := range own {
		if i < len(cos) && finite(cos[i]) {
			own[i] = cos[i]
		}
		if i < len(lex) && top > 0 && finite(lex[i]) {
			own[i] += lexical * lex[i] / top
		}
	}
	scores := make([]float64, n)
	for i := range scores {
		scores[i] = round(own[i] + w.Neighbour*betterNeighbour(own, i) + w.Recency*place(i, n))
	}
	return scores
}

// betterNeighbour returns the higher of the scores beside i, 0 where i stands
// alone.
func betterNeighbour(scores []float64, i int) float64 {
	switch {
	case len(scores) == 1:
		return 0
	case i == 0:
		return scores[1]
	case i == len(scores)-1:
		return scores[i-1]
	}
	return max(scores[i-1], scores[i+1])
}

// place returns where i stands among n: 0 oldest, 1 newest.
func place(i, n int) float64 {
	if n < 2 {
		return 1
	}
	return float64(i) / float64(n-1)
}

func highest(scores []float64) float64 {
	top := 0.0
	for _, s := range scores {
		if finite(s) {
			top = max(top, s)
		}
	}
	return top
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// round rounds to 1e-6, so that machines that add in another order rank alike.
func round(x float64) float64 {
	if !finite(x) {
		return 0
	}
	return math.Round(x*1e6) / 1e6
}

// Rank returns the indices of scores, the best first. Scores are rounded to
// 1e-6 before they are compared; of equal ones the more recent, the higher
// index, comes first.
func Rank(scores []float64) []int {
	rounded := make([]float64, len(scores))
	order := make([]int, len(scores))
	for i, s := range scores {
		rounded[i], order[i] = round(s), i
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case rounded[a] > rounded[b]:
			return -1
		case rounded[a] < rounded[b]:
			return 1
		}
		return b - a
	})
	return order
}
