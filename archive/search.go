package archive

import (
	"context"
)

// A Hit is an entry that a search found.
type Hit struct {
	ID    string
	Score float64 // cosine, 0 to 1, and 1 more where the query stands in it as it is
	Text  string  // the piece that fits best
	Entry Entry
}

// Search returns the n entries of a session that fit the query best, best
// first, ties by id.
func Search(ctx context.Context, store Store, session, query string, n int) ([]Hit, error) {
	return nil, nil
}
