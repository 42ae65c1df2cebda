package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/engine"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/trace"
)

func TestOneCallFindsTheModels(t *testing.T) {
	for name, c := range map[string]struct {
		url              func(t *testing.T) string
		ranking, summary string
		why              []string
	}{
		"all":             {with(nomic, llama), "ollama/nomic-embed-text", "ollama/llama3.2:3b", []string{"and has it"}},
		"embeddings only": {with(nomic), "ollama/nomic-embed-text", engine.Extractive, []string{"and has it", "llama3.2:3b is not on the server", "for the model: ollama pull llama3.2:3b"}},
		"chat only":       {with(llama), engine.Lexical, "ollama/llama3.2:3b", []string{"and has it", "for the model: ollama pull nomic-embed-text"}},
		"no server":       {nobody, engine.Lexical, engine.Extractive, []string{"no Ollama answers", "ollama serve"}},
		"silent server":   {silent, engine.Lexical, engine.Extractive, []string{"in time"}},
		"another server":  {other, engine.Lexical, engine.Extractive, []string{"is not Ollama"}},
		"no address":      {func(*testing.T) string { return "http://user:pass word@:::" }, engine.Lexical, engine.Extractive, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("OLLAMA_HOST", c.url(t))
			cfg := tiercompact.Config{Window: 4096}
			found := engine.Find(t.Context(), &cfg)
			if found.Ranking.Engine != c.ranking || found.Summary.Engine != c.summary || found.Ranking.Why == "" || found.Summary.Why == "" {
				t.Errorf("found %+v and %+v", found.Ranking, found.Summary)
			}
			for _, why := range c.why {
				if !strings.Contains(found.String(), why) {
					t.Errorf("it says\n%s\nwithout %q", found, why)
				}
			}
			checkTold(t, cfg, found)
		})
	}
}

// checkTold compacts by both levels, and checks that report and events say what
// was chosen, and why.
func checkTold(t *testing.T, cfg tiercompact.Config, found *engine.Engine) {
	t.Helper()
	told := make(map[string]trace.LevelApplied)
	cfg.Trace = func(e trace.Event) {
		if d, ok := e.Data.(trace.LevelApplied); ok {
			told[d.Level] = d
		}
	}
	c, err := tiercompact.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for level, choice := range map[levels.Name]engine.Choice{levels.HardName: found.Ranking, levels.Emergency: found.Summary} {
		s := c.Session(string(level))
		for range 20 {
			s.Load([]chat.Message{chat.NewText(chat.User, "what of the harbour and its ships in the storm?"), chat.NewText(chat.Assistant, strings.Repeat("the ships of the harbour are as they were before the storm. ", 8))})
		}
		report, err := s.CompactLevel(t.Context(), level)
		if err != nil || !report.Compacted() {
			t.Fatalf("%s: %+v, %v", level, report, err)
		}
		if a := report.Applied[0]; a.Engine != choice.Engine || a.Why != choice.Why {
			t.Errorf("%s: the report says %q, %q; chosen was %q, %q", level, a.Engine, a.Why, choice.Engine, choice.Why)
		}
		if d := told[string(level)]; d.Engine != choice.Engine || d.Why != choice.Why {
			t.Errorf("%s: the event says %q, %q; chosen was %q, %q", level, d.Engine, d.Why, choice.Engine, choice.Why)
		}
	}
}

func TestOneCallLeavesAloneWhatIsSet(t *testing.T) {
	t.Setenv("OLLAMA_HOST", with(nomic, llama)(t))
	cfg := tiercompact.Config{Window: 4096, Embed: tiercompact.EmbedConfig{Embedder: mine{}, Name: "mine"}}
	found := engine.Find(t.Context(), &cfg)
	if cfg.Embed.Embedder != (mine{}) || cfg.Embed.Name != "mine" || found.Ranking.Engine != "mine" || found.Ranking.Why != "set by the program" {
		t.Errorf("the embedder is %v, %q, found %+v", cfg.Embed.Embedder, cfg.Embed.Name, found.Ranking)
	}
	if cfg.Summary.Summarizer == nil || found.Summary.Engine != "ollama/llama3.2:3b" {
		t.Errorf("the summarizer is %v, found %+v", cfg.Summary.Summarizer, found.Summary)
	}
}

type mine struct{}

func (mine) Embed(context.Context, []string) ([][]float32, error) { return nil, nil }

func TestOneCallWithAContextThatHasEnded(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	var cfg tiercompact.Config
	found := engine.Find(ctx, &cfg)
	if cfg.Embed.Embedder != nil || cfg.Summary.Summarizer != nil || !strings.Contains(found.String(), "no server was asked: context canceled") {
		t.Errorf("found\n%s", found)
	}
}

func ExampleFind() {
	cfg := tiercompact.Config{Window: 8192}
	found := engine.Find(context.Background(), &cfg)
	compactor, err := tiercompact.New(cfg)
	if err != nil {
		panic(err)
	}
	fmt.Println(found)
	_ = compactor.Session("demo")
}
