package archive

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
)

// fullAfter is a disk that is full after so many more bytes, over all files: the
// rest of a write is lost.
type fullAfter struct{ left int }

func (d *fullAfter) open(path string, flag int) (writableFile, error) {
	f, err := realDisk(path, flag)
	return &fullFile{f, d}, err
}

type fullFile struct {
	writableFile
	disk *fullAfter
}

func (f *fullFile) Write(b []byte) (int, error) {
	n := min(len(b), f.disk.left)
	f.disk.left -= n
	written, err := f.writableFile.Write(b[:n])
	if err == nil && n < len(b) {
		err = syscall.ENOSPC
	}
	return written, err
}

func (*fullFile) Sync() error { return nil }

func smallStep(n int) Step {
	before := chat.Transcript{text("a"), text("b")}
	return Step{
		Session: "s", Number: n, Before: before, Time: noon, Level: "hard",
		Removed: []Entry{{ID: "r", Messages: before[:1]}}, Summary: []byte(`{"goal":"x"}`),
		Edits: edit.Round{Seen: 2, Steps: [][]edit.Edit{{{Start: 0, End: 1}}}},
	}
}

func TestFullDiskLeavesNothingHalfWritten(t *testing.T) {
	root := t.TempDir()
	full := &fullAfter{left: 1 << 20}
	d, err := openDir(root, DirOptions{}, full.open)
	must(t, err)
	must(t, d.Put(t.Context(), smallStep(1)))
	need := 1<<20 - full.left
	for room := 0; room < need; room += 11 {
		full.left = room
		err := d.Put(t.Context(), smallStep(2))
		if err == nil {
			break // session.json exists already, so this step needs less space than the first
		}
		if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "free space") {
			t.Fatalf("room for %d: %v, want ENOSPC and a remedy", room, err)
		}
		infos, err := d.Steps(t.Context(), "s")
		must(t, err)
		if len(infos) != 1 {
			t.Fatalf("room for %d: %d steps", room, len(infos))
		}
		checkOnlyWhole(t, filepath.Join(root, "s"))
		if f, err := Verify(t.Context(), d, "s"); err != nil || !f.Clean() {
			t.Fatalf("room for %d: %+v, %v", room, f, err)
		}
	}
	full.left = 1 << 20
	if err := d.Put(t.Context(), smallStep(3)); err != nil {
		t.Errorf("with room again: %v", err)
	}
	must(t, d.Close())
}

// checkOnlyWhole checks that no draft is left and that every line ends with a line feed.
func checkOnlyWhole(t *testing.T, folder string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	must(t, err)
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(folder, e.Name()))
		must(t, err)
		if strings.HasPrefix(e.Name(), tempMark) || !bytes.HasSuffix(b, []byte("\n")) {
			t.Fatalf("%s is left, %d bytes", e.Name(), len(b))
		}
	}
}

func TestFullDiskLeavesTheSessionAsItWas(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	full := &fullAfter{left: 1 << 20}
	f, err := createSession(path, Meta{Session: "s"}, full.open)
	must(t, err, f.Append(text("a")))
	for room := range 40 {
		full.left = room
		if err := f.Append(text("lost")); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), path) {
			t.Fatalf("room for %d: %v", room, err)
		}
		s, err := ReadSession(path)
		must(t, err)
		if ids(s.Messages) != "a" || s.Torn != 0 {
			t.Fatalf("room for %d: %+v", room, s)
		}
	}
	full.left = 1 << 20
	must(t, f.Append(text("b")), f.Close())
	s, err := ReadSession(path)
	must(t, err)
	if ids(s.Messages) != "a b" {
		t.Errorf("it is at %q", ids(s.Messages))
	}
}

func TestFullDiskMakesNoSession(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	full := &fullAfter{}
	if _, err := createSession(path, Meta{Session: "s"}, full.open); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("createSession: %v", err)
	}
	if _, err := openDir(filepath.Dir(path), DirOptions{}, full.open); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("openDir: %v", err)
	}
	f, err := CreateSession(path, Meta{Session: "s"})
	must(t, err, f.Close())
}

// If half a record cannot be removed, it is not a part of the file: it is rewritten
// with the next record, or when the file is closed.
func TestSessionThatCannotBeMendedFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	stuck := func(path string, flag int) (writableFile, error) {
		f, err := realDisk(path, flag)
		return stuckFile{f, flag&os.O_APPEND != 0}, err
	}
	f, err := createSession(path, Meta{Session: "s"}, stuck)
	must(t, err)
	for range 2 {
		if err := f.Append(text("a")); !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("Append: %v", err)
		}
	}
	must(t, f.Close())
	f, s, err := OpenSession(path)
	must(t, err, f.Close())
	if s.Torn != 0 || len(s.Messages) > 0 { // Close rewrote it
		t.Errorf("state %+v", s)
	}
}

type stuckFile struct {
	writableFile
	stuck bool
}

func (f stuckFile) Write(b []byte) (int, error) {
	if !f.stuck {
		return f.writableFile.Write(b)
	}
	n, err := f.writableFile.Write(b[:len(b)/2])
	return n, errors.Join(err, io.ErrShortWrite)
}

func (f stuckFile) Truncate(size int64) error { return syscall.EIO }

func TestReallyFullDisk(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has /dev/full")
	}
	full := func(path string, flag int) (writableFile, error) { return os.OpenFile("/dev/full", os.O_WRONLY, 0) }
	root := t.TempDir()
	must(t, os.WriteFile(filepath.Join(root, rootFile), []byte(rootText), 0o600))
	d, err := openDir(root, DirOptions{}, full)
	must(t, err)
	defer d.Close()
	if err := d.Put(t.Context(), smallStep(1)); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Put: %v", err)
	}
	if infos, err := d.Steps(t.Context(), "s"); err != nil || len(infos) > 0 {
		t.Errorf("Steps = %v, %v", infos, err)
	}
}

func TestReadOnlyFolder(t *testing.T) {
	blocked := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(blocked, nil, 0o600))
	_, err := OpenDir(filepath.Join(blocked, "archive"), DirOptions{})
	if err == nil || !strings.Contains(err.Error(), blocked) || !strings.Contains(err.Error(), "choose another") {
		t.Errorf("a folder below a file: %v", err)
	}
	denied := func(path string, flag int) (writableFile, error) {
		return nil, &os.PathError{Op: "open", Path: path, Err: syscall.EROFS}
	}
	_, err = openDir(t.TempDir(), DirOptions{}, denied)
	if !errors.Is(err, syscall.EROFS) || !strings.Contains(err.Error(), "make the folder writable") {
		t.Errorf("a file system that is read-only: %v", err)
	}
	if os.Getuid() == 0 {
		t.Skip("nothing is read-only for root")
	}
	root := t.TempDir()
	must(t, os.Chmod(root, 0o500))
	_, err = OpenDir(root, DirOptions{})
	if !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), "make the folder writable") {
		t.Errorf("a folder without write permission: %v", err)
	}
}

func TestArchiveOfAnotherProcessIsLocked(t *testing.T) {
	if root := os.Getenv(killedFolder); root != "" {
		_, err := OpenDir(root, DirOptions{})
		if !errors.Is(err, ErrLocked) {
			t.Fatalf("the second process: %v", err)
		}
		_, err = OpenDir(root, DirOptions{ReadOnly: true})
		must(t, err)
		return
	}
	root := t.TempDir()
	d, err := OpenDir(root, DirOptions{})
	must(t, err)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestArchiveOfAnotherProcessIsLocked$")
	cmd.Env = append(os.Environ(), killedFolder+"="+root)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	_, err = OpenDir(root, DirOptions{})
	for _, says := range []string{root, lockFile, "end that chat"} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("OpenDir again: %v, want it to say %q", err, says)
		}
	}
	must(t, d.Close())
	d, err = OpenDir(root, DirOptions{})
	must(t, err, d.Close())
}

func TestReadOnlyArchive(t *testing.T) {
	root := t.TempDir()
	if _, err := OpenDir(root, DirOptions{ReadOnly: true}); !errors.Is(err, ErrNotFound) {
		t.Errorf("OpenDir of nothing: %v", err)
	}
	w, err := OpenDir(root, DirOptions{})
	must(t, err)
	defer w.Close()
	r, err := OpenDir(root, DirOptions{ReadOnly: true})
	must(t, err, w.Put(t.Context(), smallStep(1)))
	if e, err := r.Recall(t.Context(), "s", "r"); err != nil || ids(e.Messages) != "a" {
		t.Errorf("Recall = %v, %v", e, err)
	}
	if err := r.Put(t.Context(), smallStep(2)); !errors.Is(err, ErrReadOnly) {
		t.Errorf("Put: %v", err)
	}
	if err := r.Event(t.Context(), "s", []byte("{}")); !errors.Is(err, ErrReadOnly) {
		t.Errorf("Event: %v", err)
	}
	must(t, r.Close())
}
