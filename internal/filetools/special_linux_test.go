package filetools

import (
	"strings"
	"testing"
	"time"
)

// Files of the kernel report no size, and some have no end.
func TestFilesOfTheKernelAreBounded(t *testing.T) {
	f, err := Open("/dev")
	if err != nil {
		t.Skip("this system has no folder of devices: ", err)
	}
	defer f.Close()
	for _, name := range []string{"zero", "urandom", "null"} {
		if got, err := call(t, f, Read, map[string]any{"path": name}); err == nil || !strings.Contains(err.Error(), "is a device") {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
}

// The links of /proc lead anywhere, and its log is a plain file whose end is waited for.
func TestProcLeadsNowhere(t *testing.T) {
	f, err := Open("/proc")
	if err != nil {
		t.Skip("this system has no /proc: ", err)
	}
	defer f.Close()
	was := maxReadTime
	maxReadTime = 50 * time.Millisecond
	defer func() { maxReadTime = was }()
	for _, path := range []string{"self", "self/root/etc/hostname", "thread-self/cwd", "1/root", "1/cwd/etc/hostname"} {
		if got, err := call(t, f, Read, map[string]any{"path": path}); err == nil || got != "" {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	if got, err := call(t, f, Read, map[string]any{"path": "kmsg"}); err == nil {
		t.Errorf("the log of the kernel ended: %d bytes", len(got))
	}
	if got, err := call(t, f, Read, map[string]any{"path": "version"}); err != nil || !strings.HasPrefix(got, "Linux version") {
		t.Errorf("version: %q, %v", got, err)
	}
}
