// Package screen draws the output of commands: bars of usage, the actions of a
// round, and texts that fit their columns and do not control the terminal.
package screen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/levels"
)

// A Screen describes the output device.
type Screen struct {
	Width   int // columns
	ASCII   bool
	Colour  bool
	Guarded bool // the output goes through a Guard
}

// A Paint is an ANSI colour.
type Paint string

const (
	Plain  Paint = ""
	Dim    Paint = "90"
	Bold   Paint = "1"
	Green  Paint = "32"
	Yellow Paint = "33"
	Violet Paint = "35"
	Red    Paint = "31"
)

func (s Screen) Paint(p Paint, text string) string {
	if !s.Colour || p == Plain || text == "" {
		return text
	}
	if s.Guarded {
		return colourMark + string(p) + "}" + text + colourMark + "0}"
	}
	return "\x1b[" + string(p) + "m" + text + "\x1b[0m"
}

// Sign returns the Unicode form of a sign, or the ASCII form.
func (s Screen) Sign(fine, ascii string) string {
	if s.ASCII {
		return ascii
	}
	return fine
}

// Bar draws the usage of a window against its thresholds. The part that a round
// freed, from after to before, is drawn lightly.
func (s Screen) Bar(width int, t levels.Thresholds, before, after float64) string {
	full, eighth := splitCells(after, width)
	freed, _ := splitCells(before, width)
	used := strings.Repeat(s.Sign("█", "#"), full)
	if eighth > 0 && !s.ASCII {
		used += string([]rune("▏▎▍▌▋▊▉")[eighth-1])
		full++
	}
	marks := make(map[int]bool)
	for _, x := range t.Rising() {
		marks[thresholdCell(x, width)] = true
	}
	var rest strings.Builder
	for i := full; i < width; i++ {
		switch {
		case i < freed:
			rest.WriteString(s.Sign("▒", "-"))
		case marks[i]:
			rest.WriteString(s.Sign("┊", "|"))
		default:
			rest.WriteString(s.Sign("·", "."))
		}
	}
	return s.Paint(PaintOf(t, after), used) + s.Paint(Dim, rest.String())
}

// splitCells returns the number of full cells of a share, and the eighths of the next cell.
func splitCells(share float64, width int) (full, eighth int) {
	n := int(min(max(share, 0), 1)*float64(width)*8 + 0.5)
	return n / 8, n % 8
}

// thresholdCell returns the cell of a threshold.
func thresholdCell(threshold float64, width int) int {
	return min(int(threshold*float64(width)), width-1)
}

// Scale writes the thresholds, in percent, above their marks, with a blank between
// two of them. If a label would have to move by more than one column, it is left out.
func Scale(width int, t levels.Thresholds) string {
	line := []rune(strings.Repeat(" ", width))
	free := 0
	for _, x := range t.Rising() {
		label := []rune(Grouped(int(100*x + 0.5)))
		at := max(thresholdCell(x, width), free)
		if at > thresholdCell(x, width)+1 || at+len(label) > width {
			continue
		}
		copy(line[at:], label)
		free = at + len(label) + 1
	}
	return string(line)
}

// PaintOf returns the colour of a usage: yellow if the mildest level is due, red if
// the strongest is.
func PaintOf(t levels.Thresholds, usage float64) Paint {
	names := levels.Names()
	switch slices.Index(names, string(t.Select(usage))) {
	case -1:
		return Green
	case 0:
		return Yellow
	case len(names) - 1:
		return Red
	}
	return Violet
}

// Entry returns the whole text of an archive entry, message by message, with its
// control characters.
func Entry(e archive.Entry) string {
	var b strings.Builder
	if len(e.Below) > 0 {
		fmt.Fprintf(&b, "below it: %s\n\n", strings.Join(e.Below, ", "))
	}
	if e.Text != "" {
		fmt.Fprintln(&b, e.Text)
	}
	for i, m := range e.Messages {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "--- %s ---\n%s\n", m.Role, Whole(m))
	}
	return b.String()
}

// Whole returns the whole text of a message, calls included.
func Whole(m chat.Message) string {
	var parts []string
	for _, p := range m.Parts {
		switch {
		case p.Kind == chat.Call || p.Kind == chat.ServerCall:
			parts = append(parts, p.Name+" "+p.Args)
		case p.Kind == chat.Image:
			parts = append(parts, "(image)")
		case p.Kind != chat.Thinking && p.Text != "":
			parts = append(parts, p.Text)
		}
	}
	return strings.Join(parts, "\n")
}
