package embed_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/embed"
	"github.com/tiercompact/tiercompact/internal/embedtest"
	"github.com/tiercompact/tiercompact/internal/model"
)

// numbered returns n texts, each of a few words.
func numbered(n int) []string {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = fmt.Sprintf("message %d is about topic%d", i, i*7)
	}
	return texts
}

func openCache(t *testing.T, dir string) *embed.Cache {
	t.Helper()
	c, err := embed.OpenCache(dir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestModelKeepsThePromisesOfAnEmbedder(t *testing.T) {
	for name, limit := range map[string]int{"chunks fit": 0, "chunks are halved": 100} {
		for _, cache := range []*embed.Cache{nil, openCache(t, t.TempDir())} {
			m := &embed.Model{Server: &server{limit: limit}, Name: "m", Window: 64, Cache: cache}
			if err := embedtest.Check(t.Context(), m); err != nil {
				t.Errorf("%s, on disk %v: %v", name, cache != nil, err)
			}
		}
	}
}

func TestPrefixesReachTheServer(t *testing.T) {
	s := &server{}
	m := &embed.Model{Server: s, Name: "m", Query: "search_query: ", Document: "search_document: "}
	document, err := m.Embed(t.Context(), []string{"login fails"})
	if err != nil {
		t.Fatal(err)
	}
	query, err := m.EmbedQuery(t.Context(), "login fails")
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"search_document: login fails", "search_query: login fails"}; !slices.Equal(s.embedded, want) {
		t.Errorf("sent %q, want %q", s.embedded, want)
	}
	if slices.Equal(query, document[0]) {
		t.Error("the prefix is no part of the cache's key")
	}
}

func TestTextsAreLoweredForAModelThatKnowsSmallLettersOnly(t *testing.T) {
	s := &server{}
	m := &embed.Model{Server: s, Name: "m", Document: "d: ", Lower: true}
	if _, err := m.Embed(t.Context(), []string{"ParseError in Main.go", "parseerror in main.go"}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"d: parseerror in main.go"}; !slices.Equal(s.embedded, want) {
		t.Errorf("sent %q, want %q", s.embedded, want)
	}
}

func TestChunksCoverTheWholeText(t *testing.T) {
	s := &server{}
	m := &embed.Model{Server: s, Name: "m", Window: 128, Document: "d: "}
	var lines strings.Builder
	for i := range 60 {
		fmt.Fprintf(&lines, "line %d of a file, with words\n", i)
	}
	text := lines.String()
	chunks, err := m.EmbedChunks(t.Context(), []string{"short", text})
	if err != nil || len(chunks[0]) != 1 || len(chunks[1]) < 3 {
		t.Fatalf("%d and %d chunks, error %v", len(chunks[0]), len(chunks[1]), err)
	}
	var whole strings.Builder
	for _, sent := range s.embedded[1:] {
		if !strings.HasSuffix(sent, "\n") {
			t.Errorf("a chunk does not end with a line: %q", sent)
		}
		whole.WriteString(strings.TrimPrefix(sent, "d: "))
	}
	if whole.String() != text {
		t.Errorf("the chunks are not the text: %d bytes of %d", whole.Len(), len(text))
	}
}

func TestAMessageLongerThanTheWindowScoresAsItsBestChunk(t *testing.T) {
	m := &embed.Model{Server: &server{dim: 4096}, Name: "m", Window: 64}
	filler := strings.Repeat("nothing of interest stands on this line\n", 30)
	query, err := m.EmbedQuery(t.Context(), "the parser loses its token")
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{filler + "the parser loses its token\n" + filler}
	whole, err := m.Embed(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	chunks, err := m.EmbedChunks(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	if best, mean := slices.Max(embed.Cosine(query, chunks[0])), embed.Cosine(query, whole)[0]; best < 3*mean {
		t.Errorf("the best chunk scores %.2f, the mean %.2f", best, mean)
	}
}

func TestChunksThatTheServerFindsTooLongAreHalved(t *testing.T) {
	s := &server{limit: 50}
	texts := []string{"fits", strings.Repeat("word ", 60), "fits too", strings.Repeat("日本", 40), strings.Repeat("\x80", 300)}
	dir := t.TempDir()
	m := &embed.Model{Server: s, Name: "m", Cache: openCache(t, dir)}
	chunks, err := m.EmbedChunks(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	sent := s.sent()
	for _, text := range sent {
		if len(text) > 50 {
			t.Errorf("%d bytes were embedded", len(text))
		}
	}
	if len(chunks[0]) != 1 || len(chunks[1]) < 6 || len(chunks[2]) != 1 || len(chunks[3]) < 5 || len(chunks[4]) < 6 {
		t.Errorf("chunks: %d, %d, %d, %d, %d", len(chunks[0]), len(chunks[1]), len(chunks[2]), len(chunks[3]), len(chunks[4]))
	}
	again := &embed.Model{Server: s, Name: "m", Cache: openCache(t, dir)}
	if got, err := again.EmbedChunks(t.Context(), texts); err != nil || len(s.requests) != 0 || len(got[1]) != len(chunks[1]) {
		t.Errorf("the second time: %d requests, error %v", len(s.requests), err)
	}
}

func TestAServerThatTakesNothingIsFoundOutSoon(t *testing.T) {
	s := &server{fail: func(int) error { return model.ErrTooLong }}
	m := &embed.Model{Server: s, Name: "m"}
	_, err := m.Embed(t.Context(), append(numbered(200), strings.Repeat("long text ", 100_000)))
	if !errors.Is(err, model.ErrTooLong) || len(s.requests) > 30 {
		t.Errorf("%d requests, error %v", len(s.requests), err)
	}
}

func TestAHugeTextIsEmbeddedInPart(t *testing.T) {
	s := &server{}
	m := &embed.Model{Server: s, Name: "m"}
	var text strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&text, "line %d of the log\n", i)
	}
	chunks, err := m.EmbedChunks(t.Context(), []string{text.String()})
	if err != nil || len(chunks[0]) != 32 {
		t.Fatalf("%d chunks, error %v", len(chunks[0]), err)
	}
	sent := s.sent()
	if !strings.HasPrefix(sent[0], "line 0 of") || !strings.HasSuffix(sent[31], "line 99999 of the log\n") {
		t.Errorf("head %.20q, tail %q", sent[0], sent[31][max(0, len(sent[31])-30):])
	}
}

func TestATextIsEmbeddedOnce(t *testing.T) {
	dir, texts := t.TempDir(), append(numbered(40), numbered(20)...)
	s := &server{}
	m := &embed.Model{Server: s, Name: "m", Digest: "1", Cache: openCache(t, dir)}
	first, err := m.Embed(t.Context(), texts)
	if err != nil || len(s.sent()) != 40 {
		t.Fatalf("error %v", err)
	}
	for _, test := range []struct {
		name string
		m    *embed.Model
		want int
	}{
		{"the same model", m, 0},
		{"another process", &embed.Model{Server: s, Name: "m", Digest: "1", Cache: openCache(t, dir)}, 0},
		{"its name with the tag that it means", &embed.Model{Server: s, Name: "m:latest", Digest: "1", Cache: openCache(t, dir)}, 0},
		{"other weights", &embed.Model{Server: s, Name: "m", Digest: "2", Cache: openCache(t, dir)}, 40},
		{"another model", &embed.Model{Server: s, Name: "n", Digest: "1", Cache: openCache(t, dir)}, 40},
		{"another prefix", &embed.Model{Server: s, Name: "m", Digest: "1", Document: "d: ", Cache: openCache(t, dir)}, 40},
		{"no folder", &embed.Model{Server: s, Name: "m", Digest: "1"}, 40},
	} {
		got, err := test.m.Embed(t.Context(), texts)
		if sent := s.sent(); err != nil || len(sent) != test.want {
			t.Errorf("%s: %d texts embedded, want %d, error %v", test.name, len(sent), test.want, err)
		}
		if test.want == 0 && !slices.EqualFunc(got, first, slices.Equal[[]float32]) {
			t.Errorf("%s: other vectors", test.name)
		}
	}
}

func TestARequestIsBoundedByTextsAndBytes(t *testing.T) {
	s := &server{}
	m := &embed.Model{Server: s, Name: "m", Window: 8192, Batch: 5}
	long := strings.Repeat("some words of a file ", 200) // 4.2 kB, one chunk
	texts := append(numbered(12), "1 "+long, "2 "+long, "3 "+long, "4 "+long, "5 "+long)
	if _, err := m.Embed(t.Context(), texts); err != nil {
		t.Fatal(err)
	}
	var sizes []int
	for _, r := range s.requests {
		sizes = append(sizes, len(r))
	}
	if want := []int{5, 5, 5, 2}; !slices.Equal(sizes, want) {
		t.Errorf("texts in each request: %v, want %v", sizes, want)
	}
}

func TestVectorsBeforeAnErrorAreCached(t *testing.T) {
	for name, broken := range map[string]error{"the server stops": model.ErrUnreachable, "the model goes": model.ErrNoModel} {
		dir := t.TempDir()
		s := &server{fail: func(n int) error {
			if n > 2 {
				return broken
			}
			return nil
		}}
		m := &embed.Model{Server: s, Name: "m", Batch: 10, Cache: openCache(t, dir)}
		if v, err := m.Embed(t.Context(), numbered(50)); !errors.Is(err, broken) || v != nil {
			t.Errorf("%s: error %v", name, err)
		}
		s.fail = nil
		s.sent()
		m = &embed.Model{Server: s, Name: "m", Cache: openCache(t, dir)}
		if _, err := m.Embed(t.Context(), numbered(50)); err != nil || len(s.sent()) != 30 {
			t.Errorf("%s: not the rest was embedded, error %v", name, err)
		}
	}
}

func TestACancelledCallSendsNoMore(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	s := &server{}
	m := &embed.Model{Server: s, Name: "m", Batch: 10, Progress: func(done, of int) {
		if done == 20 {
			stop()
		}
	}}
	if _, err := m.Embed(ctx, numbered(50)); !errors.Is(err, context.Canceled) || len(s.requests) != 2 {
		t.Errorf("%d requests, error %v", len(s.requests), err)
	}
	if _, err := m.EmbedQuery(ctx, "message"); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestProgressEndsWhenAllIsDone(t *testing.T) {
	var told [][2]int
	m := &embed.Model{Server: &server{limit: 60}, Name: "m", Batch: 4, Progress: func(done, of int) { told = append(told, [2]int{done, of}) }}
	if _, err := m.Embed(t.Context(), append(numbered(10), strings.Join(numbered(11)[4:], " "))); err != nil {
		t.Fatal(err)
	}
	for i, p := range told {
		if p[0] > p[1] || i > 0 && p[0] <= told[i-1][0] {
			t.Errorf("step %d: %v", i, told)
		}
	}
	if last := told[len(told)-1]; last[0] != last[1] || last[0] < 14 {
		t.Errorf("at the end %v", last)
	}
}

func TestInvalidVectorsAreRejectedAndNotCached(t *testing.T) {
	nan, infinite := float32(math.NaN()), float32(math.Inf(1))
	for name, spoil := range map[string]func([][]float32) [][]float32{
		"not a number": func(v [][]float32) [][]float32 { v[1][3] = nan; return v },
		"infinite":     func(v [][]float32) [][]float32 { v[0][0] = infinite; return v },
		"zero":         func(v [][]float32) [][]float32 { clear(v[2]); return v },
		"empty":        func(v [][]float32) [][]float32 { v[0] = nil; return v },
		"too long":     func(v [][]float32) [][]float32 { v[0] = make([]float32, 1<<17); v[0][0] = 1; return v },
		"too few":      func(v [][]float32) [][]float32 { return v[:2] },
		"too many":     func(v [][]float32) [][]float32 { return append(v, v[0]) },
		"none":         func(v [][]float32) [][]float32 { return nil },
		"dimensions":   func(v [][]float32) [][]float32 { v[2] = v[2][:31]; return v },
	} {
		s := &server{spoil: spoil}
		m := &embed.Model{Server: s, Name: "m", Cache: openCache(t, t.TempDir())}
		if v, err := m.Embed(t.Context(), numbered(3)); !errors.Is(err, model.ErrGarbled) || v != nil {
			t.Errorf("%s: error %v", name, err)
		}
		s.spoil = nil
		if _, err := m.Embed(t.Context(), numbered(3)); err != nil || len(s.sent()) != 3 {
			t.Errorf("%s: something of it was kept, error %v", name, err)
		}
	}
}

func TestAServerThatChangesItsDimensionIsRefused(t *testing.T) {
	s := &server{}
	m := &embed.Model{Server: s, Name: "m", Digest: "1"}
	if _, err := m.Embed(t.Context(), numbered(3)); err != nil {
		t.Fatal(err)
	}
	s.dim = 16
	if _, err := m.Embed(t.Context(), numbered(6)); !errors.Is(err, model.ErrGarbled) {
		t.Errorf("error %v", err)
	}
}

func TestVectorsOfOtherWeightsAreNotMixed(t *testing.T) {
	dir := t.TempDir()
	embedAll := func(dim, n int) ([][]float32, int, error) {
		s := &server{dim: dim}
		m := &embed.Model{Server: s, Name: "m", Cache: openCache(t, dir)}
		v, err := m.Embed(t.Context(), numbered(n))
		return v, len(s.sent()), err
	}
	if _, sent, err := embedAll(8, 10); sent != 10 || err != nil {
		t.Fatalf("%d texts sent, error %v", sent, err)
	}
	for _, test := range []struct{ dim, n, sent int }{
		{4, 15, 15}, // the weights changed: cached vectors do not fit
		{4, 15, 0},
		{8, 16, 16}, // and changed back
	} {
		v, sent, err := embedAll(test.dim, test.n)
		if err != nil || sent != test.sent || len(v[0]) != test.dim {
			t.Errorf("%+v: %d texts sent, error %v", test, sent, err)
		}
	}
}

func TestAMixedCacheIsEmbeddedAnew(t *testing.T) {
	dir := t.TempDir()
	for dim, texts := range map[int][]string{8: numbered(10)[:5], 4: numbered(10)[5:]} {
		m := &embed.Model{Server: &server{dim: dim}, Name: "m", Cache: openCache(t, dir)}
		if _, err := m.Embed(t.Context(), texts); err != nil {
			t.Fatal(err)
		}
	}
	m := &embed.Model{Server: &server{dim: 4}, Name: "m", Cache: openCache(t, dir)}
	v, err := m.Embed(t.Context(), numbered(10))
	if err != nil || len(v[0]) != 4 {
		t.Errorf("error %v", err)
	}
}

func TestAnEmptyTextIsSentAsASpace(t *testing.T) {
	s := &server{}
	m := &embed.Model{Server: s, Name: "m"}
	if _, err := m.Embed(t.Context(), []string{""}); err != nil || !slices.Equal(s.sent(), []string{" "}) {
		t.Errorf("error %v", err)
	}
}

func TestModelReportsMissingFields(t *testing.T) {
	for _, m := range []*embed.Model{{Name: "m"}, {Server: &server{}}} {
		if _, err := m.Embed(t.Context(), []string{"x"}); err == nil || !strings.Contains(err.Error(), "needs Server and Name") {
			t.Errorf("error %v", err)
		}
	}
}

func TestPrefixesFor(t *testing.T) {
	for name, want := range map[string][2]string{
		"nomic-embed-text":                        {"search_query: ", "search_document: "},
		"nomic-embed-text:v1.5":                   {"search_query: ", "search_document: "},
		"hf.co/nomic-ai/Nomic-Embed-Text-GGUF":    {"search_query: ", "search_document: "},
		"all-minilm:latest":                       {"", ""},
		"real-minilm":                             {"", ""},
		"mxbai-embed-large":                       {"Represent this sentence for searching relevant passages: ", ""},
		"snowflake-arctic-embed:335m":             {"Represent this sentence for searching relevant passages: ", ""},
		"snowflake-arctic-embed2":                 {"query: ", ""},
		"bge-m3":                                  {"", ""},
		"bge-large":                               {"Represent this sentence for searching relevant passages: ", ""},
		"intfloat/multilingual-e5-large":          {"query: ", "passage: "},
		"embeddinggemma:300m":                     {"task: search result | query: ", "title: none | text: "},
		"qwen3-embedding:0.6b":                    {"Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: ", ""},
		"something-else":                          {"", ""},
		"intfloat/multilingual-e5-large-instruct": {"Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: ", ""},
	} {
		if query, document := embed.PrefixesFor(name); [2]string{query, document} != want {
			t.Errorf("%s: %q, %q", name, query, document)
		}
	}
}
