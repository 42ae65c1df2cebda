package archive

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockFileItself takes the lock of an open file at once or not at all. A locked
// part of a file cannot be read by others here, so the part is far behind its
// end.
func lockFileItself(f *os.File) (held bool, err error) {
	at := windows.Overlapped{OffsetHigh: 1 << 30}
	err = windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}
