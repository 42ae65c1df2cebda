package archive

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// Two processes may write two sessions of one folder, but not one, and not beside a
// process that writes all.
func TestAFolderIsSharedBySessions(t *testing.T) {
	defer func(d time.Duration) { lockWait = d }(lockWait)
	lockWait = 0 // a lock that is free is taken all the same
	root := t.TempDir()
	open := func(session string) *Dir {
		t.Helper()
		d, err := OpenDir(root, DirOptions{Session: session})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { d.Close() })
		return d
	}
	a, b := open("a"), open("b")
	for _, session := range []string{"a", "A", ""} {
		if _, err := OpenDir(root, DirOptions{Session: session}); !errors.Is(err, ErrLocked) {
			t.Errorf("session %q was opened twice: %v", session, err)
		}
	}
	for d, session := range map[*Dir]string{a: "a", b: "b"} {
		if err := d.Put(t.Context(), Step{Session: session, Number: 1, Level: "soft", Time: time.Unix(1, 0)}); err != nil {
			t.Error(err)
		}
	}
	if err := a.Put(t.Context(), Step{Session: "b", Number: 2, Level: "soft", Time: time.Unix(1, 0)}); err == nil || !strings.Contains(err.Error(), "session a only") {
		t.Errorf("a step of another session: %v", err)
	}
	if steps, err := a.Steps(t.Context(), "b"); err != nil || len(steps) != 1 {
		t.Errorf("the other session has %d steps, %v", len(steps), err)
	}
	if err := errors.Join(a.Close(), a.Close(), b.Close()); err != nil {
		t.Fatal(err)
	}
	all := open("")
	if _, err := OpenDir(root, DirOptions{Session: "a"}); !errors.Is(err, ErrLocked) {
		t.Errorf("a session was opened beside a process that writes all: %v", err)
	}
	if err := all.Close(); err != nil {
		t.Fatal(err)
	}
	open("a")
}
