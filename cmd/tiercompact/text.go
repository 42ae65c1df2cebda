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

// clip returns the first line of s that says something, at most width runes
// long, without what would steer a terminal.
func clip(s string, width int) string {
	if width <= 0 {
		return ""
	}
	const enough = 4096 // no line of a terminal is longer
	s = strings.TrimSpace(s[:min(len(s), enough)])
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		s = s[:i]
	}
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar
	}), " ")
	used := 0
	for i, r := range s {
		used += cells(r)
		if used > width {
			return shorten(s[:i], width)
		}
	}
	return s
}

// shorten ends s, which fills width cells or nearly so, with an ellipsis.
func shorten(s string, width int) string {
	total := 0
	for _, r := range s {
		total += cells(r)
	}
	runes := []rune(s)
	for total >= width && len(runes) > 0 {
		total -= cells(runes[len(runes)-1])
		runes = runes[:len(runes)-1]
	}
	return strings.TrimRight(string(runes), " ") + "…"
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
