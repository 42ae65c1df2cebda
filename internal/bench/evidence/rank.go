package evidence

import (
	"context"
	"fmt"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/embed"
	"github.com/tiercompact/tiercompact/internal/recall"
	"github.com/tiercompact/tiercompact/levels"
)

// A Ranking scores turns by a question. The zero Ranker prefers the newest turns.
type Ranking struct {
	Name   string
	About  string // its criterion, in a few words
	Ranker levels.Ranker
}

// A Search is a way of the command recall.
type Search struct {
	Name, About string
	Query       recall.Query // without text and tokens
}

// WordSearch is the search without a model.
func WordSearch() Search { return Search{Name: "recall", About: "what recall prints"} }

// ModelSearch is the search by words and the vectors of an embedder.
func ModelSearch(e levels.Embedder, name string) Search {
	return Search{"recall " + name, "what recall prints with that model", recall.Query{Embedder: e}}
}

// Rankings returns the rankings without a model.
func Rankings() []Ranking {
	return []Ranking{
		{"recency", "the newest turns", levels.Ranker{}},
		{"bm25", "words", levels.Ranker{Ranking: levels.Fused, Weights: embed.Weights{Lexical: 1}}},
		{"lexical", "words, and the neighbours'", levels.Ranker{Ranking: levels.Fused, Weights: embed.DialogueWeights()}},
		{"lexical in hard", "words, the neighbours', and age", levels.Ranker{Ranking: levels.Fused, Weights: embed.DefaultWeights()}},
	}
}

// ModelRankings returns the rankings by the vectors of an embedder.
func ModelRankings(e levels.Embedder, name string) []Ranking {
	r := levels.Ranker{Ranking: levels.Cosine, Embedder: e, Name: name}
	fused, hard := r, r
	fused.Ranking, fused.Weights = levels.Fused, embed.DialogueWeights()
	hard.Ranking, hard.Weights = levels.Fused, embed.DefaultWeights()
	return []Ranking{
		{name, "vectors", r},
		{"fused " + name, "vectors and words, and the neighbours'", fused},
		{name + " in hard", "vectors and words, the neighbours', and age", hard},
	}
}

// rankTurns returns the turns of v by their scores for a question, the best first.
func (r Ranking) rankTurns(ctx context.Context, v levels.View, question string) ([]int, error) {
	if r.Ranker.Ranking == "" {
		return embed.Rank(make([]float64, len(v.Messages))), nil // of equals, the newer is first
	}
	by := r.Ranker
	by.Query = question
	scores, err := by.Score(ctx, v)
	if err != nil {
		return nil, err
	}
	if scores.Fallback != "" {
		return nil, fmt.Errorf("rank by %s: %s", r.Name, scores.Fallback)
	}
	return embed.Rank(scores.Of), nil
}

// viewOfTurns returns the part of turns that a ranker may read.
func viewOfTurns(messages chat.Transcript) levels.View {
	v := levels.View{Messages: messages, Terms: make([]embed.Terms, len(messages))}
	for i, m := range messages {
		v.Terms[i] = embed.TermsOf(m)
	}
	return v
}

// fillBudget returns which turns are kept: in order, as many as fit. One that does
// not fit is skipped.
func fillBudget(order, sizes []int, room float64) []bool {
	kept := make([]bool, len(sizes))
	left := room
	for _, i := range order {
		if size := float64(sizes[i]); size <= left {
			kept[i] = true
			left -= size
		}
	}
	return kept
}
