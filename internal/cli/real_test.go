package cli

import (
	"bytes"
	"encoding/json"
	"strconv"
	"testing"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/internal/ollamatest"
	"github.com/tiercompact/tiercompact/levels"
)

// A replay with a real server uses its models for hard and emergency, and reports
// for each summary whether it was accepted, or why not.
func TestRealReplayAsksTheModels(t *testing.T) {
	t.Setenv("OLLAMA_HOST", ollamatest.URL(t))
	embedder, chat := "ollama/"+ollamatest.Embedder, "ollama/"+ollamatest.Chat
	for _, test := range []struct {
		name   string
		level  levels.Name
		engine string
		flags  []string
	}{
		{"hard", levels.HardName, embedder, []string{"--level", "hard", "--window", "12000"}},
		{"by usage", levels.Emergency, chat, nil},
	} {
		level, engine := test.level, test.engine
		t.Run(test.name, func(t *testing.T) {
			asked := 0
			for _, a := range replayed(t, test.flags...) {
				t.Logf("%s by %s, fallback %q, %d lines removed, attempts %v", a.Level, a.Engine, a.Fallback, a.Removed, a.Attempts)
				if a.Level == level && (a.Engine == engine || len(a.Attempts) > 0 && a.Attempts[0].Engine == engine && a.Attempts[0].Reason != "") {
					asked++
				}
			}
			if asked == 0 {
				t.Errorf("%s was not asked", engine)
			}
		})
	}
}

// replayed replays the built-in session, and returns the applied levels.
func replayed(t *testing.T, flags ...string) []tiercompact.Applied {
	t.Helper()
	cmd := newRootCommand()
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetArgs(append([]string{"replay", "--json", "--no-embed-cache", "--num-thread", strconv.Itoa(ollamatest.Threads), "--rank-deadline", "0", "--summary-deadline", "0", "--round-deadline", "0", "--summary-max-tokens", "200",
		"--embed-model", ollamatest.Embedder, "--summary-model", ollamatest.Chat}, flags...))
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	var applied []tiercompact.Applied
	for line := range bytes.Lines(out.Bytes()) {
		var m struct{ Report tiercompact.Report }
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatal(err)
		}
		applied = append(applied, m.Report.Applied...)
	}
	return applied
}
