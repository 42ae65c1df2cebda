package embed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tiercompact/tiercompact/internal/model"
)

// batchBytes limits a request, and with it the work that a killed process loses,
// and the time in which a server does not notice a missed deadline.
const batchBytes = 16 << 10

// A vector is the result for a chunk.
type vector struct {
	of   []float32
	long bool // the server rejected the chunk as too long: its halves replace it
}

// An embedRun is one call's work.
type embedRun struct {
	m        *Model
	cache    *Cache
	prefix   string
	wary     bool                // uses only cached vectors of the server's dimension
	known    map[cacheKey]vector // of each requested chunk; without a vector until the server has answered
	done, of int
}

func (r *embedRun) textVectors(ctx context.Context, texts []string) ([][][]float32, error) {
	chunks := make([][]string, len(texts))
	size := chunkTokens(r.m.Window, r.prefix)
	var missing []string
	for i, s := range texts {
		if r.m.Lower {
			s = strings.ToLower(s)
		}
		chunks[i] = splitChunks(s, size)
		for _, c := range chunks[i] {
			missing = append(missing, r.missingChunks(c)...)
		}
	}
	r.of = len(missing)
	if err := r.sendBatches(ctx, missing); err != nil {
		return nil, err
	}
	vectors := make([][][]float32, len(texts))
	for i := range chunks {
		for _, c := range chunks[i] {
			vectors[i] = r.collectVectors(vectors[i], c)
		}
	}
	return vectors, nil
}

func (r *embedRun) chunkKey(chunk string) cacheKey {
	return cacheKeyOf(r.m.Name, r.m.Digest, r.prefix, chunk)
}

// missingChunks looks up a chunk, and returns the chunks that the server must embed
// for it: the chunk, or its missing halves, or none. A chunk that was requested
// before is not missing.
func (r *embedRun) missingChunks(chunk string) (missing []string) {
	k := r.chunkKey(chunk)
	if _, seen := r.known[k]; seen {
		return nil
	}
	v, ok := r.cache.getVector(k)
	dim := r.m.dimension()
	switch {
	case ok && v.long:
		r.known[k] = v
		for _, half := range halveChunk(chunk) {
			missing = append(missing, r.missingChunks(half)...)
		}
		return missing
	case ok && (len(v.of) == dim || dim == 0 && !r.wary):
		r.known[k] = v
		return nil
	}
	r.known[k] = vector{}
	return []string{chunk}
}

// sendBatches sends chunks to the server, in batches.
func (r *embedRun) sendBatches(ctx context.Context, chunks []string) error {
	for len(chunks) > 0 {
		n := nextBatchSize(chunks, cmp.Or(max(0, r.m.Batch), defaultBatch))
		err := r.requestBatch(ctx, chunks[:n])
		if errors.Is(err, model.ErrTooLong) {
			err = r.sendSingly(ctx, chunks[:n])
		}
		if err != nil {
			return err
		}
		chunks = chunks[n:]
	}
	return nil
}

// nextBatchSize returns how many of the chunks go into one request, at least one.
func nextBatchSize(chunks []string, most int) int {
	bytes := 0
	for i, c := range chunks {
		if bytes += len(c); i == most || i > 0 && bytes > batchBytes {
			return i
		}
	}
	return len(chunks)
}

func (r *embedRun) requestBatch(ctx context.Context, chunks []string) error {
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
	if err := r.m.acceptVectors(vectors, len(chunks)); err != nil {
		return err
	}
	for i, c := range chunks {
		r.learnVector(c, vector{of: vectors[i]})
	}
	if r.done += len(chunks); r.m.Progress != nil {
		r.m.Progress(r.done, r.of)
	}
	return nil
}

func (r *embedRun) learnVector(chunk string, v vector) {
	k := r.chunkKey(chunk)
	r.known[k] = v
	r.cache.putVector(k, v)
}

// sendSingly sends chunks one by one, and the halves of those that are too long. It
// finishes one half before it begins the other, so that a few requests detect a
// server that rejects everything.
func (r *embedRun) sendSingly(ctx context.Context, chunks []string) error {
	for _, c := range chunks {
		err := r.requestBatch(ctx, []string{c})
		if errors.Is(err, model.ErrTooLong) {
			err = r.embedHalves(ctx, c, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// embedHalves embeds the halves of a chunk that the server rejected as too long.
func (r *embedRun) embedHalves(ctx context.Context, chunk string, refused error) error {
	if len(chunk) < minChunk {
		return fmt.Errorf("%s, a text of %d bytes: %w", r.m.Name, len(chunk), refused)
	}
	r.learnVector(chunk, vector{long: true})
	var missing []string
	for _, half := range halveChunk(chunk) {
		missing = append(missing, r.missingChunks(half)...)
	}
	r.of += len(missing) - 1
	return r.sendSingly(ctx, missing)
}

// collectVectors appends a chunk's vectors: its own, or those of its halves.
func (r *embedRun) collectVectors(to [][]float32, chunk string) [][]float32 {
	v := r.known[r.chunkKey(chunk)]
	if !v.long {
		return append(to, v.of)
	}
	for _, half := range halveChunk(chunk) {
		to = r.collectVectors(to, half)
	}
	return to
}
