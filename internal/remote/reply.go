package remote

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/model"
)

const (
	maxReply = 16 << 20 // bytes; no window is as large
	maxCalls = 4096
)

// A Reply is built from the pieces of an answer.
type Reply struct {
	Each      func(model.Delta) error // receives each piece; may be nil
	Calls     []chat.Part             // an id may be missing, or be a duplicate
	MaxPieces int                     // pieces after which the answer is cut off, as a server should have done; 0: no limit
	Full      bool                    // it was
	Stopped   error                   // by Each
	Broken    error                   // the answer exceeds the limit

	text, thinking strings.Builder
	pieces         int
	last           model.Delta // the newest piece that is not empty
	repeats        int         // how often it came, in a row
}

// maxRepeats is the number of equal pieces in a row, without their blanks, after
// which Ollama (0.17.4, llm/server.go) ends an answer without a reason.
const maxRepeats = 30

// errFull ends an answer that has enough pieces.
var errFull = errors.New("the answer is longer than it may be")

// MaxPieces returns how many pieces an answer to r can have: each has a token or
// more, and some servers count their tokens differently. 0: unknown.
func MaxPieces(r model.Request) int {
	most := cmp.Or(r.MaxTokens, r.Window)
	if most <= 0 {
		return 0
	}
	return most + most/8 + 16
}

// Add adds a piece. An error says that no more pieces are wanted.
func (r *Reply) Add(d model.Delta) error {
	r.countRepeats(d)
	r.text.WriteString(d.Text)
	r.thinking.WriteString(d.Thinking)
	if r.text.Len()+r.thinking.Len() > maxReply || len(r.Calls) > maxCalls {
		r.Broken = Garbled("it does not end")
		return r.Broken
	}
	if d == (model.Delta{}) {
		return nil
	}
	if r.Each != nil {
		r.Stopped = r.Each(d)
	}
	if r.pieces++; r.Stopped == nil && r.MaxPieces > 0 && r.pieces >= r.MaxPieces {
		r.Full = true
		return errFull
	}
	return r.Stopped
}

func (r *Reply) countRepeats(d model.Delta) {
	if d == (model.Delta{}) {
		return
	}
	d = model.Delta{Text: strings.TrimSpace(d.Text), Thinking: strings.TrimSpace(d.Thinking)}
	if r.repeats > 0 && d != r.last {
		r.repeats = 0
	}
	r.last = d
	r.repeats++
}

// Looped reports whether the newest pieces are one token over and over, so often
// that a server ends the answer for it.
func (r *Reply) Looped() bool { return r.repeats >= maxRepeats }

// Message returns the received answer, as the message after the earlier ones. A
// call without an id, or with a duplicate one, gets a new id.
func (r *Reply) Message(before []chat.Message) chat.Message {
	m := chat.Message{Role: chat.Assistant}
	if r.thinking.Len() > 0 {
		m.Parts = append(m.Parts, chat.Part{Kind: chat.Thinking, Text: r.thinking.String()})
	}
	if r.text.Len() > 0 {
		m.Parts = append(m.Parts, chat.Part{Kind: chat.Text, Text: r.text.String()})
	}
	if len(r.Calls) == 0 {
		return m
	}
	used := make(map[string]bool)
	for _, b := range before {
		for _, p := range b.Parts {
			used[p.ID] = true
		}
	}
	n := len(before)
	for _, call := range r.Calls {
		for call.ID == "" || used[call.ID] {
			call.ID = fmt.Sprintf("call_%d", n)
			n++
		}
		used[call.ID] = true
		call.Kind, call.Args = chat.Call, Arguments(call.Args)
		m.Parts = append(m.Parts, call)
	}
	return m
}

// Arguments returns the arguments of a call as servers expect them, a JSON object.
// Other text, which models sometimes write, is put into one under a name that says
// so.
func Arguments(text string) string {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return "{}"
	case strings.HasPrefix(text, "{") && json.Valid([]byte(text)):
		return text
	}
	wrapped, _ := json.Marshal(map[string]string{"not_an_object": text}) // a map of strings can always be encoded
	return string(wrapped)
}

// Said returns the text of a message, but for results and thinking. What
// another server's tools did, and blocks that are not understood, are in it as
// text.
func Said(m chat.Message) string {
	var texts []string
	for _, p := range m.Parts {
		switch p.Kind {
		case chat.Text, chat.Summary, chat.Opaque, chat.ServerResult:
			if p.Text != "" {
				texts = append(texts, p.Text)
			}
		case chat.ServerCall:
			texts = append(texts, strings.TrimSpace("["+p.Name+"] "+p.Args))
		}
	}
	return strings.Join(texts, "\n")
}

// Role returns a role that models' templates support.
func Role(r chat.Role) string {
	if r == chat.Developer {
		return string(chat.System)
	}
	return string(r)
}
