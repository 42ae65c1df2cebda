package report_test

import (
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"html"
	"image/png"
	"io"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/internal/bench"
	"github.com/tiercompact/tiercompact/internal/bench/report"
	"github.com/tiercompact/tiercompact/levels"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// sample is a report with every field set.
func sample() bench.Report {
	r := bench.Report{Set: bench.Set{Name: "made-up sessions, seed 7", Command: []string{"tiercompact", "bench", "--quick", "--seed", "7"}, Sessions: 3, Short: []string{"a"}, Messages: 1234, Tokens: 56789, Facts: 12, Ranking: "lexical", Summarizer: "extractive", Seed: 7, Quick: true}}
	figure := func(share, size float64) bench.Figure {
		return bench.Figure{Kept: int(share * 100), Of: 100, Share: share, Size: size}
	}
	for p, preset := range []string{"default", "steady"} {
		r.Rows = append(r.Rows, bench.Row{Name: preset + " soft", Kind: bench.Alone, Preset: preset, Level: "soft", Identifiers: figure(0.9, 0.5)})
		for w, window := range []float64{0.3, 0.5, 1} {
			share := 0.5 + 0.15*float64(w) + 0.02*float64(p)
			r.Rows = append(r.Rows, bench.Row{
				Name: fmt.Sprintf("%s auto %.2f", preset, window), Kind: bench.Replay, Preset: preset, Level: bench.Auto, Window: window,
				Freed: bench.FreedTokens{Before: 56789, After: 20000, Tokens: 36789, Share: 0.648, Soft: bench.SoftPart{Files: 1, Again: 2, Outputs: 3},
					Levels: []bench.LevelPart{{Level: "soft", Times: 3, Freed: 24000}, {Level: "hard", Times: 2, Freed: 9000 * (2 - w)}}},
				Identifiers: figure(share, 0.2+0.2*float64(w)), Placed: figure(share-0.1, 0.2+0.2*float64(w)), Truth: bench.Truth{Lines: 200, Stale: 3, Removed: 1, Share: 0.02}, Edits: figure(share-0.3, 0.2+0.2*float64(w)), Facts: figure(1, 0.352),
				ByKind:  []bench.Facts{{Kind: "user rule", Kept: 3, Of: 3, Share: 1}, {Kind: "open todo"}},
				Prefill: &bench.Prefilled{Tokens: 160, Without: 100, Ratio: 1.6 + float64(p), Rounds: 3.4, Window: window},
				Cost:    &bench.Cost{Session: "a.jsonl", Messages: 200, Millis: 12.34, PeakBytes: 5_600_000},
			})
		}
	}
	for i, name := range []string{"keep everything", "newest 0.20", "newest 0.50", "mask but 10"} {
		r.Rows = append(r.Rows, bench.Row{Name: name, Kind: bench.Baseline, Identifiers: figure(0.9-0.2*float64(i), 0.9-0.2*float64(i)), Placed: figure(0.8-0.2*float64(i), 0.9-0.2*float64(i)),
			Prefill: &bench.Prefilled{Tokens: 200, Without: 100, Ratio: 2, Window: 0.5}})
	}
	r.AtSize = []bench.AtSize{{Baseline: "newest 0.20", Preset: "steady", Identifiers: &bench.Compared{Size: 0.2, Baseline: 0.4, Preset: 0.5, Difference: 0.1}}}
	r.Sections = []bench.Section{{Preset: "steady", Window: 0.5, Left: 0.3}, {Preset: "steady", Window: 0.5, Name: "State", Left: 0.29}}
	r.Left = []bench.Left{{Preset: "steady", Target: 0.31, Window: 0.62, Size: 0.309, Row: r.Rows[6]}}
	for _, n := range []int{100, 1000, 10000} {
		r.Growth = append(r.Growth, bench.Growth{Messages: n, Tokens: 30 * n, AddMicros: 90, LevelMillis: map[levels.Name]float64{levels.SoftName: float64(n) / 90, levels.HardName: float64(n) / 50, levels.Emergency: float64(n) / 20}, Bytes: uint64(n) * 900})
	}
	return r
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := "testdata/" + name
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what was written; if it should be, run with -update and read the diff:\n%s", file, got)
	}
}

func TestCSVHasALineForEachRow(t *testing.T) {
	var out bytes.Buffer
	if err := report.CSV(&out, sample()); err != nil {
		t.Fatal(err)
	}
	golden(t, "report.csv", out.Bytes())
	lines, err := csv.NewReader(&out).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if want := 1 + len(sample().Rows) + 1; len(lines) != want {
		t.Errorf("%d lines, want %d", len(lines), want)
	}
}

func drawn(t *testing.T, r bench.Report, name, format string) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := report.Plot(&out, r, name, format); err != nil {
		t.Fatalf("%s as %s: %v", name, format, err)
	}
	return out.Bytes()
}

func TestEveryPlotIsTheSameTwiceAndWellFormed(t *testing.T) {
	for _, name := range report.Plots() {
		for _, format := range report.Formats() {
			once, again := drawn(t, sample(), name, format), drawn(t, sample(), name, format)
			if !bytes.Equal(once, again) {
				t.Errorf("%s as %s differs from run to run", name, format)
			}
			if format == "svg" {
				wellFormed(t, once)
				continue
			}
			picture, err := png.Decode(bytes.NewReader(once))
			if err != nil {
				t.Fatal(err)
			}
			if r, g, b, a := picture.At(0, 0).RGBA(); r&g&b&a != 0xffff {
				t.Errorf("%s: the ground of a png is not white", name)
			}
		}
	}
}

func wellFormed(t *testing.T, doc []byte) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(doc))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("%v in %.300s", err, doc)
		}
	}
}

func TestEveryColourOfADrawingFollowsTheTheme(t *testing.T) {
	svg := string(drawn(t, sample(), report.All, "svg"))
	sheet := regexp.MustCompile(`(?s)<style>.*</style>`).FindString(svg)
	light, dark, found := strings.Cut(sheet, "@media (prefers-color-scheme: dark)")
	if !found {
		t.Fatal("no dark theme")
	}
	fixed := regexp.MustCompile(`style="[^"]*(fill|stroke):#`)
	if bad := fixed.FindString(strings.Replace(svg, sheet, "", 1)); bad != "" {
		t.Errorf("a colour that no theme changes: %s", bad)
	}
	for _, class := range regexp.MustCompile(`class="([fs]-\w+)"`).FindAllStringSubmatch(svg, -1) {
		rule := "." + class[1] + "{"
		if !strings.Contains(light, rule) || !strings.Contains(dark, rule) {
			t.Fatalf("%s has no colour in each theme", class[1])
		}
	}
}

func TestPlotsThatDoNotExistAreRefused(t *testing.T) {
	for _, test := range []struct{ name, format, want string }{
		{"pie", "svg", "take one of all, retention, freed, prefill, cost"},
		{"all", "gif", "take one of svg, png"},
	} {
		err := report.Plot(io.Discard, sample(), test.name, test.format)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s as %s: %v, want %q in it", test.name, test.format, err, test.want)
		}
	}
}

func page(t *testing.T, r bench.Report) string {
	t.Helper()
	var out bytes.Buffer
	if err := report.HTML(&out, r); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestPageNeedsNothingElse(t *testing.T) {
	text := page(t, sample())
	if text != page(t, sample()) {
		t.Error("the page differs from run to run")
	}
	loads := regexp.MustCompile(`(?i)(src|href)="?[^#"]|url\(|@import|<link|<iframe`)
	if bad := loads.FindString(text); bad != "" {
		t.Errorf("the page loads something: %q", bad)
	}
	for _, want := range []string{
		"<code>tiercompact bench --quick --seed 7 --html report.html</code>", "prefers-color-scheme: dark", "56,789 tokens",
		"Against each baseline", "<small>ms</small>", "those of one session of 200 messages (a.jsonl), on the machine", `<td class="words">steady auto 0.50</td>`, "+0.100",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if n := strings.Count(text, "<svg"); n != len(report.Plots())-1 {
		t.Errorf("%d plots on the page", n)
	}
}

func TestPageOmitsUnmeasuredColumns(t *testing.T) {
	r := sample()
	r.Set.Name, r.Set.Command, r.Set.Facts, r.AtSize, r.Left, r.Growth = "sessions/", nil, 0, nil, nil, nil
	text := page(t, r)
	for _, gone := range []string{"Against each baseline", "How it grows", "leaves a share", "Made by", "Time and memory, over the length"} {
		if strings.Contains(text, gone) {
			t.Errorf("the page still has %q", gone)
		}
	}
}

func TestAnAxisOfOneDecadeHasMoreThanOneLabel(t *testing.T) {
	r := sample()
	for i, bytes := range []uint64{60_000, 300_000, 700_000} {
		r.Growth[i].Bytes = bytes
	}
	svg := string(drawn(t, r, "cost", "svg"))
	for _, label := range []string{">0.1<", ">0.2<", ">0.5<"} {
		if !strings.Contains(svg, label) {
			t.Errorf("the axis of memory has no label %s", label)
		}
	}
}

func TestPageQuotesTheCommandForAShell(t *testing.T) {
	r := sample()
	r.Set.Command = []string{"tiercompact", "bench", "my sessions/it's.json", "$HOME", "--window", "0.3,0.5"}
	want := `tiercompact bench 'my sessions/it'\''s.json' '$HOME' --window 0.3,0.5 --html report.html`
	if got := html.UnescapeString(page(t, r)); !strings.Contains(got, "<code>"+want+"</code>") {
		t.Errorf("no %s", want)
	}
}

func TestOddReportsAreShownToo(t *testing.T) {
	odd := sample()
	odd.Rows[1].Identifiers.Share, odd.Rows[2].Prefill.Ratio, odd.Rows[3].Identifiers.Size = math.NaN(), math.Inf(1), -3
	odd.Rows[1].Freed.Levels[0].Freed = -1 << 62
	odd.Growth[0].AddMicros, odd.Growth[1].LevelMillis[levels.HardName] = math.NaN(), math.Inf(1)
	odd.Rows[1].Name, odd.Set.Name = `</text><script>alert("x")</script>`, "<b>"+strings.Repeat("long ", 200)
	for name, r := range map[string]bench.Report{"empty": {}, "odd": odd, "one row": {Rows: odd.Rows[:1]}} {
		for _, format := range report.Formats() {
			if svg := drawn(t, r, report.All, format); format == "svg" {
				wellFormed(t, svg)
			}
		}
		if html := page(t, r); strings.Contains(html, "<script>alert") || strings.Contains(html, "<b>") {
			t.Errorf("%s: a name is not escaped", name)
		}
		if err := report.CSV(io.Discard, r); err != nil {
			t.Error(name, err)
		}
	}
}

// full is a writer that fails.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestErrorsOfWritingAreReturned(t *testing.T) {
	if report.CSV(full{}, sample()) == nil || report.HTML(full{}, sample()) == nil ||
		report.Plot(full{}, sample(), "cost", "svg") == nil || report.Plot(full{}, sample(), "cost", "png") == nil {
		t.Error("an error of writing is swallowed")
	}
}

func BenchmarkHTML(b *testing.B) {
	r := sample()
	for b.Loop() {
		if err := report.HTML(io.Discard, r); err != nil {
			b.Fatal(err)
		}
	}
}
