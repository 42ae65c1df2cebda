package archive

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
)

// openedSession returns a session file with a round, "x c".
func openedSession(t *testing.T, disk disk) (*SessionFile, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.jsonl")
	f, err := createSession(path, Meta{Session: "s"}, disk)
	must(t, err, f.Load([]chat.Message{text("a"), text("b")}), f.Append(text("c")), f.Round(replace(1, 0, 2, text("x"))))
	return f, path
}

// meddling has the changes that other programs make to an open session file.
var meddling = map[string]func(path string) error{
	"removed":     os.Remove,
	"renamed":     func(path string) error { return os.Rename(path, path+"~") },
	"cut":         func(path string) error { return os.Truncate(path, 100) },
	"emptied":     func(path string) error { return os.Truncate(path, 0) },
	"written":     func(path string) error { return os.WriteFile(path, []byte("mine\n"), 0o600) },
	"added to":    func(path string) error { return appendTo(path, "mine\n") },
	"a folder":    func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) },
	"saved anew":  func(path string) error { return saveAnew(path, func(b []byte) []byte { return b }) },
	"saved, less": func(path string) error { return saveAnew(path, func(b []byte) []byte { return b[:len(b)/2] }) },
	"a link":      func(path string) error { return errors.Join(os.Rename(path, path+"~"), os.Symlink(path+"~", path)) },
}

func appendTo(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// saveAnew saves as editors do: another file takes the name.
func saveAnew(path string, change func([]byte) []byte) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(path+".new", change(b), 0o600), os.Rename(path+".new", path))
}

func skipOnWindows(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open file can neither be removed nor replaced here")
	}
}

func TestSessionFileThatIsMeddledWithIsWrittenAnew(t *testing.T) {
	skipOnWindows(t)
	for name, meddle := range meddling {
		for _, when := range []string{"append", "close"} {
			f, path := openedSession(t, realDisk)
			must(t, meddle(path))
			found, _ := os.ReadFile(path)
			want := "x c"
			if when == "append" {
				must(t, f.Append(text("d")))
				want += " d"
			}
			restored := f.Restorations()
			must(t, f.Close())
			restored = append(restored, f.Restorations()...)
			if len(restored) != 1 || !strings.Contains(restored[0].String(), path) {
				t.Fatalf("%s, %s: %v", name, when, restored)
			}
			f, s, err := OpenSession(path)
			must(t, err)
			if got := ids(s.Messages); got != want || len(s.Rounds) != 1 || s.Since != strings.Count(want, "d") {
				t.Errorf("%s, %s: it is at %q, %d rounds, %d since", name, when, got, len(s.Rounds), s.Since)
			}
			must(t, f.Undo(noon), f.Close())
			if s, err = ReadSession(path); err != nil || ids(s.Messages) != "a b "+want[2:] {
				t.Errorf("%s, %s: undone it is at %q, %v", name, when, ids(s.Messages), err)
			}
			if kept := restored[0].Kept; len(found) > 0 {
				if b, err := os.ReadFile(kept); err != nil || !bytes.Equal(b, found) {
					t.Errorf("%s, %s: the file found there is not in %q: %v", name, when, kept, err)
				}
			}
		}
	}
}

// If the file cannot be rewritten, the message is not acknowledged; when the file
// can be rewritten again, no message is missing or doubled.
func TestSessionFileThatCannotBeWrittenAnew(t *testing.T) {
	skipOnWindows(t)
	for name, meddle := range meddling {
		full := &fullAfter{left: 1 << 20}
		f, path := openedSession(t, full.open)
		must(t, meddle(path))
		full.left = 50
		for range 3 {
			if err := f.Append(text("lost")); !errors.Is(err, syscall.ENOSPC) {
				t.Fatalf("%s: %v", name, err)
			}
		}
		full.left = 1 << 20
		must(t, f.Append(text("d")), f.Close())
		if s, err := ReadSession(path); err != nil || ids(s.Messages) != "x c d" {
			t.Errorf("%s: it is at %q, %v", name, ids(s.Messages), err)
		}
	}
}

func TestCloseSaysWhatIsNotWritten(t *testing.T) {
	skipOnWindows(t)
	full := &fullAfter{left: 1 << 20}
	f, path := openedSession(t, full.open)
	must(t, os.Remove(path))
	full.left = 0
	if err := f.Close(); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), path) {
		t.Errorf("Close: %v", err)
	}
}

// A file that was cut is rewritten from memory, which has the newest rounds.
func TestOldRoundsOfACutFileAreGivenUp(t *testing.T) {
	skipOnWindows(t)
	f, path := openedSession(t, realDisk)
	const rounds = keptRounds + 3
	for n := 2; n <= rounds; n++ {
		must(t, f.Append(text(fmt.Sprint("m", n))), f.Round(replace(n, 0, 1, text(fmt.Sprint("x", n)))))
	}
	must(t, f.Set(1, text("C")), os.Truncate(path, 10), f.Append(text("z")))
	restored := f.Restorations()
	if len(restored) != 1 || restored[0].Rounds != 3 || !strings.Contains(restored[0].String(), "3 older rounds") {
		t.Errorf("%v", restored)
	}
	s, err := ReadSession(path)
	must(t, err)
	if len(s.Rounds) != keptRounds || s.Number != rounds || s.Messages[1].ID != "C" || s.Messages[len(s.Messages)-1].ID != "z" {
		t.Errorf("it is at %q, %d rounds, the newest %d", ids(s.Messages), len(s.Rounds), s.Number)
	}
	for range keptRounds {
		must(t, f.Undo(noon))
	}
	if err := f.Undo(noon); !errors.Is(err, ErrNotFound) {
		t.Errorf("the round that is given up: %v", err)
	}
	must(t, f.Append(text("zz")), f.Close())
	s, err = ReadSession(path)
	must(t, err)
	if !strings.HasPrefix(ids(s.Messages), "x3 C m2") || !strings.HasSuffix(ids(s.Messages), "z zz") {
		t.Errorf("it is at %q", ids(s.Messages))
	}
}

// Rounds that are not in memory are undone from the file.
func TestManyRoundsAreUndone(t *testing.T) {
	f, path := openedSession(t, realDisk)
	const rounds = 3 * keptRounds
	for n := 2; n <= rounds; n++ {
		must(t, f.Append(text(fmt.Sprint("m", n))), f.Round(replace(n, 0, 1, text(fmt.Sprint("x", n)))))
	}
	for range rounds {
		must(t, f.Undo(noon))
	}
	if err := f.Undo(noon); !errors.Is(err, ErrNotFound) {
		t.Errorf("one more: %v", err)
	}
	must(t, f.Close())
	s, err := ReadSession(path)
	must(t, err)
	if got := ids(s.Messages); !strings.HasPrefix(got, "a b c m2 m3") || len(s.Messages) != 3+rounds-1 {
		t.Errorf("it is at %q", got)
	}
}

// Two names of one file have one lock.
func TestSessionFileIsLockedUnderEveryName(t *testing.T) {
	skipOnWindows(t)
	f, path := openedSession(t, realDisk)
	folder := filepath.Join(t.TempDir(), "elsewhere")
	must(t, os.Symlink(filepath.Dir(path), folder))
	soft, hard := filepath.Join(t.TempDir(), "soft.jsonl"), filepath.Join(t.TempDir(), "hard.jsonl")
	must(t, os.Symlink(path, soft), os.Link(path, hard))
	names := []string{path, soft, hard, filepath.Join(folder, "s.jsonl")}
	for _, name := range names {
		if _, _, err := OpenSession(name); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	must(t, f.Close())
	for i, name := range names {
		f, _, err := OpenSession(name)
		must(t, err)
		for _, other := range names {
			if _, _, err := OpenSession(other); !errors.Is(err, ErrLocked) {
				t.Errorf("%s is open, and %s too: %v", name, other, err)
			}
		}
		must(t, f.Append(text(fmt.Sprint(i))), f.Close())
	}
	s, err := ReadSession(soft)
	must(t, err)
	if got := ids(s.Messages); got != "x c 0 1 2 3" {
		t.Errorf("it is at %q", got)
	}
	if info, err := os.Lstat(soft); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is one no more: %v", err)
	}
	// A rewritten file is locked like the one before.
	f, _, err = OpenSession(path)
	must(t, err, os.Remove(path), f.Append(text("z")))
	must(t, os.Link(path, hard+"2"))
	if _, _, err := OpenSession(hard + "2"); !errors.Is(err, ErrLocked) {
		t.Errorf("after it was written anew: %v", err)
	}
	must(t, f.Close())
}
