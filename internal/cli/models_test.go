package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tiercompact/tiercompact/internal/fault"
	"github.com/tiercompact/tiercompact/internal/ollamatest"
)

// The session's model also writes the summaries.
func TestEachModelIsShownOnce(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("XDG_CACHE_HOME", dir)
	demo := filepath.Join(dir, "demo.jsonl")
	if err := os.WriteFile(demo, demoSession, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"compact", demo, "--model", "llama3.2:3b", "-o", filepath.Join(dir, "small.jsonl")},
		{"replay", demo, "--model", "llama3.2:3b"},
		{"chat", "llama3.2:3b", "--plain"},
	} {
		counter := ollamatest.Count(t, fault.Fake(t).URL)
		if _, stderr, err := runLine(t, append(args, "--engine", "auto", "--ollama-url", counter.URL)...); err != nil {
			t.Errorf("%v: %v\n%s", args, err, stderr)
		}
		if n := counter.Requests("/api/show"); n != 2 { // the other model is for vectors
			t.Errorf("%s: %d requests for 2 models", args[0], n)
		}
	}
}
