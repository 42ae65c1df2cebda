package bench_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/bench"
	"github.com/tiercompact/tiercompact/tokens"
	"github.com/tiercompact/tiercompact/wire"
)

// sessions reads the files of patterns.
func sessions(t *testing.T, patterns string) []chat.Transcript {
	t.Helper()
	var out []chat.Transcript
	for pattern := range strings.FieldsSeq(patterns) {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			c, err := wire.DecodeBytes(data, wire.Options{Lenient: true, Name: name})
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, bench.Plain(c.Messages))
		}
	}
	return out
}

func counter(t *testing.T) func(string) int {
	t.Helper()
	e, err := tokens.Load("cl100k_base")
	if err != nil {
		t.Fatal(err)
	}
	return bench.Counted(e.Count)
}

func measured(t *testing.T, all []chat.Transcript, way bench.Way, count func(string) int) (k bench.Kept) {
	t.Helper()
	for _, s := range all {
		if err := k.Add(s, way, count); err != nil {
			t.Fatal(err)
		}
	}
	return k
}
