package timeline_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"github.com/tiercompact/tiercompact/levels"
	"io"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tiercompact/tiercompact/internal/timeline"
	"github.com/tiercompact/tiercompact/trace"
)

var update = flag.Bool("update", false, "rewrite the golden file")

// A recorder makes the events of a session.
type recorder struct {
	session string
	window  int
	events  []trace.Event
}

func (r *recorder) emit(payloads ...trace.Payload) {
	for _, p := range payloads {
		r.events = append(r.events, trace.New(r.session, time.Unix(0, 0), time.Unix(0, 0), p))
	}
}

func (r *recorder) estimate(tokens int) {
	r.emit(trace.TokenEstimate{TEst: tokens, MaxTokens: r.window, UsagePct: float64(tokens) / float64(r.window)})
}

func (r *recorder) decision(level, reason string) trace.TriggerDecision {
	return trace.TriggerDecision{Triggered: reason == "usage", Reason: reason, Level: level,
		Policy: trace.Policy{HardCapBuffer: r.window / 8, Thresholds: levels.Thresholds{levels.SoftName: 0.6, levels.HardName: 0.75, levels.Emergency: 0.9}}}
}

// check adds a check without a round.
func (r *recorder) check(tokens int, level, reason string) {
	r.estimate(tokens)
	r.emit(r.decision(level, reason))
}

// round adds a check with one; each level leaves the next number of tokens.
func (r *recorder) round(tokens int, left map[string]int, order ...string) {
	r.estimate(tokens)
	r.emit(r.decision(order[0], "usage"))
	for _, level := range order {
		r.emit(trace.LevelApplied{Level: level, Before: tokens, After: left[level], Freed: tokens - left[level]})
		tokens = left[level]
	}
	r.emit(trace.Archival{SessionID: r.session, Step: 1, StorageAdapter: "memory"})
}

// sample has all that a picture can show.
func sample() []trace.Event {
	r := &recorder{session: "sample", window: 8000}
	r.emit(trace.Warning{Severity: trace.High, Message: "redaction is off"})
	r.check(1000, "none", "below threshold")
	r.check(4000, "layers", "below threshold") // a preflight
	r.round(5000, map[string]int{"soft": 4500}, "soft")
	r.check(5100, "soft", "cooldown")
	r.check(6300, "hard", "cooldown")
	r.round(6500, map[string]int{"soft": 6000, "hard": 4000}, "soft", "hard")
	r.emit(trace.Warning{Severity: trace.Medium, Message: "of the next check"})
	r.estimate(7900)
	r.emit(trace.Warning{Severity: trace.Medium, Message: "of this check"}, trace.Error{ErrorType: "plan", Message: "deadline"})
	r.emit(r.decision("emergency", "nothing to do"))
	r.round(9000, map[string]int{"emergency": 6000, "fit": 2000}, "emergency", "fit")
	r.emit(trace.SummaryCreated{Strategy: "task_state"})
	r.window = 4000
	r.check(2100, "none", "below threshold")
	r.round(3000, map[string]int{"layers": 1000}, "layers")
	r.emit(trace.Error{ErrorType: "record", Message: "disk full"})
	return r.events
}

func drawn(t *testing.T, events []trace.Event) string {
	t.Helper()
	var out bytes.Buffer
	if err := timeline.SVG(&out, events); err != nil {
		t.Fatal(err)
	}
	wellFormed(t, out.Bytes())
	return out.String()
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

func TestAPictureIsTheSameBytesForTheSameEvents(t *testing.T) {
	got := drawn(t, sample())
	if *update {
		if err := os.WriteFile("testdata/sample.svg", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/sample.svg")
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Error("testdata/sample.svg is not what was drawn; if it should be, run with -update and look at it")
	}
}

func TestAPictureTellsWhatTheEventsTell(t *testing.T) {
	got := drawn(t, sample())
	for _, want := range []string{
		"session sample", "window of 8,000 tokens; 10 checks; 4 rounds freed 12,000 tokens; 3 due checks skipped",
		">−500<", ">−2,500<", ">−7,000<", ">−2,000<", ">used<", ">soft 60 %<", ">hard 75 %<", ">emergency 90 %<", ">budget 87.5 %<",
		">freed by soft<", ">freed by hard<", ">freed by emergency<", ">freed by layers<", ">freed by fit<",
		">skipped 3<", ">summaries 1<", ">archived 4<", ">warnings 2<", ">errors 2<", "window used, %", "check, one after each message",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the picture has no %q", want)
		}
	}
}

func TestEveryColourFollowsTheTheme(t *testing.T) {
	svg := drawn(t, sample())
	sheet := regexp.MustCompile(`(?s)<style>.*</style>`).FindString(svg)
	if !strings.Contains(sheet, "@media (prefers-color-scheme: dark)") {
		t.Fatal("no dark theme")
	}
	if bad := regexp.MustCompile(`style="[^"]*(fill|stroke):#`).FindString(strings.Replace(svg, sheet, "", 1)); bad != "" {
		t.Errorf("a colour that no theme changes: %s", bad)
	}
}

func TestEventsThatAreNoSessionAreRefused(t *testing.T) {
	other := recorder{session: "other", window: 100}
	other.check(10, "none", "below threshold")
	warned := recorder{session: "warned", window: 100}
	warned.emit(trace.Warning{Severity: trace.Low, Message: "early"})
	for _, test := range []struct {
		name   string
		events []trace.Event
		want   error
	}{
		{"none", nil, timeline.ErrNoChecks},
		{"no check", warned.events, timeline.ErrNoChecks},
		{"two sessions", append(sample(), other.events...), timeline.ErrMixed},
	} {
		if err := timeline.SVG(io.Discard, test.events); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", test.name, err, test.want)
		}
	}
}

func TestHostileEventsAreDrawnToo(t *testing.T) {
	r := recorder{session: "</text><script>\x00\x1b[31m\u202e" + strings.Repeat("long ", 100) + "\xff", window: 0}
	r.check(10, "none", "below threshold")
	r.window = -1
	r.round(math.MinInt, map[string]int{"nonsense": math.MaxInt}, "nonsense")
	r.window = 1
	r.round(math.MaxInt, map[string]int{"soft": math.MinInt}, "soft")
	odd := r.decision("soft", "cooldown")
	odd.Policy.Thresholds = levels.Thresholds{levels.SoftName: math.NaN(), levels.HardName: math.Inf(1), levels.Emergency: -1}
	odd.Policy.HardCapBuffer = math.MinInt
	r.emit(odd)
	r.events = append(r.events, trace.Event{Session: r.session})
	if svg := drawn(t, r.events); strings.Contains(svg, "<script>") {
		t.Error("a name is not escaped")
	}
}

func TestALongSessionIsLabelledSparingly(t *testing.T) {
	r := recorder{session: "long", window: 8000}
	for n := range 5000 {
		r.round(6000, map[string]int{"soft": 4000 - n%7}, "soft")
	}
	if n := strings.Count(drawn(t, r.events), ">−2,00"); n < 10 || n > 60 {
		t.Errorf("%d labels", n)
	}
}

// full is what fails to be written to.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestAnErrorOfWritingIsReturned(t *testing.T) {
	if err := timeline.SVG(full{}, sample()); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Error(err)
	}
}

func BenchmarkSVG(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		r := recorder{session: "bench", window: 8000}
		for i := range n {
			if i%10 == 0 {
				r.round(6000, map[string]int{"soft": 4000}, "soft")
			} else {
				r.check(4000+i%10*200, "none", "below threshold")
			}
		}
		b.Run(fmt.Sprintf("messages=%d", n), func(b *testing.B) {
			for b.Loop() {
				if err := timeline.SVG(io.Discard, r.events); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
