package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/sashabaranov/go-openai"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/model"
	"github.com/tiercompact/tiercompact/internal/remote"
)

// Chat makes a model continue a conversation. each receives every piece of the
// answer as it arrives; an error of each ends the answer, and is returned
// unchanged. With any error, Chat also returns the partial answer. The protocol has
// no window: Request.Window is not sent. If the prompt is longer than the server's
// window, the error is [model.ErrTooLong], if the server reports it.
func (c *Client) Chat(ctx context.Context, r model.Request, each func(model.Delta) error) (model.Answer, error) {
	const what = "chat with"
	request, err := newRequest(r)
	if err != nil {
		return model.Answer{}, fmt.Errorf("%s %s: %w", what, r.Model, err)
	}
	a := answer{Reply: remote.Reply{Each: each, MaxPieces: remote.MaxPieces(r)}}
	err = c.makeCall(ctx, r.Model, what, settings(r), func(o *openai.Client) error {
		stream, err := o.CreateChatCompletionStream(ctx, request)
		if err != nil {
			return err
		}
		defer stream.Close()
		return a.readStream(stream)
	})
	switch {
	case a.Stopped != nil:
		err = a.Stopped
	case a.Full:
		err, a.finish = nil, "length"
	case a.Broken != nil:
		err = c.callError(r.Model, what, a.Broken)
	case err == nil && a.finish == "" && a.Looped():
		a.finish = finishLooped
	case err == nil && a.finish == "":
		err = c.callError(r.Model, what, remote.Garbled("it ends in the middle"))
	}
	return a.modelAnswer(r.Messages), err
}

func newRequest(r model.Request) (openai.ChatCompletionRequest, error) {
	q := openai.ChatCompletionRequest{Model: r.Model, StreamOptions: &openai.StreamOptions{IncludeUsage: true}}
	for i, m := range r.Messages {
		messages, err := toOpenAI(m)
		if err != nil {
			return q, fmt.Errorf("message %d: %w", i, err)
		}
		q.Messages = append(q.Messages, messages...)
	}
	if len(r.Tools) > 0 {
		if err := json.Unmarshal(r.Tools, &q.Tools); err != nil {
			return q, fmt.Errorf("read tools: %w", err)
		}
	}
	if r.NoThink { // only templates of thinking models use it
		q.ChatTemplateKwargs = map[string]any{"enable_thinking": false}
	}
	return q, nil
}

// settings returns the settings that the library's request omits or rejects: it has
// no temperature of 0, which would become the server's default, mostly 1, and
// rejects the token limit of some models by their names.
func settings(r model.Request) []byte {
	var s struct {
		MaxTokens   int      `json:"max_tokens,omitempty"`
		Temperature *float64 `json:"temperature,omitempty"`
		Seed        *int     `json:"seed,omitempty"`
	}
	s.MaxTokens = max(0, r.MaxTokens)
	if r.Sampling != nil {
		s.Temperature, s.Seed = &r.Sampling.Temperature, &r.Sampling.Seed
	}
	out, err := json.Marshal(s)
	if err != nil {
		return nil // a temperature that is not a number: the server's default
	}
	return out
}

// An adding client adds the fields of one JSON object to each request.
type adding struct {
	*http.Client
	fields []byte // nil: none
}

// Do implements [openai.HTTPDoer].
func (a adding) Do(r *http.Request) (*http.Response, error) {
	if len(a.fields) > len("{}") && r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		last := len(a.fields) - 1
		body = bytes.Join([][]byte{a.fields[:last], bytes.TrimPrefix(body, []byte("{"))}, []byte(","))
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	}
	return a.Client.Do(r)
}

// A chunk is one event of a stream, with fields that servers add to the protocol.
type chunk struct {
	Choices []struct {
		Delta struct {
			Content   string     `json:"content"`
			Reasoning string     `json:"reasoning"`         // vLLM, Ollama
			Thinking  string     `json:"reasoning_content"` // llama.cpp, LM Studio
			Calls     []callPart `json:"tool_calls"`
		} `json:"delta"`
		Finish string `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
	} `json:"usage"`
	Timings struct { // llama.cpp
		Prompt    float64 `json:"prompt_ms"`
		Predicted float64 `json:"predicted_ms"`
	} `json:"timings"`
}

// A callPart is a call, or an addition to one.
type callPart struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// finishLooped is the reason of an answer that a server ended without one,
// because the model repeated one token.
const finishLooped = "repeat"

// An answer is built from the events of a stream.
type answer struct {
	remote.Reply
	indexes []int // of the calls, by the server's indices
	last    chunk
	finish  string
}

func (a *answer) readStream(stream *openai.ChatCompletionStream) error {
	for {
		line, err := stream.RecvRaw()
		var said *openai.APIError
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.As(err, &said):
			return fmt.Errorf("%s %s", said.Message, said.Type)
		case err != nil:
			return err
		}
		var c chunk
		if err := json.Unmarshal(line, &c); err != nil {
			return err
		}
		if err := a.addChunk(c); err != nil {
			return err
		}
	}
}

func (a *answer) addChunk(c chunk) error {
	if c.Usage != nil {
		a.last.Usage = c.Usage
	}
	if c.Timings.Predicted > 0 {
		a.last.Timings = c.Timings
	}
	for _, choice := range c.Choices {
		if choice.Finish != "" {
			a.finish = choice.Finish
		}
		for _, part := range choice.Delta.Calls {
			a.addCallPart(part)
		}
		if err := a.Add(model.Delta{Text: choice.Delta.Content, Thinking: choice.Delta.Reasoning + choice.Delta.Thinking}); err != nil {
			return err
		}
	}
	return nil
}

// addCallPart begins a call, or adds to one: to that of the index or, if the server
// gives none, to the newest. Another id means another call.
func (a *answer) addCallPart(p callPart) {
	at, index := len(a.Calls)-1, len(a.Calls)
	if p.Index != nil {
		index = *p.Index
		for at >= 0 && a.indexes[at] != index {
			at--
		}
	} else if p.ID != "" || p.Function.Name != "" {
		at = -1
	}
	if at < 0 || p.ID != "" && a.Calls[at].ID != "" && p.ID != a.Calls[at].ID {
		a.Calls = append(a.Calls, chat.Part{})
		a.indexes = append(a.indexes, index)
		at = len(a.Calls) - 1
	}
	call := &a.Calls[at]
	if p.ID != "" {
		call.ID = p.ID
	}
	call.Name += p.Function.Name
	call.Args += p.Function.Arguments
}

func (a *answer) modelAnswer(before []chat.Message) model.Answer {
	r := model.Answer{
		Message:    a.Message(before),
		PromptTime: milliseconds(a.last.Timings.Prompt),
		Time:       milliseconds(a.last.Timings.Predicted),
	}
	switch a.finish {
	case "":
	case "length":
		r.Done = model.CutOff
	case finishLooped:
		r.Done = model.Looped
	default: // stop, tool_calls, content_filter
		r.Done = model.Stopped
	}
	if u := a.last.Usage; u != nil {
		r.PromptTokens, r.Tokens = max(0, u.Prompt), max(0, u.Completion)
	}
	return r
}

func milliseconds(ms float64) time.Duration {
	if !(ms > 0) || ms > 1e12 {
		return 0
	}
	return time.Duration(ms * float64(time.Millisecond))
}
