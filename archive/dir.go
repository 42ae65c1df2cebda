package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/gofrs/flock"
)

// DirOptions say how a folder is opened. The zero value opens it for writing.
type DirOptions struct {
	// ReadOnly opens a folder that is there, without a lock: what another
	// process writes meanwhile is seen once it is whole.
	ReadOnly bool
}

// Dir is a store in a folder:
//
//	archive.json                                 the format
//	{session}/session.json                       the session's id
//	{session}/transcript-pre-compact-{step}.jsonl
//	{session}/summary-{step}.json                where one was made
//	{session}/step-{step}.jsonl                  edits and recall entries; with it a step is there
//	{session}/events.jsonl
//
// A file is whole, on disk, before it has its name. One process at a time
// writes.
type Dir struct {
	root string
	disk disk
	lock *flock.Flock // nil where it is read only

	mu     sync.RWMutex // held to write while the folder is written to
	closed bool
	ours   map[string]bool // sessions whose folder was found to be theirs
}

const (
	lockFile = ".lock"
	private  = 0o700 // of folders
)

// OpenDir opens the archive in the folder root, which it makes where it is
// missing. ErrLocked where another process writes to it, ErrVersion where a
// newer tiercompact made it.
func OpenDir(root string, o DirOptions) (*Dir, error) {
	d, err := openDir(root, o, realDisk)
	if err != nil {
		return nil, fmt.Errorf("open archive folder %s: %w", root, err)
	}
	return d, nil
}

func openDir(root string, o DirOptions, disk disk) (*Dir, error) {
	d := &Dir{root: root, disk: disk, ours: make(map[string]bool)}
	if o.ReadOnly {
		err := d.library().checkFormat(context.Background())
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("no archive is there: %w", ErrNotFound)
		}
		return d, err
	}
	if err := os.MkdirAll(root, private); err != nil {
		return nil, fmt.Errorf("%w; make its parent writable or choose another folder", err)
	}
	var err error
	if d.lock, err = lockPath(filepath.Join(root, lockFile)); err != nil {
		return nil, err
	}
	if err := d.prepareRoot(); err != nil {
		return nil, errors.Join(err, d.lock.Unlock())
	}
	return d, nil
}

// lockPath takes the lock in the file path, at once or not at all.
func lockPath(path string) (*flock.Flock, error) {
	lock := flock.New(path, flock.SetPermissions(0o600))
	held, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w; make the folder writable or choose another", path, err)
	}
	if !held {
		return nil, fmt.Errorf("%w, which holds %s; end that chat or proxy, choose another path, or open it for reading only", ErrLocked, path)
	}
	return lock, nil
}

// prepareRoot makes what belongs in the root, where it is missing.
func (d *Dir) prepareRoot() error {
	if err := removeDrafts(d.root); err != nil {
		return err
	}
	err := d.library().checkFormat(context.Background())
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for name, text := range map[string]string{".gitignore": "*\n", rootFile: rootText} {
		if _, err := os.Lstat(filepath.Join(d.root, name)); err == nil {
			continue // a .gitignore of somebody's own
		}
		if err := d.disk.writeFile(filepath.Join(d.root, name), constant(text)); err != nil {
			return fmt.Errorf("%w; free space, make the folder writable or choose another", err)
		}
	}
	return nil
}

func constant(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

func (d *Dir) library() library { return library{shelf: folders{d.root}} }

// Where returns the path of the transcript before a step.
func (d *Dir) Where(session string, number int) (adapter, location string) {
	return "dir", filepath.Join(d.folder(session), transcriptName(number))
}

// Close implements [Store]; another process may open the folder then.
func (d *Dir) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || d.lock == nil {
		d.closed = true
		return nil
	}
	d.closed = true
	if err := d.lock.Unlock(); err != nil {
		return fmt.Errorf("close archive folder %s: %w", d.root, err)
	}
	return nil
}

// usable is called under mu.
func (d *Dir) usable(ctx context.Context) error {
	if d.closed {
		return fmt.Errorf("archive folder %s: %w", d.root, ErrClosed)
	}
	return ctx.Err()
}
