package tui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/filetools"
	"github.com/tiercompact/tiercompact/internal/screen"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/summarize"
	"github.com/tiercompact/tiercompact/tokens"
)

// Options configure a chat.
type Options struct {
	Config tiercompact.Config                                    // Window, Archive, Progress and Calibration are set by the chat
	Learnt func(model string) tokens.Calibration                 // the known calibration of a model; nil: none
	Learn  func(model string, c tokens.Calibration)              // stores it; nil: it is not stored
	Chat   Chatter                                               // required
	Model  Model                                                 // required, with a window
	Find   func(ctx context.Context, name string) (Model, error) // another model; nil: not supported
	List   func(ctx context.Context) (names []string, err error) // of the available models; nil: unknown
	// Folder is what the model's tools may read; nil: it has no such tools. The chat
	// closes it. Permitted are the kinds of access for which the user is not asked.
	Folder    *filetools.Folder
	Permitted []filetools.Kind
	// Clipboard writes to the clipboard of the machine; after an error, and if it is
	// nil, the terminal is asked to do it (OSC 52).
	Clipboard func(text string) error

	Screen screen.Screen // for which texts are written
	Dir    string        // of sessions and archive, created if it is missing
	Name   string        // of the session; "": from the time
	Resume bool          // continue the existing session Name
	// Lenient resumes a session with a damaged file: the content of damaged records
	// comes from the archive, or is omitted if the archive does not have it.
	Lenient bool
	Silence time.Duration // of a server in the middle of an answer; 0: unlimited
	System  string        // the first message of a new session; "": a short one

	Notice string // shown when the chat begins; "" for none

	// Summarizes reports whether a model writes the summaries; nil: none does. A server
	// keeps one prompt of a model: if it is the chat's own, a summary displaces that of
	// the conversation.
	Summarizes func(model string) bool

	progress func(summarize.Progress) // of summaries; nil: that of the chat itself
}

func (o Options) thresholds() levels.Thresholds { return screen.Thresholds(o.Config) }

// defaultSystem is the default system prompt.
const defaultSystem = "You are a helpful assistant. Answer briefly and to the point."

// Open starts or resumes a chat. It fails with [archive.ErrLocked] if another
// process has the session or the archive open.
func Open(ctx context.Context, o Options) (*Talk, error) {
	t, err := openTalk(ctx, o)
	if err != nil && o.Folder != nil {
		err = errors.Join(err, o.Folder.Close())
	}
	return t, err
}

// openTalk opens a chat; after an error, the folder of the tools stays open.
func openTalk(ctx context.Context, o Options) (_ *Talk, err error) {
	if o.Model.Window <= 0 {
		return nil, fmt.Errorf("the window of %s is not known; give it with --window", o.Model.Name)
	}
	t := &Talk{o: o, model: o.Model, permitted: slices.Clone(o.Permitted), preparing: new(atomic.Bool)}
	if o.progress == nil {
		t.o.progress = t.progress
	}
	defer func() {
		if err != nil {
			t.o.Folder = nil
			err = errors.Join(err, t.Close())
		}
	}()
	if err := prepareFolder(o.Dir); err != nil {
		return nil, err
	}
	if o.Resume {
		err = t.resumeSession(ctx)
	} else {
		err = t.createSession()
	}
	if err != nil {
		return nil, err
	}
	t.earlier = t.session.Messages()
	return t, nil
}

// prepareFolder creates the folder of chats, which version control ignores.
func prepareFolder(dir string) error {
	if err := os.MkdirAll(sessions(dir), 0o700); err != nil {
		return fmt.Errorf("make folder of sessions: %w; choose another with --dir", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, ".gitignore"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err == nil {
		_, err = f.WriteString("*\n")
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("make folder of sessions: %w", err)
	}
	return nil
}

func sessions(dir string) string { return filepath.Join(dir, "sessions") }

func sessionPath(dir, name string) string { return filepath.Join(sessions(dir), name+".jsonl") }

func (t *Talk) createSession() error {
	now := time.Now()
	name := t.o.Name
	if name == "" {
		name = freeName(t.o.Dir, now)
	}
	if err := plainName(name); err != nil {
		return err
	}
	c, err := t.compactor(name) // before the file exists: if another chat holds the lock, no file remains
	if err != nil {
		return err
	}
	file, err := archive.CreateSession(sessionPath(t.o.Dir, name), archive.Meta{
		Session: name, Created: now, Model: t.model.Name, Window: t.model.Window,
	})
	if errors.Is(err, archive.ErrExists) {
		return fmt.Errorf("%w: session %s; continue it with --resume=%s, or choose another name", archive.ErrExists, name, name)
	}
	if err != nil {
		return err
	}
	t.keep(file)
	t.session = c.Session(name)
	if err := t.session.Record(file); err != nil {
		return err
	}
	t.setTools()
	system := cmp.Or(t.o.System, defaultSystem)
	if !t.model.NoTools {
		system += "\n" + tiercompact.RecallPrompt
	}
	return t.session.Load([]chat.Message{chat.NewText(chat.System, system)})
}

// freeName names a session by the time. The name may be taken: by another chat of
// the same second, or because the clock was set back.
func freeName(dir string, now time.Time) string {
	base := now.Format("20060102-150405")
	name := base
	for n := 2; ; n++ {
		if _, err := os.Lstat(sessionPath(dir, name)); err != nil {
			return name
		}
		name = fmt.Sprintf("%s-%d", base, n)
	}
}

func (t *Talk) resumeSession(ctx context.Context) error {
	if err := plainName(t.o.Name); err != nil {
		return err
	}
	file, state, err := t.openFile(ctx)
	if err != nil {
		return err
	}
	t.keep(file)
	c, err := t.compactor(t.o.Name)
	if err != nil {
		return err
	}
	if t.session, err = c.Resume(ctx, state); err != nil {
		return err
	}
	if n := len(state.Rounds); n > 0 {
		t.level = state.Rounds[n-1].Level
	}
	t.setTools()
	return t.session.Record(file)
}

// openFile opens the session file, and notes its damages.
func (t *Talk) openFile(ctx context.Context) (*archive.SessionFile, archive.State, error) {
	path := sessionPath(t.o.Dir, t.o.Name)
	if !t.o.Lenient {
		file, state, err := archive.OpenSession(path)
		if state.Torn > 0 {
			t.notes = append(t.notes, fmt.Sprintf("%s: the last record was not written to its end (%d bytes) and is left out", path, state.Torn))
		}
		return file, state, err
	}
	var store archive.Store
	switch dir, err := archive.OpenDir(filepath.Join(t.o.Dir, "archive"), archive.DirOptions{ReadOnly: true}); {
	case err == nil:
		defer dir.Close()
		store = dir
	case !errors.Is(err, archive.ErrNotFound): // it may have content that the file lacks
		return nil, archive.State{}, err
	}
	file, state, found, err := archive.RecoverSession(ctx, path, store)
	for _, d := range found.Damages {
		t.notes = append(t.notes, fmt.Sprintf("%s: %s", path, d))
	}
	if found.Kept != "" {
		t.notes = append(t.notes, fmt.Sprintf("%s is written again; the damaged file is kept as %s", path, found.Kept))
	}
	return file, state, err
}

// keep has the file closed after the session, and its restorations noted.
func (t *Talk) keep(file *archive.SessionFile) {
	t.close = append(t.close, func() error {
		err := file.Close()
		for _, r := range file.Restorations() {
			t.notes = append(t.notes, r.String())
		}
		return err
	})
}

// Notes returns what the user should know of the session's file: after Open its
// damages, and after Close the changes by other programs.
func (t *Talk) Notes() []string {
	notes := t.notes
	t.notes = nil
	return notes
}

// compactor opens the archive for the session, and returns its compactor. Other chats
// may have other sessions of the folder open.
func (t *Talk) compactor(session string) (*tiercompact.Compactor, error) {
	dir, err := archive.OpenDir(filepath.Join(t.o.Dir, "archive"), archive.DirOptions{Session: session})
	if errors.Is(err, archive.ErrLocked) {
		return nil, fmt.Errorf("session %s cannot be opened now; another session can, and --dir names another folder: %w", session, err)
	}
	if err != nil {
		return nil, err
	}
	t.close = append(t.close, dir.Close)
	cfg := t.o.Config
	cfg.Window, cfg.Model, cfg.Archive = t.model.Window, cmp.Or(cfg.Model, t.model.Name), dir
	cfg.Progress = t.o.progress
	cfg.Calibration = t.savedCalibration()
	return tiercompact.New(cfg)
}

func (t *Talk) setTools() {
	if !t.model.NoTools {
		t.session.SetTools(t.toolSchemas())
	}
}

// savedCalibration returns what earlier chats learned about the model's token counts.
func (t *Talk) savedCalibration() tokens.Calibration {
	if t.o.Learnt == nil {
		return tokens.Calibration{}
	}
	return t.o.Learnt(t.model.Name)
}

// progress emits the progress of a summary for which the user waits.
func (t *Talk) progress(p summarize.Progress) {
	if !t.preparing.Load() {
		t.emitEvent(Event{Kind: Summaries, Progress: p})
	}
}

// plainName refuses names that lead out of the folder of sessions.
func plainName(name string) error {
	if name == "" || name != filepath.Base(name) || strings.HasPrefix(name, ".") || strings.ContainsAny(name, `/\:`) {
		return fmt.Errorf("session name %q must be a plain file name", name)
	}
	return nil
}

// Saved returns the names of the sessions in a folder, the last written first.
func Saved(dir string) ([]string, error) {
	entries, err := os.ReadDir(sessions(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	times := make(map[string]time.Time)
	var names []string
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".jsonl")
		info, err := e.Info()
		if !ok || err != nil || plainName(name) != nil {
			continue
		}
		names, times[name] = append(names, name), info.ModTime()
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(times[b].Compare(times[a]), cmp.Compare(b, a))
	})
	return names, nil
}

// SavedMeta returns the metadata of a saved session; lenient if its file may be damaged.
func SavedMeta(dir, name string, lenient bool) (archive.Meta, error) {
	if err := plainName(name); err != nil {
		return archive.Meta{}, err
	}
	s, err := archive.ReadSession(sessionPath(dir, name))
	if lenient && errors.Is(err, archive.ErrDamaged) {
		s, _, err = archive.CheckSession(context.Background(), sessionPath(dir, name), nil)
	}
	if errors.Is(err, fs.ErrNotExist) {
		names, _ := Saved(dir) // without them the answer is still right
		const most = 5
		return s.Meta, fmt.Errorf("no session %q in %s; there are: %s", name, dir, cmp.Or(strings.Join(names[:min(most, len(names))], ", "), "none"))
	}
	return s.Meta, err
}
