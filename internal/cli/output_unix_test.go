//go:build unix

package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestWriteGoesIntoAPipeAndLeavesItThere(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip("no pipes here: ", err)
	}
	got := make(chan []byte)
	go func() {
		text, _ := os.ReadFile(pipe)
		got <- text
	}()
	if err := writeOutput(nil, pipe, fill("new")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(pipe)
	if text := <-got; !bytes.Equal(text, []byte("new")) || err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		t.Errorf("the reader got %q, the pipe is %v", text, info.Mode())
	}
}
