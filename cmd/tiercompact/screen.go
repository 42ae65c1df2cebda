package main

import (
	"io"
	"os"
	"strconv"

	"github.com/spf13/cobra"
)

// look is how the timeline is drawn.
type look struct {
	ascii bool
	color string
}

func (l *look) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&l.ascii, "ascii", false, "draw with ASCII characters only")
	f.StringVar(&l.color, "color", "auto", "colours: auto (on a terminal, unless NO_COLOR is set), always, never")
	complete(cmd, "color", colours)
}

const colours = "auto, always, never"

// widthOf returns the screen behind w, without colours; one without a width
// where it is no terminal.
func widthOf(w io.Writer) screen {
	if f, ok := w.(*os.File); ok {
		if columns, terminal := terminalWidth(f); terminal && columns > 0 {
			return screen{width: max(columns, 60)}
		}
	}
	return screen{}
}

// A screen is what is drawn on.
type screen struct {
	width  int // columns
	ascii  bool
	colour bool
}

// on returns the screen behind w. What is no terminal is taken for one of 80
// columns, or of COLUMNS, without colours.
func (l look) on(w io.Writer) (screen, error) {
	if err := oneOf("--color", l.color, colours); err != nil {
		return screen{}, err
	}
	dumb := os.Getenv("TERM") == "dumb"
	s := screen{width: 80, ascii: l.ascii || dumb}
	columns, terminal := 0, false
	if f, ok := w.(*os.File); ok {
		columns, terminal = terminalWidth(f)
	}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		columns = n
	}
	if columns > 0 {
		s.width = min(max(columns, 60), 200)
	}
	s.colour = l.color == "always" || l.color != "never" && terminal && !dumb && os.Getenv("NO_COLOR") == ""
	return s, nil
}

// A paint is an ANSI colour.
type paint string

const (
	plain  paint = ""
	dim    paint = "90"
	bold   paint = "1"
	green  paint = "32"
	yellow paint = "33"
	violet paint = "35"
	red    paint = "31"
)

func (s screen) paint(p paint, text string) string {
	if !s.colour || p == plain || text == "" {
		return text
	}
	return "\x1b[" + string(p) + "m" + text + "\x1b[0m"
}

// sign returns the fine form of a sign, or the one in ASCII.
func (s screen) sign(fine, ascii string) string {
	if s.ascii {
		return ascii
	}
	return fine
}
