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
	"sync"
	"time"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/edit"
)

// Meta is what a session file says of its session.
type Meta struct {
	Session string    `json:"session"` // its id, never empty
	Created time.Time `json:"created"`
	Model   string    `json:"model,omitempty"`
	Window  int       `json:"window,omitempty"` // tokens
}

// A Round is one compaction as the session file keeps it.
type Round struct {
	Number int        // of its step in the archive; 0 if nothing changed, and Level waits from now on
	Level  string     // applied, or the one that had nothing to offer
	Reason string     // why nothing changed
	Edits  edit.Round // on the conversation as it stands; messages behind what it had seen are kept
	Time   time.Time
}

// A SessionFile is a conversation on disk as it goes on: records are only ever
// added, so that whatever a method returned from outlives its process, and the
// machine's power. Its methods may be used concurrently.
//
// An error leaves the file as it was; where not even that was possible, the
// methods fail from then on.
type SessionFile struct {
	mu     sync.Mutex // guards what follows; held while a record is written
	path   string
	file   file
	lock   *pathLock
	size   int64
	shared sharing
	broken error
}

// The records of a session file; one field is set in each.
type sessionLine struct {
	head
	Meta    *Meta      `json:"session,omitempty"`
	Message *message   `json:"message,omitempty"`
	Loaded  bool       `json:"loaded,omitempty"` // of Message: history, which the cooldown does not count
	Round   *roundMade `json:"round,omitempty"`
	Undo    *undoMade  `json:"undo,omitempty"`
	Cut     *int       `json:"cut,omitempty"` // messages that stay
	Set     *setMade   `json:"set,omitempty"`
}

type (
	roundMade struct {
		Number int       `json:"step"`
		Level  string    `json:"level,omitempty"`
		Reason string    `json:"reason,omitempty"`
		Time   time.Time `json:"time"`
		Edits  roundLine `json:"edits"`
	}
	undoMade struct {
		Time time.Time `json:"time"`
	}
	setMade struct {
		At      int     `json:"at"`
		Message message `json:"message"`
	}
)

// CreateSession makes the session file path, readable by its owner only.
// ErrExists where something is there.
func CreateSession(path string, meta Meta) (*SessionFile, error) {
	if err := checkSession(meta.Session); err != nil {
		return nil, fmt.Errorf("create session %s: %w", path, err)
	}
	f, err := createSession(path, meta, realDisk)
	if err != nil {
		return nil, fmt.Errorf("create session %s: %w", path, err)
	}
	return f, nil
}

func createSession(path string, meta Meta, disk disk) (*SessionFile, error) {
	lock, err := lockPath(context.Background(), sessionLock(path))
	if err != nil {
		return nil, err
	}
	switch _, err := os.Lstat(path); {
	case err == nil:
		return nil, errors.Join(fmt.Errorf("%w; open it, or choose another name", ErrExists), lock.Unlock())
	case !errors.Is(err, fs.ErrNotExist):
		return nil, errors.Join(err, lock.Unlock())
	}
	err = disk.writeFile(path, func(w io.Writer) error {
		return encoder(w).Encode(sessionLine{head: head{Version}, Meta: &meta})
	})
	if err != nil {
		return nil, errors.Join(withRemedy(err), lock.Unlock())
	}
	f := &SessionFile{path: path, lock: lock}
	if err := f.openEnd(disk); err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	return f, nil
}

// sessionLock is beside the session file: on some systems a locked file cannot
// be read.
func sessionLock(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".lock")
}

// OpenSession opens the session file path to go on with it, and returns how it
// stands. A last record that was not written to its end is taken off, which
// State.Torn tells.
func OpenSession(path string) (*SessionFile, State, error) {
	f, s, err := openSession(path, realDisk)
	if err != nil {
		return nil, State{}, fmt.Errorf("open session %s: %w", path, err)
	}
	return f, s, nil
}

func openSession(path string, disk disk) (*SessionFile, State, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, State{}, err
	}
	lock, err := lockPath(context.Background(), sessionLock(path))
	if err != nil {
		return nil, State{}, err
	}
	f := &SessionFile{path: path, lock: lock}
	s, r, err := readSession(path)
	if err == nil {
		f.shared = r.shared
		err = f.mend(s, r)
	}
	if err == nil {
		err = f.openEnd(disk)
	}
	if err != nil {
		return nil, State{}, errors.Join(err, lock.Unlock())
	}
	return f, s, nil
}

// mend makes the file end with a line feed: a whole last record gets one, a
// torn one is taken off.
func (f *SessionFile) mend(s State, r *reader) (err error) {
	if s.Torn == 0 && !r.unended {
		return nil
	}
	file, err := os.OpenFile(f.path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := file.Truncate(r.end); err != nil {
		return err
	}
	if r.unended {
		if _, err := file.WriteAt([]byte{'\n'}, r.end); err != nil {
			return err
		}
	}
	return file.Sync()
}

func (f *SessionFile) openEnd(disk disk) error {
	info, err := os.Stat(f.path)
	if err != nil {
		return err
	}
	f.size = info.Size()
	f.file, err = disk(f.path, os.O_WRONLY|os.O_APPEND)
	return err
}

// Append adds m to the conversation.
func (f *SessionFile) Append(m chat.Message) error {
	return f.appendMessages([]chat.Message{m}, false)
}

// Load adds history, which the cooldown does not count.
func (f *SessionFile) Load(messages []chat.Message) error {
	return f.appendMessages(messages, true)
}

func (f *SessionFile) appendMessages(messages []chat.Message, loaded bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	shared := f.shared
	lines := make([]sessionLine, len(messages))
	for i, m := range messages {
		x := shared.encode(m)
		lines[i] = sessionLine{Message: &x, Loaded: loaded}
	}
	if err := f.write(lines...); err != nil {
		return err
	}
	f.shared = shared
	return nil
}

// Round records that r was made. Put its step into the archive first.
func (f *SessionFile) Round(r Round) error {
	return f.record(sessionLine{Round: &roundMade{r.Number, r.Level, r.Reason, r.Time, encodeRound(r.Edits)}})
}

// Undo records that the newest round was taken back; the messages behind it
// stay, and the cooldown begins.
func (f *SessionFile) Undo(at time.Time) error {
	return f.record(sessionLine{Undo: &undoMade{at}})
}

// Cut records that only the first n messages stay. Undo the rounds that were
// made on what goes first.
func (f *SessionFile) Cut(n int) error { return f.record(sessionLine{Cut: &n}) }

// Set records that message i of the conversation as it stands is m now, such
// as when it was protected.
func (f *SessionFile) Set(i int, m chat.Message) error {
	var alone sharing
	return f.record(sessionLine{Set: &setMade{i, alone.encode(m)}})
}

func (f *SessionFile) record(line sessionLine) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.write(line)
}

// write adds lines in one write, all or none. It is called under mu.
func (f *SessionFile) write(lines ...sessionLine) error {
	if f.broken != nil {
		return fmt.Errorf("write session %s: %w", f.path, f.broken)
	}
	var b bytes.Buffer
	e := encoder(&b)
	for _, line := range lines {
		line.head = head{Version}
		if err := e.Encode(line); err != nil {
			return fmt.Errorf("write session %s: %w", f.path, err)
		}
	}
	_, err := f.file.Write(b.Bytes())
	if err == nil {
		err = f.file.Sync()
	}
	if err == nil {
		f.size += int64(b.Len())
		return nil
	}
	if undo := f.file.Truncate(f.size); undo != nil {
		f.broken = errors.Join(err, undo)
	}
	return fmt.Errorf("write session %s: %w; free space or make the file writable", f.path, err)
}

// Close ends the use of the file; another process may open it then.
func (f *SessionFile) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken == ErrClosed {
		return nil
	}
	f.broken = ErrClosed
	if err := errors.Join(f.file.Close(), f.lock.Unlock()); err != nil {
		return fmt.Errorf("close session %s: %w", f.path, err)
	}
	return nil
}
