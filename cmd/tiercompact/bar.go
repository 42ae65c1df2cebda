package main

import (
	"strings"

	"github.com/tiercompact/tiercompact/levels"
)

// bar draws the usage of a window against its thresholds. What a round has
// freed, from after to before, is drawn lightly.
func (s screen) bar(width int, t levels.Thresholds, before, after float64) string {
	full, eighth := split(after, width)
	freed, _ := split(before, width)
	used := strings.Repeat(s.sign("█", "#"), full)
	if eighth > 0 && !s.ascii {
		used += string([]rune("▏▎▍▌▋▊▉")[eighth-1])
		full++
	}
	marks := map[int]bool{mark(t.Soft, width): true, mark(t.Hard, width): true, mark(t.Emergency, width): true}
	var rest strings.Builder
	for i := full; i < width; i++ {
		switch {
		case i < freed:
			rest.WriteString(s.sign("▒", "-"))
		case marks[i]:
			rest.WriteString(s.sign("┊", "|"))
		default:
			rest.WriteString(s.sign("·", "."))
		}
	}
	return s.paint(paintOf(t, after), used) + s.paint(dim, rest.String())
}

// split returns how many cells of width a share fills, and how many eighths of
// the next.
func split(share float64, width int) (full, eighth int) {
	n := int(min(max(share, 0), 1)*float64(width)*8 + 0.5)
	return n / 8, n % 8
}

// mark returns the cell in which a threshold lies.
func mark(threshold float64, width int) int { return min(int(threshold*float64(width)), width-1) }

// scale writes the thresholds, in percent, above their marks.
func scale(width int, t levels.Thresholds) string {
	line := []rune(strings.Repeat(" ", width+3))
	for _, x := range []float64{t.Emergency, t.Hard, t.Soft} { // the lower one wins where they meet
		copy(line[mark(x, width):], []rune(grouped(int(100*x+0.5))))
	}
	return string(line[:width])
}

// paintOf returns the colour of a usage.
func paintOf(t levels.Thresholds, usage float64) paint {
	switch t.Select(usage) {
	case levels.SoftName:
		return yellow
	case levels.HardName:
		return violet
	case levels.Emergency:
		return red
	}
	return green
}
