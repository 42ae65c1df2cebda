package embed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/tiercompact/tiercompact/model"
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
	batchBytes    = 16 << 10
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
	Cache    *Cache // nil: one in memory, of this Model alone
	Batch    int    // texts in one request; 0: 16. A request has fewer where they are long

	// Progress, if set, is told after each request how many of the chunks that
	// were not in the cache are done.
	Progress func(done, of int)

	mu  sync.Mutex // guards what follows; held for reading and setting only
	own *Cache     // in place of Cache
	dim int        // of the server's vectors; 0: it has not answered yet
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
		vectors[i] = mean(c)
	}
	return vectors, nil
}

// EmbedQuery returns the vector of a query, to be compared with those of
// [Model.Embed] and [Model.EmbedChunks].
func (m *Model) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	chunks, err := m.embed(ctx, m.Query, []string{text})
	if err != nil {
		return nil, fmt.Errorf("embed query: %w", err)
	}
	return mean(chunks[0]), nil
}

// EmbedChunks returns the vectors of each text's chunks, in order, at least one
// for each text, all of one dimension and of length 1.
func (m *Model) EmbedChunks(ctx context.Context, texts []string) ([][][]float32, error) {
	chunks, err := m.embed(ctx, m.Document, texts)
	if err != nil {
		return nil, fmt.Errorf("embed %d texts: %w", len(texts), err)
	}
	return chunks, nil
}

// embed makes the vectors once with all that the cache has. If those are not
// of one dimension, the weights behind the name have changed, and it makes
// them again with what the server's own dimension allows.
func (m *Model) embed(ctx context.Context, prefix string, texts []string) ([][][]float32, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if m.Server == nil || m.Name == "" {
		return nil, errors.New("embedding model needs Server and Name")
	}
	for _, wary := range []bool{false, true} {
		r := run{m: m, cache: m.cache(), prefix: prefix, wary: wary, known: make(map[key]vector)}
		vectors, err := r.texts(ctx, texts)
		if err != nil {
			return nil, err
		}
		if oneDimension(vectors) {
			return vectors, nil
		}
	}
	return nil, fmt.Errorf("vectors of %s change their dimension: %w", m.Name, model.ErrGarbled)
}

func (m *Model) cache() *Cache {
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

// accept checks what the server answered and scales it to length 1.
func (m *Model) accept(vectors [][]float32, texts int) error {
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

// A vector is what is known of a chunk.
type vector struct {
	of   []float32
	long bool // the server found the chunk too long: its halves stand for it
}

// A run is one call's work.
type run struct {
	m        *Model
	cache    *Cache
	prefix   string
	wary     bool           // takes from the cache only what is of the server's dimension
	known    map[key]vector // of each chunk wanted; without a vector while the server has not been asked
	done, of int
}

func (r *run) texts(ctx context.Context, texts []string) ([][][]float32, error) {
	chunks := make([][]string, len(texts))
	size := chunkTokens(r.m.Window, r.prefix)
	var missing []string
	for i, s := range texts {
		chunks[i] = split(s, size)
		for _, c := range chunks[i] {
			missing = append(missing, r.want(c)...)
		}
	}
	r.of = len(missing)
	if err := r.send(ctx, missing); err != nil {
		return nil, err
	}
	vectors := make([][][]float32, len(texts))
	for i := range chunks {
		for _, c := range chunks[i] {
			vectors[i] = r.collect(vectors[i], c)
		}
	}
	return vectors, nil
}

func (r *run) key(chunk string) key { return keyOf(r.m.Name, r.m.Digest, r.prefix, chunk) }

// want looks a chunk up, and returns what of it the server must embed: the
// chunk, or those of its halves that are missing, or nothing. A chunk that was
// wanted before is not missing.
func (r *run) want(chunk string) (missing []string) {
	k := r.key(chunk)
	if _, seen := r.known[k]; seen {
		return nil
	}
	v, ok := r.cache.get(k)
	dim := r.m.dimension()
	switch {
	case ok && v.long:
		r.known[k] = v
		for _, half := range halves(chunk) {
			missing = append(missing, r.want(half)...)
		}
		return missing
	case ok && (len(v.of) == dim || dim == 0 && !r.wary):
		r.known[k] = v
		return nil
	}
	r.known[k] = vector{}
	return []string{chunk}
}

// send has the server embed chunks, in batches.
func (r *run) send(ctx context.Context, chunks []string) error {
	for len(chunks) > 0 {
		n := batch(chunks, cmp.Or(max(0, r.m.Batch), defaultBatch))
		err := r.request(ctx, chunks[:n])
		if errors.Is(err, model.ErrTooLong) {
			err = r.single(ctx, chunks[:n])
		}
		if err != nil {
			return err
		}
		chunks = chunks[n:]
	}
	return nil
}

// batch returns how many of the chunks go into one request, at least one.
func batch(chunks []string, most int) int {
	bytes := 0
	for i, c := range chunks {
		if bytes += len(c); i == most || i > 0 && bytes > batchBytes {
			return i
		}
	}
	return len(chunks)
}

func (r *run) request(ctx context.Context, chunks []string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	texts := make([]string, len(chunks))
	for i, c := range chunks {
		texts[i] = cmp.Or(r.prefix+c, " ") // some servers refuse an empty text
	}
	vectors, err := r.m.Server.Embed(ctx, r.m.Name, texts)
	if err != nil {
		return err
	}
	if err := r.m.accept(vectors, len(chunks)); err != nil {
		return err
	}
	for i, c := range chunks {
		r.learn(c, vector{of: vectors[i]})
	}
	if r.done += len(chunks); r.m.Progress != nil {
		r.m.Progress(r.done, r.of)
	}
	return nil
}

func (r *run) learn(chunk string, v vector) {
	k := r.key(chunk)
	r.known[k] = v
	r.cache.put(k, v)
}

// single sends chunks one by one, and the halves of those that are too long.
// It goes down one half to the end before it begins the other, so that a
// server that takes nothing is found out after a few requests.
func (r *run) single(ctx context.Context, chunks []string) error {
	for _, c := range chunks {
		err := r.request(ctx, []string{c})
		if errors.Is(err, model.ErrTooLong) {
			err = r.halve(ctx, c, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// halve embeds the halves of a chunk that the server refused as too long.
func (r *run) halve(ctx context.Context, chunk string, refused error) error {
	if len(chunk) < minChunk {
		return fmt.Errorf("%s, a text of %d bytes: %w", r.m.Name, len(chunk), refused)
	}
	r.learn(chunk, vector{long: true})
	var missing []string
	for _, half := range halves(chunk) {
		missing = append(missing, r.want(half)...)
	}
	r.of += len(missing) - 1
	return r.single(ctx, missing)
}

// collect appends a chunk's vectors: its own, or those of its halves.
func (r *run) collect(to [][]float32, chunk string) [][]float32 {
	v := r.known[r.key(chunk)]
	if !v.long {
		return append(to, v.of)
	}
	for _, half := range halves(chunk) {
		to = r.collect(to, half)
	}
	return to
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

// mean returns the middle direction of vectors of length 1; the first, where
// they cancel out.
func mean(vectors [][]float32) []float32 {
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
