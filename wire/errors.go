package wire

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// The kinds of problems with an input. Every [*Error] wraps one of them.
var (
	ErrEmpty        = errors.New("empty input")
	ErrNotUTF8      = errors.New("not UTF-8")
	ErrTooLarge     = errors.New("input too large")
	ErrUnknown      = errors.New("unknown format")
	ErrBroken       = errors.New("broken JSON")
	ErrField        = errors.New("unexpected field")
	ErrNoMessages   = errors.New("no messages")
	ErrSeveralChats = errors.New("several chats")
	ErrNoChat       = errors.New("no such chat")
)

// An Error gives the problem with an input, its place, and the remedy.
type Error struct {
	File    string // "input" if it has no name
	Line    int    // from 1; 0 if the problem is not in one line
	Field   string // path like messages[3].content; "" if it is not in one field
	Problem string
	Remedy  string // "" if there is none

	kind error
}

// Error returns "file:line: field: problem; remedy" without the unknown parts.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	b.WriteString(": ")
	if e.Field != "" {
		b.WriteString(e.Field + ": ")
	}
	b.WriteString(e.Problem)
	if e.Remedy != "" {
		b.WriteString("; " + e.Remedy)
	}
	return b.String()
}

// Unwrap returns the kind of the error, one of the Err variables.
func (e *Error) Unwrap() error { return e.kind }

// sourceError returns an error about the source. line 0 and field "" leave that out.
func (s *source) sourceError(kind error, line int, field, problem, remedy string) *Error {
	return &Error{s.name, line, field, problem, remedy, kind}
}

// brokenDocument returns the error for a document that is not JSON.
func (s *source) brokenDocument(err error) *Error {
	line := 0
	if at := (*syntaxError)(nil); errors.As(err, &at) {
		line = s.lineOfOffset(min(at.offset, len(s.text)))
	}
	return s.sourceError(ErrBroken, line, "", err.Error(), "repair the file")
}

func (s *source) encodingError() *Error {
	text := s.text + s.partialRune
	if hasUTF16Mark(text) {
		return s.sourceError(ErrNotUTF8, 1, "", "is UTF-16, not UTF-8", "convert it to UTF-8")
	}
	at := len(text)
	for i, r := range text {
		if r != utf8.RuneError {
			continue
		}
		if _, n := utf8.DecodeRuneInString(text[i:]); n == 1 {
			at = i
			break
		}
	}
	line := 1 + strings.Count(text[:at], "\n")
	problem := fmt.Sprintf("not UTF-8: byte 0x%02x at offset %d", text[at:min(at+1, len(text))], len(s.bom)+at)
	return s.sourceError(ErrNotUTF8, line, "", problem, "convert the file to UTF-8, or have such bytes read as U+FFFD with --lenient")
}

// hasUTF16Mark reports whether text begins with the byte order mark of UTF-16.
func hasUTF16Mark(text string) bool {
	return strings.HasPrefix(text, "\xff\xfe") || strings.HasPrefix(text, "\xfe\xff")
}

func tooLarge(o Options, limit int64) *Error {
	return &Error{formatName(o), 0, "", fmt.Sprintf("is longer than %d bytes", limit), "split it, or raise the limit", ErrTooLarge}
}
