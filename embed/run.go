package embed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tiercompact/tiercompact/model"
)

// batchBytes bounds a request: what is lost when a process is killed, and how
// long a deadline that has passed goes unnoticed by a server.
const batchBytes = 16 << 10

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
		if r.m.Lower {
			s = strings.ToLower(s)
		}
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
