// Package ollama asks an Ollama server: to chat, to embed, and what it knows of
// its models. It is the one place that talks to github.com/ollama/ollama.
//
// Its errors unwrap to those of package model, and say after a semicolon what
// to do. No call has a time limit of its own: give it a context that has one.
package ollama

import (
	"context"
	"errors"

	"github.com/tiercompact/tiercompact/model"
	"github.com/tiercompact/tiercompact/tokens"
)

// A Client asks one server. It is safe for concurrent use.
type Client struct{ url string }

var errTodo = errors.New("not there yet")

func New(url string) (*Client, error)                         { return &Client{url}, nil }
func (c *Client) URL() string                                 { return c.url }
func (c *Client) Version(ctx context.Context) (string, error) { return "", errTodo }
func (c *Client) Models(ctx context.Context) ([]Model, error) { return nil, errTodo }
func (c *Client) Has(ctx context.Context, name string) (string, bool, error) {
	return "", false, errTodo
}
func (c *Client) Show(ctx context.Context, name string) (Info, error) { return Info{}, errTodo }
func (c *Client) Loaded(ctx context.Context, name string) (int, bool, error) {
	return 0, false, errTodo
}
func (c *Client) Window(ctx context.Context, name string) (tokens.Known, error) {
	return tokens.Known{}, errTodo
}
func (c *Client) Unload(ctx context.Context, name string) error { return errTodo }
func (c *Client) Tokenizer(ctx context.Context, name string) (func(string) int, error) {
	return nil, errTodo
}
func (c *Client) Embed(ctx context.Context, model string, texts []string) ([][]float32, error) {
	return nil, errTodo
}
func (c *Client) Chat(ctx context.Context, r model.Request, each func(model.Delta) error) (model.Answer, error) {
	return model.Answer{}, errTodo
}
func (c *Client) Pull(ctx context.Context, name string, each func(Progress) error) error {
	return errTodo
}

// A Model is one that the server has.
type Model struct {
	Name       string // in full, with its tag
	Family     string
	Parameters string // how many, for people: 3.2B
	Bytes      int64  // on disk
	Digest     string // of the weights
}

// Info is what a server tells of a model.
type Info struct {
	Capabilities  []string
	Family        string
	TrainedWindow int // tokens; 0: not told
	NumCtx        int // of its own parameters; 0: not set
}

func (i Info) CanChat() bool      { return false }
func (i Info) CanEmbed() bool     { return false }
func (i Info) CanCallTools() bool { return false }
func (i Info) CanThink() bool     { return false }

// Progress says how far a pull is.
type Progress struct {
	Status   string
	Done, Of int64 // bytes of what Status names; 0: not known
}
