package config

import (
	"cmp"
	"context"
	"os"
	"path/filepath"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/engine"
)

// DefaultWindow is the window if neither settings nor a server have it.
const DefaultWindow = 8192

// SessionModel, as [Summary.Model], is the session's own model.
const SessionModel = "session"

// EngineOptions returns the models to look for. The bearer token of servers comes from
// [KeyVariable]. The error is an [Error].
func (c Config) EngineOptions() (engine.Options, error) {
	o := engine.Options{
		Kind: engine.Kind(c.Engine), URL: c.OllamaURL, Threads: c.NumThread, Embedder: c.Embed.Model, Summarizer: c.Summary.Model,
		EmbedURL: c.Embed.URL, SummaryURL: c.Summary.URL, Key: os.Getenv(KeyVariable), Cache: c.Embed.Cache, Seed: c.Seed,
	}
	switch base, err := os.UserCacheDir(); {
	case c.Embed.Cache == CacheNone:
		o.Cache = ""
	case c.Embed.Cache == CacheAuto && err == nil:
		o.Cache, o.CacheIfPossible = filepath.Join(base, "tiercompact", "vectors"), true
	case c.Embed.Cache == CacheAuto:
		o.Cache = ""
	}
	if c.Summary.Model == SessionModel {
		if c.Model == "" {
			return o, &Error{Path: "summary.model", Want: "the name of a model", Value: SessionModel, Remedy: "that is the session's model; set model too"}
		}
		o.Summarizer, o.SummaryWindow = c.Model, max(0, c.Window)
	}
	if o.SummaryURL == "" && engine.SameModel(c.Model, cmp.Or(o.Summarizer, engine.DefaultSummarizer)) {
		o.SummaryWindow = max(0, c.Window) // another one would load the model again, twice for each summary
	}
	return o, nil
}

// A Window has the source of a window.
type Window struct {
	Source  string // "" if it was set, or is DefaultWindow
	Warning string // "": none
	Unsure  string // how to find the real window; "": it is known
}

// Measure sets cfg's window to that of its model on Ollama if none is set, and warns if it
// is set to more; without a model or a server it is DefaultWindow. With ExactTokens, cfg
// counts with the model's tokenizer.
func (c Config) Measure(ctx context.Context, cfg *tiercompact.Config) (w Window, err error) {
	ask := cfg.Model != "" && c.Engine != string(engine.BuiltIn)
	o := engine.Options{Kind: engine.Kind(c.Engine), URL: c.OllamaURL}
	if c.ExactTokens && !ask {
		return w, &Error{Path: "exact_tokens", Want: "false", Value: "true", Remedy: "it takes the tokenizer from Ollama; set model, and another engine than built-in"}
	}
	if c.ExactTokens { // first, because the answer serves for the window too
		if cfg.Count, err = engine.Tokenizer(ctx, o, cfg.Model); err != nil {
			return w, err
		}
	}
	cfg.Window = max(0, cfg.Window)
	if ask {
		known, failed := engine.Window(ctx, o, cfg.Model, cfg.Window)
		if failed != nil && c.ExactTokens {
			return w, failed
		}
		if failed == nil && known.Tokens > 0 { // otherwise the model may be on another server
			w = Window{known.Source, known.Warning, known.Unsure}
			cfg.Window = known.Tokens
		}
	}
	cfg.Window = cmp.Or(cfg.Window, DefaultWindow)
	return w, nil
}
