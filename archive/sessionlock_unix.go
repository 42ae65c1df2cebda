//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package archive

import (
	"errors"
	"os"
	"syscall"
)

// lockFileItself takes the lock of an open file immediately or not at all. It does
// not prevent reading.
func lockFileItself(f *os.File) (held bool, err error) {
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err != syscall.EINTR {
			break
		}
	}
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return false, nil
	case errors.Is(err, syscall.ENOTSUP), errors.Is(err, syscall.ENOLCK), errors.Is(err, syscall.EBADF):
		return true, nil // this file system has no such locks; the one beside the file is used
	}
	return err == nil, err
}
