package filetools

import (
	"strings"
	"testing"
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
