package evidence

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"sort"
	"strings"

	"github.com/tiercompact/tiercompact/wire"
)

const shapes = "give a file of LoCoMo (a list of objects with conversation and qa) or of LongMemEval (with question, haystack_sessions and answer_session_ids)"

// Read reads the samples of a file, one in memory at a time. It recognises both
// formats by their fields. The file may also be one object, or objects one after
// the other. Read ends with the first error: a [*wire.Error], or that of the
// reader.
func Read(r io.Reader, name string) iter.Seq2[Sample, error] {
	return func(yield func(Sample, error) bool) {
		s := newStream(r, name)
		n := 0
		for raw, err := range s.eachValue() {
			if err != nil {
				yield(Sample{}, err)
				return
			}
			sample, err := s.decodeSample(raw, n)
			if !yield(sample, err) || err != nil {
				return
			}
			n++
		}
		if n == 0 {
			yield(Sample{}, &wire.Error{File: name, Problem: "no sample in it", Remedy: shapes})
		}
	}
}

// A stream yields the values of a JSON list one by one.
type stream struct {
	name  string
	lines *lineReader
	json  *json.Decoder
	list  bool // the values are in a list, not separate
}

func newStream(r io.Reader, name string) *stream {
	lines := &lineReader{r: bufio.NewReader(r)}
	return &stream{name: name, lines: lines, json: json.NewDecoder(lines)}
}

func (s *stream) eachValue() iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		if err := s.openList(); err != nil {
			yield(nil, err)
			return
		}
		for s.json.More() {
			var raw json.RawMessage
			if err := s.json.Decode(&raw); err != nil {
				yield(nil, s.jsonError(err))
				return
			}
			s.lines.skipToOffset(s.json.InputOffset() - int64(len(raw)))
			if !yield(raw, nil) {
				return
			}
		}
		if err := s.closeList(); err != nil {
			yield(nil, err)
		}
	}
}

// openList checks whether the values are in a list.
func (s *stream) openList() error {
	first, err := s.lines.skipBlanks()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", s.name, err)
	}
	if first != '[' {
		return nil
	}
	s.list = true
	if _, err := s.json.Token(); err != nil {
		return s.jsonError(err)
	}
	return nil
}

func (s *stream) closeList() error {
	if s.list {
		if _, err := s.json.Token(); err != nil {
			return s.jsonError(err)
		}
	}
	switch _, err := s.json.Token(); err {
	case io.EOF:
		return nil
	case nil:
		return s.jsonError(errors.New("text follows the list"))
	default:
		return s.jsonError(err)
	}
}

// jsonError returns the place at which the JSON breaks.
func (s *stream) jsonError(err error) error {
	at := s.json.InputOffset()
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		at = syntax.Offset
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		err = errors.New("the file ends too soon")
		at = s.lines.read
	case s.lines.err != nil && !errors.Is(s.lines.err, io.EOF):
		return fmt.Errorf("read %s: %w", s.name, s.lines.err)
	}
	s.lines.skipToOffset(at)
	return &wire.Error{File: s.name, Line: s.lines.lineNumber(), Problem: "broken JSON: " + err.Error(), Remedy: "use the complete published file"}
}

// decodeSample decodes the n-th value by its fields.
func (s *stream) decodeSample(raw json.RawMessage, n int) (Sample, error) {
	f := field{file: s.name, line: s.lines.lineNumber(), path: fmt.Sprintf("[%d]", n)}
	var has struct {
		Conversation, QA json.RawMessage
		Haystack         json.RawMessage `json:"haystack_sessions"`
	}
	if trimmed := bytes.TrimSpace(raw); len(trimmed) == 0 || trimmed[0] != '{' {
		return Sample{}, f.fieldError("is no object", shapes)
	}
	if err := json.Unmarshal(raw, &has); err != nil {
		return Sample{}, f.fieldError(err.Error(), shapes)
	}
	switch {
	case has.Conversation != nil:
		return decodeLoCoMo(raw, f)
	case has.Haystack != nil:
		return longMemEval(raw, f)
	}
	return Sample{}, f.fieldError("has neither conversation nor haystack_sessions", shapes)
}

// A field is a place in a file.
type field struct {
	file string
	line int
	path string
}

// childField returns the place of a key, or of an index if it is a number.
func (f field) childField(key any) field {
	if i, ok := key.(int); ok {
		f.path += fmt.Sprintf("[%d]", i)
	} else {
		f.path += fmt.Sprintf(".%v", key)
	}
	return f
}

func (f field) fieldError(problem, remedy string) error {
	return &wire.Error{File: f.file, Line: f.line, Field: f.path, Problem: problem, Remedy: remedy}
}

// decodeField decodes the value of a field, and returns the expected kind in its
// error.
func (f field) decodeField(raw json.RawMessage, into any, what string) error {
	if isMissing(raw) {
		return f.fieldError("is missing", "it must be "+what)
	}
	err := json.Unmarshal(raw, into)
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) && wrong.Field != "" {
		f = f.childField(wrong.Field)
		return f.fieldError("is "+withArticle(wrong.Value)+" "+wrong.Value, "the whole must be "+what)
	}
	if err != nil {
		return f.fieldError("is not "+what, "make it so")
	}
	return nil
}

// isMissing reports whether a value is missing or null.
func isMissing(raw json.RawMessage) bool { return raw == nil || string(raw) == "null" }

// withArticle has the article of each kind of JSON value.
func withArticle(kind string) string {
	if strings.HasPrefix(kind, "a") || strings.HasPrefix(kind, "o") {
		return "an"
	}
	return "a"
}

// A lineReader counts lines up to a place that was passed. It keeps only the ends
// of the lines after it.
type lineReader struct {
	r      *bufio.Reader
	read   int64   // bytes
	ends   []int64 // of lines, after the place
	passed int     // lines that end before the place
	err    error   // of r
}

// Read implements io.Reader.
func (l *lineReader) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	l.err = err
	for i, c := range p[:n] {
		if c == '\n' {
			l.ends = append(l.ends, l.read+int64(i))
		}
	}
	l.read += int64(n)
	return n, err
}

// byteOrder is the beginning of files that some editors have saved.
const byteOrder = "\ufeff"

// skipBlanks skips a byte order mark and blanks, and returns the next byte, still
// unread.
func (l *lineReader) skipBlanks() (byte, error) {
	if mark, err := l.r.Peek(len(byteOrder)); err == nil && string(mark) == byteOrder {
		_, _ = l.r.Discard(len(byteOrder)) // it was just read
	}
	for {
		c, err := l.r.ReadByte()
		switch {
		case err != nil:
			return 0, err
		case c == '\n':
			l.passed++
		case c != ' ' && c != '\t' && c != '\r':
			return c, l.r.UnreadByte()
		}
	}
}

// skipToOffset continues to an offset, counted from the first byte that was read.
func (l *lineReader) skipToOffset(offset int64) {
	n := sort.Search(len(l.ends), func(i int) bool { return l.ends[i] >= offset })
	l.passed += n
	l.ends = l.ends[n:]
}

func (l *lineReader) lineNumber() int { return l.passed + 1 }
