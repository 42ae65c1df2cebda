package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
)

// Meta describes the session of a session file.
type Meta struct {
	Session string    `json:"session"` // its id, never empty
	Created time.Time `json:"created"`
	Model   string    `json:"model,omitempty"`
	Window  int       `json:"window,omitempty"` // tokens
}

// A Round is one compaction in a session file.
type Round struct {
	Number int        // of its step in the archive; 0 if nothing changed, and Level waits from now on
	Level  string     // applied, or the one without a gain
	Reason string     // why nothing changed
	Edits  edit.Round // on the current conversation; messages after those of the round are kept
	Time   time.Time
	Work   Work // the record of the work before the round
}

// Work is a session's record of the work.
type Work struct {
	Text  string `json:"text"`
	Added int    `json:"added"` // messages ever added that are in it
}

// A SessionFile is a growing conversation on disk: records are only appended, so
// that everything that a method wrote survives its process, and a power failure.
// Its methods are safe for concurrent use. An error leaves the file as it was. If
// another program removes, replaces, cuts or extends the file meanwhile, the next
// method detects it: it keeps the found file under another name, and writes the
// file again, see [SessionFile.Restorations].
type SessionFile struct {
	mu       sync.Mutex // guards the fields below; held while a record is written
	name     string     // as the caller gave it
	path     string     // without links
	names    []string   // paths by which it may be opened later, path first
	link     string     // name from the root, if path has links; else ""
	disk     disk
	file     writableFile // for appending
	hold     sessionHold
	size     int64
	first    string   // checksum of the first record
	at       position // of the last record
	shared   sourceSharing
	state    State // the content of the file, with the newest rounds only
	older    int   // rounds in effect that are in the file, but not in state
	restored []Restoration
	broken   error // the file is invalid; ErrClosed: permanently
}

// keptRounds is the number of rounds in memory, for writing a file again.
const keptRounds = 8

// CreateSession creates the session file path, readable by its owner only.
// ErrExists if the path exists.
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
	switch _, err := os.Lstat(path); {
	case err == nil:
		return nil, fmt.Errorf("%w; open it, or choose another name", ErrExists)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	f, err := lockSession(path, disk)
	if err != nil {
		return nil, err
	}
	if f.hold.own != nil { // another process made it meanwhile
		return nil, errors.Join(fmt.Errorf("%w; open it, or choose another name", ErrExists), f.hold.release())
	}
	f.state = State{Meta: meta, Since: -1}
	text, at, err := encodeRecords([]sessionLine{{Meta: &meta}}, position{})
	if err == nil {
		f.mark(mark{})
		if err = disk.writeFile(f.path, constantText(string(text))); err != nil {
			err = withRemedy(err)
		}
	}
	if err == nil {
		f.first, f.at = at.sum, at
		err = f.openAtEnd()
	}
	if err != nil {
		return nil, errors.Join(err, f.hold.release())
	}
	f.markEnd()
	return f, nil
}

// OpenSession opens the session file path to continue it, and returns its state. An
// unfinished last record is removed, which State.Torn reports. Any other damaged
// record is a [*RecordError]; [RecoverSession] opens the rest.
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
	f, err := lockSession(path, disk)
	if err != nil {
		return nil, State{}, err
	}
	s, r, err := readSession(path)
	if err == nil {
		err = f.mendTail(s, r)
	}
	if err == nil {
		f.take(r)
		err = f.openAtEnd()
	}
	if err != nil {
		return nil, State{}, errors.Join(err, f.hold.release())
	}
	f.markEnd()
	return f, s, nil
}

// lockSession returns the session file path, locked, and open if it exists.
func lockSession(path string, disk disk) (*SessionFile, error) {
	resolved, err := realPath(path)
	if err != nil {
		return nil, err
	}
	f := &SessionFile{name: path, path: resolved, names: namesOf(path, resolved), disk: disk}
	if whole, err := filepath.Abs(path); err == nil && whole != resolved {
		f.link = whole
	}
	if f.hold.beside, err = lockPath(context.Background(), sessionLock(resolved)); err != nil {
		return nil, err
	}
	f.hold.own, err = holdFile(resolved)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(err, f.hold.release())
	}
	return f, nil
}

// take continues after the records that r has read.
func (f *SessionFile) take(r *reader) {
	f.first, f.at, f.shared, f.state = r.first, r.at, r.shared, r.state
	f.state.Messages = slices.Clone(f.state.Messages) // the others belong to the caller
	f.trim()
}

// trim keeps only the newest rounds in memory.
func (f *SessionFile) trim() {
	if n := len(f.state.Rounds) - keptRounds; n > 0 {
		f.state.Rounds = slices.Clone(f.state.Rounds[n:])
		f.older += n
	}
}

// mendTail makes the file end with a line feed: it adds one to a whole last record,
// and removes an unfinished one.
func (f *SessionFile) mendTail(s State, r *reader) (err error) {
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

// openAtEnd opens the file for appending.
func (f *SessionFile) openAtEnd() error {
	if f.hold.own == nil {
		own, err := holdFile(f.path)
		if err != nil {
			return err
		}
		f.hold.own = own
	}
	info, err := f.hold.own.Stat()
	if err != nil {
		return err
	}
	file, err := f.disk(f.path, os.O_WRONLY|os.O_APPEND)
	if err == nil {
		f.file, f.size = file, info.Size()
	}
	return err
}

func (f *SessionFile) markEnd() { f.mark(mark{f.first, f.at.number, f.at.sum}) }

// mark writes m under every name by which the file may be opened later.
func (f *SessionFile) mark(m mark) {
	for _, name := range f.names {
		writeMark(name, m)
	}
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
	var before sourceSharing
	encoded := false
	encode := func() []sessionLine {
		before, encoded = f.shared, true
		return messagesOf(messages, &f.shared, loaded)
	}
	err := f.writeLines(encode, func(s *State) error {
		for _, m := range messages {
			s.add(m, loaded)
		}
		return nil
	})
	if err != nil && encoded {
		f.shared = before
	}
	return err
}

// Round records a round. Put its step into the archive first.
func (f *SessionFile) Round(r Round) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	line := sessionLine{Round: &roundMade{r.Number, r.Level, r.Reason, r.Time, encodeRound(r.Edits), r.Work}}
	err := f.writeLines(only(line), func(s *State) error { return s.addRound(r) })
	f.trim()
	return err
}

// Undo records that the newest round was undone; the messages after it stay, and
// the cooldown begins. ErrNotFound if the file was written again and no longer has
// the round.
func (f *SessionFile) Undo(at time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.writeLines(only(sessionLine{Undo: &undoMade{at}}), func(s *State) error {
		switch {
		case len(s.Rounds) > 0:
			return s.undoRound()
		case f.older == 0:
			return fmt.Errorf("undo: the session file has no round to undo: %w", ErrNotFound)
		}
		all, _, err := readSession(f.path)
		if err != nil {
			return err
		}
		f.state, f.older, *s = all, 0, all // the same, with all rounds
		return s.undoRound()
	})
	f.trim()
	return err
}

// Cut records that only the first n messages stay. Undo the rounds on removed
// messages first.
func (f *SessionFile) Cut(n int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	rounds := len(f.state.Rounds)
	err := f.writeLines(only(sessionLine{Cut: &n}), func(s *State) error { return s.cutMessages(n) })
	if err == nil && len(f.state.Rounds) < rounds {
		f.older = 0 // those before were removed with them
	}
	return err
}

// Set records that message i of the current conversation is m now, such as when it
// was protected.
func (f *SessionFile) Set(i int, m chat.Message) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var alone sourceSharing
	line := sessionLine{Set: &setMade{i, alone.encodeMessage(m)}}
	var taken *chat.Message // the place of m in memory, if a write fails
	var was chat.Message
	err := f.writeLines(only(line), func(s *State) error {
		if err := s.settable(i); err != nil {
			return err
		}
		taken, was = &s.Messages[i], s.Messages[i]
		*taken = m
		return nil
	})
	if err != nil && taken != nil {
		*taken = was
	}
	return err
}

func only(line sessionLine) func() []sessionLine {
	return func() []sessionLine { return []sessionLine{line} }
}

// writeLines appends lines in one write, all or none, and applies them to the
// state. It is called under mu.
func (f *SessionFile) writeLines(lines func() []sessionLine, change func(*State) error) error {
	err := f.ready()
	if err == nil {
		err = f.add(lines, change)
	}
	if err != nil {
		return fmt.Errorf("write session %s: %w", f.name, err)
	}
	return nil
}

func (f *SessionFile) add(lines func() []sessionLine, change func(*State) error) error {
	next := f.state
	if err := change(&next); err != nil {
		return err
	}
	text, at, err := encodeRecords(lines(), f.at)
	if err != nil {
		return err
	}
	if _, err = f.file.Write(text); err == nil {
		err = f.file.Sync()
	}
	if err == nil {
		state, before, size := f.state, f.at, f.size
		f.state, f.at, f.size = next, at, f.size+int64(len(text))
		if err = f.ready(); err == nil { // a file that was replaced meanwhile lacks them
			f.markEnd()
			return nil
		}
		f.state, f.at, f.size = state, before, size
	}
	if undo := f.takeOff(); undo != nil {
		f.broken = errors.Join(err, undo)
	}
	return fmt.Errorf("%w; free space or make the file writable", err)
}

// takeOff removes the remains of a failed write from the file.
func (f *SessionFile) takeOff() error {
	info, err := f.hold.own.Stat()
	if err == nil && info.Size() > f.size {
		err = f.file.Truncate(f.size)
	}
	return err
}

// Close ends the use of the file; another process may open it then. A changed file
// is written again first; if that fails, the error says so.
func (f *SessionFile) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if errors.Is(f.broken, ErrClosed) {
		return nil
	}
	err := f.ready()
	f.broken = ErrClosed
	if err = errors.Join(err, f.file.Close(), f.hold.release()); err != nil {
		return fmt.Errorf("close session %s: %w", f.name, err)
	}
	return nil
}
