package screen

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// A Guard protects a terminal. Transcripts, archives, models, servers and names of
// files may hold any text: control sequences (which set the title, clear the
// screen, fill the clipboard, hide a link, change the writing direction) are shown
// as ^[ or <U+202E>, and have no effect. The colours of a Guarded [Screen] pass,
// because only this process knows their mark. A Guard is safe for concurrent use.
type Guard struct {
	w io.Writer

	mu   sync.Mutex
	held []byte // the beginning of an incomplete sequence
}

func NewGuard(w io.Writer) *Guard { return &Guard{w: w} }

// colourMark begins a colour of this process. It is random, so no text holds it.
var colourMark = "\x1b{" + rand.Text() + ":"

const longestPaint = 8 // bytes after the mark, with the closing brace

// Write writes p, but may hold back an incomplete sequence at its end.
func (g *Guard) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	text := append(g.held, p...)
	safe, n := escaped(text, false)
	g.held = bytes.Clone(text[n:])
	if _, err := io.WriteString(g.w, safe); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes the held bytes, escaped.
func (g *Guard) Flush() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	safe, _ := escaped(g.held, true)
	g.held = nil
	_, err := io.WriteString(g.w, safe)
	return err
}

// Escaped returns text as a Guard writes it.
func Escaped(text string) string {
	safe, _ := escaped([]byte(text), true)
	return safe
}

// escaped returns the safe form of the first n bytes of text: of all bytes if atEnd.
func escaped(text []byte, atEnd bool) (safe string, n int) {
	var b strings.Builder
	for n < len(text) {
		rest := text[n:]
		if colour, size := colourAt(rest); size > 0 {
			b.WriteString(colour)
			n += size
			continue
		}
		whole := utf8.FullRune(rest) && !(rest[0] == '\r' && len(rest) == 1) && !mayBeColour(rest)
		if !whole && !atEnd {
			break
		}
		r, size := utf8.DecodeRune(rest)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, rest[0])
		case r == '\r' && len(rest) > 1 && rest[1] == '\n':
			b.WriteByte('\r')
		default:
			writeRune(&b, r)
		}
		n += size
	}
	return b.String(), n
}

// writeRune writes r, escaped if it would control a terminal.
func writeRune(b *strings.Builder, r rune) {
	switch {
	case r == '\n' || r == '\t':
		b.WriteRune(r)
	case r < ' ' || r == 0x7f:
		b.WriteString("^" + string(r^0x40))
	case Steers(r):
		fmt.Fprintf(b, "<U+%04X>", r)
	default:
		b.WriteRune(r)
	}
}

// Steers reports whether r controls a terminal: a control character, a change of
// the writing direction, a line break, or an invisible tag.
func Steers(r rune) bool {
	switch {
	case r < 0x80:
		return unicode.IsControl(r)
	case r == 0x2028, r == 0x2029, r >= 0xfff9 && r <= 0xfffb, r >= 0xe0000 && r <= 0xe007f:
		return true
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
}

// colourAt returns the colour of this process at the beginning of text, in the
// terminal's form, and its size in text.
func colourAt(text []byte) (colour string, size int) {
	rest, ours := bytes.CutPrefix(text, []byte(colourMark))
	if !ours {
		return "", 0
	}
	end := bytes.IndexByte(rest[:min(len(rest), longestPaint)], '}')
	if end < 0 {
		return "", 0
	}
	return "\x1b[" + string(rest[:end]) + "m", len(colourMark) + end + 1
}

// mayBeColour reports whether text is the beginning of a colour.
func mayBeColour(text []byte) bool {
	if text[0] != colourMark[0] {
		return false
	}
	if len(text) < len(colourMark) {
		return strings.HasPrefix(colourMark, string(text))
	}
	return len(text) < len(colourMark)+longestPaint && bytes.HasPrefix(text, []byte(colourMark)) && !bytes.ContainsRune(text, '}')
}
