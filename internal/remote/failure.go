package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"unicode"

	"github.com/tiercompact/tiercompact/internal/model"
)

// A Failure is why a call failed.
type Failure struct {
	Kind   error  // of package model; nil: none of them
	Status int    // of HTTP; 0: the server did not reject the call
	Text   string // of the server or the network; one line, no semicolon
	Cause  Cause  // "": the remedy depends on the kind of server

	unasked bool // the connection broke before the answer
}

// Error returns one line without a semicolon.
func (f *Failure) Error() string {
	switch {
	case f.Kind != nil:
		return f.Kind.Error() + ": " + f.Text
	case f.Status != 0:
		return fmt.Sprintf("server answers %d: %s", f.Status, f.Text)
	}
	return "server fails: " + f.Text
}

// Unwrap returns the kind and, for a slow server, the end of the context.
func (f *Failure) Unwrap() []error {
	switch {
	case f.Kind == nil:
		return nil
	case errors.Is(f.Kind, model.ErrSlow) || f.Cause == NoConnection:
		return []error{f.Kind, context.DeadlineExceeded}
	case f.unasked:
		return []error{f.Kind, model.ErrUnreachable}
	}
	return []error{f.Kind}
}

// Fault returns why the call failed; err is the error of the library that made it.
// The result is an error of ctx, or a [*Failure]. It is nil if nothing failed.
func (c *Call) Fault(ctx context.Context, err error) error {
	if err == nil && c.status == 0 && c.broken == nil {
		return nil
	}
	if ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return ctx.Err()
	}
	var f *Failure
	if ctx.Err() != nil {
		f = c.late()
	} else {
		f = c.failureOf(err)
	}
	if c.Secret != "" {
		f.Text = strings.ReplaceAll(f.Text, c.Secret, "…")
	}
	f.Text = errorLine(f.Text)
	return f
}

func (c *Call) failureOf(err error) *Failure {
	var network *url.Error
	switch {
	case c.status != 0:
		f := &Failure{Kind: kindOfFailure(c.status, c.class), Status: c.status, Text: c.text}
		f.Cause = causeOf(c.status, c.text, c.page)
		return f
	case c.broken != nil && isHangUp(c.broken):
		return &Failure{Kind: model.ErrBroken, Text: "in the middle of the answer: " + c.broken.Error()}
	case c.broken != nil:
		return &Failure{Kind: model.ErrGarbled, Text: c.broken.Error()}
	case errors.Is(err, errRedirect):
		return &Failure{Kind: model.ErrGarbled, Text: errRedirect.Error()}
	case errors.As(err, &network):
		f := &Failure{Kind: model.ErrUnreachable, Text: network.Err.Error(), Cause: c.networkCause(network.Err)}
		if f.Cause == "" && isHangUp(network.Err) {
			f.Kind, f.Text, f.unasked = model.ErrBroken, "before the answer: "+f.Text, true
		}
		return f
	case isDecoding(err) && strings.Contains(err.Error(), "character '<'"):
		return &Failure{Kind: model.ErrGarbled, Text: "it is a web page, not JSON", Cause: WrongPath}
	case isDecoding(err):
		return &Failure{Kind: model.ErrGarbled, Text: err.Error()}
	}
	return &Failure{Kind: kindOfFailure(0, err.Error()), Text: err.Error()}
}

func isDecoding(err error) bool {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	return errors.As(err, &syntax) || errors.As(err, &kind) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)
}

// Garbled returns a failure for an answer that is complete but invalid.
func Garbled(format string, args ...any) *Failure {
	return &Failure{Kind: model.ErrGarbled, Text: errorLine(fmt.Sprintf(format, args...))}
}

// The servers' errors for an input that does not fit. Ollama up to 0.17 mentions
// the context length; newer versions, and llama.cpp, the available context size;
// some models' templates fail because the truncation removed the user's turn. vLLM
// mentions the maximum context or model length, LM Studio what it cannot keep.
var tooLong = []string{
	"context length", "context_length", "context size", "context_size", "context window", "n_ctx",
	"no user query found", "context the overflows", "maximum model length", "too large to process",
	"prompt is too long", "input is too long", "must have less than",
}

var cannot = []string{"does not support", "not supported", "do not support"}

// kindOfFailure returns the kind that a server's error text indicates; nil for
// none.
func kindOfFailure(status int, words string) error {
	words = strings.ToLower(words)
	says := func(found []string) bool {
		for _, s := range found {
			if strings.Contains(words, s) {
				return true
			}
		}
		return false
	}
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests:
		return nil
	case status == http.StatusRequestEntityTooLarge || says(tooLong):
		return model.ErrTooLong
	case status == http.StatusNotImplemented || says(cannot):
		return model.ErrCannot
	case status == http.StatusNotFound || strings.Contains(words, "model") && says([]string{"not found", "not exist"}):
		return model.ErrNoModel
	case strings.Contains(words, "unsupported value: nan"):
		return model.ErrGarbled // JSON has no NaN, so the model computed one
	}
	return nil
}

const maxText = 300 // maximum length in runes of a server's text in an error

// errorLine shortens a text of a server for an error: one line, short, and without
// semicolons, which precede remedies.
func errorLine(text string) string {
	var b strings.Builder
	n, blank := 0, false
	for _, r := range strings.ToValidUTF8(text, "�") {
		switch {
		case unicode.IsSpace(r):
			blank = b.Len() > 0
			continue
		case r == ';':
			r = ','
		case !unicode.IsPrint(r):
			continue
		}
		if blank {
			b.WriteByte(' ')
			blank = false
		}
		if n++; n > maxText {
			b.WriteString("…")
			break
		}
		b.WriteRune(r)
	}
	if b.Len() == 0 {
		return "it says nothing"
	}
	return b.String()
}

// Explain returns err with the action, the model ("" for none) and the address and,
// for a [*Failure], with the remedy after a semicolon. nil stays nil.
func Explain(err error, what, name, address string, remedy func(*Failure) string) error {
	if err == nil {
		return nil
	}
	if name != "" {
		what += " " + name
	}
	var f *Failure
	if !errors.As(err, &f) {
		return fmt.Errorf("%s at %s: %w", what, address, err)
	}
	if name == "" && f.Status == http.StatusNotFound {
		f.Kind, f.Cause = model.ErrGarbled, WrongPath // without a model, the path does not exist
	}
	todo := f.Cause.remedy()
	if todo == "" {
		todo = remedy(f)
	}
	return fmt.Errorf("%s at %s: %w; %s", what, address, f, todo)
}

// TooLong reports whether an answer with this status and text says that the input does
// not fit the model's window.
func TooLong(status int, text string) bool {
	return status >= http.StatusBadRequest && errors.Is(kindOfFailure(status, text), model.ErrTooLong)
}
