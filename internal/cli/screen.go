package cli

import (
	"io"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/tiercompact/tiercompact/internal/screen"
)

// screenOptions control how the timeline is drawn.
type screenOptions struct {
	ascii bool
	color string
}

func (l *screenOptions) registerLook(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&l.ascii, "ascii", false, "draw with ASCII characters only")
	f.StringVar(&l.color, "color", "auto", "colours: auto (on a terminal, unless NO_COLOR is set), always, never")
	complete(cmd, "color", colours)
}

const colours = "auto, always, never"

// plainScreen returns the screen of w, without colours. Its width is 0 if w is not
// a terminal.
func plainScreen(w io.Writer) screen.Screen {
	if f, ok := fileOf(w); ok {
		if columns, terminal := terminalWidth(f); terminal && columns > 0 {
			return screen.Screen{Width: max(columns, 60)}
		}
	}
	return screen.Screen{}
}

// screenFor returns the screen of w. Anything but a terminal counts as a screen of
// 80 columns, or of COLUMNS, without colours.
func (l screenOptions) screenFor(w io.Writer) (screen.Screen, error) {
	if err := checkOneOf("--color", l.color, colours); err != nil {
		return screen.Screen{}, err
	}
	dumb := os.Getenv("TERM") == "dumb"
	s := screen.Screen{Width: 80, ASCII: l.ascii || dumb}
	columns, terminal := 0, false
	if f, ok := fileOf(w); ok {
		columns, terminal = terminalWidth(f)
	}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		columns = n
	}
	if columns > 0 {
		s.Width = min(max(columns, 60), 200)
	}
	s.Colour = l.color == "always" || l.color != "never" && terminal && !dumb && os.Getenv("NO_COLOR") == ""
	_, s.Guarded = w.(guardedTerminal)
	return s, nil
}

// A guardedTerminal is a terminal on which no written text acts as a control sequence.
type guardedTerminal struct {
	*screen.Guard
	file *os.File
}

// guarded returns the writer for f: a terminal is guarded, a file or a pipe gets
// the bytes unchanged.
func guarded(f *os.File) io.Writer {
	if !isTerminal(f) {
		return f
	}
	return guardedTerminal{screen.NewGuard(f), f}
}

// flushGuard writes the bytes that a guard holds back.
func flushGuard(w io.Writer) error {
	if g, ok := w.(guardedTerminal); ok {
		return g.Flush()
	}
	return nil
}

// fileOf returns the file behind a stream, guarded or not.
func fileOf(stream any) (*os.File, bool) {
	if g, ok := stream.(guardedTerminal); ok {
		return g.file, true
	}
	f, ok := stream.(*os.File)
	return f, ok
}

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	f, ok := fileOf(stream)
	if !ok {
		return false
	}
	_, terminal := terminalWidth(f)
	return terminal
}
