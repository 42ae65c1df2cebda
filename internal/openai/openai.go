// Package openai asks a server that speaks OpenAI's protocol.
package openai

import (
	"context"
	"errors"

	"github.com/tiercompact/tiercompact/model"
	"github.com/tiercompact/tiercompact/tokens"
)

// A Client asks one server. It is safe for concurrent use.
type Client struct{ url, key string }

var errTodo = errors.New("not there yet")

func New(url, key string) (*Client, error)                     { return &Client{url, key}, nil }
func (c *Client) URL() string                                  { return c.url }
func (c *Client) Models(ctx context.Context) ([]string, error) { return nil, errTodo }
func (c *Client) Window(ctx context.Context, name string) (tokens.Known, error) {
	return tokens.Known{}, errTodo
}
func (c *Client) Embed(ctx context.Context, model string, texts []string) ([][]float32, error) {
	return nil, errTodo
}
func (c *Client) Chat(ctx context.Context, r model.Request, each func(model.Delta) error) (model.Answer, error) {
	return model.Answer{}, errTodo
}
