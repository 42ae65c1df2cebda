package embed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/tiercompact/tiercompact/internal/model"
)

// A Server computes vectors of texts with an embedding model: one for each, in
// order. Its errors unwrap to those of package model; [model.ErrTooLong] means that
// at least one of the texts is longer than the model's window.
type Server interface {
	Embed(ctx context.Context, model string, texts []string) ([][]float32, error)
}

// Defaults of a [Model].
const (
	defaultWindow = 512
	defaultBatch  = 16
)

// A Model is an [Embedder] that uses an embedding model on a server. Texts longer
// than the model's window are embedded in chunks, at most 32 of one text; cached
// chunks are not sent. Its fields are set before the first use; its methods are
// safe for concurrent use. The vectors that it returns are shared with its cache
// and must not be changed.
type Model struct {
	Server   Server // required
	Name     string // name of the model on the server; required
	Digest   string // of the weights, or anything else that distinguishes models of one name; part of the cache's key
	Window   int    // the model's window in tokens; 0: 512
	Query    string // added before a query, see PrefixesFor
	Document string // added before any other text
	Lower    bool   // the model knows lower case only, and its server does not convert texts
	Cache    *Cache // nil: one in memory, for this Model alone
	Batch    int    // texts in one request; 0: 16. Long texts reduce it

	// Progress, if set, is called after each request with the number of finished
	// chunks, of those that were not in the cache.
	Progress func(done, of int)

	mu  sync.Mutex // guards the fields below; held only to read and set them
	own *Cache     // in place of Cache
	dim int        // of the server's vectors; 0: no answer yet
}

// Embed returns one vector for each text: the mean of its chunks' vectors, scaled
// to length 1. Chunks embedded before an error stay in the cache.
func (m *Model) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	chunks, err := m.EmbedChunks(ctx, texts)
	if err != nil {
		return nil, err
	}
	vectors := make([][]float32, len(chunks))
	for i, c := range chunks {
		vectors[i] = meanVector(c)
	}
	return vectors, nil
}

// EmbedQuery returns the vector of a query, for comparison with those of
// [Model.Embed] and [Model.EmbedChunks].
func (m *Model) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	chunks, err := m.embedCached(ctx, m.Query, []string{text})
	if err != nil {
		return nil, fmt.Errorf("embed query: %w", err)
	}
	return meanVector(chunks[0]), nil
}

// EmbedChunks returns the vectors of each text's chunks, in order, at least one
// for each text, all of one dimension and of length 1.
func (m *Model) EmbedChunks(ctx context.Context, texts []string) ([][][]float32, error) {
	chunks, err := m.embedCached(ctx, m.Document, texts)
	if err != nil {
		return nil, fmt.Errorf("embed %d texts: %w", len(texts), err)
	}
	return chunks, nil
}

// embedCached first uses all cached vectors. If their dimensions differ from the
// server's, the weights behind the name have changed, and it embeds again with only
// the cached vectors of the server's dimension.
func (m *Model) embedCached(ctx context.Context, prefix string, texts []string) ([][][]float32, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if m.Server == nil || m.Name == "" {
		return nil, errors.New("embedding model needs Server and Name")
	}
	for _, wary := range []bool{false, true} {
		r := embedRun{m: m, cache: m.vectorCache(), prefix: prefix, wary: wary, known: make(map[cacheKey]vector)}
		vectors, err := r.textVectors(ctx, texts)
		if err != nil {
			return nil, err
		}
		if oneDimension(vectors) {
			return vectors, nil
		}
	}
	return nil, fmt.Errorf("vectors of %s change their dimension: %w", m.Name, model.ErrGarbled)
}

func (m *Model) vectorCache() *Cache {
	if m.Cache != nil {
		return m.Cache
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.own == nil {
		m.own = new(Cache)
	}
	return m.own
}

func (m *Model) dimension() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.dim
}

// acceptVectors checks the server's vectors and scales them to length 1.
func (m *Model) acceptVectors(vectors [][]float32, texts int) error {
	if len(vectors) != texts {
		return fmt.Errorf("%s: %d vectors for %d texts: %w", m.Name, len(vectors), texts, model.ErrGarbled)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, v := range vectors {
		scaled := make([]float32, len(v))
		if len(v) > maxDim || !normalise(scaled, v) {
			return fmt.Errorf("%s: vector %d has no direction: %w", m.Name, i, model.ErrGarbled)
		}
		if m.dim = cmp.Or(m.dim, len(v)); len(v) != m.dim {
			return fmt.Errorf("%s: vector %d has %d dimensions, those before it %d: %w", m.Name, i, len(v), m.dim, model.ErrGarbled)
		}
		vectors[i] = scaled
	}
	return nil
}

func oneDimension(texts [][][]float32) bool {
	dim := -1
	for _, vectors := range texts {
		for _, v := range vectors {
			if dim >= 0 && len(v) != dim {
				return false
			}
			dim = len(v)
		}
	}
	return true
}

// meanVector returns the mean direction of vectors of length 1; the first if they
// cancel out.
func meanVector(vectors [][]float32) []float32 {
	if len(vectors) == 1 {
		return vectors[0]
	}
	sum := make([]float32, len(vectors[0]))
	for _, v := range vectors {
		for i, x := range v {
			sum[i] += x
		}
	}
	if !normalise(sum, sum) {
		return vectors[0]
	}
	return sum
}
