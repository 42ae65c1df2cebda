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
)

// DirOptions say how a folder is opened. The zero value opens it for writing.
type DirOptions struct {
	// ReadOnly opens a folder that is there, without a lock: what another
	// process writes meanwhile is seen once it is whole.
	ReadOnly bool
}

// Dir is a store in a folder:
//
//	archive.json                        the format
//	{session}/session.json              the session's id, and the numbers of all steps that were ever put
//	{session}/steps-{step}.pack         a step, with the messages that no step before had
//	{session}/steps-{step}-{step}.pack  several, put together
//	{session}/pruned.json               the numbers of the steps that were pruned
//	{session}/events.jsonl              the newest events
//	{session}/old-events-{n}.jsonl.gz   those before, several files put together in time
//
// Each message of a session is kept once, compressed. A file is whole, on disk,
// before it has its name, and never changes but for events.jsonl. One process at a
// time writes. The folder of a version before, with three files for each step, is
// read, and goes on in this form.
type Dir struct {
	root string
	disk disk
	lock *pathLock // nil where it is read only

	mu         sync.RWMutex // held to write while the folder is written to
	closed     bool
	ours       map[string]bool  // sessions whose folder was found to be theirs
	eventsSize map[string]int64 // of events.jsonl since it was looked at
	scans      *sync.Map        // see library
	// writers are of the sessions that this process writes.
	writers map[string]*writer
}

const (
	lockFile = ".lock"
	private  = 0o700 // of folders
)

// OpenDir opens the archive in the folder root, which it makes where it is
// missing. Where another process writes to it, it waits a moment, and then is
// ErrLocked. ErrVersion where a newer tiercompact made it.
func OpenDir(root string, o DirOptions) (*Dir, error) {
	return OpenDirContext(context.Background(), root, o)
}

// OpenDirContext is [OpenDir] that does not wait when ctx ends.
func OpenDirContext(ctx context.Context, root string, o DirOptions) (*Dir, error) {
	d, err := openDirContext(ctx, root, o, realDisk)
	if err != nil {
		return nil, fmt.Errorf("open archive folder %s: %w", root, err)
	}
	return d, nil
}

func openDirContext(ctx context.Context, root string, o DirOptions, disk disk) (*Dir, error) {
	d := &Dir{root: root, disk: disk, ours: make(map[string]bool), eventsSize: make(map[string]int64), scans: new(sync.Map), writers: make(map[string]*writer)}
	if o.ReadOnly {
		err := d.storeReader().checkFormat(ctx)
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("no archive is there: %w", ErrNotFound)
		}
		return d, err
	}
	if err := os.MkdirAll(root, private); err != nil {
		return nil, fmt.Errorf("%w; make its parent writable or choose another folder", err)
	}
	var err error
	if d.lock, err = lockPath(ctx, filepath.Join(root, lockFile)); err != nil {
		return nil, err
	}
	if err := d.prepareRoot(); err != nil {
		return nil, errors.Join(err, d.lock.Unlock())
	}
	return d, nil
}

// prepareRoot makes what belongs in the root, where it is missing.
func (d *Dir) prepareRoot() error {
	if err := removeDrafts(d.root); err != nil {
		return err
	}
	err := d.storeReader().checkFormat(context.Background())
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for name, text := range map[string]string{".gitignore": "*\n", rootFile: rootText} {
		if _, err := os.Lstat(filepath.Join(d.root, name)); err == nil {
			continue // a .gitignore of somebody's own
		}
		if err := d.disk.writeFile(filepath.Join(d.root, name), constantText(text)); err != nil {
			return fmt.Errorf("%w; free space, make the folder writable or choose another", err)
		}
	}
	return nil
}

func constantText(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

func (d *Dir) storeReader() storeReader {
	return storeReader{fileSource: dirSource{d.root}, scans: d.scans}
}

// Where returns the path of the file that a step is in when it was put; later it
// may be put together with others.
func (d *Dir) Where(session string, number int) (adapter, location string) {
	return "dir", filepath.Join(d.folderPath(session), packName(number, number))
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

// checkUsable is called under mu.
func (d *Dir) checkUsable(ctx context.Context) error {
	if d.closed {
		return fmt.Errorf("archive folder %s: %w", d.root, ErrClosed)
	}
	return ctx.Err()
}
