package tui

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// wrapLine breaks a line into lines of at most width columns: behind the last
// blank that fits, which goes, or where there is none between two characters.
// What it begins with stays, so that code keeps its indentation. However much
// more text follows, all lines but the last stay as they are.
func wrapLine(line string, width int) []string {
	var lines []string
	start, used := 0, 0  // of the line that is being filled
	blank, after := 0, 0 // where its last blank ends, and the columns behind that
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
