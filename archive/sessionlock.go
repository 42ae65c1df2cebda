package archive

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// sessionLock is the file whose lock protects the session file path, which has no
// links in it. It is a separate file because a file may be replaced, and its name
// stays.
func sessionLock(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".lock")
}

// realPath returns path without links, so that two names of one file have one lock.
// The last name need not exist.
func realPath(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, os.ErrNotExist) {
		if real, err = filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
			real = filepath.Join(real, filepath.Base(path))
		}
	}
	if err != nil {
		return "", err
	}
	return filepath.Abs(real)
}

// A sessionHold locks a session file against other processes: the lock beside it,
// and one of the file itself, which may have other names (hard links).
type sessionHold struct {
	beside *pathLock
	own    *os.File // open for reading; nil before the file exists
}

// holdFile opens the file and locks it, for as long as it is open.
func holdFile(path string) (*os.File, error) {
	own, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	held, err := lockFileItself(own)
	if err == nil && !held {
		err = fmt.Errorf("%w under another name of the same file (a hard link); end that chat or proxy, or open it for reading only", ErrLocked)
	}
	if err != nil {
		return nil, errors.Join(err, own.Close())
	}
	return own, nil
}

func (h *sessionHold) release() error {
	var err error
	if h.own != nil {
		err = h.own.Close()
	}
	return errors.Join(err, h.beside.Unlock())
}
