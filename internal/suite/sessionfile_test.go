package suite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
)

var errFull = errors.New("no space left on device")

// A fullRecorder is a recorder on a disk that is full from time to time.
type fullRecorder struct {
	tiercompact.Recorder
	full bool
}

func (r *fullRecorder) Append(m chat.Message) error {
	if r.full {
		return errFull
	}
	return r.Recorder.Append(m)
}

func recordedSession(t *testing.T) (*tiercompact.Compactor, *tiercompact.Session, *fullRecorder, string) {
	t.Helper()
	c, err := tiercompact.New(tiercompact.Config{Window: 20000, NoAuto: true, Count: quarter})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "s.jsonl")
	f, err := archive.CreateSession(path, archive.Meta{Session: "s", Created: time.Unix(0, 0)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	s, r := c.Session("s"), &fullRecorder{Recorder: f}
	if err := s.Record(r); err != nil {
		t.Fatal(err)
	}
	return c, s, r, path
}

// Closing a session or its compactor writes the missed records; if that fails, the error
// reports it.
func TestCloseWritesMissedRecords(t *testing.T) {
	for _, by := range []string{"session", "compactor"} {
		c, s, r, path := recordedSession(t)
		closing := map[string]func() error{"session": s.Close, "compactor": c.Close}[by]
		r.full = true
		for _, text := range []string{"one", "two"} {
			if _, err := s.AddMessage(t.Context(), chat.NewText(chat.User, text)); !errors.Is(err, errFull) {
				t.Errorf("%s: AddMessage: %v", by, err)
			}
		}
		if err := closing(); !errors.Is(err, errFull) || !strings.Contains(err.Error(), "2 changes are not on disk") {
			t.Errorf("%s: Close of a full disk: %v", by, err)
		}
		r.full = false
		if err := closing(); err != nil {
			t.Errorf("%s: Close: %v", by, err)
		}
		state, err := archive.ReadSession(path)
		if err != nil || len(state.Messages) != 2 || state.Messages[0].Text() != "one" || state.Messages[1].Text() != "two" {
			t.Errorf("%s: on disk is %v, %v", by, state.Messages, err)
		}
	}
}

// If a session file is removed while its session is open, the next message writes it again, with
// its rounds, and the report has a warning.
func TestARemovedSessionFileIsWrittenAgain(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open file cannot be removed here")
	}
	for name, take := range map[string]func(path string) error{
		"removed": os.Remove,
		"cut":     func(path string) error { return os.Truncate(path, 50) },
	} {
		dir := t.TempDir()
		s, _ := openOnDisk(t, dir, tiercompact.Config{Window: 2000})
		path := filepath.Join(dir, "session.jsonl")
		for n := range 60 {
			if n%7 == 3 {
				if err := take(path); err != nil {
					t.Fatal(err)
				}
			}
			r, err := s.AddMessage(context.Background(), killedMessage(n+1))
			if err != nil {
				t.Fatal(err)
			}
			warned := strings.Contains(strings.Join(r.Warnings, "\n"), "is written again")
			if want := n%7 == 3; warned != want {
				t.Errorf("%s, message %d: warnings %q", name, n+1, r.Warnings)
			}
		}
		want := s.Messages()
		if err := errors.Join(take(path), s.Session.Close(), s.Close()); err != nil {
			t.Fatal(err)
		}
		checkKilled(t, dir, 60, name)
		again, _ := openOnDisk(t, dir, tiercompact.Config{Window: 2000})
		if got := again.Messages(); len(got) != len(want) || got[len(got)-1].Text() != want[len(want)-1].Text() {
			t.Errorf("%s: %d messages are resumed, %d were there", name, len(got), len(want))
		}
		if _, err := again.Undo(t.Context()); err != nil {
			t.Errorf("%s: undo of the newest round: %v", name, err)
		}
		if err := again.Close(); err != nil {
			t.Error(err)
		}
	}
}
