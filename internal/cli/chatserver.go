package cli

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/tiercompact/tiercompact/config"
	"github.com/tiercompact/tiercompact/internal/ollama"
	"github.com/tiercompact/tiercompact/internal/openai"
	"github.com/tiercompact/tiercompact/internal/tui"
	"github.com/tiercompact/tiercompact/tokens"
)

// A chatServer has models to chat with.
type chatServer interface {
	tui.Chatter
	// findModel returns a model with the window that it will have.
	findModel(ctx context.Context, name string) (tui.Model, error)
	modelNames(ctx context.Context) ([]string, error)
	URL() string
}

// selectServer returns the server that the flags select.
func (o *chatOptions) selectServer() (chatServer, error) {
	if o.openaiURL != "" {
		c, err := openai.New(o.openaiURL, os.Getenv(config.KeyVariable))
		return openaiChat{c, o.window}, err
	}
	c, err := ollama.New(o.settings.Config.Engine.URL)
	if err != nil {
		return nil, err
	}
	c.Threads = o.settings.Config.Engine.Threads
	return ollamaChat{c, o.window}, nil
}

type ollamaChat struct {
	*ollama.Client
	window int // set by the user; 0: not set
}

// loadWithin limits the time for loading a model before a chat. The server reports
// the window of a loaded model.
const loadWithin = 2 * time.Minute

func (c ollamaChat) findModel(ctx context.Context, name string) (tui.Model, error) {
	had, ok, err := c.Has(ctx, name)
	if err != nil {
		return tui.Model{}, err
	}
	if !ok {
		return tui.Model{}, fmt.Errorf("the server has no model %s; pull it: ollama pull %s", name, name)
	}
	full := had.Name
	info, err := c.Show(ctx, full)
	if err != nil {
		return tui.Model{}, err
	}
	if !info.CanChat() {
		return tui.Model{}, fmt.Errorf("model %s cannot chat; choose another", full)
	}
	running, err := c.Running(ctx)
	if err != nil {
		return tui.Model{}, err
	}
	k := c.WindowOf(full, info, running)
	m := knownModel(full, k, c.window)
	if m.Unsure {
		m, err = c.asked(ctx, full, k)
	}
	m.NoTools = !info.CanCallTools()
	return m, err
}

// asked loads a model, which the chat needs in any case, to see which window the
// server gives it by default. If the server does not load it in time, or does not
// report the window, the assumed window stays.
func (c ollamaChat) asked(ctx context.Context, name string, k tokens.Known) (tui.Model, error) {
	short, stop := context.WithTimeout(ctx, loadWithin)
	defer stop()
	k.ServerDefault, _ = c.DefaultWindow(short, name) // the first question reports why
	return knownModel(name, k, c.window), ctx.Err()
}

func (c ollamaChat) modelNames(ctx context.Context) ([]string, error) {
	models, err := c.Models(ctx)
	names := make([]string, len(models))
	for i, m := range models {
		names[i] = m.Name
	}
	return names, err
}

type openaiChat struct {
	*openai.Client
	window int
}

func (c openaiChat) findModel(ctx context.Context, name string) (tui.Model, error) {
	k, err := c.Window(ctx, name)
	if err != nil {
		return tui.Model{}, err
	}
	return knownModel(name, k, c.window), nil
}

func (c openaiChat) modelNames(ctx context.Context) ([]string, error) { return c.Models(ctx) }

// knownModel returns a model with its window, derived from k.
func knownModel(name string, k tokens.Known, user int) tui.Model {
	k.User = user
	w := tokens.Discover(k)
	m := tui.Model{Name: name, Window: w.Tokens, Source: w.Source, Warning: w.Warning, Unsure: w.Unsure != ""}
	if m.Unsure {
		m.Warning = fmt.Sprintf("the window of %d tokens is only %s; to make sure, %s", w.Tokens, w.Source, w.Unsure)
	}
	return m
}
