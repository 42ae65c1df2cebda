package report

import (
	"fmt"
	"image/color"
	"io"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"github.com/tiercompact/tiercompact/internal/bench"
	"github.com/tiercompact/tiercompact/internal/chart"
)

// All is the name of the plot that contains all others.
const All = "all"

// Plots returns the names of the plots: [All], and each of its parts.
func Plots() []string {
	names := []string{All}
	for _, p := range plotParts() {
		names = append(names, p.name)
	}
	return names
}

// Formats returns the formats of plots: "svg", whose colours follow the reader's
// theme on a transparent background, and "png", on white.
func Formats() []string { return []string{"svg", "png"} }

// Plot draws a plot of r, by its name, in a format.
func Plot(w io.Writer, r bench.Report, name, format string) error {
	shown := measuredParts(r)
	if name != All {
		shown = slices.DeleteFunc(plotParts(), func(p part) bool { return p.name != name })
	}
	if len(shown) == 0 {
		return fmt.Errorf("draw %q: no such plot; take one of %s", name, strings.Join(Plots(), ", "))
	}
	switch format {
	case "svg":
		return writeThemedSVG(w, r, shown)
	case "png":
		return writePNG(w, r, shown)
	}
	return fmt.Errorf("draw as %q: no such format; take one of %s", format, strings.Join(Formats(), ", "))
}

func writeThemedSVG(w io.Writer, r bench.Report, shown []part) error {
	svg, err := renderSVG(r, shown, true)
	if err != nil {
		return err
	}
	_, err = w.Write(chart.Alone(svg))
	return err
}

// renderSVG returns parts as SVG without its style sheet, with titles or without.
func renderSVG(r bench.Report, shown []part, titles bool) ([]byte, error) {
	width, height := plotSize(r, shown, titles)
	return chart.SVG(width, height, func(c draw.Canvas) { drawStacked(c, r, shown, titles) })
}

const dotsPerInch = 144

func writePNG(w io.Writer, r bench.Report, shown []part) error {
	width, height := plotSize(r, shown, true)
	canvas := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(dotsPerInch), vgimg.UseBackgroundColor(color.White))}
	drawStacked(draw.New(canvas), r, shown, true)
	_, err := canvas.WriteTo(w)
	return err
}

// A part is one of the plots in All.
type part struct {
	name   string
	title  string
	about  string // its description, in a sentence
	height func(bench.Report) vg.Length
	draw   func(draw.Canvas, bench.Report)
}

// plotParts are the plots, from top to bottom.
func plotParts() []part {
	fixed := func(height vg.Length) func(bench.Report) vg.Length {
		return func(bench.Report) vg.Length { return height }
	}
	return []part{
		{"retention", "What is kept, over what is left", "Each point is one way to compact. Higher points keep more of what the work needs next; points further left leave fewer tokens. A line joins the windows of a preset.",
			fixed(3.9 * vg.Inch), drawRetention},
		{"freed", "Tokens freed, by level", "How many tokens each level frees when a session is replayed. A level may free text that an earlier round wrote.",
			barsHeight(func(r bench.Report) int { return len(freedRows(r)) }), drawFreed},
		{"prefill", "Prompt read anew, by policy", "How much a server with a prompt cache reads over a whole session, against no compaction. 1 is as much; less is better.",
			barsHeight(func(r bench.Report) int { return len(prefillRows(r)) }), drawPrefill},
		{"cost", "Time and memory, over the length of the session", "Both scales are logarithmic: a line that rises as steeply as its scale grows in proportion.",
			fixed(3.5 * vg.Inch), drawCost},
	}
}

// measuredParts are the plots for which r has figures.
func measuredParts(r bench.Report) []part {
	return slices.DeleteFunc(plotParts(), func(p part) bool { return p.name == "cost" && len(r.Growth) == 0 })
}

const (
	pageWidth = 9 * vg.Inch
	titleSize = 0.42 * vg.Inch
	between   = 0.12 * vg.Inch
)

func plotSize(r bench.Report, shown []part, titles bool) (width, height vg.Length) {
	for _, p := range shown {
		height += p.height(r) + between
		if titles {
			height += titleSize
		}
	}
	return pageWidth, height
}

// drawStacked draws parts one below the other.
func drawStacked(c draw.Canvas, r bench.Report, shown []part, titles bool) {
	top := c.Max.Y
	for _, p := range shown {
		if titles {
			title := chart.Text("ink", 13)
			title.XAlign, title.YAlign = draw.XLeft, draw.YTop
			c.FillText(title, vg.Point{X: c.Min.X + 0.1*vg.Inch, Y: top - 0.12*vg.Inch}, p.title)
			top -= titleSize
		}
		p.draw(chart.Within(c, c.Min.X, top-p.height(r), c.Max.X, top), r)
		top -= p.height(r) + between
	}
}

// splitCanvas returns the left and the right half of a canvas.
func splitCanvas(c draw.Canvas) (left, right draw.Canvas) {
	middle := (c.Min.X + c.Max.X) / 2
	return chart.Within(c, c.Min.X, c.Min.Y, middle-between, c.Max.Y), chart.Within(c, middle+between, c.Min.Y, c.Max.X, c.Max.Y)
}
