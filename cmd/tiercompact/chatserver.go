package main

import (
	"context"
	"fmt"
	"os"

	"github.com/tiercompact/tiercompact/config"
	"github.com/tiercompact/tiercompact/internal/ollama"
	"github.com/tiercompact/tiercompact/internal/openai"
	"github.com/tiercompact/tiercompact/internal/tui"
	"github.com/tiercompact/tiercompact/tokens"
)

// A chatServer has models to chat with.
type chatServer interface {
	tui.Chatter
	// find returns what is known of a model, with the window that it will have.
	find(ctx context.Context, name string) (tui.Model, error)
	names(ctx context.Context) ([]string, error)
	URL() string
}

// server returns the one that the flags name.
func (o *chatOptions) server() (chatServer, error) {
	if o.openaiURL != "" {
		c, err := openai.New(o.openaiURL, os.Getenv(config.KeyVariable))
		return openaiChat{c, o.window}, err
	}
	c, err := ollama.New(o.settings.Config.OllamaURL)
	if err != nil {
		return nil, err
	}
	c.Threads = o.settings.Config.NumThread
	return ollamaChat{c, o.window}, nil
}

type ollamaChat struct {
	*ollama.Client
	window int // that the user set; 0: none
}

func (c ollamaChat) find(ctx context.Context, name string) (tui.Model, error) {
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
	k, err := c.Window(ctx, full)
	if err != nil {
		return tui.Model{}, err
	}
	m := known(full, k, c.window)
	m.NoTools = !info.CanCallTools()
	return m, nil
}

func (c ollamaChat) names(ctx context.Context) ([]string, error) {
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

func (c openaiChat) find(ctx context.Context, name string) (tui.Model, error) {
	k, err := c.Window(ctx, name)
	if err != nil {
		return tui.Model{}, err
	}
	return known(name, k, c.window), nil
}

func (c openaiChat) names(ctx context.Context) ([]string, error) { return c.Models(ctx) }

// known returns a model with the window that follows from what is known.
func known(name string, k tokens.Known, user int) tui.Model {
	k.User = user
	w := tokens.Discover(k)
	return tui.Model{Name: name, Window: w.Tokens, Source: w.Source, Warning: w.Warning}
}
