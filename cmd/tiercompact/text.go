package main

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// plural returns "1 file" or "3 files".
func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return grouped(n) + " " + one + "s"
}

// grouped returns n with a comma between thousands.
func grouped(n int) string {
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

func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

// clip returns the first line of s that says something, at most width columns
// wide, without what would steer a terminal.
func (s screen) clip(text string, width int) string {
	text = firstLine(text)
	if s.ascii {
		text = asciiOnly(text)
	}
	end, room := s.sign("…", "..."), s.sign(" ", "   ")
	used, cut := 0, 0
	for i, r := range text {
		if used += cells(r); used > width {
			return strings.TrimRight(text[:cut], " ") + end
		}
		if used+len(room) <= width {
			cut = i + len(string(r))
		}
	}
	return text
}

// clip is for what is not drawn on a screen.
func clip(text string, width int) string { return screen{}.clip(text, width) }

// pathEnd returns a path, at most width columns wide: where it is longer, as
// many of its last names as there is room for.
func (s screen) pathEnd(path string, width int) string {
	path = s.clip(path, len(path)) // what would steer a terminal is out
	if cellsOf(path) <= width {
		return path
	}
	cut := s.sign("…", "...")
	room := width - cellsOf(cut)
	for i, r := range path {
		if (r == '/' || r == '\\') && i > 0 && i < len(path)-1 && cellsOf(path[i:]) <= room {
			return cut + path[i:]
		}
	}
	last := strings.LastIndexAny(strings.TrimRight(path, `/\`), `/\`)
	return s.clip(path[last+1:], width)
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

// cellsOf returns how wide text is on a terminal.
func cellsOf(text string) int {
	n := 0
	for _, r := range text {
		n += cells(r)
	}
	return n
}

// cells returns how many columns of a terminal r takes.
func cells(r rune) int {
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
