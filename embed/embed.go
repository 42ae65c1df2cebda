// Package embed measures how close messages are to a query: by vectors of an
// [Embedder], by common words, or by both. [Terms], [Score] and [Match] are the
// built-in lexical scorer, without a model; [Lexical] is the same idea as vectors.
// [Model] gets vectors from a server, and keeps them in a [Cache]. [Cosine]
// compares vectors, [Fuse] combines both measures with the order of messages,
// [Rank] sorts.
package embed

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
)

// An Embedder computes vectors of texts: one for each, in order, of one dimension
// and of length 1. Equal texts have equal vectors. A text that is longer than the
// model's window has one too, such as the mean of its parts' vectors. It returns an
// error, never fewer vectors than texts.
type Embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// Cosine returns the cosine of the angle between query and each of docs, -1 to 1.
// The score is 0 for a document of another dimension, of length 0, or with a
// component that is not a number.
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

// normalise copies v, scaled to length 1, to dst. It reports whether v has a
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

// Weights are the weights of the measures in relation to the cosine, which has
// weight 1. A question and its answer belong together, but have few words in
// common, so the scores of a message's neighbours count for it too.
type Weights struct {
	Lexical   float64 // of the words in common with the query
	Neighbour float64 // of the better neighbour's cosine
	Nearby    float64 // of the better neighbour's words, in relation to the message's own
	Further   float64 // of the words of the better message beyond the neighbours
	Recency   float64 // of the position: 0 oldest, 1 newest
}

// DefaultWeights returns the weights that kept most in measurements on coding
// sessions, whose next messages continue from the newest.
func DefaultWeights() Weights {
	return Weights{Lexical: 0.5, Neighbour: 0.3, Nearby: 0.3, Recency: 0.6}
}

// StandInWeights returns the weights of words that replace an embedding model: the
// subject of the question comes first, and of two messages with equal scores the
// newer one.
func StandInWeights() Weights {
	return Weights{Nearby: 0.3, Recency: 0.5}
}

// DialogueWeights returns the weights for a question after a long dialogue. It may
// refer to any part, so age has no weight.
func DialogueWeights() Weights {
	return Weights{Lexical: 0.5, Neighbour: 0.2, Nearby: 0.5, Further: 0.25}
}

// Fuse combines the cosines and the lexical shares ([Match]) of documents, in the
// order of the conversation, into one score each. Without cosines (nil), the
// lexical share replaces them, with weight 1. The zero Weights means
// [DefaultWeights]. Scores are rounded to 1e-6; a value that is not a number counts
// as 0.
func Fuse(cos, lex []float64, w Weights) []float64 {
	if w == (Weights{}) {
		w = DefaultWeights()
	}
	if cos == nil {
		w.Lexical = 1
	}
	n := max(len(cos), len(lex))
	if lex = finiteScores(lex, n); cos != nil {
		cos = finiteScores(cos, n)
	}
	scores := make([]float64, n)
	for i := range scores {
		meant := 0.0
		if cos != nil {
			meant = cos[i] + w.Neighbour*betterNeighbour(cos, i, 1)
		}
		said := lex[i] + w.Nearby*betterNeighbour(lex, i, 1) + w.Further*betterNeighbour(lex, i, 2)
		scores[i] = roundScore(meant + w.Lexical*said + w.Recency*relativePlace(i, n))
	}
	return scores
}

// finiteScores returns n scores, with 0 for missing values and for those that are
// not numbers: scores itself if there are none.
func finiteScores(scores []float64, n int) []float64 {
	if len(scores) == n && !slices.ContainsFunc(scores, func(s float64) bool { return !isFinite(s) }) {
		return scores
	}
	out := make([]float64, n)
	for i, s := range scores {
		if isFinite(s) {
			out[i] = s
		}
	}
	return out
}

// betterNeighbour returns the higher of the scores d before and d after i, 0 if
// there is none.
func betterNeighbour(scores []float64, i, d int) float64 {
	switch before, behind := i-d >= 0, i+d < len(scores); {
	case before && behind:
		return max(scores[i-d], scores[i+d])
	case before:
		return scores[i-d]
	case behind:
		return scores[i+d]
	}
	return 0
}

// relativePlace returns the position of i among n: 0 oldest, 1 newest.
func relativePlace(i, n int) float64 {
	if n < 2 {
		return 1
	}
	return float64(i) / float64(n-1)
}

func highestScore(scores []float64) float64 {
	top := 0.0
	for _, s := range scores {
		if isFinite(s) {
			top = max(top, s)
		}
	}
	return top
}

func isFinite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// roundScore rounds to 1e-6, so that machines with another order of addition rank
// alike.
func roundScore(x float64) float64 {
	if !isFinite(x) {
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
		rounded[i], order[i] = roundScore(s), i
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
