package evidence

import (
	"context"
	"fmt"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/internal/recall"
)

// AnswerTokens is the size of the answers of the last measure: what recall prints.
const AnswerTokens = recall.DefaultTokens

// A searcher is a dialogue that one summary replaced, and that recall searches.
type searcher struct {
	*recall.IndexedStore
}

func newSearcher(ctx context.Context, s *Sample) (searcher, error) {
	t := s.messages()
	for i := range t {
		t[i].ID = fmt.Sprintf("m%d", i+1)
	}
	store := searcher{recall.Indexed(archive.NewMemory(), "")}
	return store, store.Put(ctx, archive.Step{Session: s.ID, Number: 1, Before: t, Removed: []archive.Entry{{ID: "5u88a7e0", Messages: t}}})
}

// answer returns which turns recall prints whole, in AnswerTokens.
func (s searcher) answer(ctx context.Context, sample *Sample, question string, q recall.Query) ([]bool, error) {
	q.Text, q.Tokens = question, AnswerTokens
	r, err := s.Search(ctx, []string{sample.ID}, q)
	if err == nil && r.Failed != nil {
		err = r.Failed
	}
	if err != nil {
		return nil, err
	}
	kept := make([]bool, len(sample.Turns))
	for _, h := range r.Hits {
		kept[h.Message-1] = kept[h.Message-1] || h.Parts == 1 && !h.Cut
	}
	if n := q.Count(r.Text()); n > AnswerTokens {
		return nil, fmt.Errorf("recall printed %d tokens of %d", n, AnswerTokens)
	}
	return kept, nil
}
