package wire

import (
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

// A messageLog collects the messages of a read-only format.
type messageLog struct {
	messages chat.Transcript
	seen     map[string]bool // ids of messages
	calls    callIDAssigner
}

// appendMessage appends m without empty parts. It skips a message that is empty, or
// has only white space or thinking: it was never sent to the model. It does not
// reuse an id of an earlier message.
func (l *messageLog) appendMessage(m chat.Message) {
	if slices.ContainsFunc(m.Parts, isServerTool) {
		l.addServerTools(m)
		return
	}
	m.Parts = withContent(m.Parts)
	if !worthSending(m.Parts) {
		return
	}
	if l.seen[m.ID] {
		m.ID = ""
	} else if m.ID != "" {
		if l.seen == nil {
			l.seen = make(map[string]bool)
		}
		l.seen[m.ID] = true
	}
	machine := m.Machine
	classify(&m)
	m.Machine = (m.Machine || machine) && m.Role == chat.User
	l.messages = append(l.messages, m)
}

// addServerTools appends a message whose tools ran on the API's server. Because it
// is never written back to that API, they are ordinary calls and results.
func (l *messageLog) addServerTools(m chat.Message) {
	m.Parts = slices.Clone(m.Parts)
	for i, p := range m.Parts {
		switch p.Kind {
		case chat.ServerCall:
			m.Parts[i].ID = l.calls.assignCallID(p.ID, p.Name)
		case chat.ServerResult:
			m.Parts[i].ID = l.calls.resultCallID(p.ID, p.Name)
		}
	}
	for _, own := range ownTools(m) {
		l.appendMessage(own)
	}
}

func (l *messageLog) appendText(id string, role chat.Role, text string) {
	m := chat.NewText(role, text)
	m.ID = id
	l.appendMessage(m)
}

// appendUserNote appends a user message that no person typed.
func (l *messageLog) appendUserNote(id, text string) {
	m := chat.NewText(chat.User, text)
	m.ID, m.Machine = id, true
	l.appendMessage(m)
}

// appendResult appends the result of a call, and images after its text.
func (l *messageLog) appendResult(id string, result chat.Part, images []chat.Part) {
	result.Kind = chat.Result
	l.appendMessage(chat.Message{ID: id, Role: chat.Tool, Parts: append([]chat.Part{result}, images...)})
}

// singleConversation returns the single conversation of a file, none if it has
// no messages.
func (l *messageLog) singleConversation(c Conversation) []Conversation {
	if len(l.messages) == 0 {
		return nil
	}
	c.Messages = reorderResults(l.messages)
	return []Conversation{c}
}

func withContent(parts []chat.Part) []chat.Part {
	var kept []chat.Part
	for _, p := range parts {
		if (p.Kind == chat.Text || p.Kind == chat.Thinking) && p.Text == "" {
			continue
		}
		kept = append(kept, p)
	}
	return kept
}

func worthSending(parts []chat.Part) bool {
	for _, p := range parts {
		switch p.Kind {
		case chat.Text:
			if strings.TrimSpace(p.Text) != "" {
				return true
			}
		case chat.Image, chat.Call, chat.Result, chat.Opaque:
			return true
		}
	}
	return false
}

// reorderResults returns t with each result directly after the message of its call,
// in their order: a log may have other records between them, the model's API may
// not. A result without a call keeps its place.
func reorderResults(t chat.Transcript) chat.Transcript {
	pairs := chat.PairUp(t)
	results := make(map[int][]int)
	for i, call := range pairs.CallOf {
		if call >= 0 {
			results[call] = append(results[call], i)
		}
	}
	out := make(chat.Transcript, 0, len(t))
	for i, m := range t {
		if pairs.CallOf[i] >= 0 {
			continue
		}
		out = append(out, m)
		for _, r := range results[i] {
			out = append(out, t[r])
		}
	}
	return out
}
