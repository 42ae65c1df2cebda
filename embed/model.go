package embed

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/tiercompact/tiercompact/internal/model"
)

// A Server makes vectors of texts with an embedding model: one for each, in
// order. Its errors unwrap to those of package model; [model.ErrTooLong] means
// that at least one of the texts is longer than the model's window.
type Server interface {
	Embed(ctx context.Context, model string, texts []string) ([][]float32, error)
}

// Defaults of a [Model].
const (
	defaultWindow = 512
	defaultBatch  = 16
)

// A Model is an [Embedder] over an embedding model on a server. What is longer
// than the model's window is embedded in chunks, at most 32 of one text; what
// the cache has is not sent. Its fields are set before the first use; its
// methods are safe for concurrent use. The vectors that it returns are shared
// with its cache and must not be changed.
type Model struct {
	Server   Server // required
	Name     string // of the model, as the server knows it; required
	Digest   string // of the weights, or whatever tells two models of one name apart; part of the cache's key
	Window   int    // tokens that the model reads at once; 0: 512
	Query    string // put before a query, see PrefixesFor
	Document string // put before any other text
	Lower    bool   // the model knows small letters only, and its server does not lower texts
	Cache    *Cache // nil: one in memory, of this Model alone
	Batch    int    // texts in one request; 0: 16. A request has fewer where they are long

	// Progress, if set, is told after each request how many of the chunks that
	// were not in the cache are done.
	Progress func(done, of int)

	mu  sync.Mutex // guards what follows; held for reading and setting only
	own *Cache     // in place of Cache
	dim int        // of the server's vectors; 0: it has not answered yet
}

// IndexFolder returns the folder for an index of vectors of m, which is inside that
// of the cache and is of this model alone; "" if the cache has none.
func (m *Model) IndexFolder() string {
	if m.Cache == nil || m.Cache.dir == "" {
		return ""
	}
	k := cacheKeyOf(m.Name, m.Digest, m.Document, fmt.Sprint(m.Window, m.Lower))
	return filepath.Join(m.Cache.dir, "index", hex.EncodeToString(k[:8]))
}

// Embed returns one vector for each text: the mean of its chunks' vectors,
// scaled to length 1. What was embedded before an error is in the cache.
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

// EmbedQuery returns the vector of a query, to be compared with those of
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

// embedCached makes the vectors once with all that the cache has. If those are not
// of one dimension, the weights behind the name have changed, and it makes
// them again with what the server's own dimension allows.
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

// acceptVectors checks what the server answered and scales it to length 1.
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

// meanVector returns the middle direction of vectors of length 1; the first, where
// they cancel out.
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
