package summarize_test

import (
	"math"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/summarize"
)

func TestFactsEndForAnyCounter(t *testing.T) {
	session := []chat.Message{chat.NewText(chat.User, "You must never log session tokens."), chat.NewText(chat.User, "Never drop port 8080.")}
	for name, count := range map[string]func(string) int{
		"the empty text is large": func(s string) int { return 1000 + len(s) },
		"MaxInt":                  func(string) int { return math.MaxInt },
		"MinInt":                  func(string) int { return math.MinInt },
		"lines are nothing":       func(s string) int { return strings.Count(s, "\n") * 1000 },
	} {
		facts := summarize.FactsOf(session, "", 100, count)
		if facts != "" && count(facts) > 100 {
			t.Errorf("%s: %q", name, facts)
		}
	}
}

func TestAnAnswerIsCutBeforeItIsRead(t *testing.T) {
	huge := strings.Repeat("- bug 3 is fixed\n", 3<<20)
	if got := summarize.Cut(huge, 1024); len(got) > 1<<17 || !strings.HasPrefix(huge, got) {
		t.Errorf("%d bytes are left of %d", len(got), len(huge))
	}
	for _, tokens := range []int{0, -1, 1 << 62} {
		if got := summarize.Cut("short", tokens); got != "short" {
			t.Errorf("%d tokens: %q", tokens, got)
		}
	}
}
