package cli

import (
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/internal/fault"
	"github.com/tiercompact/tiercompact/internal/ollama"
)

func TestTheWindowOfAChatIsAskedOrAssumedAloud(t *testing.T) {
	t.Setenv("OLLAMA_CONTEXT_LENGTH", "")
	server := fault.Fake(t)
	server.NumCtx = 32_768
	broken := fault.New(t, server.URL)
	broken.At("/api/chat", fault.Status(500))
	for _, c := range []struct {
		name, url string
		set, want int
		source    string
		warning   string // "" for none
	}{
		{"a server that does not load the model", broken.URL, 0, 4096, "assumed", "OLLAMA_CONTEXT_LENGTH"},
		{"set", broken.URL, 2048, 2048, "set by the user", ""},
		{"asked", server.URL, 0, 32_768, "default of the server", ""},
		{"loaded", server.URL, 0, 32_768, "loaded on the server", ""},
	} {
		client, err := ollama.New(c.url)
		if err != nil {
			t.Fatal(err)
		}
		m, err := ollamaChat{client, c.set}.findModel(t.Context(), "llama3.2:3b")
		if err != nil || m.Window != c.want || !strings.HasPrefix(m.Source, c.source) || (m.Warning == "") != (c.warning == "") || !strings.Contains(m.Warning, c.warning) {
			t.Errorf("%s: %+v, %v; want %d (%s), warning %q", c.name, m, err, c.want, c.source, c.warning)
		}
	}
}
