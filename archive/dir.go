package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// DirOptions control opening a folder. The zero value opens it for writing.
type DirOptions struct {
	// ReadOnly opens an existing folder without a lock: files of another process
	// become visible when they are whole.
	ReadOnly bool
	// Session opens the folder for writing this session only; "": all sessions. Several
	// processes can have the folder open, each for another session.
	Session string
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
	own  *pathLock // of the only session; nil if all can be written
	only string    // the only session

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
// ErrLocked, unless both write one session each ([DirOptions.Session]). ErrVersion if a newer tiercompact made it.
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
	if err := d.lockRoot(ctx, o.Session); err != nil {
		return nil, err
	}
	if err := d.prepareRoot(); err != nil {
		return nil, errors.Join(err, d.unlock())
	}
	return d, nil
}

// lockRoot locks the folder for this process, or only one session in it.
func (d *Dir) lockRoot(ctx context.Context, session string) (err error) {
	path := filepath.Join(d.root, lockFile)
	if session == "" {
		d.lock, err = lockPath(ctx, path)
		return err
	}
	// Names that differ only in case are one file on some systems.
	if d.own, err = lockPath(ctx, path+"-"+strings.ToLower(folderName(session))); err != nil {
		return err
	}
	d.only = session
	if d.lock, err = sharePath(ctx, path); err != nil {
		return errors.Join(err, d.own.Unlock())
	}
	return nil
}

func (d *Dir) unlock() error {
	err := d.lock.Unlock()
	if d.own != nil {
		err = errors.Join(err, d.own.Unlock())
	}
	return err
}

// prepareRoot creates the missing files of the root.
func (d *Dir) prepareRoot() error {
	if d.own == nil { // a draft may be that of another process
		if err := removeDrafts(d.root); err != nil {
			return err
		}
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
	if err := d.unlock(); err != nil {
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

// folderPath returns the folder of a session.
func (d *Dir) folderPath(session string) string { return filepath.Join(d.root, folderName(session)) }

// prepareFolder returns the folder of a session, which it creates if it is missing.
// A folder of another session is an error: on some file systems, ids that differ
// only in case share one.
func (d *Dir) prepareFolder(session string) (string, error) {
	if d.only != "" && session != d.only {
		return "", fmt.Errorf("archive folder %s is open for session %s only, not for %s", d.root, d.only, session)
	}
	folder := d.folderPath(session)
	if err := plainFolder(folder); err != nil {
		return "", err
	}
	path := filepath.Join(folder, sessionFile)
	owner, err := d.storeReader().folderOwner(context.Background(), filepath.Base(folder))
	if err == nil && owner != session {
		return "", fmt.Errorf("folder %s belongs to session %q; choose another session id", folder, owner)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return folder, err
	}
	// A new one would hide the files of the old one, and have no lock.
	if err := d.storeReader().checkFormat(context.Background()); errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("the archive folder %s is gone; restore it, or open the archive again: %w", d.root, err)
	}
	if err := os.Mkdir(folder, private); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	record := formatFile{head: head{packVersion}, Session: session}
	if record.Steps, err = d.storeReader().knownOf(context.Background(), session); err != nil {
		return "", err
	}
	if err := d.disk.writeFile(path, constantText(sessionText(record))); err != nil {
		return "", err
	}
	delete(d.writers, session)
	return folder, syncFolder(d.root)
}

// dirSource is the fileSource of a Dir.
type dirSource struct{ root string }

func (f dirSource) filePath(folder, name string) string { return filepath.Join(f.root, folder, name) }

func (f dirSource) openFile(_ context.Context, folder, name string) (io.ReadCloser, error) {
	if folder != "" {
		if err := plainFolder(filepath.Join(f.root, folder)); err != nil {
			return nil, damagedError(err)
		}
	}
	file, err := openPlain(f.filePath(folder, name), os.O_RDONLY, 0)
	if err != nil {
		return nil, damagedError(err)
	}
	return readable{file}, nil
}

// A readable is a file whose errors are damages of the archive: a bad sector, a
// folder or a loop of links in its place, missing permission.
type readable struct{ *os.File }

func (r readable) Read(p []byte) (int, error) {
	n, err := r.File.Read(p)
	return n, damagedError(err)
}

// damagedError returns err as ErrDamaged if the file exists and cannot be read,
// unless the process lacks descriptors.
func damagedError(err error) error {
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrDamaged, err)
}

func (f dirSource) fileNames(_ context.Context, folder string) ([]string, error) {
	return f.listNames(folder, func(fs.DirEntry) bool { return true })
}

func (f dirSource) folderNames(context.Context) ([]string, error) {
	return f.listNames("", fs.DirEntry.IsDir)
}

func (f dirSource) listNames(folder string, wanted func(fs.DirEntry) bool) ([]string, error) {
	if folder != "" {
		if err := plainFolder(filepath.Join(f.root, folder)); err != nil {
			return nil, damagedError(err)
		}
	}
	entries, err := os.ReadDir(filepath.Join(f.root, folder))
	switch {
	case folder == "" && err != nil:
		return nil, err
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, damagedError(err)
	}
	var names []string
	for _, e := range entries {
		if wanted(e) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// appendLine adds line to the file path in one write. After a failure it removes
// the partial line.
func (create disk) appendLine(path string, line []byte) (err error) {
	f, err := create(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND)
	if err != nil {
		return err
	}
	if _, err = f.Write(line); err != nil {
		return errors.Join(err, f.Close(), trimTail(path))
	}
	return f.Close()
}

// trimTail removes the text after the last line feed of a file, left by an
// interrupted process or a full disk. A missing file has none.
func trimTail(path string) error {
	f, err := openPlain(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	end, err := lastLineEnd(f, size)
	if err != nil || end == size {
		return err
	}
	return f.Truncate(end)
}

// lastLineEnd returns the offset after the last line feed of the first size bytes
// of r.
func lastLineEnd(r io.ReaderAt, size int64) (int64, error) {
	b := make([]byte, 4096)
	if size > 0 { // a whole file is recognised by one byte
		if _, err := r.ReadAt(b[:1], size-1); err != nil {
			return 0, err
		}
		if b[0] == '\n' {
			return size, nil
		}
	}
	for end := size; end > 0; {
		start := max(0, end-int64(len(b)))
		chunk := b[:end-start]
		if _, err := r.ReadAt(chunk, start); err != nil {
			return 0, err
		}
		if i := bytes.LastIndexByte(chunk, '\n'); i >= 0 {
			return start + int64(i) + 1, nil
		}
		end = start
	}
	return 0, nil
}
