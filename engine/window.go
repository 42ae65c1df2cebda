package engine

import (
	"context"

	"github.com/tiercompact/tiercompact/internal/ollama"
	"github.com/tiercompact/tiercompact/tokens"
)

// Once returns a context for several calls in a row, which then ask Ollama for each
// model once.
func Once(ctx context.Context) context.Context { return ollama.Once(ctx) }

// SameModel reports whether two names mean the same model on Ollama: x is x:latest.
func SameModel(a, b string) bool { return ollama.SameModel(a, b) }

// Window returns the window of a model as Ollama runs it, given the user's number of tokens,
// 0 for none. Its error reports a missing server or model.
func Window(ctx context.Context, o Options, model string, user int) (tokens.Window, error) {
	c, o, err := o.ollamaClient()
	if err != nil {
		return tokens.Window{}, err
	}
	known := within(ctx, o.Wait, func(ctx context.Context) (tokens.Known, error) { return c.Window(ctx, model) })
	if known.err != nil {
		return tokens.Window{}, known.err
	}
	known.value.User = user
	return tokens.Discover(known.value), nil
}

// Tokenizer returns the exact token counter of a model on Ollama, for
// [tiercompact.Config.Count]. The server sends the whole vocabulary, 10 MB or more; the
// model is not loaded.
func Tokenizer(ctx context.Context, o Options, model string) (func(string) int, error) {
	c, _, err := o.ollamaClient()
	if err != nil {
		return nil, err
	}
	return c.Tokenizer(ctx, model)
}

func (o Options) ollamaClient() (*ollama.Client, Options, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, o, err
	}
	c, err := ollama.New(o.URL)
	if err != nil {
		return nil, o, err
	}
	c.Threads = o.Threads
	return c, o, nil
}
