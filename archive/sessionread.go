package archive

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/tiercompact/tiercompact/chat"
)

// ReadSession returns the state of the session in the file path, without opening it
// for writing and without its lock. A damaged record is a [*RecordError];
// [CheckSession] reads the rest of such a file.
func ReadSession(path string) (State, error) {
	s, _, err := readSession(path)
	if errors.Is(err, ErrDamaged) { // or it was written again between the mark and the file
		s, _, err = readSession(path)
	}
	if err != nil {
		return State{}, fmt.Errorf("read session %s: %w", path, err)
	}
	return s, nil
}

// DecodeSession returns the state of a session from the text of its file.
func DecodeSession(text io.Reader) (State, error) {
	s, _, err := decodeSession(text, nil)
	return s, err
}

// A Reader builds a State from the records of a session file.
type reader struct {
	state   State
	shared  sourceSharing
	at      position
	first   string // checksum of the first record
	lines   int
	end     int64 // after the last whole record, without a missing line feed
	unended bool  // the last record is complete except its line feed
}

// readSession reads the file, and then compares it with the last marks.
func readSession(path string) (State, *reader, error) {
	marks := readMarks(path) // first: another process may be writing
	f, err := os.Open(path)
	if err != nil {
		return State{}, nil, err
	}
	defer f.Close()
	return decodeSession(f, marks)
}

func decodeSession(text io.Reader, marks []mark) (State, *reader, error) {
	r := &reader{state: State{Since: -1}}
	b := bufio.NewReaderSize(text, 1<<16)
	for last := false; !last; {
		line, err := readLine(b)
		if err != nil && !errors.Is(err, io.EOF) {
			return State{}, nil, r.fail(err)
		}
		last = errors.Is(err, io.EOF)
		if last && len(line) == 0 {
			break
		}
		if err := r.line(line, last); err != nil {
			return State{}, nil, r.fail(err)
		}
		if err := checkMarks(marks, r.at); err != nil {
			return State{}, nil, r.fail(err)
		}
		r.lines++
	}
	if r.state.Meta.Session == "" {
		return State{}, nil, fmt.Errorf("%w: it does not begin with the session's record", ErrDamaged)
	}
	if err := checkEnd(marks, r.at); err != nil {
		return State{}, nil, r.fail(err)
	}
	return r.state, r, nil
}

// fail returns err for the line after those that were read.
func (r *reader) fail(err error) error {
	if errors.Is(err, ErrDamaged) {
		err = fmt.Errorf("%w; --lenient leaves such records out, and takes what they held from the archive where that has it", err)
	}
	return &RecordError{r.lines + 1, err}
}

// line reads the next line. One without its line feed may be unfinished.
func (r *reader) line(line []byte, last bool) error {
	x, err := decodeRecord(line)
	switch {
	case err != nil && last && errors.Is(err, ErrDamaged) && endOfRecord(line) == 0:
		r.state.Torn = len(line)
		return nil
	case err != nil:
		return err
	case (r.at.number == 0) != (x.Meta != nil):
		return fmt.Errorf("%w: the session's record is the first, and no other", ErrDamaged)
	}
	at, err := r.at.follow(x)
	if err != nil {
		return err
	}
	if err := r.apply(x); err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if r.at = at; at.number == 1 {
		r.first = at.sum
	}
	r.end += int64(len(line))
	if r.unended = last; !last {
		r.end++
	}
	return nil
}

func (r *reader) apply(x record) error {
	if x.Message == nil {
		return r.state.apply(x.sessionLine)
	}
	m, err := r.shared.decodeMessage(*x.Message)
	if err == nil {
		r.state.add(m, x.Loaded)
	}
	return err
}

// messagesOf returns the records that add messages.
func messagesOf(messages []chat.Message, shared *sourceSharing, loaded bool) []sessionLine {
	lines := make([]sessionLine, len(messages))
	for i, m := range messages {
		x := shared.encodeMessage(m)
		lines[i] = sessionLine{Message: &x, Loaded: loaded}
	}
	return lines
}
