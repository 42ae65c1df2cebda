package report

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/tiercompact/tiercompact/internal/bench"
	"github.com/tiercompact/tiercompact/internal/chart"
	"github.com/tiercompact/tiercompact/levels"
)

// A measure is one line over the length of a session.
type measure struct {
	name string
	look chart.Look
	of   func(bench.Growth) float64
}

func drawCost(c draw.Canvas, r bench.Report) {
	times := []measure{
		{"a message added", chart.Look{Hue: "ink", Glyph: draw.CircleGlyph{}}, func(g bench.Growth) float64 { return g.AddMicros / 1000 }},
	}
	glyphs := []draw.GlyphDrawer{draw.BoxGlyph{}, draw.PyramidGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.RingGlyph{}, draw.PlusGlyph{}}
	for i, l := range levels.All() {
		look := chart.Look{Hue: l.Color, Glyph: glyphs[i%len(glyphs)]}
		times = append(times, measure{string(l.Name), look, func(g bench.Growth) float64 { return g.LevelMillis[l.Name] }})
	}
	memory := []measure{{"memory", chart.Look{Hue: "blue", Glyph: draw.CircleGlyph{}}, func(g bench.Growth) float64 { return float64(g.Bytes) / 1e6 }}}
	legendHeight := 0.22 * vg.Inch
	left, right := splitCanvas(chart.Within(c, c.Min.X, c.Min.Y+legendHeight, c.Max.X, c.Max.Y))
	costPanel(left, r.Growth, "time, milliseconds", times)
	costPanel(right, r.Growth, "memory that a session holds, MB", memory)
	keys := make([]chart.Key, len(times))
	for i, m := range times {
		keys[i] = chart.Key{Name: m.name, Thumb: chart.Thumb{Look: m.look, Line: true, Points: true}}
	}
	chart.Legend(chart.Within(c, c.Min.X+0.6*vg.Inch, c.Min.Y, c.Max.X, c.Min.Y+legendHeight), keys, len(keys))
}

func costPanel(c draw.Canvas, growth []bench.Growth, y string, measures []measure) {
	p := chart.NewPanel("messages", y)
	drawn := false
	for _, m := range measures {
		var points plotter.XYs
		for _, g := range growth {
			if v := m.of(g); v > 0 && g.Messages > 0 { // a logarithm has no other
				points = append(points, plotter.XY{X: math.Log10(float64(g.Messages)), Y: math.Log10(v)})
			}
		}
		drawn = addSeries(p, points, m.look, true) || drawn
	}
	if !drawn {
		chart.Nothing(c, "was not measured")
		return
	}
	for _, axis := range []*plot.Axis{&p.X, &p.Y} { // a LogScale would place the axis's name off its middle
		axis.Tick.Marker = decades{}
		axis.Min, axis.Max = axis.Min-0.1, axis.Max+0.1
	}
	p.Draw(chart.Inset(c))
}
