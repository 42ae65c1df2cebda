package engine

import (
	"context"
	"time"

	"github.com/tiercompact/tiercompact/internal/ollama"
	"github.com/tiercompact/tiercompact/tokens"
)

// A lookup sends each request to an Ollama server once, however often the result is needed,
// with a time limit for each. It is for one goroutine.
type lookup struct {
	*ollama.Client
	wait    time.Duration
	version *answer[string]
	models  *answer[[]ollama.Model]
	running *answer[[]ollama.Running]
	infos   map[string]*answer[ollama.Info]
}

func newLookup(c *ollama.Client, wait time.Duration) *lookup {
	return &lookup{Client: c, wait: wait, infos: make(map[string]*answer[ollama.Info])}
}

// An answer is the result of a request.
type answer[T any] struct {
	value T
	err   error
}

// within runs a request with a time limit.
func within[T any](ctx context.Context, wait time.Duration, request func(context.Context) (T, error)) *answer[T] {
	ctx, stop := context.WithTimeout(ctx, wait)
	defer stop()
	value, err := request(ctx)
	return &answer[T]{value, err}
}

// answers returns an error if the server does not answer like Ollama.
func (l *lookup) answers(ctx context.Context) (version string, err error) {
	if l.version == nil {
		l.version = within(ctx, l.wait, l.Version)
	}
	return l.version.value, l.version.err
}

// have returns the models on the server.
func (l *lookup) have(ctx context.Context) ([]ollama.Model, error) {
	if l.models == nil {
		l.models = within(ctx, l.wait, l.Models)
	}
	return l.models.value, l.models.err
}

// info returns the server's description of a model, by its full name.
func (l *lookup) info(ctx context.Context, name string) (ollama.Info, error) {
	a := l.infos[name]
	if a == nil {
		a = within(ctx, l.wait, func(ctx context.Context) (ollama.Info, error) { return l.Show(ctx, name) })
		l.infos[name] = a
	}
	return a.value, a.err
}

// window returns the window of a model on the server, by its full name, from the first
// request for it.
func (l *lookup) window(ctx context.Context, name string) (tokens.Known, error) {
	info, err := l.info(ctx, name)
	if err != nil {
		return tokens.Known{}, err
	}
	if l.running == nil {
		l.running = within(ctx, l.wait, l.Running)
	}
	return l.WindowOf(name, info, l.running.value), l.running.err
}
