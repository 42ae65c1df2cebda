package cli

import (
	"io"
	"os"

	"github.com/tiercompact/tiercompact/internal/screen"
)

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
