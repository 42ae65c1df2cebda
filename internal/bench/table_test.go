package bench_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/bench"
	"github.com/tiercompact/tiercompact/tokens"
	"github.com/tiercompact/tiercompact/wire"
)

var (
	set       = flag.String("set", "", "`patterns` of the session files of a table")
	presets   = flag.String("presets", "steady", "presets to replay")
	windows   = flag.String("windows", "0.5", "windows to replay in, as shares of the tokens before the cut")
	baselines = flag.Bool("baselines", false, "give the baselines too")
	prefill   = flag.Float64("prefill", 0, "give the re-prefill in this window, a share of the session's tokens")
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

// TestTable measures the sessions of -set.
func TestTable(t *testing.T) {
	if *set == "" {
		t.Skip("no sessions: give their files by -set 'PATTERN …'")
	}
	all, count := sessions(t, *set), counter(t)
	var ways []bench.Way
	if *baselines {
		ways = bench.Baselines()
	}
	for preset := range strings.FieldsSeq(*presets) {
		cfg := tiercompact.Config{Preset: tiercompact.Preset(preset), Count: count}
		for window := range strings.FieldsSeq(*windows) {
			var share float64
			if _, err := fmt.Sscan(window, &share); err != nil {
				t.Fatalf("-windows %s: %v", window, err)
			}
			ways = append(ways, bench.Replayed(preset+" "+window, cfg, share))
		}
		if *prefill > 0 {
			var r bench.Refill
			for _, s := range all {
				if err := r.Add(s, cfg, *prefill, count); err != nil {
					t.Fatal(err)
				}
			}
			t.Logf("%s: re-prefill %.3f over %d sessions, %.1f rounds each", preset, r.Prefill.Of(), r.Sessions, float64(r.Rounds)/float64(max(1, r.Sessions)))
		}
	}
	for _, way := range ways {
		k := measured(t, all, way, count)
		t.Logf("%-20s identifiers %.3f of %d @ %.3f, edits %.3f of %d @ %.3f, orphans %d", way.Name, k.Identifiers.Of(), k.Identifiers.Whole,
			k.IdentifierSize.Of(), k.Edits.Of(), k.Edits.Whole, k.EditSize.Of(), k.Orphans)
	}
}
