package archive

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/tiercompact/tiercompact/chat"
)

// A message is the JSON form of a chat.Message. Messages that share the Source of
// the one before them say so, and the source's JSON is written once.
type message struct {
	chat.Message
	Source     *chat.Source `json:"source,omitempty"`
	SameSource bool         `json:"same_source,omitempty"`
	Index      int          `json:"index,omitempty"`
	// Bytes says that some text is not UTF-8, which JSON cannot represent: each
	// byte of each text is written as the character of its number.
	Bytes bool `json:"bytes,omitempty"`
}

// A sourceSharing remembers the source of the message before.
type sourceSharing struct{ last *chat.Source }

// encodeMessage returns the JSON form of m.
func (s *sourceSharing) encodeMessage(m chat.Message) message {
	same := m.Source != nil && m.Source == s.last
	s.last = m.Source
	out := message{Message: m, Source: m.Source, SameSource: same, Index: m.Index}
	if same {
		out.Source = nil
	}
	if !isValidUTF8(m) || out.Source != nil && !utf8.ValidString(out.Source.JSON) {
		out.Bytes = true
		return out.mapTexts(widenBytes)
	}
	return out
}

// decodeMessage returns the message of the JSON form x.
func (s *sourceSharing) decodeMessage(x message) (chat.Message, error) {
	if x.Bytes {
		if !x.checkTexts(narrowBytes) {
			return chat.Message{}, errors.New("text marked as bytes holds a character over 255")
		}
		x = x.mapTexts(func(t string) string { t, _ = narrowBytes(t); return t })
	}
	m := x.Message
	m.Source, m.Index = x.Source, x.Index
	if x.SameSource {
		if s.last == nil {
			return m, errors.New("it shares the source of the message before, which has none")
		}
		m.Source = s.last
	}
	s.last = m.Source
	return m, nil
}

// encodeMessages returns the JSON form of messages, which shares sources only
// within them.
func encodeMessages(messages []chat.Message) []message {
	if messages == nil {
		return nil
	}
	var s sourceSharing
	out := make([]message, len(messages))
	for i, m := range messages {
		out[i] = s.encodeMessage(m)
	}
	return out
}

// decodeMessages returns the messages of the JSON forms xs.
func decodeMessages(xs []message) ([]chat.Message, error) {
	if xs == nil {
		return nil, nil
	}
	var s sourceSharing
	out := make([]chat.Message, len(xs))
	for i, x := range xs {
		var err error
		if out[i], err = s.decodeMessage(x); err != nil {
			return nil, fmt.Errorf("message %d: %w", i+1, err)
		}
	}
	return out, nil
}
