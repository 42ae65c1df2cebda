package archive

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestDamagedFilesOfAnArchive(t *testing.T) {
	shorten := func(b []byte) []byte { return b[:len(b)-1] }
	future := func(b []byte) []byte { return bytes.Replace(b, []byte(`"v":1`), []byte(`"v":2`), 1) }
	change := func(b []byte) []byte { return bytes.Replace(b, []byte(`of a`), []byte(`of x`), 1) }
	lastLine := func(b []byte) []byte { return b[:bytes.LastIndexByte(b[:len(b)-1], '\n')+1] }
	nothing := func([]byte) []byte { return nil }
	tests := []struct {
		name, file string
		spoil      func([]byte) []byte
		is         error
	}{
		{"torn transcript", "transcript-pre-compact-001.jsonl", shorten, ErrDamaged},
		{"shorter transcript", "transcript-pre-compact-001.jsonl", lastLine, ErrDamaged},
		{"changed transcript", "transcript-pre-compact-001.jsonl", change, ErrDamaged},
		{"transcript from the future", "transcript-pre-compact-001.jsonl", future, ErrVersion},
		{"torn step", "step-001.jsonl", shorten, ErrDamaged},
		{"step without an entry", "step-001.jsonl", lastLine, ErrDamaged},
		{"step from the future", "step-001.jsonl", future, ErrVersion},
		{"empty step", "step-001.jsonl", nothing, ErrDamaged},
		{"torn summary", "summary-001.json", func(b []byte) []byte { return b[:len(b)/2] }, ErrDamaged},
		{"summary from the future", "summary-001.json", future, ErrVersion},
	}
	for _, test := range tests {
		root := t.TempDir()
		d := openFirst(t, root)
		must(t, d.Put(t.Context(), smallStep(1)))
		path := filepath.Join(root, "s", test.file)
		b, err := os.ReadFile(path)
		must(t, err, os.WriteFile(path, test.spoil(b), 0o600))
		if _, err := d.Get(t.Context(), "s", 1); !errors.Is(err, test.is) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want %v and the path", test.name, err, test.is)
		}
		must(t, d.Put(t.Context(), smallStep(2)))
		if _, err := d.Get(t.Context(), "s", 2); err != nil {
			t.Errorf("%s: the next step: %v", test.name, err)
		}
		if infos, err := d.Steps(t.Context(), "s"); err != nil || len(infos) != 2 || Next(infos) != 3 {
			t.Errorf("%s: steps %v, %v", test.name, infos, err)
		}
		if _, err := d.Recall(t.Context(), "s", "r"); err != nil {
			t.Errorf("%s: Recall of an entry that is also in the next step: %v", test.name, err)
		}
		if hits, err := removedEntries(t.Context(), d, "s"); !errors.Is(err, test.is) || len(hits) < 1 {
			t.Errorf("%s: Removals = %v, %v; want a hit and %v", test.name, hits, err, test.is)
		}
		must(t, d.Close())
	}
}

func TestMissingFilesOfAnArchive(t *testing.T) {
	root := t.TempDir()
	d := openFirst(t, root)
	defer d.Close()
	for i, name := range []string{"transcript-pre-compact-001.jsonl", "summary-002.json"} {
		must(t, d.Put(t.Context(), smallStep(i+1)), os.Remove(filepath.Join(root, "s", name)))
		if _, err := d.Get(t.Context(), "s", i+1); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: %v", name, err)
		}
	}
}

func TestArchiveFromTheFuture(t *testing.T) {
	root := t.TempDir()
	must(t, os.WriteFile(filepath.Join(root, rootFile), []byte(`{"v":9,"other":[]}`), 0o600))
	for _, o := range []DirOptions{{}, {ReadOnly: true}} {
		if _, err := OpenDir(root, o); !errors.Is(err, ErrVersion) || !strings.Contains(err.Error(), root) {
			t.Errorf("OpenDir %+v: %v", o, err)
		}
	}
	must(t, os.WriteFile(filepath.Join(root, rootFile), []byte(rootText), 0o600))
	d, err := OpenDir(root, DirOptions{}) // the refused open released the lock
	must(t, err, os.Mkdir(filepath.Join(root, "s"), 0o700), os.WriteFile(filepath.Join(root, "s", sessionFile), []byte(`{"v":3}`), 0o600))
	if err := d.Put(t.Context(), smallStep(1)); !errors.Is(err, ErrVersion) {
		t.Errorf("Put into a session from the future: %v", err)
	}
	if _, err := d.Sessions(t.Context()); !errors.Is(err, ErrVersion) {
		t.Errorf("Sessions: %v", err)
	}
	must(t, d.Close())
}

func TestInterruptedPutIsCleanedUp(t *testing.T) {
	root := t.TempDir()
	d, err := OpenDir(root, DirOptions{})
	must(t, err, d.Put(t.Context(), smallStep(1)))
	folder := filepath.Join(root, "s")
	for _, name := range []string{tempMark + "steps-002.pack", tempMark + sessionFile} {
		must(t, os.WriteFile(filepath.Join(folder, name), []byte("{"), 0o600))
	}
	must(t, d.Put(t.Context(), smallStep(2)))
	if _, err := d.Get(t.Context(), "s", 2); err != nil {
		t.Errorf("Get: %v", err)
	}
	checkOnlyWhole(t, folder)
	must(t, d.Close())
}

func TestTornEventIsTakenOff(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, "s", "events.jsonl")
	event := func(line string) { // in a process of its own
		t.Helper()
		d, err := OpenDir(root, DirOptions{})
		must(t, err, d.Event(t.Context(), "s", []byte(line)), d.Close())
	}
	event(`{"n":1}`)
	for _, tail := range []string{"{", strings.Repeat("x", 9000)} {
		b, err := os.ReadFile(path)
		must(t, err, os.WriteFile(path, append(b, tail...), 0o600))
		event(`{"n":2}`)
	}
	b, err := os.ReadFile(path)
	must(t, err)
	if want := "{\"n\":1}\n{\"n\":2}\n{\"n\":2}\n"; string(b) != want {
		t.Errorf("events %q, want %q", b, want)
	}
	must(t, os.WriteFile(path, []byte(strings.Repeat("x", 5000)), 0o600))
	event(`{"n":3}`)
	if b, _ = os.ReadFile(path); string(b) != "{\"n\":3}\n" {
		t.Errorf("events %q", b)
	}
}

func TestFullDiskKeepsEventsWhole(t *testing.T) {
	root := t.TempDir()
	full := &fullAfter{left: 1 << 20}
	d, err := openDir(root, DirOptions{}, full.open)
	must(t, err, d.Event(t.Context(), "s", []byte(`{"n":1}`)))
	full.left = 3
	if err := d.Event(t.Context(), "s", []byte(`{"n":2}`)); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Event: %v", err)
	}
	if b, _ := os.ReadFile(filepath.Join(root, "s", "events.jsonl")); string(b) != "{\"n\":1}\n" {
		t.Errorf("events %q", b)
	}
	must(t, d.Close())
}

func TestSessionsThatMeetInOneFolderAreApart(t *testing.T) {
	root := t.TempDir()
	d, err := OpenDir(root, DirOptions{})
	must(t, err, d.Put(t.Context(), smallStep(1)))
	defer d.Close()
	// As on a case-insensitive file system.
	must(t, os.Rename(filepath.Join(root, "s"), filepath.Join(root, "S")))
	other := smallStep(1)
	other.Session = "S"
	if err := d.Put(t.Context(), other); err == nil || !strings.Contains(err.Error(), `belongs to session "s"`) {
		t.Errorf("Put: %v", err)
	}
	if infos, err := d.Steps(t.Context(), "S"); err != nil || len(infos) > 0 {
		t.Errorf("Steps = %v, %v", infos, err)
	}
	if _, err := d.Get(t.Context(), "S", 1); !errors.Is(err, ErrNotFound) {
		t.Errorf("Get: %v", err)
	}
}
