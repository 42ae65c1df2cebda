//go:build unix

package tui

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestAPipeIsNoFileToAdd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip("no pipes here:", err)
	}
	if _, err := readText(t.Context(), path); err == nil || !strings.Contains(err.Error(), "not a plain file") {
		t.Errorf("err = %v", err)
	}
}
