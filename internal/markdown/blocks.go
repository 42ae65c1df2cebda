package markdown

import (
	"fmt"
	"html"
	"strings"
	"unicode"

	"charm.land/lipgloss/v2"
	"charm.land/lipgloss/v2/table"
	"github.com/charmbracelet/x/ansi"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/tiercompact/tiercompact/internal/screen"
)

// newParser returns a parser of Markdown with tables and struck text. Definitions of
// links are no part of it: they would vanish from the text.
func newParser() parser.Parser {
	inline := append(parser.DefaultInlineParsers(), util.Prioritized(extension.NewStrikethroughParser(), 500))
	return parser.NewParser(
		parser.WithBlockParsers(parser.DefaultBlockParsers()...),
		parser.WithInlineParsers(inline...),
		parser.WithParagraphTransformers(util.Prioritized(extension.NewTableParagraphTransformer(), 200)),
		parser.WithASTTransformers(util.Prioritized(extension.NewTableASTTransformer(), 0)),
	)
}

// A drawing is the drawing of one text.
type drawing struct {
	screen screen.Screen
	source []byte
}

// drawBlocks draws finished blocks that have no fences.
func (r *Renderer) drawBlocks(markdown string) []string {
	if strings.TrimSpace(markdown) == "" {
		return nil
	}
	d := drawing{r.Screen, []byte(strings.Trim(markdown, "\n") + "\n")}
	var lines []string
	for _, line := range d.children(newParser().Parse(text.NewReader(d.source)), r.width(), true) {
		// Deep lists of a narrow screen have no columns left.
		for part := range strings.SplitSeq(hardWrapped(line, r.width()), "\n") {
			lines = append(lines, strings.TrimRight(part, " "))
		}
	}
	return lines
}

// children draws the blocks in a block, loose with blank lines between them.
func (d drawing) children(n ast.Node, width int, loose bool) []string {
	var lines []string
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		drawn := d.block(c, max(width, 2))
		if len(lines) > 0 && len(drawn) > 0 && loose {
			lines = append(lines, "")
		}
		lines = append(lines, drawn...)
	}
	return lines
}

// block draws a block.
func (d drawing) block(n ast.Node, width int) []string {
	switch n := n.(type) {
	case *ast.Heading:
		look := appearance{bold: true}
		if !d.screen.Colour {
			return d.wrapped(strings.Repeat("#", n.Level)+" "+d.inline(n, appearance{}), width)
		}
		return d.wrapped(d.inline(n, look), width)
	case *ast.List:
		return d.list(n, width)
	case *ast.Blockquote:
		return prefixed(d.children(n, width-2, true), d.screen.Paint(screen.Dim, d.screen.Sign("│ ", "| ")), d.screen.Paint(screen.Dim, d.screen.Sign("│ ", "| ")))
	case *ast.ThematicBreak:
		return []string{d.screen.Paint(screen.Dim, strings.Repeat(d.screen.Sign("─", "-"), min(width, 40)))}
	case *ast.CodeBlock, *ast.FencedCodeBlock:
		code := Renderer{Screen: d.screen}
		code.Screen.Width = width
		var lines []string
		for line := range strings.Lines(d.raw(n)) {
			lines = append(lines, code.codeLine(strings.TrimRight(line, "\n"))...)
		}
		return lines
	case *ast.HTMLBlock:
		return d.wrapped(strings.TrimRight(d.raw(n)+d.segment(n.ClosureLine), "\n"), width)
	case *tables.Table:
		return d.table(n, width)
	}
	return d.wrapped(d.inline(n, appearance{}), width)
}

// raw returns the lines of a block as they are.
func (d drawing) raw(n ast.Node) string {
	var b strings.Builder
	for i := range n.Lines().Len() {
		b.WriteString(d.segment(n.Lines().At(i)))
	}
	return b.String()
}

func (d drawing) segment(s text.Segment) string {
	if s.Start < 0 || s.Stop <= s.Start {
		return ""
	}
	return string(s.Value(d.source))
}

// list draws the items of a list, with their marks.
func (d drawing) list(n *ast.List, width int) []string {
	var lines []string
	number := n.Start
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		mark := d.screen.Sign("• ", "- ")
		if n.IsOrdered() {
			mark = fmt.Sprintf("%d%c ", number, n.Marker)
			number++
		}
		if len(lines) > 0 && !n.IsTight {
			lines = append(lines, "")
		}
		cells := lipgloss.Width(mark)
		drawn := d.children(item, width-cells, !n.IsTight)
		if len(drawn) == 0 {
			drawn = []string{""}
		}
		lines = append(lines, prefixed(drawn, mark, strings.Repeat(" ", cells))...)
	}
	return lines
}

// prefixed puts a text before the first line, and another one before the others.
func prefixed(lines []string, first, others string) []string {
	for i, line := range lines {
		if i == 0 {
			lines[i] = first + line
		} else if line != "" || strings.TrimSpace(others) != "" {
			lines[i] = others + line
		}
	}
	return lines
}

// hardWrapped breaks a line that is wider than a screen, also if its terminal draws
// the parts of an emoji side by side.
func hardWrapped(line string, width int) string {
	line = ansi.Hardwrap(line, width, true)
	if ansi.StringWidthWc(line) <= width {
		return line
	}
	return ansi.HardwrapWc(line, width, true)
}

// wrapped breaks a line, and keeps its colours.
func (d drawing) wrapped(line string, width int) []string {
	return strings.Split(lipgloss.Wrap(line, max(width, 2), ""), "\n")
}

// table draws a table. Its cells wrap if it is wider than the screen.
func (d drawing) table(n *tables.Table, width int) []string {
	border := lipgloss.NormalBorder()
	if d.screen.ASCII {
		border = lipgloss.ASCIIBorder()
	}
	t := table.New().Border(border).BorderTop(false).BorderBottom(false).BorderLeft(false).BorderRight(false).
		StyleFunc(func(_, column int) lipgloss.Style {
			style := lipgloss.NewStyle().PaddingRight(1)
			if column > 0 {
				style = style.PaddingLeft(1)
			}
			return style
		})
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		_, header := row.(*tables.TableHeader)
		var cells []string
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			cells = append(cells, d.inline(cell, appearance{bold: header && d.screen.Colour}))
		}
		if header {
			t.Headers(cells...)
		} else {
			t.Row(cells...)
		}
	}
	drawn := t.String()
	if lipgloss.Width(drawn) > width {
		drawn = t.Width(width).String()
	}
	return strings.Split(strings.Trim(drawn, "\n"), "\n")
}

// An appearance is how a part of a line looks.
type appearance struct{ bold, italic, code, link, struck bool }

// paint returns a text in this appearance. Without colours it is the text.
func (a appearance) paint(s screen.Screen, text string) string {
	var codes []string
	for _, c := range []struct {
		on   bool
		code string
	}{{a.bold, "1"}, {a.italic, "3"}, {a.link, "4"}, {a.struck, "9"}, {a.code, string(codeColour)}} {
		if c.on {
			codes = append(codes, c.code)
		}
	}
	return s.Paint(screen.Paint(strings.Join(codes, ";")), text)
}

// inline draws the text of a block. Without colours, the marks of bold text, of code
// and so on remain.
func (d drawing) inline(n ast.Node, look appearance) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		b.WriteString(d.span(c, look))
	}
	return b.String()
}

func (d drawing) span(n ast.Node, look appearance) string {
	marked := func(mark string, look appearance) string {
		if d.screen.Colour {
			mark = ""
		}
		return mark + d.inline(n, look) + mark
	}
	switch n := n.(type) {
	case *ast.Text:
		return d.textLine(n, look)
	case *ast.String:
		return look.paint(d.screen, string(n.Value))
	case *ast.CodeSpan:
		look.code = true
		return marked("`", look)
	case *ast.Emphasis:
		look.bold, look.italic = look.bold || n.Level == 2, look.italic || n.Level == 1
		return marked(strings.Repeat("*", n.Level), look)
	case *tables.Strikethrough:
		look.struck = true
		return marked("~~", look)
	case *ast.Link:
		return d.link(n, string(n.Destination), look)
	case *ast.Image:
		return d.link(n, string(n.Destination), look)
	case *ast.AutoLink:
		look.link = true
		return look.paint(d.screen, string(n.Label(d.source)))
	case *ast.RawHTML:
		var b strings.Builder
		for i := range n.Segments.Len() {
			b.WriteString(d.segment(n.Segments.At(i)))
		}
		return look.paint(d.screen, b.String())
	}
	return d.inline(n, look)
}

// textLine draws a piece of text, and the break after it: a line that the writer
// ended stays a line.
func (d drawing) textLine(n *ast.Text, look appearance) string {
	value := string(n.Value(d.source))
	if !look.code {
		value = plain(html.UnescapeString(string(util.UnescapePunctuations([]byte(value)))))
	}
	if n.SoftLineBreak() || n.HardLineBreak() {
		return look.paint(d.screen, value) + "\n"
	}
	return look.paint(d.screen, value)
}

// plain returns text without the control characters that an entity may name.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || screen.Steers(r) {
			return -1
		}
		return r
	}, text)
}

// link draws a link: its text, and its address if that is another.
func (d drawing) link(n ast.Node, address string, look appearance) string {
	look.link = true
	label := d.inline(n, look)
	if address == "" || lipgloss.Width(label) > 0 && strings.Contains(label, address) {
		return label
	}
	look.link = false
	return label + look.paint(d.screen, " ("+plain(address)+")")
}
