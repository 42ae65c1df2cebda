package timeline

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/tiercompact/tiercompact/internal/chart"
	"github.com/tiercompact/tiercompact/internal/screen"
	"github.com/tiercompact/tiercompact/levels"
)

// usagePanel is the panel of the window: the share that is used over the checks, the
// limits as dashed lines, and each round as a drop.
func (s timelineData) usagePanel() *plot.Plot {
	p := chart.NewPanel("", "window used, %")
	p.X.Min, p.X.Max = s.checkAxis()
	p.Y.Min, p.Y.Max = 0, s.usageAxisEnd()
	p.X.Tick.Marker, p.X.LineStyle.Width, p.X.Tick.Length = checkTicks{}, 0, 0 // the panel below has the axis
	var used plotter.XYs
	for i, k := range s.checks {
		used = append(used, plotter.XY{X: float64(i + 1), Y: 100 * k.used})
		if len(k.steps) > 0 {
			used = append(used, plotter.XY{X: float64(i + 1), Y: 100 * k.usageAfter()})
		}
	}
	for _, l := range kindsOfLimit() {
		addSeries(p, s.limitLine(l), draw.LineStyle{Color: chart.Paint(l.hue), Width: vg.Points(1), Dashes: l.dashes})
	}
	addSeries(p, used, draw.LineStyle{Color: chart.Paint("ink"), Width: vg.Points(1.2)})
	p.Add(drops{s})
	return p
}

// addSeries draws a line, if it has points.
func addSeries(p *plot.Plot, points plotter.XYs, style draw.LineStyle) {
	if line, err := plotter.NewLine(points); err == nil {
		line.LineStyle = style
		p.Add(line)
	}
}

// checkAxis returns the ends of the axis of checks.
func (s timelineData) checkAxis() (least, most float64) { return 0, float64(len(s.checks)) + 1 }

// usageAxisEnd returns the end of the axis of usage, in percent.
func (s timelineData) usageAxisEnd() float64 {
	most := 1.0
	for _, k := range s.checks {
		most = max(most, k.used)
	}
	return 10 * math.Ceil(10*most+0.5)
}

// A kindOfLimit is a line that usage is held to.
type kindOfLimit struct {
	name, hue string
	dashes    []vg.Length
	of        func(limits) float64
}

func kindsOfLimit() []kindOfLimit {
	dashed := []vg.Length{vg.Points(5), vg.Points(3)}
	var kinds []kindOfLimit
	for _, name := range levels.Names() {
		of := func(l limits) float64 { return l.thresholds[levels.Name(name)] }
		kinds = append(kinds, kindOfLimit{name, chart.LevelHue(name), dashed, of})
	}
	return append(kinds, kindOfLimit{"budget", "orange", []vg.Length{vg.Points(1.5), vg.Points(2)}, func(l limits) float64 { return l.budget }})
}

// limitLine returns the line of one limit: level from a check to the next that
// knows another.
func (s timelineData) limitLine(of kindOfLimit) (points plotter.XYs) {
	least, most := s.checkAxis()
	last := 0.0
	for i, k := range s.checks {
		y := 100 * of.of(k.limits)
		if y == 0 || y == last {
			continue
		}
		x := float64(i+1) - 0.5
		if last == 0 {
			x = least
		} else {
			points = append(points, plotter.XY{X: x, Y: last})
		}
		points, last = append(points, plotter.XY{X: x, Y: y}), y
	}
	if last > 0 {
		points = append(points, plotter.XY{X: most, Y: last})
	}
	return points
}

// labelLimits names the limits, as they are at the end, right of the panel. Names
// that would touch are moved apart.
func (s timelineData) labelLimits(p *plot.Plot, c draw.Canvas) {
	const apart = 11.5
	type name struct {
		text string
		y    vg.Length
	}
	var names []name
	_, y := p.Transforms(&c)
	for _, l := range kindsOfLimit() {
		if line := s.limitLine(l); len(line) > 0 {
			at := line[len(line)-1].Y
			names = append(names, name{l.name + " " + chart.Number(math.Round(at*10)/10) + " %", y(at)})
		}
	}
	slices.SortStableFunc(names, func(a, b name) int { return cmp.Compare(a.y, b.y) })
	style := chart.Text("ink", 9)
	style.YAlign = draw.YCenter
	for i, l := range names {
		if i > 0 {
			names[i].y = max(l.y, names[i-1].y+vg.Points(apart))
		}
		c.FillText(style, vg.Point{X: c.Max.X + vg.Points(5), Y: names[i].y}, l.text)
	}
}

// drops draws rounds: each level's part from what it found down to what it left,
// in its colour, and what was freed below.
type drops struct{ timelineData }

// Plot implements [plot.Plotter].
func (d drops) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for i, k := range d.checks {
		at := x(float64(i + 1))
		for _, st := range k.steps {
			from, to := y(100*percentOf(st.from, k.window)), y(100*percentOf(st.to, k.window))
			style := draw.LineStyle{Color: chart.Paint(chart.LevelHue(st.level)), Width: vg.Points(4)}
			c.StrokeLine2(style, at, from, at, to)
			c.DrawGlyph(draw.GlyphStyle{Color: style.Color, Radius: vg.Points(3.2), Shape: draw.BoxGlyph{}}, vg.Point{X: at, Y: to})
		}
	}
	style := chart.Text("ink", 9)
	style.XAlign, style.YAlign = draw.XCenter, draw.YTop
	for _, l := range d.chooseLabels(x, y) {
		c.FillText(style, vg.Point{X: (l.Min.X + l.Max.X) / 2, Y: l.Max.Y}, l.text)
	}
}

// A label is a text and its place.
type label struct {
	vg.Rectangle
	text string
}

func (l label) overlapsLabel(other label) bool {
	return l.Min.X < other.Max.X && other.Min.X < l.Max.X && l.Min.Y < other.Max.Y && other.Min.Y < l.Max.Y
}

// maxLabels keeps the picture of a long session readable.
const maxLabels = 60

// chooseLabels are what rounds freed, each below its drop: the largest first, and none
// that would touch another.
func (d drops) chooseLabels(x, y func(float64) vg.Length) (chosen []label) {
	var rounds []int
	for i, k := range d.checks {
		if len(k.steps) > 0 {
			rounds = append(rounds, i)
		}
	}
	slices.SortStableFunc(rounds, func(a, b int) int { return cmp.Compare(d.checks[b].roundFreed(), d.checks[a].roundFreed()) })
	style := chart.Text("ink", 9)
	for _, i := range rounds {
		l := label{text: "−" + screen.Grouped(d.checks[i].roundFreed())}
		half, top := style.Width(l.text)/2+vg.Points(1.5), y(100*d.checks[i].usageAfter())-vg.Points(6)
		l.Min, l.Max = vg.Point{X: x(float64(i+1)) - half, Y: top - vg.Points(10)}, vg.Point{X: x(float64(i+1)) + half, Y: top}
		if len(chosen) < maxLabels && !slices.ContainsFunc(chosen, l.overlapsLabel) {
			chosen = append(chosen, l)
		}
	}
	return chosen
}

// legendKeys are the entries of the legend.
func (s timelineData) legendKeys() []chart.Key {
	keys := []chart.Key{{Name: "used", Thumb: chart.Thumb{Look: chart.Look{Hue: "ink"}, Line: true}}}
	for _, level := range levels.ReportedNames() {
		if slices.ContainsFunc(s.checks, func(k check) bool {
			return slices.ContainsFunc(k.steps, func(st step) bool { return st.level == level })
		}) {
			keys = append(keys, chart.Key{Name: "freed by " + level, Thumb: chart.Block{Hue: chart.LevelHue(level)}})
		}
	}
	return keys
}

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
		{"summaries", when(func(k check) bool { return k.summary }, chart.LevelHue(string(levels.Emergency))), draw.CircleGlyph{}},
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
