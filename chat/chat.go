// Package chat represents a conversation in one form, whatever its source format:
// messages made of parts, tool calls paired with their results. It is the leaf that
// every other package imports. A [Transcript] is never modified in place; only
// package edit derives one transcript from another.
package chat

import "strings"

// A Role says whose message it is.
type Role string

// The roles that formats share. Every tool result is a separate message with the
// role Tool, even if a format packs several into one object.
const (
	System    Role = "system"
	Developer Role = "developer"
	User      Role = "user"
	Assistant Role = "assistant"
	Tool      Role = "tool"
)

// A Kind says what a part contains.
type Kind string

// The kinds of part.
const (
	Text     Kind = "text"
	Thinking Kind = "thinking"
	Image    Kind = "image"
	Call     Kind = "tool_call"
	Result   Kind = "tool_result"
	Summary  Kind = "compress" // a session summary; Text is its content

	// Parts of these kinds are never rewritten, nor is a message that contains one:
	// it stays or is removed as a whole.
	ServerCall   Kind = "server_tool_call"   // a call that the API's server runs; its result is beside it, or in a later assistant message
	ServerResult Kind = "server_tool_result" // the result of such a call; Text is its readable content
	Opaque       Kind = "opaque"             // a block of an unknown type; Text replaces it if Raw cannot be written
)

// A Part is a piece of a message. Which fields count depends on Kind.
type Part struct {
	Kind  Kind     `json:"type"`
	Text  string   `json:"text,omitempty"`     // of text, thinking, result, summary
	ID    string   `json:"id,omitempty"`       // of a call; of a result: the id of its call
	Name  string   `json:"name,omitempty"`     // the tool; of a result only if the source names it
	Args  string   `json:"args,omitempty"`     // of a call: the arguments as JSON text
	Error bool     `json:"is_error,omitempty"` // of a result: the tool failed
	Image *Picture `json:"image,omitempty"`
	Raw   string   `json:"raw,omitempty"` // the original block, JSON; empty if the part was changed or the source has no blocks
}

// A Picture is an image, by its bytes or by its address.
type Picture struct {
	MediaType string `json:"media_type,omitempty"`
	Data      string `json:"data,omitempty"` // base64
	URL       string `json:"url,omitempty"`
	Detail    string `json:"detail,omitempty"`
	Width     int    `json:"width,omitempty"` // pixels, 0 if unknown
	Height    int    `json:"height,omitempty"`
}

// A State says what compaction has made of a message. Level soft skips every
// message that is not Active.
type State string

// The states of a message.
const (
	Active     State = ""         // unchanged since it was added
	Outlined   State = "outlined" // a text in it was shortened
	Summarized State = "summary"  // the session summary
	Marked     State = "marker"   // inserted by a round: it replaces dropped messages, or separates two messages of one role
)

// A Source is the JSON object from which a message was read. Messages from one
// object (several results in one user message) share one Source.
type Source struct {
	Format string `json:"format"`
	JSON   string `json:"json"`  // byte for byte
	Count  int    `json:"count"` // number of messages in it
}

// A Message is one entry of a conversation.
type Message struct {
	ID        string  `json:"id"`
	Role      Role    `json:"role"`
	Parts     []Part  `json:"parts"`
	State     State   `json:"state,omitempty"`
	Recall    string  `json:"recall,omitempty"`    // the archive's id of what this message replaces
	Protected bool    `json:"protected,omitempty"` // never changed, dropped or summarised
	Machine   bool    `json:"machine,omitempty"`   // a user message that no person typed: a reminder, an environment, a file, an observation
	Changed   bool    `json:"changed,omitempty"`   // it differs from Source, of which only the other fields are valid
	Source    *Source `json:"-"`                   // the object it was read from; nil if it was not read
	Index     int     `json:"-"`                   // index among the messages of its Source
}

// A Transcript is a conversation, oldest message first.
type Transcript []Message

// NewText returns a message of one text part.
func NewText(role Role, text string) Message {
	return Message{Role: role, Parts: []Part{{Kind: Text, Text: text}}}
}

// NewResult returns the message that answers call id.
func NewResult(id, text string) Message {
	return Message{Role: Tool, Parts: []Part{{Kind: Result, ID: id, Text: text}}}
}

// With returns a copy of m with parts instead, in the given state, marked as
// changed. A part whose text or arguments changed must have no Raw; the others keep
// theirs and are written back unchanged.
func (m Message) With(state State, parts ...Part) Message {
	m.Parts, m.State, m.Changed = parts, state, true
	return m
}

// Text returns the texts of m without its thinking, joined by line feeds.
func (m Message) Text() string {
	var texts []string
	for _, p := range m.Parts {
		switch p.Kind {
		case Text, Result, Summary, ServerResult, Opaque:
			if p.Text != "" {
				texts = append(texts, p.Text)
			}
		}
	}
	if len(texts) == 1 {
		return texts[0]
	}
	return strings.Join(texts, "\n")
}

// HasCalls reports whether m makes tool calls.
func (m Message) HasCalls() bool {
	for _, p := range m.Parts {
		if p.Kind == Call {
			return true
		}
	}
	return false
}

// Waits reports whether later messages answer calls of m: its own, or those of a
// server's tool whose result is not in m.
func (m Message) Waits() bool {
	open := 0
	for i := range m.Parts {
		switch m.Parts[i].Kind {
		case Call:
			return true
		case ServerCall:
			open++
		}
	}
	return open > 0 && PairUp(Transcript{m}).Unanswered[0] > 0
}

// HasOpaque reports whether m has a part that must not be rewritten: a call or a
// result of the server's own tools, or a block of an unknown type.
func (m Message) HasOpaque() bool {
	for i := range m.Parts {
		switch m.Parts[i].Kind {
		case ServerCall, ServerResult, Opaque:
			return true
		}
	}
	return false
}

// Typed reports whether m is a user message that a person wrote.
func (m Message) Typed() bool {
	return m.Role == User && !m.Machine && m.State != Marked && m.Says()
}

// Says reports whether m has any text, image, or unknown block.
func (m Message) Says() bool {
	for _, p := range m.Parts {
		if p.Kind == Image || p.Kind == ServerCall || p.Kind == Opaque || p.Kind != Thinking && strings.TrimSpace(p.Text) != "" {
			return true
		}
	}
	return false
}

// IsSummary reports whether m is a session summary.
func (m Message) IsSummary() bool { return m.State == Summarized }
