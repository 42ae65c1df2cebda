package clip_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tiercompact/tiercompact/internal/clip"
	"github.com/tiercompact/tiercompact/redact"
)

func TestBytesCutsBetweenCharacters(t *testing.T) {
	for _, test := range []struct {
		text string
		size int
		want string
	}{{"", 0, ""}, {"abc", 3, "abc"}, {"abc", 2, "ab"}, {"aé", 2, "a"}, {"é", 1, ""}, {"a€b", 4, "a€"}, {"\xff\xfe", 1, "\xff"}, {"\x80\x80", 1, ""}} {
		if got := clip.Bytes(test.text, test.size); got != test.want {
			t.Errorf("%q in %d bytes: %q, want %q", test.text, test.size, got, test.want)
		}
	}
}

// A mark of redaction stays whole or goes, wherever the cut falls.
func TestMarksAreNeverCutInTwo(t *testing.T) {
	text := "key: " + redact.Mark + redact.Mark + " é end"
	for at := range len(text) + 1 {
		for _, part := range []string{clip.Bytes(text, at), clip.From(text, at)} {
			if rest := strings.ReplaceAll(part, redact.Mark, ""); strings.ContainsAny(rest, "<>RACTD") || !utf8.ValidString(part) {
				t.Errorf("cut at %d: %q", at, part)
			}
		}
		if got := clip.Bytes(text, at); len(got) > at {
			t.Errorf("%d bytes in %d", len(got), at)
		}
	}
}
