package report

import (
	"cmp"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/tiercompact/tiercompact/internal/bench"
	"github.com/tiercompact/tiercompact/internal/chart"
)

// A series is a set of points that belong together.
type series struct {
	name  string
	look  chart.Look
	rows  []bench.Row
	joins bool // by a line
}

// presetLook is the style of a preset in all plots.
func presetLook(preset string) chart.Look {
	switch preset {
	case "steady":
		return chart.Look{Hue: "blue", Glyph: draw.CircleGlyph{}}
	case "default":
		return chart.Look{Hue: "orange", Glyph: draw.BoxGlyph{}, Dashes: []vg.Length{vg.Points(6), vg.Points(3)}}
	case "eager":
		return chart.Look{Hue: "wine", Glyph: draw.PyramidGlyph{}, Dashes: []vg.Length{vg.Points(2), vg.Points(2)}}
	}
	return chart.Look{Hue: "sky", Glyph: draw.SquareGlyph{}}
}

// presetsOf returns the presets of rows, in order of occurrence.
func presetsOf(rows []bench.Row) (names []string) {
	for _, r := range rows {
		if r.Preset != "" && !slices.Contains(names, r.Preset) {
			names = append(names, r.Preset)
		}
	}
	return names
}

// retentionSeries are the presets over their windows, and the baselines: the newest
// tokens as a line, every other as a point.
func retentionSeries(r bench.Report) (all []series) {
	for _, preset := range presetsOf(r.Rows) {
		s := series{name: preset, look: presetLook(preset), joins: true}
		for _, row := range r.Rows {
			if row.Preset == preset && row.Kind == bench.Replay && row.Level == bench.Auto {
				s.rows = append(s.rows, row)
			}
		}
		all = append(all, s)
	}
	newest := series{name: "newest tokens", look: chart.Look{Hue: "gray", Glyph: draw.RingGlyph{}, Dashes: []vg.Length{vg.Points(1), vg.Points(2)}}, joins: true}
	glyphs := []draw.GlyphDrawer{draw.CrossGlyph{}, draw.PlusGlyph{}, draw.TriangleGlyph{}, draw.SquareGlyph{}, draw.PyramidGlyph{}, draw.CircleGlyph{}, draw.BoxGlyph{}}
	var others []series
	for _, row := range r.Rows {
		switch {
		case row.Kind != bench.Baseline:
		case strings.HasPrefix(row.Name, "newest "):
			newest.rows = append(newest.rows, row)
		default:
			others = append(others, series{name: row.Name, look: chart.Look{Hue: "ink", Glyph: glyphs[len(others)%len(glyphs)]}, rows: []bench.Row{row}})
		}
	}
	all = append(append(all, newest), others...)
	return slices.DeleteFunc(all, func(s series) bool { return len(s.rows) == 0 })
}

func drawRetention(c draw.Canvas, r bench.Report) {
	all := retentionSeries(r)
	const columns = 4
	legendHeight := 0.21 * vg.Inch * vg.Length((len(all)+columns-1)/columns)
	left, right := splitCanvas(chart.Within(c, c.Min.X, c.Min.Y+legendHeight, c.Max.X, c.Max.Y))
	retentionPanel(left, all, "needed names in their place", func(row bench.Row) bench.Figure { return row.Placed })
	retentionPanel(right, all, "edits that can go on, share", func(row bench.Row) bench.Figure { return row.Edits })
	keys := make([]chart.Key, len(all))
	for i, s := range all {
		keys[i] = chart.Key{Name: s.name, Thumb: chart.Thumb{Look: s.look, Line: s.joins, Points: true}}
	}
	chart.Legend(chart.Within(c, c.Min.X+0.6*vg.Inch, c.Min.Y, c.Max.X, c.Min.Y+legendHeight), keys, columns)
}

func retentionPanel(c draw.Canvas, all []series, y string, of func(bench.Row) bench.Figure) {
	p := chart.NewPanel("tokens left, share", y)
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1, 0, 1
	drawn := false
	for _, s := range all {
		var points plotter.XYs
		for _, row := range s.rows {
			if f := of(row); f.Of > 0 {
				points = append(points, plotter.XY{X: min(f.Size, 1), Y: f.Share})
			}
		}
		slices.SortFunc(points, func(a, b plotter.XY) int { return cmp.Compare(a.X, b.X) })
		drawn = addSeries(p, points, s.look, s.joins) || drawn
	}
	if !drawn {
		chart.Nothing(c, "nothing to keep was measured")
		return
	}
	p.Draw(chart.Inset(c))
}

// addSeries adds points to a panel, and reports whether any can be drawn.
func addSeries(p *plot.Plot, points plotter.XYs, l chart.Look, joins bool) bool {
	scatter, err := plotter.NewScatter(points)
	if err != nil { // none, or not numbers
		return false
	}
	scatter.GlyphStyle = l.Point()
	if line, err := plotter.NewLine(points); err == nil && joins {
		line.LineStyle = l.Stroke()
		p.Add(line)
	}
	p.Add(scatter)
	return true
}
