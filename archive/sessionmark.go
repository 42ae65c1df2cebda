package archive

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// A mark records how far a session file was written, so that a file that was cut,
// or restored from an older copy, is detected. It is in the file of the lock and is
// written after the record is on disk, without a sync: it may be behind the file,
// never ahead. Without a mark, nothing is compared.
type mark struct {
	First  string `json:"first"` // checksum of the first record, which identifies the file
	Number int    `json:"n"`     // of records
	Sum    string `json:"sum"`   // of the last one
}

const (
	markAt     = 16 // its offset: on Windows, the lock keeps others from the first byte
	markLength = 128
)

// readMarks returns the marks of the session file path: that of the file and, if
// path is a link, that of a file which had its name before. If there is none,
// nothing is compared.
func readMarks(path string) []mark {
	resolved, err := realPath(path)
	if err != nil {
		return nil
	}
	var all []mark
	for _, name := range namesOf(path, resolved) {
		if m := readMark(name); m.Number > 0 {
			all = append(all, m)
		}
	}
	return all
}

// namesOf returns the paths with marks of the session file path, which leads to
// real.
func namesOf(path, resolved string) []string {
	folder, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err == nil {
		folder, err = filepath.Abs(folder)
	}
	own := filepath.Join(folder, filepath.Base(path))
	if err != nil || own == resolved {
		return []string{resolved}
	}
	return []string{resolved, own}
}

func readMark(path string) (m mark) {
	f, err := openPlain(sessionLock(path), os.O_RDONLY, 0)
	if err != nil {
		return m
	}
	defer f.Close()
	b, err := io.ReadAll(io.NewSectionReader(f, markAt, markLength))
	if err != nil || json.Unmarshal(bytes.TrimSpace(b), &m) != nil || m.Number < 1 || m.First == "" {
		return mark{}
	}
	return m
}

// writeMark writes m or, if it is zero, removes the mark. An error matters only if
// the file is cut later.
func writeMark(path string, m mark) {
	text, err := json.Marshal(m)
	f, openErr := openPlain(sessionLock(path), os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil || openErr != nil {
		return
	}
	defer f.Close()
	if m == (mark{}) {
		text = nil
	}
	_, _ = f.WriteAt(append(text, bytes.Repeat([]byte{' '}, markLength-len(text))...), markAt)
}

// checkMarks compares the record at, which was read, with marks.
func checkMarks(marks []mark, at position) error {
	for _, m := range marks {
		switch {
		case at.number == 1 && at.sum != m.First:
			return fmt.Errorf("%w: another session file was put in the place of the one that was written here", ErrDamaged)
		case at.number > 0 && at.number == m.Number && at.sum != m.Sum:
			return fmt.Errorf("%w: record %d is not the one that was written here: the file is another copy", ErrDamaged, at.number)
		}
	}
	return nil
}

// checkEnd compares the last record that was read with marks.
func checkEnd(marks []mark, at position) error {
	for _, m := range marks {
		if at.number < m.Number {
			return fmt.Errorf("%w: the file ends behind record %d, and %d were written: it was cut, or is an older copy", ErrDamaged, at.number, m.Number)
		}
	}
	return nil
}
