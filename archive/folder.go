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
	"syscall"
)

// folderPath returns the folder of a session.
func (d *Dir) folderPath(session string) string { return filepath.Join(d.root, folderName(session)) }

// prepareFolder returns the folder of a session, which it creates if it is missing.
// A folder of another session is an error: on some file systems, ids that differ
// only in case share one.
func (d *Dir) prepareFolder(session string) (string, error) {
	folder := d.folderPath(session)
	if err := plainFolder(folder); err != nil {
		return "", err
	}
	path := filepath.Join(folder, sessionFile)
	owner, err := d.storeReader().folderOwner(context.Background(), filepath.Base(folder))
	if err == nil && owner != session {
		return "", notOwner(folder, owner)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return folder, err
	}
	// A new one would hide the files of the old one, and have no lock.
	if err := d.storeReader().checkFormat(context.Background()); errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("the archive folder %s is gone; bring it back, or open the archive again: %w", d.root, err)
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
