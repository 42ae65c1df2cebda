package summarize

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tiercompact/tiercompact/chat"
)

// Verify looks only for the words that a text has, and removes what it removes with all
// words of the source.
func TestVerifyNeedsOnlyTheWordsOfTheText(t *testing.T) {
	t.Parallel()
	word := rapid.OneOf(rapid.StringMatching("[a-c]{1,3}[A-C_]?[a-c0-2]{0,3}"), rapid.StringMatching("[a-c]{1,2}/[a-c]{1,2}\\.go"),
		rapid.StringMatching("[0-9a-f]{7,14}"), rapid.SampledFrom([]string{"`", "“", "”", "\n", "\n- ", "语言", "é", "AB-12"}))
	text := rapid.Custom(func(t *rapid.T) string {
		var out strings.Builder
		for _, w := range rapid.SliceOfN(word, 0, 12).Draw(t, "words") {
			out.WriteString(w + rapid.SampledFrom([]string{" ", "", ", "}).Draw(t, "gap"))
		}
		return out.String()
	})
	rapid.Check(t, func(t *rapid.T) {
		r := Request{Previous: text.Draw(t, "previous"), Messages: []chat.Message{chat.NewText(chat.User, text.Draw(t, "message"))}}
		written := text.Draw(t, "text")
		want, all := newSourceWords(r).removeUnfounded(written)
		if got, removed := Verify(written, r); got != want || removed != all {
			t.Fatalf("%q, %d removed; want %q, %d", got, removed, want, all)
		}
	})
}

// A frame is in the first and the last lines of an output: the same lines stay in its
// middle.
func TestFrameIsAtTheEnds(t *testing.T) {
	t.Parallel()
	line := rapid.SampledFrom([]string{"", "x", " y", "Output:", "Exit code: 1", "Wall time: 3 s", "<output>", "</output>"})
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(line, 0, 40).Draw(t, "lines")
		var kept []string
		for i, l := range lines {
			if l = outputTags.Replace(l); i >= 8 && i < len(lines)-12 || !isFrameLine(l) {
				kept = append(kept, l)
			}
		}
		text, want := strings.Join(lines, "\n"), strings.TrimSpace(strings.Join(kept, "\n"))
		if got := withoutFrame(text); got != want {
			t.Fatalf("%q: %q, want %q", text, got, want)
		}
	})
}
