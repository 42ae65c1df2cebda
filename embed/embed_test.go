package embed_test

import (
	"math"
	"slices"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/embed"
	"pgregory.net/rapid"
)

func TestCosineOfVectors(t *testing.T) {
	nan := float32(math.NaN())
	docs := [][]float32{{2, 0}, {0, 5}, {-1, 0}, {3, 3}, {0, 0}, {1}, nil, {nan, 1}}
	want := []float64{1, 0, -1, math.Sqrt2 / 2, 0, 0, 0, 0}
	got := embed.Cosine([]float32{7, 0}, docs)
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-6 {
			t.Errorf("document %d: %v, want %v", i, got[i], want[i])
		}
	}
	for _, query := range [][]float32{nil, {0, 0}, {nan, 1}} {
		if got := embed.Cosine(query, docs); slices.Max(got) != 0 {
			t.Errorf("query %v: %v", query, got)
		}
	}
	if got := embed.Cosine([]float32{1}, nil); len(got) != 0 {
		t.Errorf("no documents: %v", got)
	}
}

func TestFuseAddsWordsNeighboursAndRecency(t *testing.T) {
	w := embed.Weights{Lexical: 0.5, Neighbour: 0.2, Nearby: 0.4, Further: 0.1, Recency: 0.6}
	for _, c := range []struct {
		name     string
		cos, lex []float64
		w        embed.Weights
		want     []float64
	}{
		{"cosines", []float64{0.2, 0.8, 0}, nil, w, []float64{0.2 + 0.2*0.8, 0.8 + 0.2*0.2 + 0.3, 0.2*0.8 + 0.6}},
		{"words", []float64{0, 0, 0}, []float64{0, 1, 0.5}, w, []float64{0.5 * (0.4 + 0.1*0.5), 0.5*(1+0.4*0.5) + 0.3, 0.5*(0.5+0.4) + 0.6}},
		{"no cosines", nil, []float64{0.5, 1}, w, []float64{0.5 + 0.4, 1 + 0.2 + 0.6}},
		{"no words shared", []float64{0.5, 0.5}, []float64{0, 0}, embed.Weights{Lexical: 1}, []float64{0.5, 0.5}},
		{"default weights", []float64{1}, []float64{1}, embed.Weights{}, []float64{2.1}},
		{"not a number", []float64{math.NaN(), 1}, []float64{math.Inf(1), 0}, embed.Weights{Lexical: 1}, []float64{0, 1}},
		{"nothing", nil, nil, w, []float64{}},
	} {
		got := embed.Fuse(c.cos, c.lex, c.w)
		if !slices.EqualFunc(got, c.want, func(a, b float64) bool { return math.Abs(a-b) < 1e-6 }) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestMatchIsAShareOfTheBestButNotOfALittle(t *testing.T) {
	docs := []embed.Terms{
		embed.TermsOfText("Ada likes tea"), embed.TermsOfText("Ada has a dog"), embed.TermsOfText("Ada sleeps"), embed.TermsOfText("nothing"),
	}
	good := embed.Match(embed.TermsOfText("the dog of Ada"), docs)
	if good[1] < 0.9 || good[1] > 1 || good[0] <= 0 || good[0] >= 0.5 || good[3] != 0 {
		t.Errorf("the best match is the whole, others a part: %v", good)
	}
	poor := embed.Match(embed.TermsOfText("Which vessel carried Ada across northern seas?"), docs)
	if top := slices.Max(poor); top <= 0 || top > 0.5 {
		t.Errorf("a name alone passes for a match: %v", poor)
	}
	if none := embed.Match(embed.TermsOfText("xyzzy"), docs); slices.Max(none) != 0 {
		t.Errorf("nothing is shared: %v", none)
	}
}

func TestRankPutsTheMoreRecentOfEqualsFirst(t *testing.T) {
	for _, c := range []struct {
		scores []float64
		want   []int
	}{
		{[]float64{0.85, 0.12, 0.45}, []int{0, 2, 1}},
		{[]float64{0.5, 0.5, 0.5}, []int{2, 1, 0}},
		{[]float64{0.5 + 4e-7, 0.5}, []int{1, 0}},
		{[]float64{math.NaN(), 0.1, math.Inf(-1)}, []int{1, 2, 0}},
		{nil, []int{}},
	} {
		if got := embed.Rank(c.scores); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.scores, got, c.want)
		}
	}
}

func TestScorePrefersTheDocumentThatSharesWords(t *testing.T) {
	docs := []string{
		"The weather in Paris was lovely and we ate croissants.",
		"UserManager.validate_session checks the session's expiry in auth/user_manager.py",
		"Running the linter: no issues found",
		"コードを修正しました。テストは成功です。",
		"port 8443 is taken; the gateway listens on 9090 now",
		"a server in this",
	}
	for query, want := range map[string]int{
		"where do we validate sessions?":        1,
		"fix user_manager":                      1,
		"the HTTPServer":                        5,
		"USERMANAGER":                           1,
		"did the linters find an issue":         2,
		"テスト":                                   3,
		"which port does the gateway listen on": 4,
		"croissant":                             0,
	} {
		var terms []embed.Terms
		for _, d := range docs {
			terms = append(terms, embed.TermsOfText(d))
		}
		got := embed.Score(embed.TermsOfText(query), terms)
		if best := embed.Rank(got)[0]; best != want || got[best] <= 0 {
			t.Errorf("%q finds %d (%v), want %d", query, best, got, want)
		}
	}
}

func TestLexicalVectorsOfRelatedTextsPointTheSameWay(t *testing.T) {
	v, err := embed.Lexical{}.Embed(t.Context(), []string{
		"the test for parseConfig fails", "fix the failing test of parse_config", "croissants in Paris",
	})
	if err != nil {
		t.Fatal(err)
	}
	got := embed.Cosine(v[0], v[1:])
	if got[0] < got[1]+0.2 {
		t.Errorf("related %v, unrelated %v", got[0], got[1])
	}
}

func TestContentCountsWordsWithMeaning(t *testing.T) {
	for text, want := range map[string]int{
		"":                  0,
		"yes, please go on": 0,
		"continue":          1,
		"fix the login":     2,
		"rename user_manager to session_store in auth.go": 4,
	} {
		if got := embed.TermsOfText(text).Content(); got != want {
			t.Errorf("%q has %d words with meaning, want %d", text, got, want)
		}
	}
	if (embed.Terms{}).Content() != 0 {
		t.Error("no terms have content")
	}
}

func TestTermsOfAMessageIncludeCallsAndResults(t *testing.T) {
	call := chat.Message{Role: chat.Assistant, Parts: []chat.Part{
		{Kind: chat.Thinking, Text: "croissants"},
		{Kind: chat.Call, Name: "read_file", Args: `{"path":"auth\/user_manager.py","note":"a\nbanana\u0020split"}`},
	}}
	docs := []embed.Terms{embed.TermsOf(call), embed.TermsOf(chat.NewResult("1", "three failures"))}
	for query, want := range map[string][]bool{
		"user manager": {true, false}, "banana": {true, false}, "split": {true, false}, "read": {true, false},
		"failure": {false, true}, "croissants": {false, false},
	} {
		got := embed.Score(embed.TermsOfText(query), docs)
		for i := range docs {
			if (got[i] > 0) != want[i] {
				t.Errorf("%q in document %d: score %v", query, i, got[i])
			}
		}
	}
}

func TestScoreOfNothingIsZero(t *testing.T) {
	some := embed.TermsOfText("some words are here")
	for _, got := range [][]float64{
		embed.Score(embed.Terms{}, []embed.Terms{some}),
		embed.Score(embed.TermsOfText(""), []embed.Terms{some}),
		embed.Score(some, []embed.Terms{{}, embed.TermsOfText("")}),
	} {
		for _, s := range got {
			if s != 0 {
				t.Errorf("score %v", s)
			}
		}
	}
	if got := embed.Score(some, nil); len(got) != 0 {
		t.Errorf("no documents: %v", got)
	}
}

func TestScoresAreFiniteAndNotNegative(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(rapid.String(), 1, 8).Draw(t, "texts")
		var terms []embed.Terms
		for _, s := range texts {
			terms = append(terms, embed.TermsOfText(s))
		}
		scores := embed.Score(terms[0], terms)
		for _, s := range scores {
			if s < 0 || math.IsNaN(s) || math.IsInf(s, 0) {
				t.Fatalf("scores %v", scores)
			}
		}
		shares := embed.Match(terms[0], terms)
		if slices.Min(shares) < 0 || slices.Max(shares) > 1 {
			t.Fatalf("shares %v", shares)
		}
		order := embed.Rank(embed.Fuse(nil, shares, embed.Weights{}))
		slices.Sort(order)
		for i, at := range order {
			if i != at {
				t.Fatalf("rank is no permutation: %v", order)
			}
		}
	})
}

func FuzzTerms(f *testing.F) {
	f.Add("camelCaseName snake_case path/to/file.go 日本 ÄÖÜ é\xff", `{"a":"\u00`)
	f.Fuzz(func(t *testing.T, text, args string) {
		m := chat.Message{Parts: []chat.Part{{Kind: chat.Text, Text: text}, {Kind: chat.Call, Args: args}}}
		terms := embed.TermsOf(m)
		if s := embed.Score(terms, []embed.Terms{terms}); terms.Content() > 0 && s[0] <= 0 {
			t.Errorf("a text with words does not match itself: %v", s)
		}
		if _, err := (embed.Lexical{}).Embed(t.Context(), []string{text}); err != nil {
			t.Error(err)
		}
	})
}

func TestTheAnswerIsFoundThroughTheQuestionBesideIt(t *testing.T) {
	dialogue := []string{
		"Did you see the game on Sunday?", "No, we were travelling.",
		"Where did Caroline move from?", "Sweden, four years ago.",
		"How is the new kitchen?", "We painted it blue.", "Nice colour!",
	}
	var docs []embed.Terms
	for _, s := range dialogue {
		docs = append(docs, embed.TermsOfText(s))
	}
	lex := embed.Match(embed.TermsOfText("What country did Caroline move from?"), docs)
	got := embed.Rank(embed.Fuse(nil, lex, embed.DialogueWeights()))
	if got[0] != 2 || got[1] != 3 && got[2] != 3 {
		t.Errorf("ranked %v, want the question, then its answer (3) among the next two", got)
	}
}
