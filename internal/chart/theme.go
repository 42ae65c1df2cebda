package chart

import (
	"bytes"
	"fmt"
	"image/color"
	"regexp"
	"slices"
	"strings"
)

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
	switch level {
	case "soft":
		return "sky"
	case "hard":
		return "ochre"
	case "emergency":
		return "plum"
	case "layers":
		return "blue"
	}
	return "silver"
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
