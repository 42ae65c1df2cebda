package timeline

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/tiercompact/tiercompact/internal/chart"
)

// A lane is a row of marks below the panel of the window.
type lane struct {
	name  string
	hue   func(check) string // "" if the check has no mark
	glyph draw.GlyphDrawer
}

// lanesFromBottom are the lanes from the lowest to the highest.
func lanesFromBottom() []lane {
	when := func(has func(check) bool, hue string) func(check) string {
		return func(k check) string {
			if has(k) {
				return hue
			}
			return ""
		}
	}
	return []lane{
		{"errors", when(func(k check) bool { return k.errors > 0 }, "wine"), cross{}},
		{"warnings", when(func(k check) bool { return k.warnings > 0 }, "orange"), draw.PyramidGlyph{}},
		{"archived", when(func(k check) bool { return k.archived }, "ink"), draw.BoxGlyph{}},
		{"summaries", when(func(k check) bool { return k.summary }, chart.LevelHue("emergency")), draw.CircleGlyph{}},
		{"skipped", func(k check) string {
			if !k.skipped {
				return ""
			}
			return chart.LevelHue(k.due)
		}, tick{}},
	}
}

// A tick is a short upright line.
type tick struct{}

// DrawGlyph implements [draw.GlyphDrawer].
func (tick) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	half := vg.Points(4)
	c.StrokeLine2(draw.LineStyle{Color: style.Color, Width: vg.Points(1.6)}, at.X, at.Y-half, at.X, at.Y+half)
}

// A cross is made of two strokes that are seen from afar.
type cross struct{}

// DrawGlyph implements [draw.GlyphDrawer].
func (cross) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	half := vg.Points(3.2)
	line := draw.LineStyle{Color: style.Color, Width: vg.Points(1.8)}
	c.StrokeLine2(line, at.X-half, at.Y-half, at.X+half, at.Y+half)
	c.StrokeLine2(line, at.X-half, at.Y+half, at.X+half, at.Y-half)
}

// lanesPanel is the panel of marks: which checks were due and skipped, and which made
// a summary, were archived, warned or failed.
func (s timelineData) lanesPanel() *plot.Plot {
	p := chart.NewPanel("check, one after each message", "")
	all := lanesFromBottom()
	names := make([]string, len(all))
	for i, l := range all {
		names[i] = l.name
		if n := s.countMarks(l); n > 0 {
			names[i] = fmt.Sprintf("%s %d", l.name, n)
		}
	}
	p.NominalY(names...)
	p.Y.LineStyle.Width = vg.Points(0.5)
	p.X.Min, p.X.Max = s.checkAxis()
	p.Y.Min, p.Y.Max = -0.6, float64(len(all))-0.4
	p.X.Tick.Marker = checkTicks{}
	p.Add(marks{s, all})
	return p
}

func (s timelineData) countMarks(l lane) (n int) {
	for _, k := range s.checks {
		if l.hue(k) != "" {
			n++
		}
	}
	return n
}

// marks draws lanes.
type marks struct {
	timelineData
	lanes []lane
}

// Plot implements [plot.Plotter].
func (m marks) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for row, l := range m.lanes {
		for i, k := range m.checks {
			if hue := l.hue(k); hue != "" {
				c.DrawGlyph(draw.GlyphStyle{Color: chart.Paint(hue), Radius: vg.Points(3), Shape: l.glyph}, vg.Point{X: x(float64(i + 1)), Y: y(float64(row))})
			}
		}
	}
}

// checkTicks marks an axis at whole checks.
type checkTicks struct{}

// Ticks implements [plot.Ticker].
func (checkTicks) Ticks(least, most float64) (ticks []plot.Tick) {
	for _, k := range (chart.Steps{}).Ticks(least, most) {
		if k.Value == math.Trunc(k.Value) {
			ticks = append(ticks, k)
		}
	}
	return ticks
}
