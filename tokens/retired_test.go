package tokens_test

import (
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/tokens"
)

// The counts are those of OpenAI's cookbook, "How to count tokens with tiktoken".
func TestRetiredEncodingsCountAsPublished(t *testing.T) {
	for text, want := range map[string]int{"antidisestablishmentarianism": 5, "2 + 2 = 4": 5, "お誕生日おめでとう": 14, "": 0} {
		for _, name := range []string{tokens.R50K, tokens.P50K, "p50k_edit", "gpt2"} {
			if got := load(t, name).Count(text); got != want {
				t.Errorf("%s: %q has %d tokens, want %d", name, text, got, want)
			}
		}
	}
	if r, p := load(t, tokens.R50K).Count("def f():\n        return 1"), load(t, tokens.P50K).Count("def f():\n        return 1"); p >= r {
		t.Errorf("%d tokens of indented code in p50k_base, %d in r50k_base, which has no tokens of blanks", p, r)
	}
}

func TestLongTextsOfRetiredEncodingsAreCountedInParts(t *testing.T) {
	e := load(t, tokens.P50K)
	const line = "The quick brown fox's 12 jumps, over\n\tthe lazy dog. "
	one, many := e.Count(line+line)-e.Count(line), e.Count(strings.Repeat(line, 2000))
	if many < 2000*one-2 || many > 2000*one+2 {
		t.Errorf("%d tokens, want 2000 times %d", many, one)
	}
	if got := e.Count(strings.Repeat("a", 1<<20)); got < 1<<20/16 { // a piece of quadratic time, if it was one
		t.Errorf("a megabyte of one letter has %d tokens", got)
	}
	if got, want := e.Count("a\xffb"), e.Count("a\uFFFDb"); got != want {
		t.Errorf("a spoilt byte: %d tokens, want %d", got, want)
	}
}

func TestUnknownEncodingNamesTheKnown(t *testing.T) {
	if _, err := tokens.Load("x50k"); err == nil || !strings.Contains(err.Error(), tokens.P50K) {
		t.Errorf("error is %v", err)
	}
}
