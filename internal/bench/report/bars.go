package report

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/tiercompact/tiercompact/internal/bench"
	"github.com/tiercompact/tiercompact/internal/chart"
)

const (
	barPitch  = 0.19 * vg.Inch
	barWidth  = 0.13 * vg.Inch
	barFrame  = 0.85 * vg.Inch // axis, its name, legend
	nameWidth = 1.75 * vg.Inch
)

// barsHeight is the height of a panel of the given number of bars.
func barsHeight(n func(bench.Report) int) func(bench.Report) vg.Length {
	return func(r bench.Report) vg.Length { return barFrame + barPitch*vg.Length(max(2, n(r))) }
}

// freedRows are the replays in which usage chose the level, by preset.
func freedRows(r bench.Report) []bench.Row {
	return slices.DeleteFunc(slices.Clone(r.Rows), func(row bench.Row) bool {
		return row.Kind != bench.Replay || row.Level != bench.Auto
	})
}

func drawFreed(c draw.Canvas, r bench.Report) {
	rows := freedRows(r)
	if len(rows) == 0 {
		chart.Nothing(c, "no replay was measured")
		return
	}
	most := 0
	for _, row := range rows {
		sum := 0
		for _, level := range levelNames() {
			sum += levelPart(row, level).Freed
		}
		most = max(most, sum)
	}
	unit, name := tokenUnit(most)
	p := barPanel(rows, name+" freed over all sessions")
	var under *plotter.BarChart
	var keys []chart.Key
	for _, level := range levelNames() {
		values := make(plotter.Values, len(rows))
		any := false
		for i, row := range rows {
			freed := levelPart(row, level).Freed
			values[len(rows)-1-i] = float64(max(0, freed)) / unit
			any = any || freed > 0
		}
		if !any {
			continue
		}
		bars := newBarChart(values, chart.LevelHue(level))
		if under != nil {
			bars.StackOn(under)
		}
		under = bars
		p.Add(bars)
		keys = append(keys, chart.Key{Name: level, Thumb: chart.Block{Hue: chart.LevelHue(level)}})
	}
	if under == nil {
		chart.Nothing(c, "no level freed anything")
		return
	}
	p.X.Max = axisEnd(float64(most) / unit)
	legendHeight := 0.22 * vg.Inch
	drawBars(chart.Within(c, c.Min.X, c.Min.Y+legendHeight, c.Max.X, c.Max.Y), p, rows)
	chart.Legend(chart.Within(c, c.Min.X+nameWidth, c.Min.Y, c.Max.X, c.Min.Y+legendHeight), keys, 5)
}

// tokenUnit returns the unit for tokens up to most.
func tokenUnit(most int) (unit float64, name string) {
	switch {
	case most >= 2_000_000:
		return 1e6, "million tokens"
	case most >= 2_000:
		return 1e3, "thousand tokens"
	}
	return 1, "tokens"
}

// prefillRows are the replays in the window nearest to half of the session, by
// preset and level, and the baselines.
func prefillRows(r bench.Report) (rows []bench.Row) {
	far := func(row bench.Row) float64 { return math.Abs(row.Prefill.Window - 0.5) }
	at := make(map[string]int)
	for _, row := range r.Rows {
		if row.Prefill == nil || row.Prefill.Without == 0 {
			continue
		}
		name := fmt.Sprint(row.Preset, " ", row.Level)
		if row.Kind == bench.Baseline {
			name = row.Name
		}
		i, ok := at[name]
		switch {
		case !ok:
			at[name] = len(rows)
			rows = append(rows, row)
		case far(row) < far(rows[i]):
			rows[i] = row
		}
	}
	return rows
}

func drawPrefill(c draw.Canvas, r bench.Report) {
	rows := prefillRows(r)
	if len(rows) == 0 {
		chart.Nothing(c, "no replay was measured")
		return
	}
	p := barPanel(rows, "prompt tokens read, without compaction = 1")
	most, longest := 0.0, longestBar(rows)
	byHue := make(map[string]plotter.Values)
	var labels plotter.XYLabels
	var order []string
	for i, row := range rows {
		y, ratio, hue := len(rows)-1-i, row.Prefill.Ratio, "gray"
		label := fmt.Sprintf("%.2f", ratio)
		if ratio > longest {
			ratio, label = longest, label+" (bar cut)"
		}
		if row.Kind != bench.Baseline {
			hue = presetLook(row.Preset).Hue
		}
		if byHue[hue] == nil {
			byHue[hue], order = make(plotter.Values, len(rows)), append(order, hue)
		}
		byHue[hue][y] = ratio
		most = max(most, ratio)
		labels.XYs = append(labels.XYs, plotter.XY{X: ratio, Y: float64(y)})
		labels.Labels = append(labels.Labels, label)
	}
	for _, hue := range order {
		p.Add(newBarChart(byHue[hue], hue))
	}
	if values, err := plotter.NewLabels(labels); err == nil {
		for i := range values.TextStyle {
			values.TextStyle[i] = chart.Text("dim", 9)
			values.TextStyle[i].YAlign = draw.YCenter
		}
		values.Offset.X = vg.Points(4)
		p.Add(values)
	}
	if one, err := plotter.NewLine(plotter.XYs{{X: 1, Y: -0.5}, {X: 1, Y: float64(len(rows)) - 0.5}}); err == nil {
		one.LineStyle = draw.LineStyle{Color: chart.Paint("ink"), Width: vg.Points(1), Dashes: []vg.Length{vg.Points(3), vg.Points(2)}}
		p.Add(one)
	}
	p.X.Max = axisEnd(most * 1.12)
	drawBars(c, p, rows)
}

// longestBar returns the ratio at which bars are cut, so that one very bad policy
// does not make all others look alike.
func longestBar(rows []bench.Row) float64 {
	ratios := make([]float64, len(rows))
	for i, row := range rows {
		ratios[i] = row.Prefill.Ratio
	}
	slices.Sort(ratios)
	return max(2, 3*ratios[len(ratios)/2])
}

// barPanel is a panel of horizontal bars, the first row on top.
func barPanel(rows []bench.Row, x string) *plot.Plot {
	p := chart.NewPanel(x, "")
	names := make([]string, len(rows))
	for i, row := range rows {
		names[len(rows)-1-i] = row.Name
	}
	p.NominalY(names...)
	p.Y.Tick.Label.Color = chart.Paint("ink")
	p.Y.LineStyle.Width = vg.Points(0.5)
	p.X.Min = 0
	return p
}

// drawBars draws a panel of bars; the bars of all panels begin at the same place.
func drawBars(c draw.Canvas, p *plot.Plot, rows []bench.Row) {
	p.Y.Min, p.Y.Max = -0.5, float64(len(rows))-0.5
	widest := vg.Length(0)
	for _, row := range rows {
		widest = max(widest, p.Y.Tick.Label.Width(row.Name))
	}
	c.Min.X += max(0, nameWidth-widest)
	c.Max.X -= 0.25 * vg.Inch
	p.Draw(c)
}

func newBarChart(values plotter.Values, hue string) *plotter.BarChart {
	bars, err := plotter.NewBarChart(values, barWidth)
	if err != nil {
		return &plotter.BarChart{Width: barWidth, Horizontal: true} // values that are not numbers are not drawn
	}
	bars.Horizontal, bars.Color, bars.LineStyle.Width = true, chart.Paint(hue), 0
	return bars
}

// axisEnd returns the end of an axis from 0 that includes x.
func axisEnd(x float64) float64 {
	if !(x > 0) || math.IsInf(x, 0) {
		return 1
	}
	step := chart.StepOf(x) / 2
	return max(1, math.Ceil(x/step)) * step
}
