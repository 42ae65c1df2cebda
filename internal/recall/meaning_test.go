package recall

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// topics makes vectors from the topics of texts: animals, or machines.
type topics struct {
	fail  error
	query string // prefix of a query
	wait  bool   // until the context ends
}

func (m *topics) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if m.wait {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	vectors := make([][]float32, len(texts))
	for i, t := range texts {
		vectors[i] = []float32{0, 1}
		if strings.Contains(t, "cat") || strings.Contains(t, "dog") {
			vectors[i] = []float32{1, 0}
		}
	}
	return vectors, m.fail
}

// asking embeds queries differently, as a model with prefixes does.
type asking struct{ topics }

func (m *asking) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	if m.fail != nil {
		return nil, m.fail
	}
	m.query = text
	return []float32{1, 0}, nil
}

func TestSearchByMeaning(t *testing.T) {
	store := searched(t, entry("pet", "the cat sleeps"), entry("car", "the engine runs"))
	f, err := store.Search(t.Context(), []string{"s"}, Query{Text: "dogs", Max: 1, Embedder: new(topics)})
	if err != nil || len(f.Hits) != 1 || f.Hits[0].ID != "pet" || !f.ByMeaning || f.Failed != nil {
		t.Errorf("Search = %+v, %v", f, err)
	}
	m := new(asking)
	f, err = store.Search(t.Context(), []string{"s"}, Query{Text: "something furry", Max: 2, Embedder: m, Within: time.Minute})
	if err != nil || len(f.Hits) != 2 || f.Hits[0].ID != "pet" || m.query != "something furry" {
		t.Errorf("with a query of its own: %+v, %v", f, err)
	}
	if f, err := store.Search(t.Context(), []string{"s"}, Query{Text: "dogs", Max: 1}); err != nil || len(f.Hits) > 0 || f.ByMeaning {
		t.Errorf("by words alone: %+v, %v", f, err)
	}
}

// fewVectors returns fewer vectors than texts.
type fewVectors struct{}

func (fewVectors) Embed(context.Context, []string) ([][]float32, error) { return nil, nil }

func TestSearchIsByWordsWhereMeaningFails(t *testing.T) {
	store := searched(t, entry("pet", "the cat sleeps"), entry("car", "the engine runs"))
	down := errors.New("the server is down")
	for name, by := range map[string]Query{
		"it fails":             {Embedder: &topics{fail: down}},
		"it fails for a query": {Embedder: queryless{}},
		"it takes too long":    {Embedder: &topics{wait: true}, Within: time.Millisecond},
		"it gives fewer":       {Embedder: fewVectors{}},
	} {
		by.Text, by.Max = "the engine", 1
		f, err := store.Search(t.Context(), []string{"s"}, by)
		if err != nil || len(f.Hits) != 1 || f.Hits[0].ID != "car" || f.ByMeaning || f.Failed == nil {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := store.Search(ctx, []string{"s"}, Query{Text: "the engine", Embedder: &topics{wait: true}}); !errors.Is(err, context.Canceled) {
		t.Errorf("when the caller's time is over: %v", err)
	}
}

// queryless embeds documents only.
type queryless struct{}

func (queryless) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return new(topics).Embed(ctx, texts)
}

func (queryless) EmbedQuery(context.Context, string) ([]float32, error) {
	return nil, errors.New("no query")
}
