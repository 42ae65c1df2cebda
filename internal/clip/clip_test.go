package clip_test

import (
	"testing"

	"github.com/tiercompact/tiercompact/internal/clip"
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
