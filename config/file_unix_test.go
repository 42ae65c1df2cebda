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

func TestWhatIsShownStaysInItsLineWhateverTheFileIsCalled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a\nwindow: 7\n.yaml")
	write(t, path, "preset: eager\n")
	if shown := string(load(t, config.Options{File: path}).YAML(true)); strings.Contains(shown, "\nwindow") {
		t.Errorf("shown is\n%s", shown)
	}
}
