package ollama

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/ollama/ollama/api"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/model"
	"github.com/tiercompact/tiercompact/internal/remote"
)

// Chat asks a model to continue a conversation. It calls each with every piece of the
// answer, in order. If each returns an error, the answer ends, and Chat returns that
// error. After any error, Chat also returns the part of the answer that arrived. An
// answer without text and calls is not an error.
//
// Chat uses /api/chat, because /v1 does not accept a window. Without a setting, the
// server drops messages from the front of a prompt that is too long, and half of the
// prompt if the answer fills the window, both silently. Chat forbids both: a prompt
// that is longer than the window is [model.ErrTooLong], and an answer that fills the
// window is cut off.
//
// If ctx ends, Chat closes the connection. A server that is writing then stops. A
// server that is reading the prompt continues to its end (0.17.4), and delays the next
// request; therefore the model is unloaded if [model.Request.MayUnload] allows it.
func (c *Client) Chat(ctx context.Context, r model.Request, each func(model.Delta) error) (model.Answer, error) {
	const what = "chat with"
	request, err := c.newRequest(r)
	if err != nil {
		return model.Answer{}, fmt.Errorf("%s %s: %w", what, r.Model, err)
	}
	a := answer{Reply: remote.Reply{Each: each, MaxPieces: remote.MaxPieces(r)}}
	err = c.makeCall(ctx, r.Model, what, func(client *api.Client) error { return client.Chat(ctx, request, a.addChunk) })
	if ctx.Err() != nil && r.MayUnload && !a.began {
		c.stopReading(ctx, r.Model)
	}
	switch {
	case a.Stopped != nil:
		err = a.Stopped
	case a.Full:
		err = nil
	case a.Broken != nil:
		err = c.callError(r.Model, what, a.Broken)
	case err == nil && !a.ended && a.Looped():
		a.stopped = true
	case err == nil && !a.ended:
		err = c.callError(r.Model, what, remote.Garbled("it ends in the middle"))
	}
	return a.modelAnswer(r.Messages), err
}

// newRequest sets everything that the server would otherwise decide itself.
func (c *Client) newRequest(r model.Request) (*api.ChatRequest, error) {
	no := false
	q := &api.ChatRequest{
		Model:     r.Model,
		Truncate:  &no,
		Shift:     &no,
		KeepAlive: c.kept(),
		Options:   c.options(),
	}
	var err error
	if q.Messages, err = toAPIMessages(r.Messages); err != nil {
		return nil, err
	}
	if len(r.Tools) > 0 {
		if err := json.Unmarshal(r.Tools, &q.Tools); err != nil {
			return nil, fmt.Errorf("read tools: %w", err)
		}
	}
	if r.NoThink { // models without thinking accept it too
		q.Think = &api.ThinkValue{Value: false}
	}
	if r.Window > 0 && c.window == 0 {
		q.Options["num_ctx"] = r.Window
	}
	if r.MaxTokens > 0 { // 0 would mean no limit, -1 ten windows
		q.Options["num_predict"] = r.MaxTokens
	}
	if r.Sampling != nil {
		q.Options["temperature"], q.Options["seed"] = r.Sampling.Temperature, r.Sampling.Seed
	}
	return q, nil
}

// An answer is built from the lines of a stream.
type answer struct {
	remote.Reply
	last    api.ChatResponse
	began   bool
	ended   bool // by the last line, which says why
	stopped bool // without one, as the model wrote one token over and over
}

// stopWithin is the time limit for a request to stop: a working server answers it
// within hundredths of a second, whatever its models do.
const stopWithin = 2 * time.Second

// stopReading ends the work on an abandoned prompt. Loading the model again costs
// seconds, the rest of a prompt minutes. Requests of other clients end first.
func (c *Client) stopReading(ctx context.Context, name string) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
	defer stop()
	_ = c.Unload(ctx, name) // otherwise the server continues, as without the request
}

func (a *answer) addChunk(r api.ChatResponse) error {
	a.began = true
	for _, call := range r.Message.ToolCalls { // servers before 0.12 give no ids
		a.Calls = append(a.Calls, chat.Part{ID: call.ID, Name: call.Function.Name, Args: fromArguments(&call.Function.Arguments)})
	}
	if r.Done {
		a.last, a.ended = r, true
	}
	return a.Add(model.Delta{Text: r.Message.Content, Thinking: r.Message.Thinking})
}

func (a *answer) modelAnswer(before []chat.Message) model.Answer {
	var done model.Done
	switch {
	case a.last.DoneReason == "length" || a.Full:
		done = model.CutOff
	case a.ended:
		done = model.Stopped
	case a.stopped:
		done = model.Looped
	}
	return model.Answer{
		Message:      a.Message(before),
		Done:         done,
		PromptTokens: max(0, a.last.PromptEvalCount),
		Uncut:        true,
		Tokens:       max(0, a.last.EvalCount),
		PromptTime:   max(0, a.last.PromptEvalDuration),
		Time:         max(0, a.last.EvalDuration),
	}
}

// fromArguments returns arguments as JSON text, in the model's order, and without
// the escapes for web pages.
func fromArguments(args *api.ToolCallFunctionArguments) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	encode := func(v any) {
		_ = e.Encode(v) // it came from JSON
		b.Truncate(b.Len() - 1)
	}
	b.WriteByte('{')
	for key, value := range args.All() {
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		encode(key)
		b.WriteByte(':')
		encode(value)
	}
	b.WriteByte('}')
	return b.String()
}
