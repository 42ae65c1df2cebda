package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/tiercompact/tiercompact/embed"
)

// A Hit is an entry that a search found.
type Hit struct {
	ID    string
	Score float64 // cosine, and the share of the query's words in Text: up to 2
	Text  string  // the best piece
	Entry Entry
}

// Search returns the n entries of a session that fit the query best, best
// first, ties by id. An entry that shares nothing with the query is no hit.
// With an error that wraps ErrDamaged, what could be read was searched.
func Search(ctx context.Context, store Store, session, query string, n int) ([]Hit, error) {
	f, err := SearchBy(ctx, store, session, query, n, Meaning{})
	return f.Hits, err
}

// Meaning adds a comparison of meanings to that of words. The zero value adds none.
type Meaning struct {
	// Embedder computes the vectors; nil: only [embed.Lexical]. If it has a method
	// EmbedQuery, as [embed.Model] does, that one computes the query's.
	Embedder embed.Embedder
	// Within limits its time for the entries, and for each query; 0: no limit.
	Within time.Duration
}

// Found is the result of a search, and its method.
type Found struct {
	Hits []Hit
	// ByMeaning says that the embedder's vectors were compared: then the nearest
	// entries are hits at any distance.
	ByMeaning bool
	// Failed is why the given embedder was not used, else nil.
	Failed error
}

// SearchBy is [Search] by meaning too. If the embedder fails, the search is by
// words, and Found.Failed has the reason.
func SearchBy(ctx context.Context, store Store, session, query string, n int, by Meaning) (Found, error) {
	x, err := NewIndexBy(ctx, store, session, by)
	if err != nil {
		return Found{}, fmt.Errorf("search session %s: %w", session, err)
	}
	f, err := x.Find(ctx, query, n)
	if err = errors.Join(err, x.Damaged); err != nil {
		return f, fmt.Errorf("search session %s: %w", session, err)
	}
	return f, nil
}

func (m Meaning) withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	if m.Within <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, m.Within)
}

// queryVector returns the vector of a query.
func (m Meaning) queryVector(ctx context.Context, text string) ([]float32, error) {
	ctx, stop := m.withTimeout(ctx)
	defer stop()
	if q, ok := m.Embedder.(interface {
		EmbedQuery(ctx context.Context, text string) ([]float32, error)
	}); ok {
		return q.EmbedQuery(ctx, text)
	}
	vectors, err := m.Embedder.Embed(ctx, []string{text})
	if err == nil && len(vectors) != 1 {
		err = fmt.Errorf("%d vectors for a query", len(vectors))
	}
	if err != nil {
		return nil, err
	}
	return vectors[0], nil
}

// Search returns the n entries that fit the query best, as [Search] does.
func (x *Index) Search(ctx context.Context, query string, n int) ([]Hit, error) {
	f, err := x.Find(ctx, query, n)
	return f.Hits, err
}

// Find is Search, and reports the method.
func (x *Index) Find(ctx context.Context, query string, n int) (Found, error) {
	query = strings.TrimSpace(query)
	f := Found{ByMeaning: x.meaning != nil, Failed: x.failed}
	if len(x.texts) == 0 || query == "" || n <= 0 {
		return f, ctx.Err()
	}
	var cosines []float64
	var err error
	if f.ByMeaning {
		if cosines, err = x.meaningScores(ctx, query); err != nil {
			f.ByMeaning, f.Failed = false, err
		}
	}
	if ctx.Err() != nil {
		return f, ctx.Err()
	}
	if !f.ByMeaning {
		if cosines, err = x.wordScores(ctx, query); err != nil {
			return f, err
		}
	}
	least := leastCosine
	if f.ByMeaning {
		least = -1
	}
	f.Hits = x.bestHits(strings.ToLower(query), cosines, least, n)
	return f, nil
}

func (x *Index) meaningScores(ctx context.Context, query string) ([]float64, error) {
	vector, err := x.by.queryVector(ctx, query)
	if err != nil {
		return nil, err
	}
	return x.meaning.cosines(ctx, vector)
}

func (x *Index) wordScores(ctx context.Context, query string) ([]float64, error) {
	words, err := x.words()
	if err != nil {
		return nil, err
	}
	vectors, err := embed.Lexical{}.Embed(ctx, []string{query})
	if err != nil {
		return nil, err
	}
	return words.cosines(ctx, vectors[0])
}

// bestHits returns the n best hits, by the cosine of each piece and the share of
// the query's words in it. A piece with none of them is a hit from a cosine of
// least on.
func (x *Index) bestHits(query string, cosines []float64, least float64, n int) []Hit {
	found := make(map[string]Hit)
	for i, share := range x.wordShares(query) { // in the order of pieces: the first of equals counts
		if share == 0 && cosines[i] < least {
			continue
		}
		score := math.Round((cosines[i]+share)*1e6) / 1e6
		id := x.owners[i]
		if old, there := found[id]; !there || score > old.Score {
			found[id] = Hit{ID: id, Score: score, Text: x.texts[i], Entry: x.entries[id]}
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID))
	})[:min(n, len(found))]
}

// leastCosine is the cosine from which texts without a common word are related.
const leastCosine = 0.2

// wordShares returns for each piece the share of the query's words in it, 0 to 1. A
// word counts more if fewer pieces have it.
func (x *Index) wordShares(query string) []float64 {
	words := strings.FieldsFunc(query, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' })
	slices.Sort(words)
	words = slices.Compact(words)
	shares := make([]float64, len(x.texts))
	lower := make([]string, len(x.texts))
	for i, text := range x.texts {
		lower[i] = strings.ToLower(text)
	}
	var total float64
	for _, word := range words[:min(len(words), maxWords)] {
		var with []int
		for i, text := range lower {
			if strings.Contains(text, word) {
				with = append(with, i)
			}
		}
		if len(with) == 0 {
			continue
		}
		weight := math.Log(1 + float64(len(lower))/float64(len(with)))
		total += weight
		for _, i := range with {
			shares[i] += weight
		}
	}
	if total > 0 {
		for i := range shares {
			shares[i] /= total
		}
	}
	return shares
}

const maxWords = 64 // maximum words of a query
