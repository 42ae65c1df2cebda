package cli

import (
	"io"
	"os"

	"github.com/tiercompact/tiercompact/internal/screen"
)

// A guardedTerminal is a terminal that obeys no text that is written to it.
type guardedTerminal struct {
	*screen.Guard
	file *os.File
}

// guarded returns what commands write to in place of f: a terminal is guarded, a
// file or a pipe is given the bytes as they are.
func guarded(f *os.File) io.Writer {
	if !isTerminal(f) {
		return f
	}
	return guardedTerminal{screen.NewGuard(f), f}
}

// flushGuard writes what a guard has held back.
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
