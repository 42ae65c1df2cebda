package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"syscall"
)

// A traceFile is the file of a sink. Sinks report no errors, so Close reports the events
// that could not be written.
type traceFile struct {
	path string
	file *os.File

	mu   sync.Mutex // guards the fields below; not held during writes
	torn bool       // the last line has no end
	lost int        // events
	why  error      // of the first
}

// openTraceFile opens the file path for adding events. A pipe without a reader is an
// error, because the open would block.
func openTraceFile(path string) (*traceFile, error) {
	flag := os.O_WRONLY | os.O_CREATE | os.O_APPEND
	info, err := os.Stat(path)
	pipe := err == nil && info.Mode()&fs.ModeNamedPipe != 0
	if pipe {
		flag |= syscall.O_NONBLOCK
	}
	f, err := os.OpenFile(path, flag, 0o600)
	switch {
	case pipe && errors.Is(err, syscall.ENXIO):
		return nil, fmt.Errorf("write trace: the pipe %s has no reader; start its reader first", path)
	case err != nil:
		return nil, fmt.Errorf("write trace: %w", err)
	}
	return &traceFile{path: path, file: f, torn: lacksFinalNewline(path)}, nil
}

// lacksFinalNewline reports whether path is a file with an incomplete last line: an event of
// a killed process, or of a full disk.
func lacksFinalNewline(path string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false // another user owns it
	}
	defer f.Close()
	last := make([]byte, 1)
	_, err = f.ReadAt(last, info.Size()-1)
	return err == nil && last[0] != '\n'
}

// Write writes an event, after a line break if a failed write has left part of a line.
func (t *traceFile) Write(line []byte) (int, error) {
	t.mu.Lock()
	torn := t.torn
	t.mu.Unlock()
	out := line
	if torn {
		out = append([]byte{'\n'}, line...)
	}
	n, err := t.file.Write(out)
	t.mu.Lock()
	defer t.mu.Unlock()
	if n > 0 {
		t.torn = out[n-1] != '\n'
	}
	if err == nil {
		return len(line), nil
	}
	if t.lost++; t.why == nil {
		t.why = err
	}
	return 0, err
}

// Close reports the events that were lost, and ends a write in progress.
func (t *traceFile) Close() error {
	err := t.file.Close()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lost > 0 {
		err = errors.Join(fmt.Errorf("write trace %s: %d events are lost: %w", t.path, t.lost, t.why), err)
	}
	return err
}
