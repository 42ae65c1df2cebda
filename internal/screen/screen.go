// Package screen draws what commands show: bars of usage, what a round did, and
// texts that fit their columns and steer no terminal.
package screen

// A Screen is what is drawn on.
type Screen struct {
	Width   int // columns
	ASCII   bool
	Colour  bool
	Guarded bool // what is drawn goes through a Guard
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

// sign returns the fine form of a sign, or the one in ASCII.
func (s Screen) Sign(fine, ascii string) string {
	if s.ASCII {
		return ascii
	}
	return fine
}
