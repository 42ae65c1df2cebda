package summarizetest_test

import (
	"context"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/internal/summarizetest"
	"github.com/tiercompact/tiercompact/summarize"
)

func TestExtractiveKeepsThePromisesOfASummarizer(t *testing.T) {
	if err := summarizetest.Check(t.Context(), summarize.Extractive{}); err != nil {
		t.Error(err)
	}
}

type broken func(n int) (string, error)

func (b broken) Summarize(ctx context.Context, r summarize.Request) (string, error) {
	return b(len(r.Messages))
}

func TestCheckFindsBrokenSummarizers(t *testing.T) {
	calls := 0
	for name, b := range map[string]broken{
		"empty":          func(int) (string, error) { return " ", nil },
		"fails":          func(int) (string, error) { return "", context.DeadlineExceeded },
		"changes":        func(int) (string, error) { calls++; return strings.Repeat("a record. ", calls), nil },
		"never gives up": func(int) (string, error) { return "The gateway drops sessions.", nil },
	} {
		if summarizetest.Check(t.Context(), b) == nil {
			t.Errorf("%s: nothing found", name)
		}
	}
}
