package embed

import (
	"iter"
	"math"
)

// Length returns the number of terms in the text, repeated ones included.
func (t Terms) Length() int { return int(t.length) }

// Counts yields the hash of each distinct term, ascending, and how often it occurs, at
// most 255.
func (t Terms) Counts() iter.Seq2[uint32, int] {
	return func(yield func(uint32, int) bool) {
		for k, h := range t.termHashes() {
			if !yield(h, int(t.termCount(k))) {
				return
			}
		}
	}
}

// A Corpus is documents by their terms, as an index on disk has them.
type Corpus struct {
	Lengths []int32 // terms of each document
	// Postings appends the documents that have a term, ascending.
	Postings func(hash uint32, list []Posting) []Posting
}

// A Posting says how often a term occurs in a document.
type Posting struct{ Doc, Count int32 }

// Match returns the same shares as the function [Match] does for the terms of the
// documents.
func (c Corpus) Match(query Terms) []float64 {
	scores := make([]float64, len(c.Lengths))
	if len(query.data) == 0 || len(c.Lengths) == 0 {
		return scores
	}
	sum := 0
	for _, n := range c.Lengths {
		sum += int(n)
	}
	mean := max(1, float64(sum)/float64(len(c.Lengths)))
	var postings []Posting
	whole, top := 0.0, 0.0
	for k, h := range query.termHashes() {
		postings = c.Postings(h, postings[:0])
		weight := termWeight(query.termCount(k), len(postings), len(c.Lengths))
		whole += weight
		for _, p := range postings {
			tf := float64(p.Count)
			scores[p.Doc] += weight * tf * (saturation + 1) / (tf + lengthPenalty(float64(c.Lengths[p.Doc]), mean))
		}
	}
	for _, s := range scores {
		top = max(top, s)
	}
	if top = max(top, minMatch*whole); top > 0 {
		for i := range scores {
			scores[i] /= top
		}
	}
	return scores
}

// termWeight returns the weight of a term that occurs tf times in the query and in df
// of n documents.
func termWeight(tf float64, df, n int) float64 {
	df = max(1, df) // a term in no document is as rare as one in a single document
	idf := math.Log(1 + (float64(n)-float64(df)+0.5)/(float64(df)+0.5))
	return idf * idf * tf * (saturation + 1) / (tf + saturation)
}

// lengthPenalty is what the count of a term is compared with in a document of a length.
func lengthPenalty(length, mean float64) float64 {
	return saturation * (1 - lengthNorm + lengthNorm*length/mean)
}
