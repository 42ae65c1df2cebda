package bench_test

import (
	"slices"
	"testing"
	"time"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/internal/bench"
	"github.com/tiercompact/tiercompact/levels"
)

func TestFreedAddsUpEachLevel(t *testing.T) {
	report := func(applied ...tiercompact.Applied) tiercompact.Report { return tiercompact.Report{Applied: applied} }
	ms := time.Millisecond
	tests := []struct {
		name    string
		reports []tiercompact.Report
		want    []bench.Level
	}{
		{"nothing fired", []tiercompact.Report{report()}, []bench.Level{
			{Level: levels.SoftName}, {Level: levels.HardName}, {Level: levels.Emergency},
		}},
		{"a cascade and a fit", []tiercompact.Report{
			report(tiercompact.Applied{Level: levels.SoftName, Before: 900, After: 800, Took: ms}),
			report(tiercompact.Applied{Level: levels.SoftName, Before: 950, After: 900, Took: 2 * ms}, tiercompact.Applied{Level: levels.HardName, Before: 900, After: 700, Took: ms}),
			report(tiercompact.Applied{Level: levels.FitName, Before: 1200, After: 1150, Took: ms}),
		}, []bench.Level{
			{Level: levels.SoftName, Times: 2, Freed: 150, Share: 0.375, Took: 3 * ms, Millis: 3},
			{Level: levels.HardName, Times: 1, Freed: 200, Share: 0.5, Took: ms, Millis: 1},
			{Level: levels.Emergency},
			{Level: levels.FitName, Times: 1, Freed: 50, Share: 0.125, Took: ms, Millis: 1},
		}},
	}
	for _, test := range tests {
		var f bench.Freed
		for _, r := range test.reports {
			f.Add(r)
		}
		if got := f.Levels(); !slices.Equal(got, test.want) {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
}
