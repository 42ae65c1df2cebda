//go:build !windows

package archive

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// plant puts something other than a plain file at a path.
func plant(t *testing.T, kind, path, elsewhere string) {
	t.Helper()
	must(t, os.RemoveAll(path))
	switch kind {
	case "a link":
		must(t, os.Symlink(elsewhere, path))
	case "a pipe":
		must(t, syscall.Mkfifo(path, 0o600))
	case "a folder":
		must(t, os.Mkdir(path, 0o700))
	}
}

// Anything planted in place of a file is refused at once, and never followed or
// written to, both in reading and in writing.
func TestPlantedFilesAreRefused(t *testing.T) {
	short := t.Context() // waiting for a pipe ends with the time of the test
	for _, kind := range []string{"a link", "a pipe", "a folder"} {
		for _, name := range []string{"events.jsonl", sessionFile, prunedFile, packName(1, 1), packName(3, 3), tempMark + packName(3, 3), tempMark + sessionFile, tempMark + prunedFile} {
			elsewhere := filepath.Join(t.TempDir(), "elsewhere")
			const theirs = "{\"n\":1}\nof somebody else"
			must(t, os.WriteFile(elsewhere, []byte(theirs), 0o600))
			root := t.TempDir()
			d, err := openDir(root, DirOptions{}, unsynced)
			must(t, err)
			for n := range 2 {
				must(t, d.Put(t.Context(), refer(n+1, nil, fmt.Sprint("e", n))), d.Event(t.Context(), "s", []byte(`{"n":1}`)))
			}
			must(t, d.Close())
			plant(t, kind, filepath.Join(root, "s", name), elsewhere)
			d, err = openDir(root, DirOptions{}, unsynced)
			must(t, err)
			f, err := Verify(short, d, "s")
			must(t, err)
			_, getErr := d.Get(short, "s", 1)
			putErr := d.Put(short, refer(3, nil, "c"))
			eventErr := d.Event(short, "s", []byte(`{"n":2}`))
			_, pruneErr := Prune(short, d, "s", PruneOptions{Keep: 1})
			must(t, d.Close())
			errs := fmt.Sprint(f.Damages, getErr, putErr, eventErr, pruneErr)
			if !strings.HasPrefix(name, tempMark) && !strings.Contains(errs, kind+" is in its place") {
				t.Errorf("%s as %s: %s", name, kind, errs)
			}
			if b, err := os.ReadFile(elsewhere); err != nil || string(b) != theirs {
				t.Errorf("%s as %s: the file elsewhere holds %q, %v", name, kind, b, err)
			}
		}
	}
}

func TestPlantedFoldersAndLocksAreRefused(t *testing.T) {
	other := t.TempDir()
	o, err := OpenDir(other, DirOptions{})
	must(t, err, o.Put(t.Context(), smallStep(1)), o.Close())
	before := fmt.Sprint(filesIn(t, filepath.Join(other, "s")))
	root := t.TempDir()
	d, err := OpenDir(root, DirOptions{})
	must(t, err, os.Symlink(filepath.Join(other, "s"), filepath.Join(root, "s")))
	for verb, err := range map[string]error{
		"Put": d.Put(t.Context(), smallStep(2)), "Event": d.Event(t.Context(), "s", []byte("{}")),
		"Get": second(d.Get(t.Context(), "s", 1)), "Steps": second(d.Steps(t.Context(), "s")),
	} {
		if err == nil || !strings.Contains(err.Error(), "a link is in its place") {
			t.Errorf("%s through a linked folder: %v", verb, err)
		}
	}
	if now := fmt.Sprint(filesIn(t, filepath.Join(other, "s"))); now != before {
		t.Errorf("the other folder holds %s now", now)
	}
	must(t, d.Close())
	for _, name := range []string{lockFile, rootFile} {
		for _, kind := range []string{"a link", "a pipe"} {
			root := t.TempDir()
			must(t, os.MkdirAll(root, 0o700))
			plant(t, kind, filepath.Join(root, name), filepath.Join(other, rootFile))
			if _, err := OpenDir(root, DirOptions{}); err == nil || !strings.Contains(err.Error(), kind+" is in its place") {
				t.Errorf("%s as %s: %v", name, kind, err)
			}
		}
	}
	if _, err := os.Stat("/dev/null"); err == nil {
		if _, err := openPlain("/dev/null", os.O_RDWR, 0); !errors.Is(err, errPlanted) {
			t.Errorf("a device: %v", err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// A second process waits briefly for the first, and then reports the holder of the
// lock. It stops waiting when its context ends.
func TestALockIsWaitedFor(t *testing.T) {
	root := t.TempDir()
	d, err := OpenDir(root, DirOptions{})
	must(t, err)
	_, err = OpenDir(root, DirOptions{})
	for _, says := range []string{filepath.Base(os.Args[0]), fmt.Sprintf("process id %d", os.Getpid()), "end that chat"} {
		if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), says) {
			t.Errorf("while it is held: %v, want it to say %q", err, says)
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := OpenDirContext(gone, root, DirOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that ended: %v", err)
	}
	lockWait = time.Minute
	defer func() { lockWait = 300 * time.Millisecond }()
	opened := make(chan error)
	go func() {
		next, err := OpenDir(root, DirOptions{})
		if err == nil {
			err = next.Close()
		}
		opened <- err
	}()
	must(t, d.Close(), <-opened)

	path := filepath.Join(t.TempDir(), "s.jsonl")
	f, err := CreateSession(path, Meta{Session: "s"})
	must(t, err)
	go func() {
		next, _, err := OpenSession(path)
		if err == nil {
			err = next.Close()
		}
		opened <- err
	}()
	must(t, f.Append(text("a")), f.Close(), <-opened)
	if who := whoHolds(filepath.Join(root, lockFile)); who != "" {
		t.Errorf("a lock that nobody holds says that it is held by %s", who)
	}
}
