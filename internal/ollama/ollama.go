// Package ollama is the client of an Ollama server: chats, embeddings, and
// information about its models. It is the only package that uses
// github.com/ollama/ollama. Its errors unwrap to those of package model, and give a
// remedy after a semicolon. No call has a time limit of its own: use a context with
// a deadline.
package ollama

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/ollama/ollama/api"

	"github.com/tiercompact/tiercompact/internal/model"
	"github.com/tiercompact/tiercompact/internal/remote"
)

const (
	defaultHost = "127.0.0.1"
	defaultPort = "11434"

	// keepAlive is longer than the pauses of a conversation: a reloaded model reads
	// the whole prompt again. The server's own default is 5 minutes.
	keepAlive = 30 * time.Minute
)

// A Client sends requests to one server. It is safe for concurrent use.
type Client struct {
	// Threads is the number of threads of a model (num_thread), the same for each
	// call, because the server reloads a model when it changes. 0: the server
	// chooses. It is set before the first use.
	Threads int

	base   *url.URL
	keep   *time.Duration // how long models stay loaded after a call; nil: unchanged
	window int            // window of all models, whatever a request says; 0: the request decides
}

// New returns a client for the server at an address: a URL, or host:port. "" means
// OLLAMA_HOST, as for Ollama's own tools, else http://127.0.0.1:11434. It sends no
// request.
func New(address string) (*Client, error) {
	from := ""
	if address == "" {
		address, from = strings.Trim(os.Getenv("OLLAMA_HOST"), "\"' \t"), "OLLAMA_HOST: "
	}
	base, err := remote.Address(cmp.Or(address, defaultHost), defaultPort)
	if err != nil {
		return nil, fmt.Errorf("find Ollama: %s%w", from, err)
	}
	keep := keepAlive
	return &Client{base: base, keep: &keep}, nil
}

// URL returns the server's address, without a password.
func (c *Client) URL() string { return c.base.Redacted() }

// isLocalServer reports whether the server is on this machine.
func (c *Client) isLocalServer() bool {
	host := c.base.Hostname()
	return host == "localhost" || host == "::1" || strings.HasPrefix(host, "127.")
}

// options are the server's options for each request with a model.
func (c *Client) options() map[string]any {
	o := make(map[string]any)
	if c.Threads > 0 {
		o["num_thread"] = c.Threads
	}
	if c.window > 0 {
		o["num_ctx"] = c.window
	}
	return o
}

// kept is how long a model stays loaded after a request; nil: unchanged.
func (c *Client) kept() *api.Duration {
	if c.keep == nil {
		return nil
	}
	return &api.Duration{Duration: *c.keep}
}

// makeCall makes one call; its errors name the action.
func (c *Client) makeCall(ctx context.Context, name, what string, call func(*api.Client) error) error {
	return c.callError(name, what, remote.Make(ctx, "", func(h *http.Client) error { return call(api.NewClient(c.base, h)) }))
}

// callError returns err with the action, the model ("" for none), and the remedy.
func (c *Client) callError(name, what string, err error) error {
	return remote.Explain(err, what, name, c.URL(), func(f *remote.Failure) string { return remedyFor(f, what, name) })
}

func remedyFor(f *remote.Failure, what, name string) string {
	switch {
	case f.Cause == remote.NoKey:
		return "put a user's name and password before the host in the address, or, for a model of ollama.com, run: ollama signin"
	case f.Cause == remote.WrongPath:
		return "check that this is Ollama's base address, the part before /api/version"
	case what == pulling && !errors.Is(f.Kind, model.ErrUnreachable):
		return "check its name at https://ollama.com/library, and the server's network"
	case errors.Is(f.Kind, model.ErrBroken):
		return "try again, and see the server's log: it was stopped, or what is between closed the connection"
	case errors.Is(f.Kind, model.ErrUnreachable):
		return "start it: ollama serve"
	case errors.Is(f.Kind, model.ErrNoModel):
		return "run: ollama pull " + name
	case errors.Is(f.Kind, model.ErrTooLong):
		return "send less, or raise num_ctx"
	case errors.Is(f.Kind, model.ErrCannot):
		return "use another model"
	case errors.Is(f.Kind, model.ErrGarbled):
		return "check that this is Ollama's address, and the server's log"
	case f.Status == http.StatusServiceUnavailable || f.Status == http.StatusTooManyRequests:
		return "it is busy: try again later, or raise OLLAMA_MAX_QUEUE"
	}
	return "see the server's log"
}
