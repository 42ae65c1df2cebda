package chart

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Text is the style of texts of this hue and size.
func Text(hue string, size vg.Length) text.Style {
	return text.Style{
		Color: Paint(hue), Font: font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, size),
		Handler: text.Plain{Fonts: font.DefaultCache},
	}
}

// NewPanel returns a panel with axes of these names; an axis without a name has no
// scale.
func NewPanel(x, y string) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	p.TextHandler = text.Plain{Fonts: font.DefaultCache}
	for _, axis := range []struct {
		*plot.Axis
		name string
	}{{&p.X, x}, {&p.Y, y}} {
		a, label, tick := axis.Axis, Text("dim", 10), Text("dim", 9)
		a.Label.Text = axis.name
		label.XAlign, label.YAlign = a.Label.TextStyle.XAlign, a.Label.TextStyle.YAlign
		tick.XAlign, tick.YAlign = a.Tick.Label.XAlign, a.Tick.Label.YAlign
		a.Label.TextStyle, a.Tick.Label = label, tick
		a.Label.Padding = vg.Points(4)
		a.LineStyle.Color, a.Tick.LineStyle.Color = Paint("dim"), Paint("dim")
	}
	p.X.Tick.Marker, p.Y.Tick.Marker = Steps{}, Steps{}
	grid := plotter.NewGrid()
	grid.Vertical = draw.LineStyle{Color: Paint("grid"), Width: vg.Points(0.5)}
	grid.Horizontal = grid.Vertical
	if y == "" { // names, not numbers
		grid.Horizontal.Width = 0
	}
	p.Add(grid)
	return p
}

// A Look is the style of a series: its colour and its form.
type Look struct {
	Hue    string
	Glyph  draw.GlyphDrawer
	Dashes []vg.Length
}

// Point is the style of its points.
func (l Look) Point() draw.GlyphStyle {
	return draw.GlyphStyle{Color: Paint(l.Hue), Radius: vg.Points(3.2), Shape: l.Glyph}
}

// Stroke is how its line is drawn.
func (l Look) Stroke() draw.LineStyle {
	return draw.LineStyle{Color: Paint(l.Hue), Width: vg.Points(1.6), Dashes: l.Dashes}
}

// A Thumb is the sample of a look in a legend.
type Thumb struct {
	Look
	Line, Points bool
}

// Thumbnail implements [plot.Thumbnailer].
func (t Thumb) Thumbnail(c *draw.Canvas) {
	middle := c.Center()
	if t.Line {
		c.StrokeLine2(t.Stroke(), c.Min.X, middle.Y, c.Max.X, middle.Y)
	}
	if t.Points {
		c.DrawGlyph(t.Point(), middle)
	}
}

// A Block is the sample of bars in a legend.
type Block struct{ Hue string }

// Thumbnail implements [plot.Thumbnailer].
func (b Block) Thumbnail(c *draw.Canvas) {
	middle, half := c.Center(), vg.Points(4)
	c.FillPolygon(Paint(b.Hue), []vg.Point{{X: middle.X - half, Y: middle.Y - half}, {X: middle.X + half, Y: middle.Y - half},
		{X: middle.X + half, Y: middle.Y + half}, {X: middle.X - half, Y: middle.Y + half}})
}

// A Key is an entry of a legend.
type Key struct {
	Name  string
	Thumb plot.Thumbnailer
}

// Legend draws keys in rows of the given number of columns, from the top of c.
func Legend(c draw.Canvas, keys []Key, columns int) {
	const rowHeight = 0.19 * vg.Inch
	style := Text("ink", 9.5)
	style.YAlign = draw.YCenter
	width := (c.Max.X - c.Min.X) / vg.Length(columns)
	for i, k := range keys {
		x, y := c.Min.X+width*vg.Length(i%columns), c.Max.Y-rowHeight*(vg.Length(i/columns)+0.5)
		icon := Within(c, x, y-vg.Points(5), x+vg.Points(22), y+vg.Points(5))
		k.Thumb.Thumbnail(&icon)
		c.FillText(style, vg.Point{X: x + vg.Points(28), Y: y}, k.Name)
	}
}

// Nothing says that there is no data to draw.
func Nothing(c draw.Canvas, why string) {
	style := Text("dim", 10)
	style.XAlign, style.YAlign = draw.XCenter, draw.YCenter
	c.FillText(style, c.Center(), why)
}

// Inset leaves room around a panel for points at its ends.
func Inset(c draw.Canvas) draw.Canvas {
	return Within(c, c.Min.X+0.08*vg.Inch, c.Min.Y, c.Max.X-0.12*vg.Inch, c.Max.Y-0.06*vg.Inch)
}
