package engine_test

import (
	"slices"
	"testing"
	"time"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/engine"
	"github.com/tiercompact/tiercompact/internal/model"
	"github.com/tiercompact/tiercompact/internal/ollama"
	"github.com/tiercompact/tiercompact/internal/ollamatest"
)

// What doctor tries is on the server afterwards as it was before, by /api/ps:
// with the window that somebody loaded it with, or not loaded.
func TestRealTrialLeavesTheServerAsItWas(t *testing.T) {
	c, err := ollama.New(ollamatest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	c.Threads = ollamatest.Threads
	running := func() []ollama.Running {
		t.Helper()
		all, err := c.Running(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(all, func(a, b ollama.Running) int { return len(a.Name) - len(b.Name) })
		return all
	}
	models := []string{ollamatest.Tiny, ollamatest.TinyEmbedder}
	for _, name := range []string{ollamatest.Tiny, ollamatest.TinyEmbedder, ollamatest.Chat, ollamatest.Embedder} {
		if err := c.Unload(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	until(t, func() bool { return len(running()) == 0 })
	diagnose := func() engine.Diagnosis {
		t.Helper()
		d, err := engine.Diagnose(t.Context(), engine.Options{
			URL: ollamatest.URL(t), Embedder: ollamatest.TinyEmbedder, Summarizer: ollamatest.Tiny, Threads: ollamatest.Threads, Wait: far, Try: far,
		}, engine.Patient{Model: ollamatest.Tiny})
		if err != nil || d.Summary == nil || d.Summary.Error != "" || d.Embed == nil || d.Embed.Error != "" {
			t.Fatalf("%+v, %v", d, err)
		}
		return d
	}
	if d := diagnose(); d.Window.Source != "default of the server" || d.Window.Tokens == 0 {
		t.Errorf("the default window, which was asked: %+v", d.Window)
	}
	until(t, func() bool { return len(running()) == 0 })

	if _, err := c.Chat(t.Context(), model.Request{Model: ollamatest.Tiny, Window: 1024, Messages: []chat.Message{chat.NewText(chat.User, "hello")}, MaxTokens: 1}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Embed(t.Context(), ollamatest.TinyEmbedder, []string{"a"}); err != nil {
		t.Fatal(err)
	}
	before := running()
	if d := diagnose(); d.Window.Tokens != 1024 {
		t.Errorf("the window that is loaded: %+v", d.Window)
	}
	if after := running(); len(before) != len(models) || !slices.Equal(before, after) {
		t.Errorf("before %+v, after %+v", before, after)
	}
}

// far is more time than anything takes, on whatever machine.
const far = 5 * time.Minute

func until(t *testing.T, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(far); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not come")
		}
	}
}
