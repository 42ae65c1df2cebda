//go:build unix

package cli

import (
	"bytes"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/tiercompact/tiercompact/internal/screen"
)

// The colours of pictures, by their codes on a terminal: on a light and on a dark page.
var pictureColours = []struct{ code, light, dark string }{
	{"31", "#cf222e", "#ff7b72"},
	{"32", "#1a7f37", "#3fb950"},
	{"33", "#9a6700", "#d29922"},
	{"35", "#8250df", "#bc8cff"},
	{"36", "#1b7c83", "#39c5cf"},
	{"90", "#59636e", "#9198a1"},
}

// A look is what escape sequences make of the text after them.
type look struct {
	colour              string // its code; "": that of the text
	bold, faint, italic bool
}

// after returns the look after an escape sequence.
func (l look) after(codes string) look {
	for code := range strings.SplitSeq(codes, ";") {
		switch code {
		case "", "0":
			l = look{}
		case "1":
			l.bold = true
		case "2":
			l.faint = true
		case "3":
			l.italic = true
		case "22":
			l.bold, l.faint = false, false
		case "23":
			l.italic = false
		case "39":
			l.colour = ""
		case "49":
		default:
			l.colour = code
		}
	}
	return l
}

// classes returns the classes of the look, "" for plain text.
func (l look) classes() string {
	var all []string
	for class, has := range map[string]bool{"b": l.bold, "d": l.faint, "i": l.italic, "c" + l.colour: l.colour != ""} {
		if has {
			all = append(all, class)
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// screenPicture returns a screen, as [terminal.painted] does, as an SVG in the light or
// dark colours of the reader.
func screenPicture(shown string) []byte {
	const width, height = 8.4, 18 // of a character
	lines := strings.Split(strings.TrimRight(shown, "\n"), "\n")
	var b bytes.Buffer
	columns := 80
	for _, line := range lines {
		columns = max(columns, screen.CellsOf(ansi.Strip(line)))
	}
	w, h := float64(columns)*width+32, float64(len(lines)*height+32)
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %[1]g %[2]g" role="img" aria-label="a chat on a terminal">`+"\n", w, h)
	b.WriteString("<style>\nrect{fill:#f6f8fa;stroke:#d0d7de}\ntext{fill:#1f2328;font:14px ui-monospace,Menlo,Consolas,monospace;white-space:pre}\n.b{font-weight:bold}.d{fill-opacity:.6}.i{font-style:italic}\n")
	for _, c := range pictureColours {
		fmt.Fprintf(&b, ".c%s{fill:%s}", c.code, c.light)
	}
	b.WriteString("\n@media (prefers-color-scheme: dark){rect{fill:#161b22;stroke:#30363d}text{fill:#e6edf3}")
	for _, c := range pictureColours {
		fmt.Fprintf(&b, ".c%s{fill:%s}", c.code, c.dark)
	}
	b.WriteString("}\n</style>\n")
	fmt.Fprintf(&b, `<rect x="0.5" y="0.5" width="%g" height="%g" rx="6"/>`+"\n", w-1, h-1)
	var now look // it goes on over the ends of lines
	for i, line := range lines {
		var spans string
		spans, now = pictureSpans(line, now)
		if plain := strings.TrimRight(ansi.Strip(line), " "); plain != "" {
			fmt.Fprintf(&b, `<text x="16" y="%d" xml:space="preserve" textLength="%.1f">%s</text>`+"\n", 28+i*height, width*float64(screen.CellsOf(plain)), spans)
		}
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

var escapeSequence = regexp.MustCompile("\x1b\\[([0-9;]*)m")

// pictureSpans returns the text of a line in the elements of its looks, and the look at
// its end.
func pictureSpans(line string, now look) (string, look) {
	var b strings.Builder
	rest := len(strings.TrimRight(ansi.Strip(line), " "))
	add := func(text string) {
		text = text[:min(len(text), rest)]
		rest -= len(text)
		switch class := now.classes(); {
		case text == "":
		case class == "" || strings.TrimSpace(text) == "":
			b.WriteString(html.EscapeString(text))
		default:
			fmt.Fprintf(&b, `<tspan class="%s">%s</tspan>`, class, html.EscapeString(text))
		}
	}
	for line != "" {
		at := escapeSequence.FindStringSubmatchIndex(line)
		if at == nil {
			break
		}
		add(line[:at[0]])
		now, line = now.after(line[at[2]:at[3]]), line[at[1]:]
	}
	add(line)
	return b.String(), now
}

func TestPicturesHaveTheColoursOfTheScreen(t *testing.T) {
	got := string(screenPicture("a \x1b[1mbold\x1b[0m & \x1b[90m\x1b[49mdim  \nstill\x1b[32m █\x1b[39m."))
	for _, want := range []string{
		`>a <tspan class="b">bold</tspan> &amp; <tspan class="c90">dim</tspan></text>`,
		`textLength="100.8">a `,
		`><tspan class="c90">still</tspan><tspan class="c32"> █</tspan>.</text>`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}
