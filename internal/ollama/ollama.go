// Package ollama asks an Ollama server: to chat, to embed, and what it knows of
// its models. It is the one place that talks to github.com/ollama/ollama.
//
// Its errors unwrap to those of package model, and say after a semicolon what
// to do. No call has a time limit of its own: give it a context that has one.
package ollama

import (
	"cmp"
	"context"
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

	// keepAlive outlasts the pauses of a conversation: a model that is loaded
	// anew reads the whole prompt anew. The server's own default is 5 minutes.
	keepAlive = 30 * time.Minute
)

// A Client asks one server. It is safe for concurrent use.
type Client struct {
	// Threads is how many a model computes with (num_thread), the same for each
	// call: the server loads a model anew where it changes. 0: the server
	// chooses. It is set before the first use.
	Threads int

	base   *url.URL
	keep   *time.Duration // that models stay loaded after a call; nil: as they were
	window int            // that models have, whatever is asked for; 0: as it is asked for
}

// New returns a client for the server at an address: a URL, or host:port. ""
// is what OLLAMA_HOST says, as for Ollama's own tools, else
// http://127.0.0.1:11434. It asks nothing yet.
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

// options are those of the server for each request with a model.
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

// kept is for how long a model stays loaded after a request; nil: as it was.
func (c *Client) kept() *api.Duration {
	if c.keep == nil {
		return nil
	}
	return &api.Duration{Duration: *c.keep}
}

// makeCall makes one call, and says in its error what was to be done.
func (c *Client) makeCall(ctx context.Context, name, what string, call func(*api.Client) error) error {
	var side remote.Call
	return c.callError(name, what, side.Fault(ctx, call(c.clientVia(&side))))
}

func (c *Client) clientVia(side *remote.Call) *api.Client {
	return api.NewClient(c.base, side.Client())
}

// callError returns err with what was to be done with which model, "" for none,
// and what to do.
func (c *Client) callError(name, what string, err error) error {
	return remote.Explain(err, what, name, c.URL(), func(f *remote.Failure) string { return remedyFor(f, what, name) })
}

func remedyFor(f *remote.Failure, what, name string) string {
	switch {
	case f.Cause == remote.NoKey:
		return "put a user's name and password before the host in the address, or, for a model of ollama.com, run: ollama signin"
	case f.Cause == remote.WrongPath:
		return "check that this is Ollama's address: what its /api/version stands below, without /api"
	case what == pulling && f.Kind != model.ErrUnreachable:
		return "check its name at https://ollama.com/library, and the server's network"
	case f.Kind == model.ErrUnreachable:
		return "start it: ollama serve"
	case f.Kind == model.ErrNoModel:
		return "run: ollama pull " + name
	case f.Kind == model.ErrTooLong:
		return "send less, or raise num_ctx"
	case f.Kind == model.ErrCannot:
		return "use another model"
	case f.Kind == model.ErrGarbled:
		return "check that this is Ollama's address, and the server's log"
	case f.Status == http.StatusServiceUnavailable:
		return "it is busy: try again later, or raise OLLAMA_MAX_QUEUE"
	}
	return "see the server's log"
}
