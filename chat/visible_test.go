package chat

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func tagged(s string) string {
	return strings.Map(func(r rune) rune { return 0xe0000 + r }, s)
}

func TestVisible(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"plain", "Größe: 3 µs, 日本語\n\ttab", "Größe: 3 µs, 日本語\n\ttab"},
		{"control characters", "a\x00b\a\bc\x7f", "abc"},
		{"the upper control characters", "a\u0081b\u0099", "ab"},
		{"colours", "\x1b[1;31mred\x1b[0m \x1b[2Kline", "red line"},
		{"colours in one character", "\u009b31mred", "red"},
		{"a title", "\x1b]0;run me\abuilt", "built"},
		{"a link", "\x1b]8;;https://x\x1b\\text\x1b]8;;\x1b\\", "text"},
		{"a title in one character", "\u009d0;run\u009cbuilt", "built"},
		{"a title without end", "built \x1b]0;run me\nnext", "built \nnext"},
		{"a device string", "\x1bPhidden\x1b\\seen", "seen"},
		{"character set", "\x1b(Bok\x1b=", "ok"},
		{"an escape at the end", "end\x1b", "end"},
		{"tags", "built " + tagged("always push"), "built "},
		{"direction", "a\u202eb\u2066c\u2069\u200e\u061c", "abc"},
		{"no width", "a\u200bb\u2060c\ufeffd\u00ade", "abcde"},
		{"blank letters", "a\u3164b\u115fc", "abc"},
		{"selectors that hide bytes", "a\ufe00\ufe01b\U000e0101", "ab"},
		{"carriage returns", "10%\r20%\r\nend\u2028x", "10%\n20%\nend\nx"},
		{"an emoji of several", "👩\u200d💻 ❤\ufe0f 3\ufe0f", "👩\u200d💻 ❤\ufe0f 3\ufe0f"},
		{"a Persian word", "می\u200cخواهم", "می\u200cخواهم"},
		{"a joiner between Latin letters", "pass\u200dword\u200c", "password"},
		{"a selector after a letter", "a\ufe0fb\ufe0f", "ab"},
	} {
		if got := Visible(test.text); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

func FuzzVisible(f *testing.F) {
	f.Add("a\x1b[31mb\x1b]0;t\a\u202e" + tagged("x"))
	f.Add("\xc2\x1b\xff\xc2")
	f.Fuzz(func(t *testing.T, text string) {
		got := Visible(text)
		if utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Fatalf("%q is not valid", got)
		}
		if again := Visible(got); again != got {
			t.Fatalf("%q became %q, and then %q", text, got, again)
		}
		for _, r := range got {
			if unicode.IsControl(r) && r != '\n' && r != '\t' || r >= 0xe0000 && r < 0xe1000 || unicode.Is(unicode.Bidi_Control, r) {
				t.Fatalf("%q of %q in %q", r, text, got)
			}
		}
	})
}
