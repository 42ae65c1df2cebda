package embed

import (
	"context"
	"fmt"
	"math"
)

// dimensions of lexical vectors: as many as those of nomic-embed-text.
const dimensions = 768

// Lexical computes vectors from the words of a text, by hashing: texts with common
// words, pairs of words, or pieces of words have similar directions. It needs no
// model, and equal texts have equal vectors.
type Lexical struct{}

// Embed implements [Embedder]. Vectors have 768 dimensions. The vector of a text
// without words is the first axis.
func (Lexical) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("embed text %d: %w", i, err)
		}
		vectors[i] = lexicalVector(text)
	}
	return vectors, nil
}

// The weights of a pair of words and of a piece of a word in relation to a word.
const (
	pairWeight  = 0.5
	pieceWeight = 0.25
	piece       = 4 // bytes
)

func lexicalVector(text string) []float32 {
	var sums [dimensions]float64
	var before uint32
	add := func(h uint32, weight float64) {
		if h>>31 == 1 {
			weight = -weight
		}
		sums[h%dimensions] += weight
	}
	for words := (wordScanner{text: text}); words.nextWord(); {
		low := words.low[:words.n]
		if words.parts == 1 && isStopWord(low) {
			continue
		}
		h := termHash(low)
		add(h, 1)
		if before != 0 {
			add(before*31+h*0x9e3779b1, pairWeight)
		}
		before = h
		for i := 0; i+piece <= len(low); i++ {
			add(hashTerm(low[i:i+piece])*0x85ebca6b, pieceWeight)
		}
	}
	v := make([]float32, dimensions)
	for i, s := range sums {
		v[i] = float32(math.Copysign(math.Sqrt(math.Abs(s)), s)) // a frequent word must not drown the others
	}
	if !normalise(v, v) {
		v[0] = 1
	}
	return v
}
