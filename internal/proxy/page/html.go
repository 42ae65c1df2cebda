package page

import (
	"fmt"
	"html"
	"slices"
	"strings"
)

// A markup is HTML that is safe to write. Only this file makes one out of text. It takes
// the place of html/template, which calls methods by name, so that the linker would
// keep every exported method of the program: 8 MB.
type markup string

// attributes are pairs of a name and a value. Without a value, the name alone is written.
type attributes []string

// void are the elements without an end.
var void = []string{"meta", "link", "input", "br", "line", "rect", "polyline"}

// element returns an element. Content that is no markup is escaped. The names of
// elements and attributes are constants.
func element(name string, a attributes, content ...any) markup {
	var out strings.Builder
	out.WriteString("<" + name)
	for i := 0; i+1 < len(a); i += 2 {
		out.WriteString(" " + a[i])
		if a[i+1] != "" {
			out.WriteString(`="` + html.EscapeString(a[i+1]) + `"`)
		}
	}
	out.WriteByte('>')
	if slices.Contains(void, name) {
		if name == "line" || name == "rect" || name == "polyline" {
			return markup(strings.TrimSuffix(out.String(), ">") + "/>")
		}
		return markup(out.String())
	}
	out.WriteString(string(join(content...)))
	out.WriteString("</" + name + ">")
	return markup(out.String())
}

// join returns contents after each other, escaped if they are no markup.
func join(content ...any) markup {
	var out strings.Builder
	for _, c := range content {
		switch c := c.(type) {
		case markup:
			out.WriteString(string(c))
		case []markup:
			for _, m := range c {
				out.WriteString(string(m))
			}
		case string:
			out.WriteString(html.EscapeString(c))
		default:
			out.WriteString(html.EscapeString(fmt.Sprint(c)))
		}
	}
	return markup(out.String())
}

// class returns the attribute of a class.
func class(name string, more ...string) attributes {
	return append(attributes{"class", name}, more...)
}

// paragraph, dim and link are elements that occur often.
func paragraph(content ...any) markup { return element("p", nil, content...) }

func dimmed(content ...any) markup { return element("p", class("dim"), content...) }

func link(to string, content ...any) markup {
	return element("a", attributes{"href", to}, content...)
}

// eachOf returns the markup of each item.
func eachOf[T any](items []T, view func(T) markup) []markup {
	out := make([]markup, len(items))
	for i, item := range items {
		out[i] = view(item)
	}
	return out
}
