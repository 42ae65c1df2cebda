package archive

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// sessionVersion is the format of session files. Records of version 1 have no
// number and no checksum; they may precede those of version 2, in a file that an
// earlier tiercompact began.
const sessionVersion = 2

// A sessionLine is a record of a session file: its position, and one of the fields
// below. Its last field on disk is its checksum, see encodeRecord.
type sessionLine struct {
	head
	Number  int        `json:"n,omitempty"`     // of the record in its file, from 1
	After   string     `json:"after,omitempty"` // the checksum of the record before; "" for the first
	Meta    *Meta      `json:"session,omitempty"`
	Message *message   `json:"message,omitempty"`
	Loaded  bool       `json:"loaded,omitempty"` // history in Message, which the cooldown does not count
	Round   *roundMade `json:"round,omitempty"`
	Undo    *undoMade  `json:"undo,omitempty"`
	Cut     *int       `json:"cut,omitempty"` // messages that stay
	Set     *setMade   `json:"set,omitempty"`
	State   *stateMade `json:"stand,omitempty"`
}

type (
	roundMade struct {
		Number int       `json:"step"`
		Level  string    `json:"level,omitempty"`
		Reason string    `json:"reason,omitempty"`
		Time   time.Time `json:"time"`
		Edits  roundLine `json:"edits"`
		Work   Work      `json:"work,omitzero"`
	}
	undoMade struct {
		Time time.Time `json:"time"`
	}
	setMade struct {
		At      int     `json:"at"`
		Message message `json:"message"`
	}
	// A stateMade is the part of a session's state that the messages and rounds of
	// a rewritten file do not contain.
	stateMade struct {
		Since   int        `json:"since"`
		Number  int        `json:"step,omitempty"`
		Added   int        `json:"added,omitempty"`
		IDs     []string   `json:"ids,omitempty"`   // of all messages ever added
		Steps   []int      `json:"steps,omitempty"` // of all rounds
		Waiting []waitMade `json:"waiting,omitempty"`
		Work    Work       `json:"work,omitzero"`
	}
	waitMade struct {
		Level  string `json:"level"`
		Reason string `json:"reason,omitempty"`
		Seen   int    `json:"seen"`
	}
)

// A position is that of a record in its file: the number of records up to it, and
// its checksum, which the next record repeats. The number reveals a removed,
// duplicated or moved record; the repeated checksum, one from another file. A
// record is read without the one before it, so that damage stays local.
type position struct {
	number  int
	sum     string
	checked bool // it is of version 2, and so are all that follow
}

// RecordError is the problem with a record of a session file. It unwraps to
// ErrDamaged or ErrVersion.
type RecordError struct {
	Line int // from 1
	Err  error
}

func (e *RecordError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

func (e *RecordError) Unwrap() error { return e.Err }

const (
	recordStart = `{"v":2,"n":` // nothing inside a record begins like that
	recordSum   = `,"sum":"`
	sumLength   = 16 // hexadecimal digits: 64 bits
	sumTail     = len(recordSum) + sumLength + len(`"}`)
)

// recordHash returns the checksum of a record's bytes without its last field.
func recordHash(parts ...[]byte) string { return hashParts(parts...)[:sumLength] }

// encodeRecord appends line to b as the record after at, and returns its own
// position.
func encodeRecord(b *bytes.Buffer, line sessionLine, at position) (position, error) {
	line.head, line.Number, line.After = head{sessionVersion}, at.number+1, at.sum
	start := b.Len()
	if err := lineEncoder(b).Encode(line); err != nil {
		return at, err
	}
	sum := recordHash(b.Bytes()[start : b.Len()-1])
	b.Truncate(b.Len() - len("}\n"))
	b.WriteString(recordSum + sum + "\"}\n")
	return position{line.Number, sum, true}, nil
}

// encodeRecords returns lines as the records after at.
func encodeRecords(lines []sessionLine, at position) ([]byte, position, error) {
	var b bytes.Buffer
	for _, line := range lines {
		var err error
		if at, err = encodeRecord(&b, line, at); err != nil {
			return nil, at, err
		}
	}
	return b.Bytes(), at, nil
}

// A record is one undamaged line of a session file.
type record struct {
	sessionLine
	sum string
}

// decodeRecord returns the record in a line, at any position. One of version 1 has
// no number and no checksum.
func decodeRecord(line []byte) (x record, err error) {
	if bytes.HasPrefix(line, []byte(recordStart)) {
		if x.sum, err = checkedSum(line); err != nil {
			return x, err
		}
	}
	if err := decodeVersion(line, &x.sessionLine, sessionVersion); err != nil {
		return x, err
	}
	switch {
	case x.V == 1:
		x.Number, x.After, x.sum = 0, "", recordHash(line)
	case x.sum == "":
		return x, fmt.Errorf("%w: it does not begin like a record", ErrDamaged)
	}
	return x, nil
}

// checkedSum returns the checksum of a record of version 2.
func checkedSum(line []byte) (string, error) {
	at := len(line) - sumTail
	if at < 0 || !bytes.HasPrefix(line[at:], []byte(recordSum)) || !bytes.HasSuffix(line, []byte(`"}`)) {
		return "", fmt.Errorf("%w: the checksum at its end is missing", ErrDamaged)
	}
	sum := string(line[at+len(recordSum) : len(line)-len(`"}`)])
	if recordHash(line[:at], []byte("}")) != sum {
		return "", fmt.Errorf("%w: its checksum does not match", ErrDamaged)
	}
	return sum, nil
}

// follow returns the position of x, which must come after at.
func (at position) follow(x record) (position, error) {
	next := position{at.number + 1, x.sum, x.V > 1}
	switch {
	case x.V == 1 && at.checked:
		return at, fmt.Errorf("%w: it has no checksum, but the records before it have one", ErrDamaged)
	case x.V == 1:
		return next, nil
	case x.Number != next.number:
		return at, fmt.Errorf("%w: it is record %d, and record %d is expected: one was removed, doubled or moved", ErrDamaged, x.Number, next.number)
	case x.After != at.sum:
		return at, fmt.Errorf("%w: record %d does not follow the one before it: one of the two is from another file", ErrDamaged, x.Number)
	}
	return next, nil
}

// endOfRecord returns the end of the record at the start of line, if it is
// undamaged and text follows it; else 0.
func endOfRecord(line []byte) int {
	if !bytes.HasPrefix(line, []byte(recordStart)) {
		return 0
	}
	at := bytes.LastIndex(line, []byte(recordSum))
	if at < 0 || at+sumTail >= len(line) {
		return 0
	}
	if _, err := checkedSum(line[:at+sumTail]); err != nil {
		return 0
	}
	return at + sumTail
}

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
			return fmt.Errorf("%w: another session file has replaced the one that was written here", ErrDamaged)
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
			return fmt.Errorf("%w: the file ends after record %d, and %d were written: it was cut, or is an older copy", ErrDamaged, at.number, m.Number)
		}
	}
	return nil
}
