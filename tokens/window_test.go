package tokens_test

import (
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/tokens"
)

func TestDiscoverTakesTheFirstThatIsKnownUpToTheCeilings(t *testing.T) {
	all := tokens.Known{User: 6000, Loaded: 5000, Modelfile: 3000, ServerDefault: 4096, Trained: 8192}
	without := func(change func(*tokens.Known)) tokens.Known {
		k := all
		change(&k)
		return k
	}
	for _, c := range []struct {
		name    string
		known   tokens.Known
		tokens  int
		source  string
		warning string
	}{
		{"all", all, 6000, "set by the user", ""},
		{"not set", without(func(k *tokens.Known) { k.User = 0 }), 5000, "loaded on the server", ""},
		{"not loaded", without(func(k *tokens.Known) { k.User, k.Loaded = 0, 0 }), 3000, "num_ctx of the Modelfile", ""},
		{"no Modelfile", tokens.Known{ServerDefault: 4096, Trained: 131_072}, 4096, "default of the server", ""},
		{"assumed", tokens.Known{Assumed: 4096, Trained: 131_072}, 4096, "assumed, the model is not loaded", ""},
		{"asked, not assumed", tokens.Known{ServerDefault: 32_768, Assumed: 4096, Trained: 131_072}, 32_768, "default of the server", ""},
		{"trained for less than what is assumed", tokens.Known{Assumed: 4096, Trained: 512}, 512, "the model was trained for no more", ""},
		{"trained for less than the default", tokens.Known{ServerDefault: 4096, Trained: 512}, 512, "the model was trained for no more", ""},
		{"trained alone is no window", tokens.Known{Trained: 8192}, 0, "not known", "set it"},
		{"nothing", tokens.Known{}, 0, "not known", "set it"},
		{"negative", tokens.Known{User: -1, Loaded: -5, Served: -3, Trained: -2}, 0, "not known", "set it"},
		{"Modelfile above trained", tokens.Known{Modelfile: 8192, Trained: 2048}, 2048, "the model was trained for no more", ""},
		{"set above trained", tokens.Known{User: 20_000, Loaded: 8192, Trained: 8192}, 8192, "the model was trained for no more", "set at most 8192"},
		{"set above what is loaded: requests ask for it", tokens.Known{User: 8192, Loaded: 4096, ServerDefault: 4096, Trained: 131_072}, 8192, "set by the user", ""},
		{"fixed", tokens.Known{Served: 4096, Trained: 8192}, 4096, "fixed by the server", ""},
		{"set below what is fixed", tokens.Known{User: 2048, Served: 4096}, 2048, "set by the user", ""},
		{"set above what is fixed", tokens.Known{User: 8192, Served: 4096, Trained: 131_072}, 4096, "fixed by the server", "start the server with a larger context"},
		{"set above both", tokens.Known{User: 9000, Served: 4096, Trained: 2048}, 2048, "the model was trained for no more", "set at most 2048"},
	} {
		w := tokens.Discover(c.known)
		if w.Tokens != c.tokens || w.Source != c.source {
			t.Errorf("%s: %d tokens (%s), want %d (%s)", c.name, w.Tokens, w.Source, c.tokens, c.source)
		}
		if assumed := strings.HasPrefix(w.Source, "assumed"); assumed != strings.Contains(w.Unsure, "OLLAMA_CONTEXT_LENGTH") {
			t.Errorf("%s: (%s) how to make sure: %q", c.name, w.Source, w.Unsure)
		}
		_, remedy, _ := strings.Cut(w.Warning, "; ")
		if (w.Warning == "") != (c.warning == "") || !strings.Contains(remedy, c.warning) {
			t.Errorf("%s: warning %q, want remedy %q", c.name, w.Warning, c.warning)
		}
	}
}
