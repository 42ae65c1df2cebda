// Package model says what a server of language models is asked, and what it
// answers. It talks to none: the servers are elsewhere, what asks them
// ([embed], [summarize], a chat) knows only this package.
//
// [embed]: https://pkg.go.dev/github.com/tiercompact/tiercompact/embed
// [summarize]: https://pkg.go.dev/github.com/tiercompact/tiercompact/summarize
package model

import (
	"errors"
	"time"

	"github.com/tiercompact/tiercompact/chat"
)

// What went wrong, as far as callers act on it. Errors of servers unwrap to
// these.
var (
	// ErrUnreachable says that nobody answers at the address.
	ErrUnreachable = errors.New("server is not reachable")
	// ErrSlow says that somebody is there, and did not answer in time. Such an
	// error is a [context.DeadlineExceeded] too.
	ErrSlow = errors.New("server is slow")
	// ErrNoModel says that the server does not have the model.
	ErrNoModel = errors.New("model is not on the server")
	// ErrTooLong says that the input is longer than the model's window. It is
	// also the error of an input that the server cut silently, where that shows.
	ErrTooLong = errors.New("input is longer than the model's window")
	// ErrCannot says that the model is there, but cannot do what was asked:
	// an embedding model cannot chat, a chat model may not embed or call tools.
	ErrCannot = errors.New("model cannot do this")
	// ErrGarbled says that the answer is not what the protocol allows: no
	// JSON, a line cut in the middle, vectors that are none.
	ErrGarbled = errors.New("answer is garbled")
)

// A Request asks a model to go on with a conversation.
type Request struct {
	Model     string
	Messages  []chat.Message
	Tools     []byte    // JSON array of function tools in OpenAI's form; nil: none
	Window    int       // tokens to load the model with (num_ctx); a server reloads a model when it changes; 0: as the server has it
	MaxTokens int       // of the answer; 0: until the model ends it, or the window is full
	Sampling  *Sampling // nil: as the server has it
	NoThink   bool      // a model that can think first is told not to
	OneOff    bool      // no later request goes on from this one: a server that reads its prompt when the context ends is made to stop, where it can be
}

// Sampling fixes how tokens are drawn. Temperature 0 takes the likeliest.
type Sampling struct {
	Temperature float64
	Seed        int
}

// A Delta is a piece of an answer as it comes in.
type Delta struct {
	Text, Thinking string
}

// Done says how an answer ended.
type Done string

// The ends of an answer.
const (
	Stopped Done = "stop"   // the model ended it
	CutOff  Done = "length" // MaxTokens or the window ended it
	Looped  Done = "repeat" // the server ended it, because the model wrote one token over and over
)

// An Answer is what a model said.
type Answer struct {
	Message      chat.Message // of the assistant: text, thinking, calls
	Done         Done
	PromptTokens int           // that the server counted for the whole prompt; 0: not told
	Tokens       int           // of the answer; 0: not told
	PromptTime   time.Duration // spent on reading the prompt; 0: not told
	Time         time.Duration // spent on writing the answer; 0: not told
}
