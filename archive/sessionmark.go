package archive

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// A mark says how far a session file was written, so that one that was cut, or
// put back from an older copy, is not taken for whole. It stands in the file of
// the lock and is written after the record is on disk, without a sync: it may say
// less than there is, never more. Without a mark, nothing is compared.
type mark struct {
	First  string `json:"first"` // checksum of the first record, which tells files apart
	Number int    `json:"n"`     // of records
	Sum    string `json:"sum"`   // of the last one
}

const (
	markAt     = 16 // where it begins: on Windows, the lock keeps others from the first byte
	markLength = 128
)

// readMark returns the mark of the session file path, the zero mark where there
// is none.
func readMark(path string) (m mark) {
	real, err := realPath(path)
	if err != nil {
		return m
	}
	f, err := os.Open(sessionLock(real))
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

// writeMark writes m, or where it is zero takes the mark away. What it cannot
// write is missed by nobody but whoever cuts the file.
func writeMark(path string, m mark) {
	text, err := json.Marshal(m)
	f, openErr := os.OpenFile(sessionLock(path), os.O_WRONLY, 0)
	if err != nil || openErr != nil {
		return
	}
	defer f.Close()
	if m == (mark{}) {
		text = nil
	}
	_, _ = f.WriteAt(append(text, bytes.Repeat([]byte{' '}, markLength-len(text))...), markAt)
}

// check compares the record at, which was read, with the mark.
func (m mark) check(at position) error {
	switch {
	case m.Number > 0 && at.number == 1 && at.sum != m.First:
		return fmt.Errorf("%w: another session file was put in the place of the one that was written here", ErrDamaged)
	case at.number > 0 && at.number == m.Number && at.sum != m.Sum:
		return fmt.Errorf("%w: record %d is not the one that was written here: it is of another copy of the file", ErrDamaged, at.number)
	}
	return nil
}

// checkEnd compares the last record that was read with the mark.
func (m mark) checkEnd(at position) error {
	if at.number < m.Number {
		return fmt.Errorf("%w: the file ends behind record %d, and %d were written: it was cut, or is an older copy", ErrDamaged, at.number, m.Number)
	}
	return nil
}
