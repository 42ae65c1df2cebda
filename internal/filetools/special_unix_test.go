//go:build unix

package filetools

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Pipes, sockets and devices are refused, and never waited for.
func TestOnlyPlainFilesAreRead(t *testing.T) {
	f, dir := project(t, nil)
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir) // the path of a socket is short
	l, err := net.Listen("unix", "socket")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	names := []string{"pipe", "socket"}
	if err := syscall.Mknod(filepath.Join(dir, "device"), syscall.S_IFCHR|0o600, 1<<8|5); err == nil { // that of /dev/zero; only root may
		names = append(names, "device")
	}
	for _, name := range names {
		for _, k := range []Kind{Read, Search} {
			if _, err := call(t, f, k, map[string]any{"path": name, "text": "x"}); err == nil || !strings.Contains(err.Error(), "is a "+name) {
				t.Errorf("%s of a %s: %v", k, name, err)
			}
		}
	}
	if got, err := call(t, f, List, nil); err != nil || !strings.Contains(got, "pipe  (not a plain file)") {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := call(t, f, Search, map[string]any{"text": "package"}); err != nil || got != "main.go:1: package main\n" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestAFileWithoutPermissionIsReported(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may read everything")
	}
	f, dir := project(t, nil)
	if err := os.Chmod(filepath.Join(dir, "main.go"), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := call(t, f, Read, map[string]any{"path": "main.go"}); err == nil || !strings.Contains(err.Error(), "permission denied") || strings.Contains(err.Error(), dir) {
		t.Errorf("%v", err)
	}
}
