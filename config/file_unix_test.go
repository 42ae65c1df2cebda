//go:build unix

package config_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tiercompact/tiercompact/config"
)

func TestAPipeThatNobodyNamedIsNotWaitedFor(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "compact.json"), 0o600); err != nil {
		t.Skipf("no pipes here: %v", err)
	}
	if _, err := config.Load(config.Options{Dir: dir, Environ: []string{}}); err == nil || !strings.Contains(err.Error(), "compact.json is no file") {
		t.Errorf("error is %v", err)
	}
}
