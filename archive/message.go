package archive

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
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

// textPointers returns pointers to every string of m, whose parts must be m's own.
func textPointers(m *chat.Message) []*string {
	all := []*string{&m.ID, (*string)(&m.Role), (*string)(&m.State), &m.Recall}
	for i := range m.Parts {
		p := &m.Parts[i]
		all = append(all, (*string)(&p.Kind), &p.Text, &p.ID, &p.Name, &p.Args, &p.Raw)
		if p.Image != nil {
			all = append(all, &p.Image.MediaType, &p.Image.Data, &p.Image.URL, &p.Image.Detail)
		}
	}
	return all
}

// ownedCopy returns m with parts and images that are not shared.
func ownedCopy(m chat.Message) chat.Message {
	if m.Parts == nil {
		return m
	}
	m.Parts = append(make([]chat.Part, 0, len(m.Parts)), m.Parts...)
	for i, p := range m.Parts {
		if p.Image != nil {
			picture := *p.Image
			m.Parts[i].Image = &picture
		}
	}
	return m
}

// isValidUTF8 reports whether every string of m is UTF-8.
func isValidUTF8(m chat.Message) bool {
	for _, p := range m.Parts {
		if !utf8.ValidString(p.Text) || !utf8.ValidString(p.Args) || !utf8.ValidString(p.Raw) {
			return false
		}
	}
	for _, t := range textPointers(&m) {
		if !utf8.ValidString(*t) {
			return false
		}
	}
	return true
}

// mapTexts returns a copy of x with f applied to every string.
func (x message) mapTexts(f func(string) string) message {
	x.Message = ownedCopy(x.Message)
	for _, t := range textPointers(&x.Message) {
		*t = f(*t)
	}
	if x.Source != nil {
		x.Source = &chat.Source{Format: f(x.Source.Format), JSON: f(x.Source.JSON), Count: x.Source.Count}
	}
	return x
}

// checkTexts reports whether f accepts every string of x.
func (x message) checkTexts(f func(string) (string, bool)) bool {
	all := textPointers(&x.Message)
	if x.Source != nil {
		all = append(all, &x.Source.Format, &x.Source.JSON)
	}
	for _, t := range all {
		if _, ok := f(*t); !ok {
			return false
		}
	}
	return true
}

// widenBytes returns text with each byte as the character of its number.
func widenBytes(text string) string {
	var b strings.Builder
	for i := range len(text) {
		b.WriteRune(rune(text[i]))
	}
	return b.String()
}

// narrowBytes is the inverse of widenBytes.
func narrowBytes(text string) (string, bool) {
	var b strings.Builder
	for _, r := range text {
		if r > 0xff {
			return "", false
		}
		b.WriteByte(byte(r))
	}
	return b.String(), true
}

// A transcriptLine is one line of an encoded transcript.
type transcriptLine struct {
	head
	message
}

// EncodeTranscript writes t as JSON Lines, one message a line, each with the format
// version and its source. DecodeTranscript returns the same messages, byte for
// byte; those that share a Source share it again.
func EncodeTranscript(w io.Writer, t chat.Transcript) error {
	b := bufio.NewWriterSize(w, 1<<16)
	e := lineEncoder(b)
	var s sourceSharing
	for i, m := range t {
		if err := e.Encode(transcriptLine{head{Version}, s.encodeMessage(m)}); err != nil {
			return fmt.Errorf("write message %d: %w", i+1, err)
		}
	}
	if err := b.Flush(); err != nil {
		return fmt.Errorf("write transcript: %w", err)
	}
	return nil
}

// DecodeTranscript reads the output of EncodeTranscript. A broken line, and a last
// line without its end, is an error that wraps ErrDamaged and names the line.
func DecodeTranscript(r io.Reader) (chat.Transcript, error) {
	t, line, err := decodeTranscript(r)
	if err != nil {
		return nil, fmt.Errorf("read transcript: line %d: %w", line, err)
	}
	return t, nil
}

// decodeTranscript returns with an error the number of the faulty line.
func decodeTranscript(r io.Reader) (t chat.Transcript, line int, err error) {
	var s sourceSharing
	for text, err := range readLines(r) {
		line++
		if err != nil {
			return nil, line, err
		}
		var x transcriptLine
		if err := decodeLine(text, &x); err != nil {
			return nil, line, err
		}
		m, err := s.decodeMessage(x.message)
		if err != nil {
			return nil, line, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		t = append(t, m)
	}
	return t, 0, nil
}

// lineEncoder returns an encoder of lines that leaves <, > and & as they are.
func lineEncoder(w io.Writer) *json.Encoder {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e
}
