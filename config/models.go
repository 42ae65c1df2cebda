package config

import (
	"cmp"
	"context"
	"os"
	"path/filepath"

	"github.com/tiercompact/tiercompact/engine"
)

// DefaultWindow is the window if neither settings nor a server have it.
const DefaultWindow = 8192

// SessionModel, as the summarizer of Engine, is the session's own model.
const SessionModel = "session"

// EngineOptions returns the models to look for. The bearer token of servers comes from
// [KeyVariable]. The error is an [Error].
func (c Config) EngineOptions() (engine.Options, error) {
	o := c.Engine
	o.Key = os.Getenv(KeyVariable)
	switch base, err := os.UserCacheDir(); {
	case o.Cache == CacheNone:
		o.Cache = ""
	case o.Cache == CacheAuto && err == nil:
		o.Cache, o.CacheIfPossible = filepath.Join(base, "tiercompact", "vectors"), true
	case o.Cache == CacheAuto:
		o.Cache = ""
	}
	if o.Summarizer == SessionModel {
		if c.Model == "" {
			return o, &Error{Path: "summary.model", Want: "the name of a model", Value: SessionModel, Remedy: "that is the session's model; set model too"}
		}
		o.Summarizer, o.SummaryWindow = c.Model, c.Window
	}
	if o.SummaryURL == "" && engine.SameModel(c.Model, cmp.Or(o.Summarizer, engine.DefaultSummarizer)) {
		o.SummaryWindow = c.Window // another one would load the model again, twice for each summary
	}
	if o.Shared == nil {
		o.Shared = func(model string) int {
			if engine.SameModel(c.Model, model) {
				return c.Window
			}
			return 0
		}
	}
	return o, nil
}

// A Window has the source of a window.
type Window struct {
	Source  string // "" if it was set, or is DefaultWindow
	Warning string // "": none
	Unsure  string // how to find the real window; "": it is known
}

// Measure sets the window to that of the model on Ollama if none is set, and warns if it
// is set to more; without a model or a server it is DefaultWindow. With ExactTokens, tokens
// are counted with the model's tokenizer.
func (c *Config) Measure(ctx context.Context) (err error) {
	ask := c.Model != "" && c.Engine.Kind != engine.BuiltIn
	o := engine.Options{Kind: c.Engine.Kind, URL: c.Engine.URL}
	if c.ExactTokens && !ask {
		return &Error{Path: "exact_tokens", Want: "false", Value: "true", Remedy: "it takes the tokenizer from Ollama; set model, and another engine than built-in"}
	}
	if c.ExactTokens { // first, because the answer serves for the window too
		if c.Count, err = engine.Tokenizer(ctx, o, c.Model); err != nil {
			return err
		}
	}
	c.Measured = new(Window)
	if ask {
		known, failed := engine.Window(ctx, o, c.Model, c.Window)
		if failed != nil && c.ExactTokens {
			return failed
		}
		if failed == nil && known.Tokens > 0 { // otherwise the model may be on another server
			*c.Measured = Window{known.Source, known.Warning, known.Unsure}
			c.Window = known.Tokens
		}
	}
	c.Window = cmp.Or(c.Window, DefaultWindow)
	return nil
}
