package summarize

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/model"
)

// A Chatter has a model on a server answer. each is given the answer as it
// comes in; an error that it returns ends the call. Errors of the server
// unwrap to those of package model; [model.ErrTooLong] means that the request
// is longer than the model's window.
type Chatter interface {
	Chat(ctx context.Context, r model.Request, each func(model.Delta) error) (model.Answer, error)
}

// A Model is a [Summarizer] over a chat model on a server. Its fields are set
// before the first use; its methods are safe for concurrent use.
type Model struct {
	Chat   Chatter // required
	Name   string  // of the model, as the server knows it; required
	Window int     // tokens that the model is loaded with, the same for each call; 0: 4,096
	Seed   int     // 0: 42
}

// Defaults of a [Model].
const (
	defaultWindow = 4096
	defaultSeed   = 42
)

// A Progress says how a summarizer gets on. It is told at the beginning of
// each model call, while tokens come in, and at the end of the call.
type Progress struct {
	Step      string  // "chunk": a part of the messages is summarised; "merge": the summary is written
	Call, Of  int     // from 1; Of is what is foreseen, and may grow
	Tokens    int     // of the answer so far
	PerSecond float64 // tokens of the answer; 0 until some have come in
	Done      bool    // the call has ended
}

// A Rejection is the error of a summarizer that got a text which may not be
// used: one of the reasons that [Accept] knows.
type Rejection string

func (r Rejection) Error() string { return string(r) }

// Summarize implements [Summarizer].
func (m *Model) Summarize(ctx context.Context, r Request) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", fmt.Errorf("summarize with %s: %w", m.Name, err)
	}
	limit := r.MaxTokens
	if limit <= 0 {
		limit = defaultTokens
	}
	ask := model.Request{
		Model:     m.Name,
		Messages:  []chat.Message{chat.NewText(chat.User, Prompt(r))},
		Window:    cmp.Or(m.Window, defaultWindow),
		MaxTokens: limit + limit/overMaxShare,
		Sampling:  &model.Sampling{Seed: cmp.Or(m.Seed, defaultSeed)},
		NoThink:   true,
	}
	answer, err := m.Chat.Chat(ctx, ask, func(model.Delta) error { return ctx.Err() })
	if err != nil {
		return "", fmt.Errorf("summarize with %s: %w", m.Name, err)
	}
	text := strings.TrimSpace(answer.Message.Text())
	switch {
	case answer.Message.HasCalls():
		return "", Rejection(ToolCall)
	case answer.Done == model.CutOff:
		return "", Rejection(CutOff)
	case text == "":
		return "", errors.New(Empty)
	}
	return text, nil
}
