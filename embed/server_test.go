package embed_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync"

	"github.com/tiercompact/tiercompact/internal/model"
)

// A server embeds by counting words: texts with common words are close.
type server struct {
	limit int                                   // maximum bytes of a text; 0: any
	dim   int                                   // 0: 32
	spoil func(vectors [][]float32) [][]float32 // nil: normal answers
	fail  func(request int) error               // nil: never

	mu       sync.Mutex
	requests [][]string // requests received
	embedded []string   // texts that it embedded
}

func (s *server) Embed(ctx context.Context, name string, texts []string) ([][]float32, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, slices.Clone(texts))
	if s.fail != nil {
		if err := s.fail(len(s.requests)); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		if s.limit > 0 && len(text) > s.limit {
			return nil, fmt.Errorf("embed with %s: %w", name, model.ErrTooLong)
		}
		vectors[i] = s.vector(text)
	}
	if s.spoil != nil {
		return s.spoil(vectors), nil
	}
	s.embedded = append(s.embedded, texts...)
	return vectors, nil
}

func (s *server) vector(text string) []float32 {
	v := make([]float32, max(s.dim, 2))
	if s.dim == 0 {
		v = make([]float32, 32)
	}
	v[0] = 0.1
	for word := range strings.FieldsSeq(text) {
		h := fnv.New32()
		h.Write([]byte(word))
		v[int(h.Sum32())%len(v)]++
	}
	return v
}

// sent returns the texts that were embedded since the last call.
func (s *server) sent() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	sent := s.embedded
	s.embedded, s.requests = nil, nil
	return sent
}
