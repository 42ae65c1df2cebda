package levels_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/embed"
	"github.com/tiercompact/tiercompact/internal/protection"
	"github.com/tiercompact/tiercompact/levels"
)

type embedder func(ctx context.Context, texts []string) ([][]float32, error)

func (e embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return e(ctx, texts)
}

// lookingAt keeps what it was asked, and finds every text that holds a word near.
func lookingAt(word string, asked *[]string) embedder {
	return func(_ context.Context, texts []string) ([][]float32, error) {
		*asked = slices.Clone(texts)
		out := make([][]float32, len(texts))
		for i, s := range texts {
			out[i] = []float32{0, 1}
			if strings.Contains(s, word) || i == len(texts)-1 {
				out[i] = []float32{1, 0}
			}
		}
		return out, nil
	}
}

// ranked returns a conversation with its terms.
func ranked(messages ...chat.Message) levels.View {
	s := &script{}
	for _, m := range messages {
		s.add(m)
	}
	v := viewOf(s.t)
	for _, m := range s.t {
		v.Terms = append(v.Terms, embed.TermsOfText(m.TextWithCalls()))
	}
	return v
}

func parsers() levels.View {
	return ranked(
		chat.NewText(chat.User, "the parser reads a token from the lexer"),
		chat.NewText(chat.Assistant, "the painter draws the window in blue"),
		chat.NewText(chat.User, "why does the parser lose its token?"),
	)
}

func TestWordsThatStandInForACosineCountMoreThanAge(t *testing.T) {
	talk := []chat.Message{chat.NewText(chat.Assistant, "the parser loses a token if the lexer peeks twice")}
	for range 8 {
		talk = append(talk, chat.NewText(chat.Assistant, "the painter draws the window in blue"))
	}
	talk = append(talk, chat.NewText(chat.User, "why does the parser lose its token?"))
	scores, err := levels.Ranker{Ranking: levels.Cosine}.Score(t.Context(), ranked(talk...))
	if err != nil {
		t.Fatal(err)
	}
	for i := 2; i < 6; i++ { // the one beside it has a share of its score
		if scores.Of[i] >= scores.Of[0] {
			t.Errorf("message %d scores %v, what was asked about %v", i, scores.Of[i], scores.Of[0])
		}
		if scores.Of[i] >= scores.Of[i+1] {
			t.Errorf("message %d scores as much as the next, which says the same", i)
		}
	}
}

func TestLexicalScorerTakesOver(t *testing.T) {
	v := parsers()
	lexical, err := levels.Ranker{Ranking: levels.Cosine}.Score(t.Context(), v)
	if err != nil || lexical.Engine != "lexical" || lexical.Fallback != "" {
		t.Fatalf("%+v, error %v", lexical, err)
	}
	fused, err := levels.Ranker{Ranking: levels.Fused}.Score(t.Context(), v)
	if err != nil || slices.Equal(fused.Of, lexical.Of) {
		t.Fatalf("fused %+v, error %v", fused, err)
	}
	tests := []struct {
		name string
		e    embedder
		want string // in Fallback
	}{
		{"it fails", func(context.Context, []string) ([][]float32, error) { return nil, errors.New("connection refused") }, "connection refused"},
		{"it is late", func(ctx context.Context, _ []string) ([][]float32, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, "no ranking within 1ms"},
		{"too few vectors", func(context.Context, []string) ([][]float32, error) { return make([][]float32, 3), nil }, "3 vectors for 4 texts"},
		{"no vectors", func(context.Context, []string) ([][]float32, error) { return nil, nil }, "0 vectors for 4 texts"},
	}
	for _, test := range tests {
		for ranking, want := range map[string][]float64{levels.Cosine: lexical.Of, levels.Fused: fused.Of} {
			r := levels.Ranker{Ranking: ranking, Embedder: test.e, Name: "nomic", Deadline: time.Millisecond}
			got, err := r.Score(t.Context(), v)
			if err != nil || got.Engine != "lexical" || !strings.Contains(got.Fallback, test.want) || !slices.Equal(got.Of, want) {
				t.Errorf("%s, %s: %+v, error %v", test.name, ranking, got, err)
			}
		}
	}
}

func TestScoreFailsOnlyWhereTheContextEnds(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	asked := 0
	e := embedder(func(ctx context.Context, _ []string) ([][]float32, error) {
		asked++
		return nil, ctx.Err()
	})
	if got, err := (levels.Ranker{Embedder: e}).Score(ctx, parsers()); !errors.Is(err, context.Canceled) || got.Of != nil {
		t.Errorf("%+v, error %v", got, err)
	}
	if got, err := (levels.Ranker{}).Score(ctx, parsers()); err != nil || len(got.Of) != 3 {
		t.Errorf("without a model nothing waits: %+v, error %v", got, err)
	}
}

func TestCosineAloneIsTheContract(t *testing.T) {
	var asked []string
	r := levels.Ranker{Ranking: levels.Cosine, Embedder: lookingAt("painter", &asked), Name: "nomic"}
	got, err := r.Score(t.Context(), parsers())
	if err != nil || got.Engine != "nomic" || got.Fallback != "" || !slices.Equal(got.Of, []float64{0, 1, 0}) {
		t.Errorf("%+v, error %v", got, err)
	}
	r.Ranking = levels.Fused
	fused, err := r.Score(t.Context(), parsers())
	if err != nil || slices.Equal(fused.Of, got.Of) {
		t.Errorf("fused %v, error %v", fused.Of, err)
	}
}

func TestBrokenVectorsLeaveTheRankingToTheLexicalScorer(t *testing.T) {
	nan, infinite := float32(math.NaN()), float32(math.Inf(1))
	tests := []struct {
		name    string
		vectors [][]float32
		want    string // in Fallback; "" if they are used
	}{
		{"NaN in a document", [][]float32{{nan, 1}, {1, 0}, {0, 1}, {1, 0}}, "vector 0 has no direction"},
		{"NaN in the query", [][]float32{{1, 0}, {1, 0}, {0, 1}, {nan, 0}}, "vector 3 has no direction"},
		{"infinite", [][]float32{{1, 0}, {infinite, 0}, {0, 1}, {1, 0}}, "vector 1 has no direction"},
		{"another dimension", [][]float32{{1, 0}, {1, 0}, {1}, {1, 0}}, "vector 2 has 1 dimensions, the query's 2"},
		{"empty", [][]float32{{}, {}, {}, {}}, "vector 3 has no direction"},
		{"zero", [][]float32{{0, 0}, {0, 0}, {0, 0}, {0, 0}}, "vector 3 has no direction"},
		{"a document without direction", [][]float32{{0, 0}, {1, 0}, {0, 1}, {1, 0}}, ""},
	}
	for _, test := range tests {
		for _, ranking := range []string{levels.Cosine, levels.Fused} {
			e := embedder(func(context.Context, []string) ([][]float32, error) { return test.vectors, nil })
			got, err := levels.Ranker{Ranking: ranking, Embedder: e, Name: "nomic"}.Score(t.Context(), parsers())
			if err != nil || len(got.Of) != 3 || got.Fallback != test.want || (got.Engine == "lexical") != (test.want != "") {
				t.Errorf("%s, %s: %+v, error %v", test.name, ranking, got, err)
			}
		}
	}
}

// chunked returns the set vectors for a query and chunks, and nothing else.
type chunked struct {
	query          []float32
	chunks         [][][]float32
	noQuery, noDoc error
}

func (c chunked) Embed(context.Context, []string) ([][]float32, error) {
	return nil, errors.New("whole texts were asked for")
}

func (c chunked) EmbedQuery(context.Context, string) ([]float32, error) { return c.query, c.noQuery }

func (c chunked) EmbedChunks(context.Context, []string) ([][][]float32, error) {
	return c.chunks, c.noDoc
}

func TestAMessageScoresAsItsBestChunk(t *testing.T) {
	chunks := [][][]float32{{{0, 1}, {1, 0}, {0, -1}}, {{-1, 0}, {0, 1}}, {}}
	e := chunked{query: []float32{1, 0}, chunks: chunks}
	got, err := levels.Ranker{Ranking: levels.Cosine, Embedder: e, Name: "nomic"}.Score(t.Context(), parsers())
	if err != nil || got.Engine != "nomic" || !slices.Equal(got.Of, []float64{1, 0, 0}) {
		t.Errorf("%+v, error %v", got, err)
	}
	for want, e := range map[string]chunked{
		"no query":                 {query: e.query, chunks: chunks, noQuery: errors.New("no query")},
		"no documents":             {query: e.query, chunks: chunks, noDoc: errors.New("no documents")},
		"vectors of 2 texts for 3": {query: e.query, chunks: chunks[:2]},
		"vector 0 has 2 dimensions, the query's 1": {query: []float32{1}, chunks: chunks},
		"vector 5 has no direction":                {query: []float32{0, 0}, chunks: chunks},
	} {
		got, err := levels.Ranker{Ranking: levels.Cosine, Embedder: e, Name: "nomic"}.Score(t.Context(), parsers())
		if err != nil || got.Engine != "lexical" || got.Fallback != want {
			t.Errorf("%s: %+v, error %v", want, got, err)
		}
	}
}

func TestQuery(t *testing.T) {
	user := func(s string) chat.Message { return chat.NewText(chat.User, s) }
	said := func(s string) chat.Message { return chat.NewText(chat.Assistant, s) }
	machine := user("<reminder> be careful with the widgets")
	machine.Machine = true
	long := []chat.Message{user("repair the broken parser module"), said("first answer"), user("explain the failing network tests"), said("second answer")}
	tests := []struct {
		name          string
		t             []chat.Message
		set           string
		cosine, fused string
	}{
		{"nothing to go by", []chat.Message{said("alone")}, "", "", ""},
		{"the last user message", long, "", "explain the failing network tests", "explain the failing network tests\nfirst answer\nsecond answer"},
		{"one without meaning is joined by the one before", append(long[:2:2], user("continue")), "", "continue", "repair the broken parser module\ncontinue\nfirst answer"},
		{"one without meaning and none before", []chat.Message{user("yes")}, "", "yes", "yes"},
		{"what a machine wrote is no query", append(long[:1:1], machine), "", "repair the broken parser module", "repair the broken parser module"},
		{"where nobody typed, it is", []chat.Message{machine}, "", machine.Text(), machine.Text()},
		{"a summary does not join", append(long[:1:1], protection.NewSummary(1, chat.Assistant, "so far", "")), "", "repair the broken parser module", "repair the broken parser module"},
		{"text far above does not join", append([]chat.Message{said("old")}, append(long, user("show another interesting example please"))...), "",
			"show another interesting example please", "show another interesting example please\nfirst answer\nsecond answer"},
		{"what a client put around it is left out", append(long[:2:2], user("<command-name>/review</command-name><command-args>review the failing network tests</command-args>\n<system-reminder>be careful with the widgets</system-reminder>")), "",
			"review the failing network tests", "review the failing network tests\nfirst answer"},
		{"one that was set", long, "port number", "port number", "port number"},
	}
	for _, test := range tests {
		for ranking, want := range map[string]string{levels.Cosine: test.cosine, levels.Fused: test.fused} {
			var asked []string
			r := levels.Ranker{Ranking: ranking, Embedder: lookingAt("x", &asked), Query: test.set}
			if _, err := r.Score(t.Context(), ranked(test.t...)); err != nil {
				t.Fatal(err)
			}
			if got := asked[len(asked)-1]; got != want {
				t.Errorf("%s, %s: query %q, want %q", test.name, ranking, got, want)
			}
		}
	}
}

func TestRankingSeesCalls(t *testing.T) {
	m := chat.Message{Role: chat.Assistant, Parts: []chat.Part{
		{Kind: chat.Thinking, Text: "hm"}, {Kind: chat.Text, Text: "look"}, {Kind: chat.Call, ID: "c", Name: "read", Args: `{"path":"a.go"}`},
	}}
	if got := m.TextWithCalls(); got != "look\nread {\"path\":\"a.go\"}" {
		t.Errorf("%q", got)
	}
}
