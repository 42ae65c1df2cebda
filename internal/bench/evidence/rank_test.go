package evidence_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/internal/bench/evidence"
)

// count counts a word as one token.
func count(text string) int { return len(strings.Fields(text)) }

// talk has turns of ten tokens each, its frame of four included.
func talk() *evidence.Sample {
	s := &evidence.Sample{ID: "talk"}
	for i, text := range []string{
		"a b c fig d", "e f g h i", "where was lunch with Otto", "in Riga by k l",
		"m n o p q", "r s t u v", "w x y z a", "b c d e f", "g h i j k", "l m n o p",
	} {
		for len(strings.Fields(text)) < 5 {
			text += " filler"
		}
		s.Turns = append(s.Turns, evidence.Turn{ID: fmt.Sprint("t", i), Speaker: "S", Text: text})
	}
	s.Questions = []evidence.Question{
		{Text: "Otto's lunch", Evidence: [][]int{{3}}},
		{Text: "fig", Index: 1, Evidence: [][]int{{0}, {9}}},
	}
	return s
}

// kept returns the turns that each ranking kept for the first question, at a share.
func kept(t *testing.T, rankings []evidence.Ranking, s *evidence.Sample, share float64) map[string][]string {
	t.Helper()
	got := make(map[string][]string)
	tally := evidence.Tally{Rankings: rankings, Count: count, Detail: func(c evidence.Choice) error {
		if c.Index == 0 && c.Share == share {
			got[c.Ranking] = c.Kept
		}
		return nil
	}}
	if err := tally.Add(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	return got
}

// axes embeds a text by its first known word.
type axes struct{ fail error }

func (a axes) Embed(_ context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = []float32{1, 0}
		if strings.Contains(text, "Riga") || strings.Contains(text, "Otto's") {
			vectors[i] = []float32{0, 1}
		}
	}
	return vectors, a.fail
}

func TestRankingsKeepTheBestTurns(t *testing.T) {
	rankings := append(evidence.Rankings(), evidence.ModelRankings(axes{}, "axes")...)
	got := kept(t, rankings, talk(), 0.25)
	for ranking, want := range map[string][]string{
		"recency":    {"t8", "t9"},
		"bm25":       {"t2", "t9"}, // of turns without the subject, the newest
		"lexical":    {"t2", "t3"}, // of two neighbours the newer
		"axes":       {"t3", "t9"},
		"fused axes": {"t2", "t3"},

		"lexical in hard": {"t2", "t9"}, // age outweighs the neighbour
	} {
		if !slices.Equal(got[ranking], want) {
			t.Errorf("%s keeps %v, want %v", ranking, got[ranking], want)
		}
	}
}

func TestTurnsWithoutRoomAreSkipped(t *testing.T) {
	s := talk()
	s.Turns[9].Text = strings.Repeat("long ", 30) // of 125 tokens, a quarter is 31
	if got := kept(t, evidence.Rankings(), s, 0.25)["recency"]; !slices.Equal(got, []string{"t6", "t7", "t8"}) {
		t.Errorf("recency keeps %v", got)
	}
}

func TestRecallIsOfAnyAndOfAllEvidence(t *testing.T) {
	asked := 0
	tally := evidence.Tally{
		Rankings: append(evidence.Rankings(), evidence.ModelRankings(axes{}, "axes")...),
		Count:    count, Progress: func() { asked++ },
	}
	if err := tally.Add(t.Context(), talk()); err != nil {
		t.Fatal(err)
	}
	if tally.Questions != 2 || asked != 2 || tally.Turns != 10 || tally.Tokens != 100 || tally.Samples != 1 {
		t.Errorf("%d questions, %d reported, %d turns, %d tokens", tally.Questions, asked, tally.Turns, tally.Tokens)
	}
	want := map[string][]string{
		"recency":    {"0/0 of 2", "1/0 of 2", "1/0 of 2", "1/0 of 2"}, // t9 is one piece of two
		"bm25":       {"0/0 of 2", "1/0 of 2", "1/1 of 2", "1/1 of 2"}, // t0 and t9, for the second question
		"lexical":    {"0/0 of 2", "1/0 of 2", "2/1 of 2", "2/2 of 2"}, // t2 and t3; t0 and t1 before t9
		"axes":       {"0/0 of 2", "2/1 of 2", "2/1 of 2", "2/1 of 2"}, // t3; t9, and t0 last of all
		"fused axes": {"0/0 of 2", "2/1 of 2", "2/1 of 2", "2/2 of 2"}, // t3; t0
	}
	for i, r := range tally.Rankings {
		var got []string
		for _, r := range tally.Recalls(i) {
			got = append(got, fmt.Sprintf("%d/%d of %d", r.Any.Part, r.All.Part, r.Any.Whole))
		}
		if want, ok := want[r.Name]; ok && !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", r.Name, got, want)
		}
	}
}

func TestARankingThatFailsIsAnError(t *testing.T) {
	down := errors.New("server is down")
	tally := evidence.Tally{Rankings: evidence.ModelRankings(axes{down}, "axes"), Count: count}
	err := tally.Add(t.Context(), talk())
	if err == nil || !strings.Contains(err.Error(), "sample talk, question 0: rank by axes: server is down") {
		t.Error(err)
	}
	full := errors.New("disk is full")
	tally = evidence.Tally{Rankings: evidence.Rankings(), Count: count, Detail: func(evidence.Choice) error { return full }}
	if err := tally.Add(t.Context(), talk()); !errors.Is(err, full) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	tally = evidence.Tally{Rankings: evidence.ModelRankings(axes{down}, "axes"), Count: count}
	if err := tally.Add(ctx, talk()); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestNothingMeasuredGivesNoRecall(t *testing.T) {
	tally := evidence.Tally{Rankings: evidence.Rankings()}
	for _, r := range tally.Recalls(0) {
		if r.Any.Of() != 0 || r.All.Whole != 0 {
			t.Errorf("%+v", r)
		}
	}
}
