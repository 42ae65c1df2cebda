package archive

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
)

// A Restoration says that another program changed a session file, and that it was
// written again.
type Restoration struct {
	Path  string
	Found string // what happened to it, such as "it was removed"
	Kept  string // path of the file that was in its place; "" if there was none
	// Rounds counts the rounds that the file no longer has: they cannot be undone
	// from it, but from the archive as long as that has them.
	Rounds int
}

func (r Restoration) String() string {
	text := fmt.Sprintf("session file %s was changed while it was open (%s) and is written again", r.Path, r.Found)
	if r.Kept != "" {
		text += "; the file found there is kept as " + r.Kept
	}
	if r.Rounds > 0 {
		text += fmt.Sprintf("; %d older rounds can no longer be undone from it", r.Rounds)
	}
	return text
}

// Restorations returns the restorations since its last call.
func (f *SessionFile) Restorations() []Restoration {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := f.restored
	f.restored = nil
	return all
}

// ready makes sure that the file is the one of this process, and writes it again if
// it is not. It is called under mu.
func (f *SessionFile) ready() error {
	if errors.Is(f.broken, ErrClosed) {
		return f.broken
	}
	if err := f.leadsHere(); err != nil {
		return err
	}
	found, err := f.changed()
	if found == "" && err == nil && f.broken != nil {
		found = "a write failed: " + f.broken.Error()
	}
	if err != nil || found == "" {
		return err
	}
	if err := f.restore(found); err != nil {
		return fmt.Errorf("%s, and cannot be written again: %w", found, err)
	}
	return nil
}

// changed returns what another program did to the file, "" for nothing.
func (f *SessionFile) changed() (string, error) {
	own, err := f.hold.own.Stat()
	if err != nil {
		return "", err
	}
	switch info, err := os.Lstat(f.path); {
	case errors.Is(err, fs.ErrNotExist):
		return "it was removed", nil
	case err != nil:
		return "", err
	case !os.SameFile(info, own):
		return "another file has taken its place", nil
	case info.Size() < f.size:
		return fmt.Sprintf("it was cut to %d of %d bytes", info.Size(), f.size), nil
	case info.Size() > f.size:
		return fmt.Sprintf("%d bytes were added to it", info.Size()-f.size), nil
	}
	return "", nil
}

// leadsHere returns an error if the name by which the file was opened no longer
// leads to it: a reader of that name would not find new records.
func (f *SessionFile) leadsHere() error {
	if f.link == "" {
		return nil
	}
	if resolved, err := realPath(f.link); err == nil && resolved == f.path {
		return nil
	}
	return fmt.Errorf("%s no longer leads to the session file %s; put the link back, or open that file", f.name, f.path)
}

// restore writes a whole file in its place, and keeps the found one under another
// name.
func (f *SessionFile) restore(found string) error {
	w, err := f.whole()
	if err != nil {
		return err
	}
	kept, err := f.replace(w, ".kept")
	if err != nil {
		return err
	}
	f.restored = append(f.restored, Restoration{f.name, found, kept, w.lost})
	return nil
}

// A wholeFile is the content of a rewritten session file.
type wholeFile struct {
	text   io.Reader
	first  string
	at     position
	shared sourceSharing // by the messages that are added
	rounds []AppliedRound
	older  int // rounds in effect that are in it, but not in rounds
	lost   int // rounds that are not in it
}

// replace writes a file in place of the found one, which is kept with kind in its
// name.
func (f *SessionFile) replace(w wholeFile, kind string) (kept string, err error) {
	d, err := f.disk.prepareDraft(f.path, func(to io.Writer) error {
		_, err := io.Copy(to, w.text)
		return err
	})
	if err != nil {
		return "", withRemedy(err)
	}
	if kept, err = keepAside(f.path, kind); err != nil {
		discardDrafts(d)
		return "", err
	}
	f.mark(mark{}) // there may be fewer records than it says
	if err := publishDrafts(d); err != nil {
		discardDrafts(d)
		return kept, err
	}
	own, file := f.hold.own, f.file
	f.hold.own, f.file = nil, nil
	if err := f.openAtEnd(); err != nil {
		if f.hold.own != nil {
			err = errors.Join(err, f.hold.own.Close())
		}
		f.hold.own, f.file = own, file // by which the next call detects another file
		return kept, err
	}
	f.first, f.at, f.shared, f.state.Rounds, f.older, f.broken = w.first, w.at, w.shared, w.rounds, w.older, nil
	f.markEnd()
	if own != nil {
		_ = own.Close() // both belong to an abandoned file
	}
	if file != nil {
		_ = file.Close()
	}
	return kept, nil
}

// keepAside renames the file at path, and returns the new name; "" if there is no
// file, or an empty one.
func keepAside(path, kind string) (string, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().IsRegular() && info.Size() == 0 {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	const most = 10000
	for n := range most {
		name := fmt.Sprintf("%s%s-%d", path, kind, n+1)
		if _, err := os.Lstat(name); err == nil {
			continue
		}
		if os.Link(path, name) == nil { // the first name is missing for a moment
			return name, nil
		}
		if err := os.Rename(path, name); err != nil {
			return "", fmt.Errorf("keep the found file as %s: %w", name, err)
		}
		return name, nil
	}
	return "", fmt.Errorf("keep the found file: there are %d files %s%s-N; remove some", most, path, kind)
}

// whole returns a file with everything that was written: the bytes themselves,
// which an open file has even if it was removed, or the state in memory.
func (f *SessionFile) whole() (wholeFile, error) {
	own := func() *io.SectionReader { return io.NewSectionReader(f.hold.own, 0, f.size) }
	_, r, err := decodeSession(own(), nil)
	if err == nil && r.at == f.at && r.end == f.size {
		return wholeFile{text: own(), first: f.first, at: f.at, shared: f.shared, rounds: f.state.Rounds, older: f.older}, nil
	}
	w, err := f.state.whole()
	w.lost += f.older
	return w, err
}

// whole returns a file with the state s, with the rounds of s unless they do not
// lead there.
func (s State) whole() (w wholeFile, err error) {
	lines, ok := s.withRounds()
	if w.rounds = s.Rounds; !ok {
		var shared sourceSharing
		lines, w.rounds, w.lost = messagesOf(s.Messages, &shared, true), nil, len(s.Rounds)
	}
	state := stateMade{Since: s.Since, Number: s.Number, Added: s.Added, IDs: s.IDs, Steps: s.Steps, Work: s.Work}
	for _, x := range s.Waiting {
		state.Waiting = append(state.Waiting, waitMade(x))
	}
	first, at, err := encodeRecords([]sessionLine{{Meta: &s.Meta}}, position{})
	if err != nil {
		return w, err
	}
	w.first = at.sum
	if s.Number > 0 { // before all others: if the rest is lost, no older step is mistaken for a newer one
		lines = slices.Insert(lines, 0, sessionLine{State: &stateMade{Since: -1, Number: s.Number}})
	}
	rest, at, err := encodeRecords(append(lines, sessionLine{State: &state}), at)
	w.text, w.at = bytes.NewReader(append(first, rest...)), at
	return w, err
}

// withRounds returns the records of messages and rounds that lead to s: the
// messages before its oldest round, that round, later messages, the next one, and
// so on. ok is false if they would not lead there.
func (s State) withRounds() (lines []sessionLine, ok bool) {
	befores := make([]chat.Transcript, len(s.Rounds)+1) // before each round, with all later messages
	befores[len(s.Rounds)] = s.Messages
	for i := len(s.Rounds) - 1; i >= 0; i-- {
		before, _, err := applyRound(befores[i+1], s.Rounds[i].Inverse)
		if err != nil {
			return nil, false
		}
		befores[i] = before
	}
	var shared sourceSharing
	written := 0
	again := State{Since: -1}
	add := func(messages chat.Transcript) {
		lines = append(lines, messagesOf(messages, &shared, true)...)
		again.Messages = append(again.Messages, messages...)
	}
	for i, r := range s.Rounds {
		until := r.after + len(befores[i]) - len(befores[i+1])
		if until < written || until > len(befores[i]) {
			return nil, false
		}
		add(befores[i][written:until])
		lines = append(lines, sessionLine{Round: &roundMade{r.Number, r.Level, r.Reason, r.Time, encodeRound(r.Edits), r.Work}})
		if again.addRound(r.Round) != nil || len(again.Messages) != r.after {
			return nil, false
		}
		written = r.after
	}
	add(s.Messages[written:])
	return append(lines, changesTo(again.Messages, s.Messages)...), len(again.Messages) == len(s.Messages)
}

// changesTo returns the records that change the messages of t to those of want,
// which has the same number.
func changesTo(t, want chat.Transcript) (lines []sessionLine) {
	for i := range min(len(t), len(want)) {
		if edit.Same(t[i], want[i]) && t[i].Protected == want[i].Protected {
			continue
		}
		var alone sourceSharing
		lines = append(lines, sessionLine{Set: &setMade{i, alone.encodeMessage(want[i])}})
	}
	return slices.Clip(lines)
}
