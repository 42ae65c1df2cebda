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

// Chat has a model go on with a conversation. Each piece of the answer goes to
// each as it comes; an error of each ends the answer, and is returned as it is.
// With any error comes what was said up to then.
//
// The server is asked through /api/chat: its /v1 takes no window. It is told
// never to drop messages from the front, nor half of the prompt in mid-answer,
// which it would do without a word: where the prompt is longer than the window,
// the error is [model.ErrTooLong], and where the answer reaches its end, the
// answer is cut off. A server that answers nothing at all (an empty text, no
// calls) makes no error.
//
// Where ctx ends, the connection is closed. A server that writes then stops at
// once. One that still reads the prompt goes on to its end (0.17.4), and lets
// the next request wait; after a request that is [model.Request.OneOff], it is
// told to unload the model, which ends that.
func (c *Client) Chat(ctx context.Context, r model.Request, each func(model.Delta) error) (model.Answer, error) {
	const what = "chat with"
	request, err := c.newRequest(r)
	if err != nil {
		return model.Answer{}, fmt.Errorf("%s %s: %w", what, r.Model, err)
	}
	a := answer{Reply: remote.Reply{Each: each}}
	err = c.makeCall(ctx, r.Model, what, func(client *api.Client) error { return client.Chat(ctx, request, a.addChunk) })
	if ctx.Err() != nil && r.OneOff && !a.began {
		c.stopReading(ctx, r.Model)
	}
	switch {
	case a.Stopped != nil:
		err = a.Stopped
	case a.Broken != nil:
		err = c.callError(r.Model, what, a.Broken)
	case err == nil && !a.ended && a.Looped():
		a.stopped = true
	case err == nil && !a.ended:
		err = c.callError(r.Model, what, remote.Garbled("it ends in the middle"))
	}
	return a.modelAnswer(r.Messages), err
}

// newRequest says all that the server would otherwise decide by itself.
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
	if r.NoThink { // one that cannot think takes it too
		q.Think = &api.ThinkValue{Value: false}
	}
	if r.Window > 0 && c.window == 0 {
		q.Options["num_ctx"] = r.Window
	}
	if r.MaxTokens > 0 { // 0 would be no limit, -1 ten windows
		q.Options["num_predict"] = r.MaxTokens
	}
	if r.Sampling != nil {
		q.Options["temperature"], q.Options["seed"] = r.Sampling.Temperature, r.Sampling.Seed
	}
	return q, nil
}

// An answer is put together from the lines of a stream.
type answer struct {
	remote.Reply
	last    api.ChatResponse
	began   bool
	ended   bool // by the last line, which says why
	stopped bool // without one, as the model wrote one token over and over
}

// stopWithin is the most time that a server gets to be told to stop: one that
// answers at all does so in some hundredths of a second, whatever its models do.
const stopWithin = 2 * time.Second

// stopReading ends the work on a prompt that nobody waits for any more. What
// the model costs to be loaded anew is seconds, the rest of a prompt minutes.
// Requests of others that it works on end first.
func (c *Client) stopReading(ctx context.Context, name string) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
	defer stop()
	_ = c.Unload(ctx, name) // else the server goes on, as it would have
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
	case a.last.DoneReason == "length":
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
		Tokens:       max(0, a.last.EvalCount),
		PromptTime:   max(0, a.last.PromptEvalDuration),
		Time:         max(0, a.last.EvalDuration),
	}
}

// fromArguments returns arguments as JSON text, in the order that the model
// wrote them in, and without the escapes that are for web pages.
func fromArguments(args *api.ToolCallFunctionArguments) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	encode := func(v any) {
		_ = e.Encode(v) // it was read from JSON
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
