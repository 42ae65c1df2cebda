package screen

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// Plural returns "1 file" or "3 files".
func Plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return Grouped(n) + " " + one + "s"
}

// Grouped returns n with a comma between thousands.
func Grouped(n int) string {
	digits := strconv.Itoa(max(n, -n))
	var b strings.Builder
	if n < 0 {
		b.WriteByte('-')
	}
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}

func Percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

// Clip returns the first line of text that is not blank, in at most width columns,
// without control characters.
func (s Screen) Clip(text string, width int) string {
	text = firstLine(text)
	if s.ASCII {
		text = asciiOnly(text)
	}
	end, room := s.Sign("…", "..."), s.Sign(" ", "   ")
	used, cut := 0, 0
	for i, r := range text {
		if used += Cells(r); used > width {
			return strings.TrimRight(text[:cut], " ") + end
		}
		if used+len(room) <= width {
			cut = i + len(string(r))
		}
	}
	return text
}

// Clip is [Screen.Clip] for text that is not drawn on a screen.
func Clip(text string, width int) string { return Screen{}.Clip(text, width) }

// PathEnd returns a path in at most width columns. From a longer path it keeps as
// many of the last names as fit.
func (s Screen) PathEnd(path string, width int) string {
	path = s.Clip(path, len(path)) // without control characters
	if CellsOf(path) <= width {
		return path
	}
	cut := s.Sign("…", "...")
	room := width - CellsOf(cut)
	for i, r := range path {
		if (r == '/' || r == '\\') && i > 0 && i < len(path)-1 && CellsOf(path[i:]) <= room {
			return cut + path[i:]
		}
	}
	last := strings.LastIndexAny(strings.TrimRight(path, `/\`), `/\`)
	return s.Clip(path[last+1:], width)
}

// firstLine returns the first line of text, with single blanks.
func firstLine(text string) string {
	const enough = 4096 // bytes; no line of a terminal is longer
	text = strings.TrimSpace(text[:min(len(text), enough)])
	text, _, _ = strings.Cut(text, "\n")
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar
	}), " ")
}

func asciiOnly(text string) string {
	return strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII {
			return '?'
		}
		return r
	}, text)
}

// CellsOf returns the width of text on a terminal.
func CellsOf(text string) int {
	n := 0
	for _, r := range text {
		n += Cells(r)
	}
	return n
}

// Cells returns the columns of r on a terminal.
func Cells(r rune) int {
	switch {
	case unicode.Is(unicode.Mn, r), unicode.Is(unicode.Me, r):
		return 0
	case r >= 0x1100 && r <= 0x115f, r >= 0x2e80 && r <= 0xa4cf, r >= 0xac00 && r <= 0xd7a3,
		r >= 0xf900 && r <= 0xfaff, r >= 0xfe30 && r <= 0xfe6f, r >= 0xff00 && r <= 0xff60,
		r >= 0xffe0 && r <= 0xffe6, r >= 0x1f300 && r <= 0x1faff, r >= 0x20000 && r <= 0x3fffd:
		return 2
	}
	return 1
}

// Wrapped breaks text between words into lines of at most width columns.
func Wrapped(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len([]rune(line))+1+len([]rune(word)) > width {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	return append(lines, line)
}
