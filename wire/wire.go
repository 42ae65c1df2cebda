// Package wire reads and writes conversations in the formats of assistants and
// their APIs. [Decode] detects the format by the content and returns the
// conversation as the model saw it. [Encode] writes one: unchanged messages are
// written byte for byte, including unknown fields and the order of keys; a changed
// message keeps the rest of its object; a new one gets a new object.
package wire

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/tiercompact/tiercompact/chat"
)

// A Conversation is one chat as the model saw it. Its messages share memory with
// the source text.
type Conversation struct {
	Format     string          // name of its original format
	Messages   chat.Transcript // canonical: each tool result is one message; the system prompt of a body comes first, as a message
	Tools      []byte          // original tool definitions (JSON array); nil if there are none
	Model      string          // "" if the source does not say
	Title      string          // "" if the source does not say
	Skipped    int             // broken records omitted under Lenient
	Replaced   int             // invalid bytes, read as U+FFFD under Lenient
	Unfinished int             // line of the last record, omitted because it is unfinished; 0 if it is complete

	layout *layout // the document around the messages; nil if they cannot be written back into it
}

// Options control reading. The zero value detects the format, and rejects broken
// lines and files with several chats. An unfinished last record of a file of JSON
// lines, without a line end, belongs to a session that is being written: it is
// omitted, see [Conversation.Unfinished].
type Options struct {
	Format   string // "" detects it by content
	Lenient  bool   // omit broken records, read invalid bytes as U+FFFD, and count both
	Chat     int    // number of the chat in the file, from 1; 0 is the only one, and an error if there are several
	Name     string // of the file, for errors
	MaxBytes int64  // a longer input is an error; 0 is 1 GiB
}

// DefaultMaxBytes is the maximum input if Options set no limit.
const DefaultMaxBytes = 1 << 30

// A Format is a format that the package can read, and possibly write.
type Format struct {
	Name     string
	About    string // one line
	Writable bool
}

// Formats returns all formats, writable ones first.
func Formats() []Format {
	var written, read []Format
	for _, f := range allFormats() {
		if f.encode != nil {
			written = append(written, Format{f.name, f.about, true})
		} else {
			read = append(read, Format{f.name, f.about, false})
		}
	}
	return append(written, read...)
}

// Decode reads the conversation in r, to its end. Errors about the content are of
// type [*Error].
func Decode(r io.Reader, o Options) (Conversation, error) {
	limit := cmp.Or(o.MaxBytes, DefaultMaxBytes)
	var text strings.Builder // passes on its bytes as a string without a copy
	n, err := io.Copy(&text, io.LimitReader(r, limit+1))
	if err != nil {
		return Conversation{}, fmt.Errorf("read %s: %w", formatName(o), err)
	}
	if n > limit {
		return Conversation{}, tooLarge(o, limit)
	}
	return decodeText(text.String(), o)
}

// DecodeBytes reads the conversation in data, which it copies once. See
// [Decode].
func DecodeBytes(data []byte, o Options) (Conversation, error) {
	return DecodeString(string(data), o)
}

// DecodeString is [DecodeBytes] of text, which the conversation's messages are parts of.
func DecodeString(text string, o Options) (Conversation, error) {
	limit := cmp.Or(o.MaxBytes, DefaultMaxBytes)
	if int64(len(text)) > limit {
		return Conversation{}, tooLarge(o, limit)
	}
	return decodeText(text, o)
}

func decodeText(text string, o Options) (Conversation, error) {
	src, err := newSource(text, o)
	if err != nil {
		return Conversation{}, err
	}
	f, err := chooseFormat(src, o.Format)
	if err != nil {
		return Conversation{}, err
	}
	chats, err := f.decode(src)
	if err != nil {
		return Conversation{}, err
	}
	return pickConversation(src, chats, o.Chat)
}

// pickConversation returns chat n of chats, or the only one for 0.
func pickConversation(src *source, chats []Conversation, n int) (Conversation, error) {
	switch {
	case len(chats) == 0:
		return Conversation{}, src.sourceError(ErrNoMessages, 0, "", "holds no conversation", "give a file with messages in it")
	case n == 0 && len(chats) > 1:
		return Conversation{}, src.sourceError(ErrSeveralChats, 0, "", fmt.Sprintf("holds %d chats", len(chats)), "choose one with --chat N")
	case n < 0 || n > len(chats):
		return Conversation{}, src.sourceError(ErrNoChat, 0, "", fmt.Sprintf("has no chat %d, only %d", n, len(chats)), "choose one from 1 on with --chat N")
	}
	c := chats[max(n, 1)-1]
	c.Skipped, c.Replaced, c.Unfinished = src.skipped, src.replaced, src.unfinishedLine
	return c, nil
}

// A format describes one file layout.
type format struct {
	name, about string
	match       func(p probe) int                         // 0 is no match, higher is better
	decode      func(src *source) ([]Conversation, error) // all chats of the file
	encode      func(w io.Writer, c Conversation) error   // nil if it is read-only
}

// A source is an input during reading. Its text is valid UTF-8 without a byte order
// mark.
type source struct {
	text           string // without the mark
	bom            string // the mark, or ""
	partialRune    string // the bytes after text of an incomplete character, or ""
	name           string // of the file, for errors
	lenient        bool
	skipped        int // broken records so far; lines and skip count them
	replaced       int // bytes that were not valid UTF-8
	unfinishedLine int // line of the last record, if it is unfinished
	scanned        *scan
}

// A scan is the first value of a source, or why there is none.
type scan struct {
	start, end int
	err        error
}

// firstValue returns the place of the first value of the source; err says that it
// is not JSON.
func (s *source) firstValue() (start, end int, err error) {
	if s.scanned == nil {
		start = skipSpace(s.text, 0)
		end, err = scanValue(s.text, start)
		s.scanned = &scan{start, end, err}
	}
	return s.scanned.start, s.scanned.end, s.scanned.err
}

// A value is one JSON value of a source.
type value struct {
	raw    string // byte for byte, no white space around it
	line   int    // where it begins, from 1
	offset int    // in source.text
}

// eachJSONLine calls each with every value of a source of JSON lines; a line may
// have several. A line that is not JSON is an error. If the source is lenient, the
// broken record is omitted and counted, and reading continues at the next one,
// possibly on the same line.
func (s *source) eachJSONLine(each func(v value) error) error {
	line := 0
	for start := 0; start < len(s.text); {
		line++
		end := len(s.text)
		if n := strings.IndexByte(s.text[start:], '\n'); n >= 0 {
			end = start + n + 1
		}
		if err := s.eachValueOnLine(start, end, line, each); err != nil {
			return err
		}
		start = end
	}
	if s.unfinishedLine == 0 {
		return s.checkPartialRune()
	}
	return nil
}

func (s *source) eachValueOnLine(start, end, line int, each func(v value) error) error {
	text := s.text[:end]
	for i := skipSpace(text, start); i < end; i = skipSpace(text, i) {
		next, err := scanValue(text, i)
		if err != nil {
			if end == len(s.text) && s.unfinished(i, err) {
				s.unfinishedLine = line
				return nil
			}
			if err := s.skipRecord(s.sourceError(ErrBroken, line, "", err.Error(), "repair the line, or leave such records out with --lenient")); err != nil {
				return err
			}
			if i = nextRecord(text, i, brokenAt(err)); i < 0 {
				return nil
			}
			continue
		}
		if err := each(value{text[i:next], line, i}); err != nil {
			if err = s.skipRecord(err); err != nil {
				return err
			}
		}
		i = next
	}
	return nil
}

// unfinished reports whether the value at s.text[i], on the last line, is an
// unfinished last record: the text ends inside it.
func (s *source) unfinished(i int, err error) bool {
	at, ok := errors.AsType[*syntaxError](err)
	return ok && at.cut && s.text[i] == '{' && i > skipSpace(s.text, 0) && !strings.HasSuffix(s.text, "\n")
}

// brokenAt returns the offset of the first byte that is not JSON.
func brokenAt(err error) int {
	if at, ok := errors.AsType[*syntaxError](err); ok {
		return at.offset
	}
	return 0
}

// checkPartialRune returns an error if half a character ends the source, unless the
// last record is unfinished.
func (s *source) checkPartialRune() error {
	switch {
	case s.partialRune == "":
		return nil
	case !s.lenient:
		return s.encodingError()
	}
	s.replaced = len(s.partialRune)
	return nil
}

// skipRecord returns err, or nil if the source is lenient: then it counts one
// omitted record.
func (s *source) skipRecord(err error) error {
	if !s.lenient {
		return err
	}
	s.skipped++
	return nil
}

// document returns the source as one JSON value.
func (s *source) document() (value, error) {
	i, end, err := s.firstValue()
	if err != nil {
		return value{}, s.brokenDocument(err)
	}
	if err := s.checkPartialRune(); err != nil {
		return value{}, err
	}
	if rest := skipSpace(s.text, end); rest < len(s.text) {
		return value{}, s.sourceError(ErrBroken, s.lineOfOffset(rest), "", "more text after the end of the JSON document", "one JSON document, or one object a line, is expected")
	}
	return value{s.text[i:end], s.lineOfOffset(i), i}, nil
}

// lineOfOffset returns the line of an offset, from 1.
func (s *source) lineOfOffset(offset int) int { return 1 + strings.Count(s.text[:offset], "\n") }

// newSource makes the checks for every format: the text is not empty, and it is
// UTF-8.
func newSource(text string, o Options) (*source, error) {
	src := &source{text: text, name: formatName(o), lenient: o.Lenient}
	if rest, ok := strings.CutPrefix(text, "\ufeff"); ok {
		src.text, src.bom = rest, text[:len(text)-len(rest)]
	}
	if skipSpace(src.text, 0) == len(src.text) {
		return nil, src.sourceError(ErrEmpty, 0, "", "is empty", "give a file with messages in it")
	}
	if utf8.ValidString(src.text) {
		return src, nil
	}
	if n := partialRuneLen(src.text); n > 0 && src.text[skipSpace(src.text, 0)] == '{' && utf8.ValidString(src.text[:len(src.text)-n]) {
		// The last line of an unfinished session may end anywhere.
		src.text, src.partialRune = src.text[:len(src.text)-n], src.text[len(src.text)-n:]
		return src, nil
	}
	if !o.Lenient || hasUTF16Mark(src.text) {
		return nil, src.encodingError()
	}
	src.text, src.replaced = readAsUTF8(src.text)
	return src, nil
}

func formatName(o Options) string { return cmp.Or(o.Name, "input") }
