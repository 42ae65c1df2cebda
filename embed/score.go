package embed

import "slices"

// The constants of BM25: how fast a count saturates, and the penalty for long
// documents.
const (
	saturation = 1.2
	lengthNorm = 0.75
)

// minMatch is the share of a query that the best document must contain to count
// as a full match.
const minMatch = 1.0 / 3

// Score returns how much each of docs says about query, by a variant of BM25:
// counts saturate, long documents have a penalty, and a term counts more if fewer
// documents contain it. Rarity counts for query and document, hence squared: words
// such as "what" and "did" decide only if nothing else does. Scores are at least 0;
// a document without terms has 0. Its time is linear in the terms of docs.
func Score(query Terms, docs []Terms) []float64 {
	scores, _ := scoreTerms(query, docs)
	return scores
}

// Match returns the same as a share from 0 to 1: of the best score or, if more, of
// a third of the score of a document that contains all of query once. So the best
// of several documents that have only a common word with the query is not a match.
func Match(query Terms, docs []Terms) []float64 {
	scores, whole := scoreTerms(query, docs)
	if top := max(highestScore(scores), minMatch*whole); top > 0 {
		for i := range scores {
			scores[i] /= top
		}
	}
	return scores
}

// scoreTerms returns the scores, and the score of a document of mean length that
// contains each term of query once.
func scoreTerms(query Terms, docs []Terms) (scores []float64, whole float64) {
	scores = make([]float64, len(docs))
	if len(query.data) == 0 || len(docs) == 0 {
		return scores, 0
	}
	hits, in := matchTerms(query, docs)
	weight := make([]float64, len(in))
	for k, df := range in {
		weight[k] = termWeight(query.termCount(k), df, len(docs))
		whole += weight[k]
	}
	mean := meanLength(docs)
	for _, h := range hits {
		d := &docs[h.doc]
		tf := d.termCount(int(h.at))
		scores[h.doc] += weight[h.term] * tf * (saturation + 1) / (tf + lengthPenalty(float64(d.length), mean))
	}
	return scores, whole
}

// A termHit is a term of the query in a document: the term, and its index there.
type termHit struct{ doc, term, at int32 }

// matchTerms finds the terms of query in docs, in order of documents and terms, and
// the number of documents that contain each.
func matchTerms(query Terms, docs []Terms) (hits []termHit, in []int) {
	var seen [1 << 12 / 64]uint64 // the first 12 bits of the query's hashes: they exclude most terms
	asked := query.termHashes()
	for _, h := range asked {
		seen[h>>26] |= 1 << (h >> 20 & 63)
	}
	in = make([]int, len(asked))
	for d := range docs {
		for at, h := range docs[d].termHashes() {
			if seen[h>>26]&(1<<(h>>20&63)) == 0 {
				continue
			}
			if k, ok := slices.BinarySearch(asked, h); ok {
				hits = append(hits, termHit{int32(d), int32(k), int32(at)})
				in[k]++
			}
		}
	}
	return hits, in
}

func meanLength(docs []Terms) float64 {
	sum := 0
	for i := range docs {
		sum += int(docs[i].length)
	}
	return max(1, float64(sum)/float64(max(1, len(docs))))
}
