package remote

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/model"
)

const (
	maxReply = 16 << 20 // bytes; no window holds as much
	maxCalls = 4096
)

// A Reply is put together from the pieces of an answer.
type Reply struct {
	Each    func(model.Delta) error // is told each piece; nil: nobody is
	Calls   []chat.Part             // an id may be missing, or be there already
	Stopped error                   // by Each
	Broken  error                   // the answer is longer than any is

	text, thinking strings.Builder
	last           model.Delta // the newest piece that is not empty
	repeats        int         // how often it came, in a row
}

// maxRepeats is how often a piece comes in a row, without its blanks, before
// Ollama (0.17.4, llm/server.go) ends an answer without saying so.
const maxRepeats = 30

// Add takes a piece. An error says that no more is wanted.
func (r *Reply) Add(d model.Delta) error {
	r.countRepeats(d)
	r.text.WriteString(d.Text)
	r.thinking.WriteString(d.Thinking)
	if r.text.Len()+r.thinking.Len() > maxReply || len(r.Calls) > maxCalls {
		r.Broken = Garbled("it does not end")
		return r.Broken
	}
	if d != (model.Delta{}) && r.Each != nil {
		r.Stopped = r.Each(d)
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

// Message returns what came, as the message that follows those before it. A
// call without an id, or with one that another call has, gets one of its own.
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

// Arguments returns the arguments of a call as servers take them, a JSON
// object. What is none, as models write it now and then, goes into one under a
// name that says so.
func Arguments(text string) string {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return "{}"
	case strings.HasPrefix(text, "{") && json.Valid([]byte(text)):
		return text
	}
	wrapped, _ := json.Marshal(map[string]string{"not_an_object": text}) // a map of strings always can
	return string(wrapped)
}

// Said returns the text of a message, but for results and thinking. What
// another server's tools did, and blocks that are not understood, stand in it
// as text.
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

// Role returns a role that models' templates know.
func Role(r chat.Role) string {
	if r == chat.Developer {
		return string(chat.System)
	}
	return string(r)
}
