package markdown

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"github.com/tiercompact/tiercompact/internal/screen"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata")

// draw draws a text that is there at once.
func draw(s screen.Screen, text string) []string {
	r := Renderer{Screen: s}
	lines, used := r.Take(text)
	return append(lines, r.Rest(text[used:])...)
}

const sample = "# The harbour\n\n" +
	"It has **two** piers, *not* three, ~~four~~; `pier.Count()` returns 2 &amp; no error.\nSee [the plan](https://example.com/plan) or <https://example.com>.\n\n" +
	"1. Build:\n   ```bash\n   make build && \\\n     ./harbour\n   ```\n2. Test it, which takes so long that the line has to be wrapped somewhere.\n   - nested *item*\n   - another\n\n" +
	"```go\nfunc main() {\n    fmt.Println(\"漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字\") // * no list\n\n}\n```\n\n" +
	"> A quote, which is long enough to be wrapped to a second line.\n\n" +
	"| pier | ships | cargo |\n|:---|---:|---|\n| north | 12 | salt |\n| 南 | 3 | **grain** |\n\n" +
	"---\n\n* loose\n\n* list\n\n[1]: https://example.com/kept\n\n<b>raw</b> \\*no list\\* 5 * 6 * 7, snake_case_name and 2 < 3\n\n    indented code\n      stays\n"

func TestMarkdownIsDrawn(t *testing.T) {
	for name, s := range map[string]screen.Screen{
		"colour": {Width: 46, Colour: true}, "plain": {Width: 46}, "ascii": {Width: 46, ASCII: true}, "narrow": {Width: 20},
	} {
		lines := draw(s, sample)
		for i, l := range lines {
			if w := lipgloss.Width(l); w > s.Width {
				t.Errorf("%s: line %d has %d columns: %q", name, i, w, l)
			}
		}
		got := strings.ReplaceAll(strings.Join(lines, "\n"), "\x1b", "␛") + "\n"
		file := filepath.Join("testdata", name+".golden")
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(file); err != nil || string(want) != got {
			t.Errorf("%s differs; run go test -update and look at the difference: %v\n%s", file, err, got)
		}
	}
}

// Whatever the pieces are in which a text arrives, it is drawn as if it had been there
// at once, and a line that is drawn as finished does not change.
func TestPiecesDrawTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom([]string{
			"# head", "\n", "\n\n", "word ", "**bold** ", "**", "`", "`code` ", "```", "```go\n", "~~~\n", "- item\n", "1. one\n", "2) two\n", "   - nested\n", "   ", "    code\n",
			"> quote\n", "| a | b |\n", "|---|---|\n", "| 漢字 | x |\n", "---\n", "[link](http://x.y) ", "<b>", "&amp;", "a_b_c ", "* ",
		}), 0, 30).Draw(t, "parts")
		text := strings.Join(parts, "")
		s := screen.Screen{Width: rapid.IntRange(1, 40).Draw(t, "width"), Colour: rapid.Bool().Draw(t, "colour")}
		want := draw(s, text)
		r := Renderer{Screen: s}
		var lines []string
		from, have := 0, ""
		for _, p := range parts {
			have += p
			more, used := r.Take(have[from:])
			lines, from = append(lines, more...), from+used
			r.Rest(have[from:])
		}
		if got := append(lines, r.Rest(have[from:])...); !slices.Equal(got, want) {
			t.Fatalf("%q in pieces is\n%s\nat once\n%s", text, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		for _, l := range want {
			if lipgloss.Width(l) > max(s.Width, 8) {
				t.Fatalf("%q has %d columns on a screen of %d", l, lipgloss.Width(l), s.Width)
			}
		}
	})
}

// No word of a text is lost.
func TestEveryWordIsDrawn(t *testing.T) {
	for _, s := range []screen.Screen{{Width: 60}, {Width: 60, Colour: true}} {
		drawn := ansi.Strip(strings.Join(draw(s, sample), " "))
		for _, word := range strings.FieldsFunc(sample, func(r rune) bool { return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z') }) {
			if word != "amp" && !strings.Contains(drawn, word) {
				t.Errorf("%q is not drawn (colour %v)", word, s.Colour)
			}
		}
	}
}

// While a text streams, marks that are not closed yet do not show.
func TestMarksDoNotFlicker(t *testing.T) {
	s := screen.Screen{Width: 60, Colour: true}
	text := "It is **very bold** and `some code` here:\n\n```go\nx := 1\n```\n"
	for n := range len(text) {
		for _, l := range draw(s, text[:n+1]) {
			if plain := ansi.Strip(l); strings.Contains(plain, "**b") || strings.Contains(plain, "**v") || strings.Contains(plain, "`s") || strings.Contains(plain, "```") {
				t.Errorf("after %q a line is %q", text[:n+1], plain)
			}
		}
	}
}

// A long block of code costs nothing for the lines that are drawn already.
func TestALongBlockIsDrawnLineByLine(t *testing.T) {
	r := Renderer{Screen: screen.Screen{Width: 80}}
	text := "```\n" + strings.Repeat("x\n", 5000)
	lines, used := r.Take(text)
	if used != len(text) || len(lines) != 5000 {
		t.Errorf("%d of %d bytes were taken, %d lines", used, len(text), len(lines))
	}
}

// An entity does not become a control character.
func TestEntitiesDoNotControlTheTerminal(t *testing.T) {
	got := strings.Join(draw(screen.Screen{Width: 60}, "a&#27;[31mb &#x202e;c [x](a&#27;b)"), "\n")
	if strings.ContainsAny(got, "\x1b\u202e") || !strings.HasPrefix(got, "a[31mb c x") {
		t.Errorf("drawn is %q", got)
	}
}

// Whatever a model writes, a line is one line.
func TestALineIsOneLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.OneOf(rapid.RuneFrom([]rune("\n *_`~#>|-[]()<>&;:\\1.=")), rapid.RuneFrom(nil, unicode.Letter))).Draw(t, "text")
		for _, l := range draw(screen.Screen{Width: rapid.IntRange(0, 50).Draw(t, "width"), Colour: true}, text) {
			if strings.Contains(l, "\n") {
				t.Fatalf("a line is two: %q", l)
			}
		}
	})
}
