package page

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tiercompact/tiercompact/levels"
)

func TestTextIsEscaped(t *testing.T) {
	const evil = `<b a="1">'&</b>`
	for _, got := range []markup{element("p", nil, evil), element("p", attributes{"title", evil}), join(evil), join(errorText(evil)), link(address("session", "id", evil), evil), element("p", nil, []markup{join(evil)})} {
		if text := string(got); strings.Contains(text, "<b") || strings.Contains(text, `a="1"`) || strings.Contains(text, "'&<") {
			t.Errorf("%s", got)
		}
	}
	if got := element("p", class("x", "hidden", ""), markup("<i></i>"), 7, "a"); got != `<p class="x" hidden><i></i>7a</p>` {
		t.Errorf("%s", got)
	}
	if got := element("line", attributes{"x1", "2"}); got != `<line x1="2"/>` {
		t.Errorf("%s", got)
	}
}

type errorText string

func (e errorText) Error() string { return string(e) }

// TestAChartOfAnything draws few and odd samples: every point is inside the panel.
func TestAChartOfAnything(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	steady := levels.Thresholds(nil).WithDefaults("steady")
	for name, samples := range map[string][]Sample{
		"one":            {{Time: at, Before: 100, After: 100, Window: 1000, Budget: 800, Thresholds: steady}},
		"two":            {{Time: at, After: 100, Window: 1000}, {Time: at.Add(time.Minute), After: 900, Window: 1000, Thresholds: steady}},
		"no window":      {{Time: at, Before: 5, After: 5}},
		"over":           {{Time: at, Before: 4321, After: 2500, Window: 1000, Budget: 900, Thresholds: steady, Level: "hard"}},
		"another window": {{Time: at, Before: 900, After: 900, Window: 1000}, {Time: at.Add(48 * time.Hour), Before: 900, After: 900, Window: 100_000}},
	} {
		c := newChart(samples)
		for point := range strings.FieldsSeq(c.Usage) {
			var x, y float64
			if _, err := scanPoint(point, &x, &y); err != nil || x < c.Left || x > c.Right || y < c.Top-0.1 || y > c.Bottom+0.1 {
				t.Errorf("%s: the point %s is outside of the panel", name, point)
			}
		}
		for i, l := range c.Limits {
			if l.Y < c.Top || l.Y > c.Bottom || i > 0 && c.Limits[i-1].LabelY-l.LabelY < 14 {
				t.Errorf("%s: limits %+v", name, c.Limits)
			}
		}
		if n := len(c.Grid); n < 3 || n > 12 {
			t.Errorf("%s: %d lines", name, n)
		}
		if view := string(c.view()); strings.Contains(view, "NaN") || strings.Contains(view, "Inf") {
			t.Errorf("%s: %s", name, view)
		}
	}
	if newChart(nil) != nil {
		t.Error("a chart of nothing")
	}
}

func TestAgo(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "now", 0: "now", 5 * time.Second: "5 seconds ago", 3 * time.Minute: "3 minutes ago", 5 * time.Hour: "5 hours ago", 72 * time.Hour: "3 days ago",
	} {
		if got := ago(d); got != want {
			t.Errorf("%v: %q", d, got)
		}
	}
}

func TestClippedTextIsWhole(t *testing.T) {
	for text, want := range map[string]string{"abc": "abc", "abcdef": "abcd…", "äöüß": "äöüß", "äöüßé": "äöüß…", "a\xffb": "a\uFFFDb", "": "", "日本語日本語": "日本語日…"} {
		if got := clipText(text, 4); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestOpenPagesAreLimited fills the hub, and closes it.
func TestOpenPagesAreLimited(t *testing.T) {
	h := newHub()
	var open []chan struct{}
	for range maxOpen {
		c, ok := h.subscribe()
		if !ok {
			t.Fatal("a page is refused")
		}
		open = append(open, c)
	}
	if _, ok := h.subscribe(); ok {
		t.Error("there is no limit")
	}
	h.notify()
	h.notify() // nobody has read the first
	for _, c := range open {
		<-c
		h.leave(c)
	}
	if _, ok := h.subscribe(); !ok {
		t.Error("a page that has gone takes a place")
	}
	h.close()
	h.close()
}

func scanPoint(text string, x, y *float64) (int, error) { return fmt.Sscanf(text, "%g,%g", x, y) }
