package archive

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A folder that is removed during writes is not created again without its content:
// that would look like an archive.
func TestVanishedFolder(t *testing.T) {
	root := filepath.Join(t.TempDir(), "archive")
	d, err := OpenDir(root, DirOptions{})
	must(t, err, d.Put(t.Context(), smallStep(1)))
	away := root + "-away"
	must(t, os.Rename(root, away))
	for n := range 2 {
		err := d.Put(t.Context(), smallStep(n+2))
		if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), root+" is gone; restore it") {
			t.Errorf("Put: %v", err)
		}
		if err := d.Event(t.Context(), "s", []byte("{}")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("Event: %v", err)
		}
		if n == 0 {
			must(t, os.Mkdir(root, 0o700)) // an empty folder in its place does not count
		}
	}
	if left, err := os.ReadDir(root); err != nil || len(left) > 0 {
		t.Errorf("it was made anew: %v, %v", left, err)
	}
	must(t, os.Remove(root), os.Rename(away, root), d.Put(t.Context(), smallStep(2)))
	if f, err := Verify(t.Context(), d, "s"); err != nil || !f.Clean() || f.Steps != 2 {
		t.Errorf("when it is back: %+v, %v", f, err)
	}
	must(t, d.Close())
}

// A file system that turns read-only in the middle of a session keeps its content.
func TestFolderThatTurnsReadOnly(t *testing.T) {
	root := t.TempDir()
	var broken error
	turning := func(path string, flag int) (writableFile, error) {
		if broken != nil {
			return nil, &os.PathError{Op: "open", Path: path, Err: broken}
		}
		return realDisk(path, flag)
	}
	d, err := openDir(root, DirOptions{}, turning)
	must(t, err, d.Put(t.Context(), smallStep(1)))
	broken = syscall.EROFS
	if err := d.Put(t.Context(), smallStep(2)); !errors.Is(err, syscall.EROFS) || !strings.Contains(err.Error(), "make the folder writable") {
		t.Errorf("Put: %v", err)
	}
	if f, err := Verify(t.Context(), d, "s"); err != nil || !f.Clean() || f.Steps != 1 || len(f.Notes) > 0 {
		t.Errorf("Verify = %+v, %v", f, err)
	}
	broken = nil
	must(t, d.Put(t.Context(), smallStep(2)), d.Close())
}

func TestSessionOfAnotherProcessIsLocked(t *testing.T) {
	if path := os.Getenv(killedFolder); path != "" {
		_, _, err := OpenSession(path)
		if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "end that chat") {
			t.Fatalf("the second process: %v", err)
		}
		_, err = ReadSession(path)
		must(t, err)
		return
	}
	path := filepath.Join(t.TempDir(), "s.jsonl")
	f, err := CreateSession(path, Meta{Session: "s"})
	must(t, err, f.Append(text("a")))
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSessionOfAnotherProcessIsLocked$")
	cmd.Env = append(os.Environ(), killedFolder+"="+path)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	must(t, f.Append(text("b")), f.Close())
	s, err := ReadSession(path)
	must(t, err)
	if ids(s.Messages) != "a b" {
		t.Errorf("it is at %q", ids(s.Messages))
	}
}
