package archive

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A disk creates the written files; tests use a failing one.
type disk func(path string, flag int) (writableFile, error)

type writableFile interface {
	io.Writer
	Truncate(size int64) error
	Sync() error
	Close() error
}

// realDisk creates files that only their owner may read.
func realDisk(path string, flag int) (writableFile, error) {
	f, err := openPlain(path, flag, 0o600)
	if err != nil {
		return nil, err // not a nil *os.File in an interface
	}
	return f, nil
}

const tempMark = ".tmp~" // begins the names of files that are being written

// A draft is a complete file under a temporary name.
type draft struct{ temp, path string }

// prepareDraft writes the output of fill to a draft of path and syncs it. After an
// error nothing is left.
func (create disk) prepareDraft(path string, fill func(io.Writer) error) (d draft, err error) {
	d = draft{filepath.Join(filepath.Dir(path), tempMark+filepath.Base(path)), path}
	if err := ignoreMissing(os.Remove(d.temp)); err != nil { // an interrupted process or another program left it
		return d, err
	}
	f, err := create(d.temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return d, err
	}
	b := bufio.NewWriterSize(f, 1<<16)
	if err = fill(b); err == nil {
		err = b.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return d, errors.Join(err, os.Remove(d.temp))
	}
	return d, nil
}

// publishDrafts gives drafts of one folder their final names, and syncs the folder.
func publishDrafts(drafts ...draft) error {
	for _, d := range drafts {
		if err := os.Rename(d.temp, d.path); err != nil {
			return err
		}
	}
	return syncFolder(filepath.Dir(drafts[0].path))
}

// writeFile writes a file atomically.
func (create disk) writeFile(path string, fill func(io.Writer) error) error {
	d, err := create.prepareDraft(path, fill)
	if err != nil {
		return err
	}
	return publishDrafts(d)
}

// discardDrafts removes drafts that did not get their final names.
func discardDrafts(drafts ...draft) {
	for _, d := range drafts {
		_ = os.Remove(d.temp) // the rest is removed when the folder is next opened
	}
}

// removeDrafts removes the drafts of an interrupted process from a folder.
func removeDrafts(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), tempMark) {
			continue
		}
		if err := os.Remove(filepath.Join(folder, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

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
	return &fs.PathError{Op: "open", Path: path, Err: fmt.Errorf("%w: %s is in its place, not made by tiercompact; remove it", errPlanted, what)}
}
