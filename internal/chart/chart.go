// Package chart has the common parts of this module's plots: colours that follow
// the reader's theme, fonts, axes, legends, and SVG output.
package chart

import (
	"bytes"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
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
