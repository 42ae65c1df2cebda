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

// DirOptions control opening a folder. The zero value opens it for writing.
type DirOptions struct {
	// ReadOnly opens an existing folder without a lock: files of another process
	// become visible when they are whole.
	ReadOnly bool
}

// Dir is a store in a folder:
//
//	archive.json                        the format
//	{session}/session.json              the session's id, and the numbers of all steps ever put
//	{session}/steps-{step}.pack         a step, with the messages that no earlier step has
//	{session}/steps-{step}-{step}.pack  several steps, merged
//	{session}/pruned.json               the numbers of the pruned steps
//	{session}/events.jsonl              the newest events
//	{session}/old-events-{n}.jsonl.gz   the older ones; files are merged in time
//
// Each message of a session is kept once, compressed. A file is complete on disk
// before it gets its name, and only events.jsonl changes afterwards. One process at
// a time writes. A folder of the former version, with three files for each step, can
// be read, and continues in this form.
type Dir struct {
	root string
	disk disk
	lock *pathLock // nil if read-only

	mu         sync.RWMutex // held during writes to the folder
	closed     bool
	ours       map[string]bool  // sessions whose folder was checked
	eventsSize map[string]int64 // of events.jsonl since it was checked
	scans      *sync.Map        // see storeReader
	// writers of the sessions that this process writes
	writers map[string]*writer
}

const (
	lockFile = ".lock"
	private  = 0o700 // of folders
)

// OpenDir opens the archive in the folder root, which it creates if it is missing.
// If another process writes to it, OpenDir waits briefly, and then returns
// ErrLocked. ErrVersion if a newer tiercompact made it.
func OpenDir(root string, o DirOptions) (*Dir, error) {
	return OpenDirContext(context.Background(), root, o)
}

// OpenDirContext is [OpenDir], but stops waiting when ctx ends.
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

// prepareRoot creates the missing files of the root.
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
			continue // the user's own .gitignore
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

// Where returns the path of a step's file when it was put; it may be merged with
// others later.
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
