package archive

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"github.com/tiercompact/tiercompact/chat"
)

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
