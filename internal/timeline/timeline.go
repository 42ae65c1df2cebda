// Package timeline draws what a session did, from its events alone: how full
// the window was at each check, what each round freed, and which checks made no
// round. The picture is SVG, follows the reader's light or dark theme, and is
// the same bytes for the same events: it shows the numbers of checks, not times.
package timeline

import (
	"errors"
	"fmt"
	"io"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/tiercompact/tiercompact/internal/chart"
	"github.com/tiercompact/tiercompact/internal/screen"
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
			freed += st.stepFreed()
		}
	}
	return fmt.Sprintf("window of %s tokens; %s; %s freed %s tokens; %s skipped",
		screen.Grouped(window), screen.Plural(len(s.checks), "check"), screen.Plural(rounds, "round"), screen.Grouped(freed), screen.Plural(skipped, "due check"))
}
