// Package timeline draws what a session did, from its events alone: how full
// the window was at each check, what each round freed, and which checks made no
// round. The picture is SVG, follows the reader's light or dark theme, and is
// the same bytes for the same events: it shows the numbers of checks, not times.
package timeline

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/tiercompact/tiercompact/internal/chart"
	"github.com/tiercompact/tiercompact/internal/screen"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/trace"
)

// What is wrong with events that cannot be drawn.
var (
	ErrNoChecks = errors.New("no checks among the events")
	ErrMixed    = errors.New("events of more than one session")
)

// The layout of the picture, from top to bottom.
const (
	pageWidth    = 9 * vg.Inch
	titleHeight  = 0.62 * vg.Inch
	panelHeight  = 3.4 * vg.Inch
	lanesHeight  = 1.45 * vg.Inch
	legendHeight = 0.42 * vg.Inch // two rows
	labelWidth   = 1.05 * vg.Inch // of the thresholds, right of both panels
)

// SVG draws events, which are those of one session in their order, as a
// picture. The error is [ErrNoChecks], [ErrMixed], or one of w.
func SVG(w io.Writer, events []trace.Event) error {
	s, err := readTimeline(events)
	if err != nil {
		return fmt.Errorf("draw timeline: %w", err)
	}
	svg, err := chart.SVG(pageWidth, titleHeight+panelHeight+lanesHeight+legendHeight, s.drawTimeline)
	if err != nil {
		return fmt.Errorf("draw timeline: %w", err)
	}
	if _, err := w.Write(chart.Alone(svg)); err != nil {
		return fmt.Errorf("write timeline: %w", err)
	}
	return nil
}

func (s timelineData) drawTimeline(c draw.Canvas) {
	top := c.Max.Y
	s.drawTitle(chart.Within(c, c.Min.X, top-titleHeight, c.Max.X, top))
	usage, lanes := s.usagePanel(), s.lanesPanel()
	tiles := draw.Tiles{Cols: 1, Rows: 2, PadRight: labelWidth, PadLeft: 0.08 * vg.Inch}
	panels := chart.Within(c, c.Min.X, c.Min.Y+legendHeight, c.Max.X, top-titleHeight)
	at := plot.Align([][]*plot.Plot{{usage}, {lanes}}, tiles, panels)
	upper, lower := at[0][0], at[1][0]
	split := panels.Min.Y + lanesHeight // Align makes both as high as each other
	upper.Min.Y, lower.Max.Y = split, split
	usage.Draw(upper)
	lanes.Draw(lower)
	s.labelLimits(usage, usage.DataCanvas(upper))
	const columns = 5
	chart.Legend(chart.Within(c, c.Min.X+0.6*vg.Inch, c.Min.Y, c.Max.X, c.Min.Y+legendHeight), s.legendKeys(), columns)
}

// drawTitle says whose picture it is, and its sums.
func (s timelineData) drawTitle(c draw.Canvas) {
	head, sums := chart.Text("ink", 13), chart.Text("dim", 10)
	head.YAlign, sums.YAlign = draw.YTop, draw.YTop
	x := c.Min.X + 0.1*vg.Inch
	c.FillText(head, vg.Point{X: x, Y: c.Max.Y - 0.12*vg.Inch}, "How full the window was, and what each round freed: session "+s.session)
	c.FillText(sums, vg.Point{X: x, Y: c.Max.Y - 0.37*vg.Inch}, s.totalsText())
}

func (s timelineData) totalsText() string {
	freed, rounds, skipped, window := 0, 0, 0, 0
	for _, k := range s.checks {
		window = max(window, k.window)
		if len(k.steps) > 0 {
			rounds++
		}
		if k.skipped {
			skipped++
		}
		for _, st := range k.steps {
			freed += st.from - st.to
		}
	}
	return fmt.Sprintf("window of %s tokens; %s; %s freed %s tokens; %s skipped",
		screen.Grouped(window), screen.Plural(len(s.checks), "check"), screen.Plural(rounds, "round"), screen.Grouped(freed), screen.Plural(skipped, "due check"))
}

// A timelineData is the data in the events of a session, check by check.
type timelineData struct {
	session string
	checks  []check // at least one
}

// A check is what one check found, and what came of it.
type check struct {
	window  int
	used    float64 // share of the window, before
	due     string  // the level; "" if there was none
	skipped bool    // a level was due, and nothing was done
	limits  limits
	steps   []step // of its round, in order

	decided, summary, archived bool
	warnings, errors           int
}

// limits are shares of the window; 0 is unknown.
type limits struct {
	thresholds levels.Thresholds
	budget     float64
}

// A step is one level's part in a round, in tokens.
type step struct {
	level    string
	from, to int
}

// usageAfter returns the share of the window that is used after the check.
func (k check) usageAfter() float64 {
	if len(k.steps) == 0 {
		return k.used
	}
	return percentOf(k.steps[len(k.steps)-1].to, k.window)
}

// roundFreed returns the tokens that the round of a check freed.
func (k check) roundFreed() int {
	if len(k.steps) == 0 {
		return 0
	}
	return k.steps[0].from - k.steps[len(k.steps)-1].to
}

// belowThreshold is the reason of a check that had nothing to do; a preflight
// names its level with it.
const belowThreshold = "below threshold"

// maxUsed is the share above which a check is drawn at the upper end.
const maxUsed = 3

func percentOf(tokens, window int) float64 {
	return clampToPlot(float64(tokens) / float64(max(1, window)))
}

// clampToPlot returns x limited to the range that can be drawn.
func clampToPlot(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return min(max(0, x), maxUsed)
}

func readTimeline(events []trace.Event) (timelineData, error) {
	var s timelineData
	session, early := "", 0
	for i, e := range events {
		if i > 0 && e.Session != session {
			return s, ErrMixed
		}
		session = e.Session
		switch p := e.Data.(type) {
		case trace.TokenEstimate:
			s.checks = append(s.checks, check{window: p.MaxTokens, used: percentOf(p.TEst, p.MaxTokens), warnings: early})
			early = 0
			continue
		case trace.Warning: // what a check warns of first, it says before it counts
			if n := len(s.checks); n == 0 || s.checks[n-1].decided {
				early++
				continue
			}
		}
		if len(s.checks) > 0 {
			s.checks[len(s.checks)-1].addEvent(e.Data)
		}
	}
	if len(s.checks) == 0 {
		return s, ErrNoChecks
	}
	s.checks[len(s.checks)-1].warnings += early
	s.session = printableName(session)
	return s, nil
}

// addEvent notes what one event says of the check before it.
func (k *check) addEvent(p trace.Payload) {
	switch p := p.(type) {
	case trace.TriggerDecision:
		t := p.Policy.Thresholds
		k.decided = true
		k.limits = limits{make(levels.Thresholds), percentOf(k.window-p.Policy.HardCapBuffer, k.window)}
		for name, share := range t {
			k.limits.thresholds[name] = clampToPlot(share)
		}
		if p.Level != "none" {
			k.due = p.Level
		}
		k.skipped = !p.Triggered && k.due != "" && p.Reason != belowThreshold
	case trace.LevelApplied:
		k.steps = append(k.steps, step{p.Level, p.Before, p.After})
	case trace.SummaryCreated:
		k.summary = true
	case trace.Archival:
		k.archived = true
	case trace.Warning:
		k.warnings++
	case trace.Error:
		k.errors++
	}
}

// printableName returns a name that can be drawn in a picture.
func printableName(name string) string {
	const longest = 48
	return screen.Clip(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, strings.ToValidUTF8(name, "?")), longest)
}
