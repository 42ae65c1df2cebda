package archive

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockFileItself takes the lock of an open file immediately or not at all. Others
// cannot read a locked part of a file here, so the part is far after its end.
func lockFileItself(f *os.File) (held bool, err error) {
	at := windows.Overlapped{OffsetHigh: 1 << 30}
	err = windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}
