// Package chart has the common parts of this module's plots: colours that follow
// the reader's theme, fonts, axes, legends, and SVG output.
package chart

import (
	"bytes"
	"cmp"
	"fmt"
	"image/color"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/tiercompact/tiercompact/levels"
)

// SVG returns the drawing of paint on a canvas of this size. Its colours are
// classes of [Sheet], which it does not include; its background is transparent.
func SVG(width, height vg.Length, paint func(draw.Canvas)) ([]byte, error) {
	canvas := vgsvg.New(width, height)
	paint(draw.New(canvas))
	var raw bytes.Buffer
	if _, err := canvas.WriteTo(&raw); err != nil {
		return nil, err
	}
	return applyTheme(raw.Bytes()), nil
}

// Alone adds [Sheet] to a drawing of [SVG], so that it can be a file.
func Alone(svg []byte) []byte {
	start := max(0, bytes.Index(svg, []byte("<svg")))
	at := start + bytes.IndexByte(svg[start:], '>') + 1
	return slices.Concat(svg[:at], []byte("\n<style>\n"+Sheet()+"</style>"), svg[at:])
}

// Within returns a part of a canvas.
func Within(c draw.Canvas, x0, y0, x1, y1 vg.Length) draw.Canvas {
	return draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{Min: vg.Point{X: x0, Y: y0}, Max: vg.Point{X: x1, Y: y1}}}
}

// Steps marks an axis at multiples of 1, 2 or 5 times a power of ten.
type Steps struct{}

const maxSteps = 7

// Ticks implements [plot.Ticker].
func (Steps) Ticks(least, most float64) (ticks []plot.Tick) {
	step := StepOf(most - least)
	for k := math.Ceil(least / step); k*step <= most+step/1e6 && len(ticks) <= maxSteps+1; k++ {
		ticks = append(ticks, plot.Tick{Value: k * step, Label: Number(k * step)})
	}
	return ticks
}

// StepOf returns the step that marks a length.
func StepOf(length float64) float64 {
	if !(length > 0) || math.IsInf(length, 0) {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(length))-1)
	for _, of := range []float64{1, 2, 5, 10, 20} {
		if length/(of*power) <= maxSteps {
			return of * power
		}
	}
	return 50 * power
}

// Number returns a number with as few digits as possible, at most four after the
// point.
func Number(x float64) string {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'f', 4, 64), 64)
	if err != nil {
		return ""
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// A hue is a colour in both themes. Its name is a CSS class.
type hue struct {
	name        string
	light, dark color.RGBA
}

// The hues of presets, blue to wine and gray, and those of levels, sky to plum and
// silver, are distinguishable in both themes, also for people who see only two of
// the three colours; lines and points differ in form too.
func chartHues() []hue {
	return []hue{
		{"ink", colorFromHex(0x1f2328), colorFromHex(0xe6edf3)},
		{"dim", colorFromHex(0x59636e), colorFromHex(0x9da7b3)},
		{"grid", colorFromHex(0xd8dee4), colorFromHex(0x3d444d)},
		{"blue", colorFromHex(0x0072b2), colorFromHex(0x58a6e8)},
		{"orange", colorFromHex(0xd55e00), colorFromHex(0xf0883e)},
		{"wine", colorFromHex(0x8a1c5a), colorFromHex(0xf7c6e4)},
		{"sky", colorFromHex(0x4aa8de), colorFromHex(0x79c0ff)},
		{"ochre", colorFromHex(0xc79100), colorFromHex(0xe3b341)},
		{"plum", colorFromHex(0x5b2a86), colorFromHex(0x8957e5)},
		{"gray", colorFromHex(0x7d8590), colorFromHex(0x767e88)},
		{"silver", colorFromHex(0x8a9199), colorFromHex(0xb1bac4)},
	}
}

// Paint returns the light form of a hue, with which plots are drawn: ink, dim,
// grid, blue, orange, wine, sky, ochre, plum, gray, silver. Another name is a bug,
// and panics.
func Paint(name string) color.RGBA {
	all := chartHues()
	return all[slices.IndexFunc(all, func(h hue) bool { return h.name == name })].light // callers use only names in the list
}

// LevelHue is the hue in which a level is drawn everywhere.
func LevelHue(level string) string {
	return cmp.Or(levels.Find(levels.Name(level)).Color, "silver")
}

func colorFromHex(hex uint32) color.RGBA {
	return color.RGBA{R: uint8(hex >> 16), G: uint8(hex >> 8), B: uint8(hex), A: 0xff}
}

func hexOfColor(c color.RGBA) string { return fmt.Sprintf("#%02X%02X%02X", c.R, c.G, c.B) }

// styled is how an element of a drawing is painted.
var styled = regexp.MustCompile(`style="([^"]*)"`)

// applyTheme makes the colours of a drawing follow the theme of the reader: each
// hue becomes a class, to which [Sheet] gives one colour in light and another in
// dark. The background stays transparent.
func applyTheme(svg []byte) []byte {
	classes := make(map[string]string)
	for _, h := range chartHues() {
		classes["fill:"+hexOfColor(h.light)] = "f-" + h.name
		classes["stroke:"+hexOfColor(h.light)] = "s-" + h.name
	}
	svg = styled.ReplaceAllFunc(svg, func(style []byte) []byte {
		var class, rest []string
		for d := range strings.SplitSeq(string(style[len(`style="`):len(style)-1]), ";") {
			if c, ok := classes[d]; ok {
				class = append(class, c)
			} else {
				rest = append(rest, d)
			}
		}
		return fmt.Appendf(nil, `class="%s" style="%s"`, strings.Join(class, " "), strings.Join(rest, ";"))
	})
	return bytes.ReplaceAll(svg, []byte("font-family:Liberation Sans"), []byte("font-family:'Liberation Sans',Arial,Helvetica,sans-serif"))
}

// Sheet is the style sheet of themed drawings.
func Sheet() string {
	var light, dark strings.Builder
	for _, h := range chartHues() {
		for _, p := range []struct{ class, property string }{{"f-", "fill"}, {"s-", "stroke"}} {
			fmt.Fprintf(&light, ".%s%s{%s:%s}\n", p.class, h.name, p.property, hexOfColor(h.light))
			fmt.Fprintf(&dark, ".%s%s{%s:%s}\n", p.class, h.name, p.property, hexOfColor(h.dark))
		}
	}
	return light.String() + "@media (prefers-color-scheme: dark){\n" + dark.String() + "}\n"
}

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
