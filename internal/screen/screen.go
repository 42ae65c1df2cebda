// Package screen draws the output of commands: bars of usage, the actions of a
// round, and texts that fit their columns and do not control the terminal.
package screen

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
