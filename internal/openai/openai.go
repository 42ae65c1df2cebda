// Package openai is the client of servers with OpenAI's protocol: llama.cpp's, LM
// Studio, vLLM, Ollama's /v1. Its errors unwrap to those of package model, and give
// a remedy after a semicolon. No call has a time limit of its own: use a context
// with a deadline.
package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/sashabaranov/go-openai"

	"github.com/tiercompact/tiercompact/internal/model"
	"github.com/tiercompact/tiercompact/internal/remote"
	"github.com/tiercompact/tiercompact/tokens"
)

// A Client sends requests to one server. It is safe for concurrent use.
type Client struct {
	base *url.URL // without /v1
	key  string
}

// New returns a client for the server at an address, with or without /v1 at its
// end. key is sent as a bearer token unless it is empty. New sends no request.
func New(address, key string) (*Client, error) {
	base, err := remote.Address(address, "")
	if err != nil {
		return nil, fmt.Errorf("find the server: %w", err)
	}
	return &Client{base, key}, nil
}

// URL returns the server's address, without a password.
func (c *Client) URL() string { return c.base.Redacted() }

// makeCall makes one call; its errors name the action. name is the model, "" for
// none; settings are added to the request.
func (c *Client) makeCall(ctx context.Context, name, what string, settings []byte, call func(*openai.Client) error) error {
	config := openai.DefaultConfig(c.key)
	config.BaseURL = c.base.JoinPath("v1").String()
	config.EmptyMessagesLimit = 1 << 20 // servers send empty lines while they read a prompt; bytes are limited
	return c.callError(name, what, remote.Make(ctx, c.key, func(h *http.Client) error {
		config.HTTPClient = adding{h, settings}
		return call(openai.NewClientWithConfig(config))
	}))
}

func (c *Client) callError(name, what string, err error) error {
	return remote.Explain(err, what, name, c.URL(), remedyFor)
}

func remedyFor(f *remote.Failure) string {
	switch {
	case f.Cause == remote.NoKey:
		return "check the key (COMPACT_API_KEY)"
	case f.Cause == remote.WrongPath:
		return "check that this is the base address of a server with OpenAI's protocol, the part before /v1/models"
	case errors.Is(f.Kind, model.ErrBroken):
		return "try again, and see the server's log: it was stopped, or what is between closed the connection"
	case errors.Is(f.Kind, model.ErrUnreachable):
		return "start the server, or correct its address"
	case errors.Is(f.Kind, model.ErrNoModel):
		return "name a model that the server lists, or load it there"
	case errors.Is(f.Kind, model.ErrTooLong):
		return "send less, or start the server with a larger context"
	case errors.Is(f.Kind, model.ErrCannot):
		return "use another model, or start the server so that it can"
	case errors.Is(f.Kind, model.ErrGarbled):
		return "check that the address is that of a server with OpenAI's protocol"
	case f.Status == http.StatusServiceUnavailable || f.Status == http.StatusTooManyRequests:
		return "it is busy or loads the model: try again later"
	}
	return "see the server's log"
}

// SameModel compares the names of models: with Ollama's default tag, or without.
func SameModel(a, b string) bool {
	const tag = ":latest"
	return strings.TrimSuffix(a, tag) == strings.TrimSuffix(b, tag)
}

// Models returns the names of the models in the server's list, in its order.
func (c *Client) Models(ctx context.Context) ([]string, error) {
	var list openai.ModelsList
	err := c.makeCall(ctx, "", "list models", nil, func(o *openai.Client) (err error) {
		list, err = o.ListModels(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(list.Models))
	for _, m := range list.Models {
		if m.ID != "" {
			names = append(names, m.ID)
		}
	}
	return names, nil
}

// Embed returns one vector for each text, in order, all of one dimension. If a text
// is too long for the model, servers fail with [model.ErrTooLong], or truncate it
// silently, as Ollama's /v1 does.
func (c *Client) Embed(ctx context.Context, name string, texts []string) ([][]float32, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	const what = "embed with"
	var r openai.EmbeddingResponse
	err := c.makeCall(ctx, name, what, nil, func(o *openai.Client) (err error) {
		r, err = o.CreateEmbeddings(ctx, openai.EmbeddingRequestStrings{Input: texts, Model: openai.EmbeddingModel(name), EncodingFormat: openai.EmbeddingEncodingFormatFloat})
		return err
	})
	if err != nil {
		return nil, err
	}
	vectors := make([][]float32, len(texts))
	if len(r.Data) != len(texts) {
		return nil, c.callError(name, what, remote.Garbled("%d vectors for %d texts", len(r.Data), len(texts)))
	}
	for _, e := range r.Data {
		if e.Index < 0 || e.Index >= len(texts) || vectors[e.Index] != nil {
			return nil, c.callError(name, what, remote.Garbled("a vector for text %d of %d", e.Index, len(texts)))
		}
		vectors[e.Index] = e.Embedding
	}
	return vectors, c.callError(name, what, remote.CheckVectors(vectors, len(texts)))
}

// Window returns the reported window of a model: llama.cpp has it in /props, for
// each of its slots; vLLM and LM Studio in their lists of models. If a server does
// not report one, the window is unknown, which is not an error. Requests to such a
// server cannot set a window, so a reported one is fixed.
func (c *Client) Window(ctx context.Context, name string) (tokens.Known, error) {
	var props struct {
		Settings struct {
			Context float64 `json:"n_ctx"`
		} `json:"default_generation_settings"`
	}
	switch err := c.getJSON(ctx, name, "props", &props); {
	case err == nil && wholeTokens(props.Settings.Context) > 0:
		return tokens.Known{Served: wholeTokens(props.Settings.Context)}, nil
	case err != nil && isUnreachable(ctx, err):
		return tokens.Known{}, err
	}
	for _, path := range []string{"api/v0/models", "v1/models"} {
		var list struct{ Data []listed }
		err := c.getJSON(ctx, name, path, &list)
		if err != nil && isUnreachable(ctx, err) {
			return tokens.Known{}, err
		}
		if k := knownFromList(list.Data, name); k != (tokens.Known{}) {
			return k, nil
		}
	}
	return tokens.Known{}, nil
}

// isUnreachable reports whether other requests to the same server are useless.
func isUnreachable(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, model.ErrUnreachable)
}

// A listed model has the windows of a list: vLLM max_model_len; LM Studio the
// loaded and the maximum one; llama.cpp that of the model's training.
type listed struct {
	ID      string  `json:"id"`
	Len     float64 `json:"max_model_len"`
	Loaded  float64 `json:"loaded_context_length"`
	Context float64 `json:"max_context_length"`
	Meta    struct {
		Trained float64 `json:"n_ctx_train"`
	} `json:"meta"`
}

// knownFromList returns the window of a model in a list. A server that lists a
// single model uses it for any name.
func knownFromList(list []listed, name string) tokens.Known {
	for _, m := range list {
		if SameModel(m.ID, name) || len(list) == 1 {
			return tokens.Known{
				Served:  max(wholeTokens(m.Len), wholeTokens(m.Loaded)),
				Trained: max(wholeTokens(m.Context), wholeTokens(m.Meta.Trained)),
			}
		}
	}
	return tokens.Known{}
}

// wholeTokens returns a number of tokens; 0 for any other value.
func wholeTokens(f float64) int {
	if !(f >= 1) || f > 1<<40 {
		return 0
	}
	return int(f)
}

// getJSON reads a JSON answer that is not in OpenAI's protocol. Fields that the
// server lacks, or has in another form, stay unset in v.
func (c *Client) getJSON(ctx context.Context, name, path string, v any) error {
	err := remote.Make(ctx, c.key, func(h *http.Client) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base.JoinPath(path).String(), nil)
		if err != nil {
			return err
		}
		if c.key != "" {
			r.Header.Set("Authorization", "Bearer "+c.key)
		}
		resp, err := h.Do(r)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		return json.NewDecoder(resp.Body).Decode(v)
	})
	return c.callError(name, "get the window of", err)
}
