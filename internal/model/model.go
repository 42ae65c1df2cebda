// Package model defines requests to a server of language models, and its answers.
// It contains no client: the clients of servers are elsewhere, and their callers
// ([embed], [summarize], a chat) know only this package. [embed]:
// https://pkg.go.dev/github.com/tiercompact/tiercompact/embed [summarize]:
// https://pkg.go.dev/github.com/tiercompact/tiercompact/summarize
package model

import (
	"errors"
	"time"

	"github.com/tiercompact/tiercompact/chat"
)

// The kinds of errors that callers distinguish. Errors of servers unwrap to these.
var (
	// ErrUnreachable says that no server answers at the address.
	ErrUnreachable = errors.New("server is not reachable")
	// ErrBroken says that the connection ended before the answer did: the server
	// was stopped, or something between closed it.
	ErrBroken = errors.New("connection broke")
	// ErrSlow says that the server did not answer in time. Such an error is a
	// [context.DeadlineExceeded] too.
	ErrSlow = errors.New("server is slow")
	// ErrNoModel says that the server does not have the model.
	ErrNoModel = errors.New("model is not on the server")
	// ErrTooLong says that the input is longer than the model's window. It is
	// also the error of an input that the server cut silently, if that shows.
	ErrTooLong = errors.New("input is longer than the model's window")
	// ErrCannot says that the model exists, but does not support the request: an
	// embedding model cannot chat, a chat model may not embed or call tools.
	ErrCannot = errors.New("model cannot do this")
	// ErrGarbled says that the answer violates the protocol: invalid JSON, an
	// incomplete line, invalid vectors.
	ErrGarbled = errors.New("answer is garbled")
)

// A Request asks a model to continue a conversation.
type Request struct {
	Model     string
	Messages  []chat.Message
	Tools     []byte    // JSON array of function tools in OpenAI's form; nil: none
	Window    int       // tokens to load the model with (num_ctx); a server reloads a model when it changes; 0: the server's setting
	MaxTokens int       // limit of the answer; 0: until the model ends it, or the window is full
	Sampling  *Sampling // nil: the server's setting
	NoThink   bool      // a model with optional thinking must not think
	MayUnload bool      // nothing else needs the model: if the context ends while the server reads the prompt, the model is unloaded where only that stops it
}

// Sampling fixes how tokens are drawn. Temperature 0 takes the likeliest.
type Sampling struct {
	Temperature float64
	Seed        int
}

// A Delta is a piece of an answer as it arrives.
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

// An Answer is the output of a model.
type Answer struct {
	Message      chat.Message // of the assistant: text, thinking, calls
	Done         Done
	PromptTokens int           // of the whole prompt, counted by the server; 0: not reported
	Uncut        bool          // the server was forbidden to cut the prompt
	Tokens       int           // of the answer; 0: not reported
	PromptTime   time.Duration // to read the prompt; 0: not reported
	Time         time.Duration // to write the answer; 0: not reported
}
