package screen

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestAGuardShowsWhatWouldSteer(t *testing.T) {
	for in, want := range map[string]string{
		"plain, täg 日本\tx\n":     "plain, täg 日本\tx\n",
		"\x1b]0;t\x07":           "^[]0;t^G",
		"a\r\nb\rc":              "a\r\nb^Mc",
		"\x9b2J\xff":             `\x9b2J\xff`,
		"\u009b2J":               "<U+009B>2J",
		"\u202ex\u2066\u200f":    "<U+202E>x<U+2066><U+200F>",
		"\U000e0041\u2028":       "<U+E0041><U+2028>",
		"\x7f\x00":               "^?^@",
		"👩\u200d💻 \uFFFD":        "👩\u200d💻 \uFFFD",
		"\x1b{guess:31}x\x1b[0m": "^[{guess:31}x^[[0m",
	} {
		if got := Escaped(in); got != want {
			t.Errorf("%q is shown as %q, want %q", in, got, want)
		}
	}
}

func TestAGuardLetsItsOwnColoursThrough(t *testing.T) {
	var out bytes.Buffer
	g := NewGuard(&out)
	s := Screen{Colour: true, Guarded: true}
	text := s.Paint(Red, "\x1b[5mno") + s.Paint(Plain, "x") + s.Paint(Dim, "y")
	for i := range len(text) { // byte by byte
		if n, err := g.Write([]byte{text[i]}); n != 1 || err != nil {
			t.Fatal(n, err)
		}
	}
	if err := g.Flush(); err != nil || out.String() != "\x1b[31m^[[5mno\x1b[0mx\x1b[90my\x1b[0m" {
		t.Errorf("%q, %v", out.String(), err)
	}
}

// The output does not depend on how a text is cut into writes.
func TestAGuardDoesNotMindWhereWritesEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOf(rapid.SampledFrom([]string{"a", "\r", "\n", "\x1b", "\x9b", "é", "\u202e", "\xe2\x80", "\x1b{", colourMark, colourMark + "31}", "}", "日"})).Draw(t, "text")
		whole := strings.Join(text, "")
		var out bytes.Buffer
		g := NewGuard(&out)
		for rest := []byte(whole); len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "bytes")
			if _, err := g.Write(rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := g.Flush(); err != nil || out.String() != Escaped(whole) {
			t.Fatalf("%q came out as %q, at once %q", whole, out.String(), Escaped(whole))
		}
	})
}
