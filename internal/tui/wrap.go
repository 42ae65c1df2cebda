package tui

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// wrapLine breaks a line into lines of at most width columns: after the last blank
// that fits, which is removed, or between two characters if there is none. Blanks
// at its beginning stay, so that code keeps its indentation. Text appended later
// changes only the last line.
func wrapLine(line string, width int) []string {
	var lines []string
	start, used := 0, 0  // of the line in progress
	blank, after := 0, 0 // the end of its last blank, and the columns after that
	for i := 0; i < len(line); {
		cluster, cells := ansi.FirstGraphemeCluster(line[i:], ansi.GraphemeWidth)
		used, after = used+cells, after+cells
		end := i + len(cluster)
		switch {
		case cluster == " " && strings.Trim(line[start:i], " ") != "":
			blank, after = end, 0
		case used <= width || i == start:
		case blank > start:
			lines = append(lines, strings.TrimRight(line[start:blank], " "))
			start, used = blank, after
		default:
			lines = append(lines, line[start:i])
			start, used, after = i, cells, cells
		}
		i = end
	}
	return append(lines, line[start:])
}
