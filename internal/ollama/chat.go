package ollama

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ollama/ollama/api"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/remote"
	"github.com/tiercompact/tiercompact/model"
)

const maxAnswer = 16 << 20 // bytes; no window holds as much

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
func (c *Client) Chat(ctx context.Context, r model.Request, each func(model.Delta) error) (model.Answer, error) {
	const what = "chat with"
	request, err := newRequest(r)
	if err != nil {
		return model.Answer{}, fmt.Errorf("%s %s: %w", what, r.Model, err)
	}
	a := answer{each: each}
	err = c.do(ctx, r.Model, what, func(client *api.Client) error { return client.Chat(ctx, request, a.add) })
	switch {
	case a.stopped != nil:
		err = a.stopped
	case err == nil && a.garbled != nil:
		err = c.failed(r.Model, what, a.garbled)
	case err == nil && !a.ended:
		err = c.failed(r.Model, what, remote.Garbled("it ends in the middle"))
	}
	return a.result(r.Messages), err
}

// newRequest says all that the server would otherwise decide by itself.
func newRequest(r model.Request) (*api.ChatRequest, error) {
	no := false
	q := &api.ChatRequest{
		Model:     r.Model,
		Truncate:  &no,
		Shift:     &no,
		KeepAlive: &api.Duration{Duration: keepAlive},
		Options:   map[string]any{},
	}
	var err error
	if q.Messages, err = toAPI(r.Messages); err != nil {
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
	if r.Window > 0 {
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
	each           func(model.Delta) error
	text, thinking strings.Builder
	calls          []api.ToolCall
	last           api.ChatResponse
	ended          bool
	stopped        error // by each
	garbled        error
}

func (a *answer) add(r api.ChatResponse) error {
	a.text.WriteString(r.Message.Content)
	a.thinking.WriteString(r.Message.Thinking)
	a.calls = append(a.calls, r.Message.ToolCalls...)
	if r.Done {
		a.last, a.ended = r, true
	}
	if a.text.Len()+a.thinking.Len() > maxAnswer || len(a.calls) > maxAnswer>>10 {
		a.garbled = remote.Garbled("it does not end")
		return a.garbled
	}
	if d := (model.Delta{Text: r.Message.Content, Thinking: r.Message.Thinking}); d != (model.Delta{}) && a.each != nil {
		a.stopped = a.each(d)
	}
	return a.stopped
}

func (a *answer) result(before []chat.Message) model.Answer {
	m := chat.Message{Role: chat.Assistant}
	if a.thinking.Len() > 0 {
		m.Parts = append(m.Parts, chat.Part{Kind: chat.Thinking, Text: a.thinking.String()})
	}
	if a.text.Len() > 0 {
		m.Parts = append(m.Parts, chat.Part{Kind: chat.Text, Text: a.text.String()})
	}
	m.Parts = append(m.Parts, fromAPI(a.calls, before)...)
	var done model.Done
	switch {
	case a.last.DoneReason == "length":
		done = model.CutOff
	case a.ended:
		done = model.Stopped
	}
	return model.Answer{
		Message:      m,
		Done:         done,
		PromptTokens: max(0, a.last.PromptEvalCount),
		Tokens:       max(0, a.last.EvalCount),
		PromptTime:   max(0, a.last.PromptEvalDuration),
		Time:         max(0, a.last.EvalDuration),
	}
}

// fromAPI returns the parts of calls. Servers before 0.12 give them no ids; one
// that has none, or one that another call has, gets one that no other has.
func fromAPI(calls []api.ToolCall, before []chat.Message) []chat.Part {
	used := make(map[string]bool)
	if len(calls) > 0 {
		for _, m := range before {
			for _, p := range m.Parts {
				used[p.ID] = true
			}
		}
	}
	var parts []chat.Part
	n := len(before)
	for _, call := range calls {
		id := call.ID
		for id == "" || used[id] {
			id = fmt.Sprintf("call_%d", n)
			n++
		}
		used[id] = true
		parts = append(parts, chat.Part{Kind: chat.Call, ID: id, Name: call.Function.Name, Args: fromArguments(&call.Function.Arguments)})
	}
	return parts
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
