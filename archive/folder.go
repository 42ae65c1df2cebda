package archive

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// formatFile is what rootFile and session.json hold.
type formatFile struct {
	head
	Format  string `json:"format"`
	Session string `json:"session,omitempty"`
}

const (
	rootText    = `{"v":1,"format":"tiercompact archive"}` + "\n"
	sessionFile = "session.json"
)

// checkFormat returns fs.ErrNotExist where the root has no format yet.
func (d *Dir) checkFormat() error {
	var f formatFile
	return readFormat(filepath.Join(d.root, rootFile), &f)
}

func readFormat(path string, f *formatFile) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := decodeLine(b, f); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// folder returns the folder of a session.
func (d *Dir) folder(session string) string { return filepath.Join(d.root, folderName(session)) }

var (
	plainName = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,78}[A-Za-z0-9_-]$|^[A-Za-z0-9_]$`)
	// Windows gives these names, with any extension, to devices.
	deviceName = regexp.MustCompile(`(?i)^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)`)
	unsafeRun  = regexp.MustCompile(`[^A-Za-z0-9_-]+`)
)

// folderName returns a name for the folder of a session that every file system
// takes: the id where it is plain, else what is plain of it and a hash, parted
// by a character that plain ids do not have.
func folderName(session string) string {
	if plainName.MatchString(session) && !deviceName.MatchString(session) {
		return session
	}
	sum := sha256.Sum256([]byte(session))
	start := strings.Trim(unsafeRun.ReplaceAllString(session[:min(len(session), 40)], "-"), "-")
	return "s" + "~" + start + "~" + hex.EncodeToString(sum[:10])
}

// prepareFolder returns the folder of a session, which it makes where it is
// missing. A folder that belongs to another session is an error: on some file
// systems, ids that differ only in case meet there.
func (d *Dir) prepareFolder(session string) (string, error) {
	folder := d.folder(session)
	path := filepath.Join(folder, sessionFile)
	var f formatFile
	err := readFormat(path, &f)
	if err == nil && f.Session != session {
		return "", fmt.Errorf("folder %s belongs to session %q; choose another session id", folder, f.Session)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return folder, err
	}
	if err := os.MkdirAll(folder, private); err != nil {
		return "", err
	}
	text, err := json.Marshal(formatFile{head{Version}, "tiercompact session", session})
	if err != nil {
		return "", err
	}
	if err := d.disk.writeFile(path, constant(string(text)+"\n")); err != nil {
		return "", err
	}
	return folder, syncFolder(d.root)
}

// Sessions returns the ids of the sessions in the archive, sorted.
func (d *Dir) Sessions() ([]string, error) {
	entries, err := os.ReadDir(d.root)
	if err != nil {
		return nil, fmt.Errorf("list archive folder: %w", err)
	}
	var ids []string
	for _, e := range entries {
		var f formatFile
		err := readFormat(filepath.Join(d.root, e.Name(), sessionFile), &f)
		if errors.Is(err, fs.ErrNotExist) || !e.IsDir() {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list archive folder: %w", err)
		}
		ids = append(ids, f.Session)
	}
	slices.Sort(ids)
	return ids, nil
}

// appendLine adds line to the file path in one write. A tail without a line
// feed, left by an interrupted process or a full disk, is taken off.
func (create disk) appendLine(path string, line []byte) (err error) {
	size, err := trimTail(path)
	if err != nil {
		return err
	}
	f, err := create(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.Write(line); err != nil {
		return errors.Join(err, f.Truncate(size))
	}
	return nil
}

// trimTail takes what stands behind the last line feed off a file, and returns
// its size. A missing file has size 0.
func trimTail(path string) (int64, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, err
	}
	end, err := lastLineEnd(f, size)
	if err != nil || end == size {
		return end, err
	}
	return end, f.Truncate(end)
}

// lastLineEnd returns the offset behind the last line feed of the first size
// bytes of r.
func lastLineEnd(r io.ReaderAt, size int64) (int64, error) {
	b := make([]byte, 4096)
	if size > 0 { // what is whole is found by one byte
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
