package report

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

func textStyle(hue string, size vg.Length) text.Style {
	return text.Style{
		Color: paint(hue), Font: font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, size),
		Handler: text.Plain{Fonts: font.DefaultCache},
	}
}

// newPanel returns a panel with axes of these names; one without a name has no
// scale.
func newPanel(x, y string) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	p.TextHandler = text.Plain{Fonts: font.DefaultCache}
	for _, axis := range []struct {
		*plot.Axis
		name string
	}{{&p.X, x}, {&p.Y, y}} {
		a, label, tick := axis.Axis, textStyle("dim", 10), textStyle("dim", 9)
		a.Label.Text = axis.name
		label.XAlign, label.YAlign = a.Label.TextStyle.XAlign, a.Label.TextStyle.YAlign
		tick.XAlign, tick.YAlign = a.Tick.Label.XAlign, a.Tick.Label.YAlign
		a.Label.TextStyle, a.Tick.Label = label, tick
		a.Label.Padding = vg.Points(4)
		a.LineStyle.Color, a.Tick.LineStyle.Color = paint("dim"), paint("dim")
	}
	p.X.Tick.Marker, p.Y.Tick.Marker = steps{}, steps{}
	grid := plotter.NewGrid()
	grid.Vertical = draw.LineStyle{Color: paint("grid"), Width: vg.Points(0.5)}
	grid.Horizontal = grid.Vertical
	if y == "" { // names, not numbers
		grid.Horizontal.Width = 0
	}
	p.Add(grid)
	return p
}

// A look is how a series is drawn: by its colour and by its form.
type look struct {
	hue    string
	glyph  draw.GlyphDrawer
	dashes []vg.Length
}

func (l look) point() draw.GlyphStyle {
	return draw.GlyphStyle{Color: paint(l.hue), Radius: vg.Points(3.2), Shape: l.glyph}
}

func (l look) stroke() draw.LineStyle {
	return draw.LineStyle{Color: paint(l.hue), Width: vg.Points(1.6), Dashes: l.dashes}
}

// A thumb is what a legend shows of a look.
type thumb struct {
	look
	line, points bool
}

// Thumbnail implements [plot.Thumbnailer].
func (t thumb) Thumbnail(c *draw.Canvas) {
	middle := c.Center()
	if t.line {
		c.StrokeLine2(t.stroke(), c.Min.X, middle.Y, c.Max.X, middle.Y)
	}
	if t.points {
		c.DrawGlyph(t.point(), middle)
	}
}

// A block is what a legend shows of bars.
type block struct{ hue string }

// Thumbnail implements [plot.Thumbnailer].
func (b block) Thumbnail(c *draw.Canvas) {
	middle, half := c.Center(), vg.Points(4)
	c.FillPolygon(paint(b.hue), []vg.Point{{X: middle.X - half, Y: middle.Y - half}, {X: middle.X + half, Y: middle.Y - half},
		{X: middle.X + half, Y: middle.Y + half}, {X: middle.X - half, Y: middle.Y + half}})
}

// A key is an entry of a legend.
type key struct {
	name  string
	thumb plot.Thumbnailer
}

// legend draws keys in rows of so many columns, from the top of c.
func legend(c draw.Canvas, keys []key, columns int) {
	const rowHeight = 0.19 * vg.Inch
	style := textStyle("ink", 9.5)
	style.YAlign = draw.YCenter
	width := (c.Max.X - c.Min.X) / vg.Length(columns)
	for i, k := range keys {
		x, y := c.Min.X+width*vg.Length(i%columns), c.Max.Y-rowHeight*(vg.Length(i/columns)+0.5)
		icon := within(c, x, y-vg.Points(5), x+vg.Points(22), y+vg.Points(5))
		k.thumb.Thumbnail(&icon)
		c.FillText(style, vg.Point{X: x + vg.Points(28), Y: y}, k.name)
	}
}

// nothing says that there is nothing to draw.
func nothing(c draw.Canvas, why string) {
	style := textStyle("dim", 10)
	style.XAlign, style.YAlign = draw.XCenter, draw.YCenter
	c.FillText(style, c.Center(), why)
}

// inset leaves room around a panel for points at its ends.
func inset(c draw.Canvas) draw.Canvas {
	return within(c, c.Min.X+0.08*vg.Inch, c.Min.Y, c.Max.X-0.12*vg.Inch, c.Max.Y-0.06*vg.Inch)
}
