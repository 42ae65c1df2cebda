package embed_test

import (
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/embed"
	"github.com/tiercompact/tiercompact/internal/embedtest"
	"github.com/tiercompact/tiercompact/internal/ollama"
	"github.com/tiercompact/tiercompact/internal/ollamatest"
)

// realModel returns the real embedding model behind a counter.
func realModel(t *testing.T, dir string) (*embed.Model, *ollamatest.Counter) {
	t.Helper()
	counter := ollamatest.Count(t, ollamatest.URL(t))
	client, err := ollama.New(counter.URL)
	if err != nil {
		t.Fatal(err)
	}
	client.Threads = ollamatest.Threads
	return &embed.Model{Server: client, Name: ollamatest.Embedder, Window: 512, Cache: openCache(t, dir)}, counter
}

func TestRealModelKeepsThePromisesOfAnEmbedder(t *testing.T) {
	m, _ := realModel(t, t.TempDir())
	if err := embedtest.Check(t.Context(), m); err != nil {
		t.Error(err)
	}
}

func TestRealModelFindsSimilarMeanings(t *testing.T) {
	m, _ := realModel(t, t.TempDir())
	filler := strings.Repeat("margin: 0 auto; padding: 4px; color: #333;\n", 60)
	chunks, err := m.EmbedChunks(t.Context(), []string{
		"body { background: white; font-size: 12px }",
		"expect(page.signIn('wrong')).toThrow('invalid credentials') // auth spec is red",
		filler + "the login spec fails: expected 401, got 500\n" + filler,
		"docker compose up -d",
	})
	if err != nil {
		t.Fatal(err)
	}
	query, err := m.EmbedQuery(t.Context(), "failing login test")
	if err != nil {
		t.Fatal(err)
	}
	var best []float64
	for _, c := range chunks {
		top := -1.0
		for _, s := range embed.Cosine(query, c) {
			top = max(top, s)
		}
		best = append(best, top)
	}
	if len(chunks[2]) < 3 || min(best[1], best[2]) < max(best[0], best[3])+0.1 {
		t.Errorf("scores %.2f, the long text has %d chunks", best, len(chunks[2]))
	}
}

// A text for which no estimate is safe is halved when the server rejects it.
func TestRealModelTakesTextOfAnyKind(t *testing.T) {
	m, counter := realModel(t, t.TempDir())
	texts := []string{
		strings.Repeat("QZXKVJWQ", 90), strings.Repeat("日本語のテキスト。", 70), strings.Repeat("\x00\xff", 300), strings.Repeat("-=+*#", 120),
		strings.Repeat("9f8e7d6c5b4a", 70), strings.Repeat("🎉🔥 ", 100), strings.Repeat(`{"a":[1,2,{"b":"c\\n"}]},`, 30),
	}
	chunks, err := m.EmbedChunks(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range chunks {
		if len(c) == 0 {
			t.Errorf("text %d has no vector", i)
		}
	}
	if counter.Refusals() == 0 {
		t.Error("nothing was refused: the test needs worse text")
	}
}

func TestRealSessionReplayedTwiceEmbedsNothingTheSecondTime(t *testing.T) {
	dir := t.TempDir()
	for i := range 2 {
		m, counter := realModel(t, dir)
		rankings := replay(t, m, 1500, dialogue(20))
		if n := counter.Texts(); rankings < 2 || i == 0 && n < 40 || i == 1 && n > 0 {
			t.Errorf("replay %d: %d rankings, %d texts embedded", i, rankings, n)
		}
		if i == 0 {
			t.Logf("%d texts, %d refusals", counter.Texts(), counter.Refusals())
		}
	}
}
