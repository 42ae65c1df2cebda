package bench_test

import (
	"context"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/internal/bench"
	"github.com/tiercompact/tiercompact/internal/bench/corpus"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/summarize"
)

// levelled returns how many of the facts of s remain, by kind, after only one level
// of a preset: at a usage of 0.8, like the rows of a level alone.
func levelled(t *testing.T, s corpus.Session, preset tiercompact.Preset, level levels.Name, count func(string) int) map[corpus.Kind]bench.Share {
	t.Helper()
	messages := bench.Plain(s.Messages)
	c, err := tiercompact.New(tiercompact.Config{
		Preset: preset, Level: level, Count: count, Summarizer: summarize.Extractive{}, Window: bench.Size(messages, count) * 5 / 4,
	})
	if err != nil {
		t.Fatal(err)
	}
	session := c.Session(s.Name)
	if err := session.Load(messages); err != nil {
		t.Fatal(err)
	}
	if _, err := session.CompactLevel(context.Background(), level); err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, m := range session.Messages() {
		texts = append(texts, bench.TextOf(m))
	}
	left, kept := strings.Join(texts, "\n"), make(map[corpus.Kind]bench.Share)
	for _, f := range s.Facts {
		share := kept[f.Kind]
		share.Whole++
		if strings.Contains(left, f.Text) {
			share.Part++
		}
		kept[f.Kind] = share
	}
	return kept
}

// The text of a file can be read again: levels that keep no parts of files may keep
// only names of it.
func TestPlantedFactsOutliveTheLevelsInLongSessions(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds of sessions")
	}
	count := counter(t)
	for _, test := range []struct {
		preset tiercompact.Preset
		level  levels.Name
		least  float64 // of all
	}{
		{tiercompact.Default, levels.SoftName, 0.92},
		{tiercompact.Steady, levels.SoftName, 0.93},
		{tiercompact.Default, levels.Emergency, 0.88},
		{tiercompact.Steady, levels.Emergency, 0.9},
	} {
		var all bench.Share
		for _, s := range corpus.Default(42) {
			for kind, share := range levelled(t, s, test.preset, test.level, count) {
				all.Part, all.Whole = all.Part+share.Part, all.Whole+share.Whole
				if kind != corpus.InFile && share.Part != share.Whole {
					t.Errorf("%s %s, %s: %s %d of %d", test.preset, test.level, s.Name, kind, share.Part, share.Whole)
				}
			}
		}
		if all.Of() < test.least {
			t.Errorf("%s %s: %.3f of all, want %.2f", test.preset, test.level, all.Of(), test.least)
		}
		t.Logf("%s %s: %.3f of all", test.preset, test.level, all.Of())
	}
}
