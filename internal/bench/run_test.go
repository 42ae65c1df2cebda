package bench_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/bench"
	"github.com/tiercompact/tiercompact/internal/bench/corpus"
	"github.com/tiercompact/tiercompact/levels"
)

// tiny is a set that runs in a second or two.
func tiny() []corpus.Session {
	return []corpus.Session{corpus.Of(1, 20), corpus.Of(1, 60), corpus.Of(1, 120)}
}

func run(t *testing.T, o bench.Options, sessions []corpus.Session) bench.Report {
	t.Helper()
	o.Seed = 1
	r, err := bench.Run(context.Background(), o, sessions)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func rowOf(t *testing.T, r bench.Report, name string) bench.Row {
	t.Helper()
	for _, row := range r.Rows {
		if row.Name == name {
			return row
		}
	}
	t.Fatalf("no row %q", name)
	return bench.Row{}
}

func TestRunsDifferInCostAlone(t *testing.T) {
	var reports []string
	for _, cores := range []int{1, 4} {
		before := runtime.GOMAXPROCS(cores)
		r := run(t, bench.Options{Quick: true, Left: 0.4, Presets: []tiercompact.Preset{tiercompact.Steady}}, tiny())
		runtime.GOMAXPROCS(before)
		for _, row := range r.Rows {
			if row.Cost == nil || row.Cost.Messages == 0 {
				t.Errorf("%s has no cost", row.Name)
			}
		}
		if len(r.Growth) != 2 || r.Growth[1].Messages < 990 || r.Growth[1].LevelMillis[levels.HardName] <= 0 {
			t.Errorf("growth %+v", r.Growth)
		}
		data, err := json.Marshal(r.WithoutCost())
		if err != nil {
			t.Fatal(err)
		}
		reports = append(reports, string(data))
	}
	if reports[0] != reports[1] {
		t.Errorf("one core and four:\n%s\n%s", reports[0], reports[1])
	}
	if strings.Contains(reports[0], `"ms"`) {
		t.Error("a report without cost has times")
	}
}

func TestARowIsMeasuredOnceAndNamedByItsWindow(t *testing.T) {
	r := run(t, bench.Options{NoCost: true, Bare: true, Presets: []tiercompact.Preset{"steady", "steady"}, Levels: []string{"auto", "auto"},
		Windows: []float64{0.5, 0.501, 0.5, 1, 0.0625}}, tiny())
	var names []string
	for _, row := range r.Rows {
		names = append(names, row.Name)
	}
	if want := []string{"steady auto 0.50", "steady auto 0.501", "steady auto 1.00", "steady auto 0.0625"}; !slices.Equal(names, want) {
		t.Errorf("rows %q, want %q", names, want)
	}
}

func TestRowsHaveRetention(t *testing.T) {
	r := run(t, bench.Options{NoCost: true, Windows: []float64{0.5}}, tiny())
	if r.Set.Sessions != 3 || len(r.Set.Short) != 1 || r.Set.Ranking != "lexical" || r.Set.Summarizer != "extractive" {
		t.Errorf("set %+v", r.Set)
	}
	names := make(map[string]bool)
	for _, row := range r.Rows {
		if names[row.Name] {
			t.Errorf("two rows %q", row.Name)
		}
		names[row.Name] = true
		if row.Orphans != 0 {
			t.Errorf("%s: %d orphans", row.Name, row.Orphans)
		}
		if f := row.Freed; f.Before-f.After != f.Tokens || f.Soft.Files+f.Soft.Again+f.Soft.Outputs < 0 {
			t.Errorf("%s: %+v", row.Name, f)
		}
	}
	if all := rowOf(t, r, "keep everything"); all.Identifiers.Share != 1 || all.Edits.Share != 1 || all.Facts.Share != 1 || all.Prefill.Ratio != 1 || all.Left != 1 {
		t.Errorf("keep everything: %+v", all)
	}
	soft := rowOf(t, r, "default soft")
	if soft.Freed.Soft.Files == 0 || soft.Freed.Soft.Again == 0 || soft.Freed.Soft.Outputs == 0 || soft.Prefill != nil {
		t.Errorf("default soft: %+v", soft)
	}
	if auto := rowOf(t, r, "steady auto 0.50"); auto.Prefill.Ratio <= 1 || auto.Prefill.Rounds == 0 || auto.Freed.Share < 0.4 {
		t.Errorf("steady auto: %+v", auto)
	}
}

// The levels must not lose these facts, whatever they free.
func TestPlantedFactsOutliveTheLevels(t *testing.T) {
	if testing.Short() {
		t.Skip("half a minute of sessions")
	}
	r := run(t, bench.Options{NoCost: true, Bare: true, Levels: []string{"soft", "hard", "emergency"}, Windows: []float64{2}}, corpus.Small(42))
	for _, preset := range []string{"default", "steady"} {
		soft, hard, emergency := rowOf(t, r, preset+" soft"), rowOf(t, r, preset+" hard"), rowOf(t, r, preset+" emergency")
		for _, f := range soft.ByKind {
			if f.Kind != corpus.InFile && f.Kept != f.Of {
				t.Errorf("%s soft: %s %d of %d", preset, f.Kind, f.Kept, f.Of)
			}
		}
		if hard.Facts.Share < 0.9 {
			t.Errorf("%s hard: %.3f of what was asked for", preset, hard.Facts.Share)
		}
		for _, f := range emergency.ByKind {
			if f.Kind != corpus.InFile && f.Kept != f.Of {
				t.Errorf("%s emergency: %s %d of %d", preset, f.Kind, f.Kept, f.Of)
			}
		}
		if emergency.Facts.Share < 0.9 {
			t.Errorf("%s emergency: %.3f of all", preset, emergency.Facts.Share)
		}
		t.Logf("%s: soft %.3f, hard %.3f, emergency %.3f", preset, soft.Facts.Share, hard.Facts.Share, emergency.Facts.Share)
	}
}

func TestLeftFindsTheWindow(t *testing.T) {
	r := run(t, bench.Options{NoCost: true, Bare: true, Left: 0.45, Levels: []string{bench.Auto}}, tiny())
	if len(r.Left) != 3 {
		t.Fatalf("%+v", r.Left)
	}
	for _, l := range r.Left {
		if math.Abs(l.Size-0.45) > 0.05 || l.Row.Left != l.Size || l.Row.Identifiers.Of == 0 {
			t.Errorf("%s: %.3f in %.3f", l.Preset, l.Size, l.Window)
		}
	}
}

func TestBaselinesAreComparedAtTheirOwnSize(t *testing.T) {
	r := run(t, bench.Options{NoCost: true, Presets: []tiercompact.Preset{tiercompact.Steady}, Levels: []string{bench.Auto}}, tiny())
	if len(r.AtSize) != len(bench.Baselines())-1 {
		t.Fatalf("%d baselines are compared", len(r.AtSize))
	}
	some := 0
	for _, a := range r.AtSize {
		for _, c := range []*bench.Compared{a.Identifiers, a.Edits} {
			if c == nil {
				continue
			}
			some++
			if c.Preset < 0 || c.Preset > 1 || math.Abs(c.Difference-(c.Preset-c.Baseline)) > 1e-9 {
				t.Errorf("%s: %+v", a.Baseline, c)
			}
		}
	}
	if some == 0 {
		t.Error("nothing is compared")
	}
	r = run(t, bench.Options{NoCost: true, Presets: []tiercompact.Preset{tiercompact.Default}, Levels: []string{bench.Auto}, Windows: []float64{0.5}}, tiny())
	if len(r.AtSize) != 0 {
		t.Error("compared with steady, which was not measured")
	}
}

func TestRunReportsProgress(t *testing.T) {
	last, of := 0, 0
	o := bench.Options{NoCost: true, Levels: []string{"soft"}, Windows: []float64{1}, Told: func(done, n int) {
		if done != last+1 {
			t.Errorf("%d after %d", done, last)
		}
		last, of = done, n
	}}
	run(t, o, tiny())
	if last != of || of == 0 {
		t.Errorf("%d of %d at the end", last, of)
	}
}

func TestRunRejectsInvalidOptions(t *testing.T) {
	short := []corpus.Session{{Name: "short", Messages: chat.Transcript{chat.NewText(chat.User, "hello")}}}
	for _, test := range []struct {
		o    bench.Options
		want string
	}{
		{bench.Options{Levels: []string{"harder"}}, "level must be auto, soft, hard or emergency"},
		{bench.Options{Windows: []float64{0}}, "window must be a share"},
		{bench.Options{Windows: []float64{math.NaN()}}, "window must be a share"},
		{bench.Options{Left: 1}, "left must be a share"},
		{bench.Options{Presets: []tiercompact.Preset{"best"}}, "Preset must be one of default, eager, steady"},
		{bench.Options{Left: 0.3, NoCost: true}, "give longer sessions"},
	} {
		if _, err := bench.Run(context.Background(), test.o, short); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v, want %s", err, test.want)
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if _, err := bench.Run(ctx, bench.Options{}, tiny()); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestOddSessionsAreMeasured(t *testing.T) {
	call := chat.Message{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, ID: "a", Name: "Edit", Args: `{"file_path":`}}}
	var many chat.Transcript
	for range 60 {
		many = append(many, call, chat.Message{Role: chat.Tool}, chat.NewText(chat.User, ""))
	}
	odd := []corpus.Session{{Name: "empty"}, {Name: "one", Messages: chat.Transcript{call}}, {Name: "broken", Messages: many}}
	r := run(t, bench.Options{NoCost: true, Quick: true}, odd)
	if r.Set.Sessions != 3 || len(r.Set.Short) != 2 {
		t.Errorf("%+v", r.Set)
	}
	if r := run(t, bench.Options{Quick: true, Levels: []string{"soft"}}, nil); r.Set.Sessions != 0 || len(r.Rows) == 0 {
		t.Errorf("%+v", r.Set)
	}
}

func TestCutsMeasureEverythingAtEachCut(t *testing.T) {
	o := bench.Options{NoCost: true, Presets: []tiercompact.Preset{tiercompact.Steady}, Levels: []string{bench.Auto}, Windows: []float64{0.5}, Bare: true}
	each := 0
	for _, cuts := range [][]int{{40}, {60}, {80}} {
		o.Cuts = cuts
		each += rowOf(t, run(t, o, tiny()), "steady auto 0.50").Identifiers.Of
	}
	o.Cuts = []int{40, 60, 80, 60}
	row := rowOf(t, run(t, o, tiny()), "steady auto 0.50")
	if row.Identifiers.Of != each || row.Placed.Of != each {
		t.Errorf("%d identifiers at three cuts, %d at each in turn; %+v", row.Identifiers.Of, each, row.Edits)
	}
	o.Cuts = []int{100}
	if _, err := bench.Run(context.Background(), o, tiny()); err == nil || !strings.Contains(err.Error(), "is 100") {
		t.Errorf("a cut at the end: %v", err)
	}
}

// The first row of the sections is that of the whole output, and each other one is
// smaller. The places of truth are found in real summaries.
func TestSectionsOfSummariesAreMeasured(t *testing.T) {
	o := bench.Options{NoCost: true, Presets: []tiercompact.Preset{tiercompact.Steady}, Levels: []string{bench.Auto}, Windows: []float64{0.5}, Bare: true, Sections: true}
	r := run(t, o, tiny())
	if len(r.Sections) < 4 || r.Sections[0].Name != "" || r.Sections[0].Placed != r.Rows[0].Placed || r.Sections[0].Left != r.Rows[0].Left {
		t.Fatalf("sections %+v of %+v", r.Sections, r.Rows[0])
	}
	for _, s := range r.Sections[1:] {
		if s.Left >= r.Sections[0].Left || s.Placed.Kept > r.Sections[0].Placed.Kept {
			t.Errorf("without %q: %+v", s.Name, s)
		}
	}
	if truth := r.Rows[0].Truth; truth.Excerpts.Lines == 0 || truth.Record.Lines == 0 {
		t.Errorf("no lines of files are found: %+v", truth)
	}
}
