package page

import "fmt"

// view returns the chart as SVG. Its colours are those of the style sheet.
func (c *chart) view() markup {
	parts := []any{
		eachOf(c.Grid, func(g gridLine) markup {
			return join(c.across("grid", g.Y), label("axis end", 40, g.Y+4, g.Text))
		}),
		eachOf(c.Limits, func(l limit) markup {
			return join(c.across("limit line-"+l.Class, l.Y), label("label ink-"+l.Class, 606, l.LabelY, l.Name))
		}),
		element("polyline", class("usage", "points", c.Usage)),
		eachOf(c.Drops, func(d drop) markup {
			return element("g", nil, element("title", nil, d.Says), element("line", class("drop line-"+d.Class, "x1", number(d.X), "x2", number(d.X), "y1", number(d.From), "y2", number(d.To))))
		}),
		eachOf(c.Ticks, func(t tick) markup {
			if t.End {
				return label("axis end", t.X, 252, t.Text)
			}
			return label("axis", t.X, 252, t.Text)
		}),
		label("axis", c.Left, 267, "requests, the newest on the right; times in UTC"),
	}
	return element("svg", class("chart", "viewBox", fmt.Sprintf("0 0 %g %g", c.Width, c.Height), "role", "img", "aria-label", c.Newest), parts...)
}

func (c *chart) across(name string, y float64) markup {
	return element("line", class(name, "x1", number(c.Left), "x2", number(c.Right), "y1", number(y), "y2", number(y)))
}

func label(name string, x, y float64, text string) markup {
	return element("text", class(name, "x", number(x), "y", number(y)), text)
}

func number(v float64) string { return fmt.Sprintf("%g", v) }

// view returns the bar as SVG.
func (b bar) view() markup {
	marks := eachOf(b.Limits, func(l limit) markup {
		return element("line", class("line-"+l.Class, "x1", number(l.Y), "x2", number(l.Y), "y1", "0", "y2", "8"))
	})
	return element("svg", class("bar", "viewBox", "0 0 100 8", "preserveAspectRatio", "none", "aria-hidden", "true"),
		element("rect", class("bar-all", "width", "100", "height", "8")), element("rect", class("bar-used fill-"+b.Class, "width", number(b.Used), "height", "8")), marks)
}
