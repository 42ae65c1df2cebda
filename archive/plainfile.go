package archive

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// errPlanted reports something else in place of a file of the archive. It is never
// followed, read or written.
var errPlanted = errors.New("not a plain file")

// openPlain opens a plain file. A link, a pipe, a device or a folder in its place
// is errPlanted, without a wait.
func openPlain(path string, flag int, mode os.FileMode) (*os.File, error) {
	before, err := os.Lstat(path)
	if err == nil && !before.Mode().IsRegular() {
		return nil, planted(path, before.Mode())
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	f, err := os.OpenFile(path, flag|noFollow, mode)
	if err != nil {
		if now, statErr := os.Lstat(path); statErr == nil && !now.Mode().IsRegular() {
			return nil, planted(path, now.Mode()) // it was created in between
		}
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = planted(path, info.Mode())
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// plainFolder returns the problem with a folder of the archive, such as that it is
// a link. A missing one is not an error.
func plainFolder(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.IsDir():
		return nil
	}
	return planted(path, info.Mode())
}

func planted(path string, mode os.FileMode) error {
	what := "something else"
	switch {
	case mode&os.ModeSymlink != 0:
		what = "a link"
	case mode&os.ModeNamedPipe != 0:
		what = "a pipe"
	case mode&os.ModeDevice != 0:
		what = "a device"
	case mode&os.ModeSocket != 0:
		what = "a socket"
	case mode.IsDir():
		what = "a folder"
	case mode.IsRegular():
		what = "a file"
	}
	return &fs.PathError{Op: "open", Path: path, Err: fmt.Errorf("%w: %s is in its place, which tiercompact did not make; remove it", errPlanted, what)}
}
