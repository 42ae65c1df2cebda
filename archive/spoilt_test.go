package archive

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// twoSessions returns an archive with the sessions s and t/t, of two steps each.
func twoSessions(t *testing.T) (root string, d *Dir) {
	t.Helper()
	root = t.TempDir()
	d = openFirst(t, root).Dir
	t.Cleanup(func() { d.Close() })
	for _, id := range []string{"s", "t/t"} {
		for n := range 2 {
			step := twoEntries(n + 1)
			step.Session = id
			must(t, firstDir{d}.Put(t.Context(), step))
		}
	}
	return root, d
}

// A damage of the file that names the session of a folder is reported, and
// everything else stays readable.
func TestADamagedSessionFileHidesNothing(t *testing.T) {
	for _, id := range []string{"s", "t/t"} {
		for name, spoil := range map[string]func(path string) error{
			"empty":      func(path string) error { return os.WriteFile(path, nil, 0o600) },
			"changed":    func(path string) error { return os.WriteFile(path, []byte(`{"v":1,"session`), 0o600) },
			"missing":    os.Remove,
			"of another": func(path string) error { return os.WriteFile(path, []byte(firstSessionText("u")), 0o600) },
			"a folder":   func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) },
		} {
			root, d := twoSessions(t)
			path := filepath.Join(root, folderName(id), sessionFile)
			must(t, spoil(path))
			if ids, err := d.Sessions(t.Context()); err != nil || !slices.Equal(ids, []string{"s", "t/t"}) {
				t.Errorf("%s, %s: Sessions = %v, %v", id, name, ids, err)
			}
			if f, err := Verify(t.Context(), d, id); err != nil || len(f.Damages) != 1 || f.Damages[0].File != path || f.Steps != 2 {
				t.Errorf("%s, %s: Verify = %+v, %v", id, name, f, err)
			}
			next := twoEntries(3)
			next.Session = id
			if err := d.Put(t.Context(), next); name != "missing" && (!errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "remove it")) {
				t.Errorf("%s, %s: Put: %v", id, name, err)
			}
			must(t, os.RemoveAll(path), d.Event(t.Context(), id, []byte("{}")))
			if f, err := Verify(t.Context(), d, id); err != nil || !f.Clean() {
				t.Errorf("%s, %s: Verify when it was removed = %+v, %v", id, name, f, err)
			}
		}
	}
}

// A step file that the system cannot read is a damage like any other: the rest of
// the session is readable, and the session continues.
func TestAFileThatCannotBeReadIsADamage(t *testing.T) {
	root, d := twoSessions(t)
	path := filepath.Join(root, "s", stepName(2))
	must(t, os.Remove(path), os.Mkdir(path, 0o700))
	infos, err := d.Steps(t.Context(), "s")
	if err != nil || len(infos) != 2 || !errors.Is(infos[1].Damaged, ErrDamaged) || !strings.Contains(infos[1].Damaged.Error(), path) {
		t.Errorf("Steps = %+v, %v", infos, err)
	}
	if _, err := d.Recall(t.Context(), "s", infos[0].Entries[0]); err != nil {
		t.Errorf("Recall: %v", err)
	}
	if hits, err := removedEntries(t.Context(), d, "s"); !errors.Is(err, ErrDamaged) || len(hits) < 1 {
		t.Errorf("Removals = %v, %v", hits, err)
	}
	must(t, d.Put(t.Context(), twoEntries(3)))
	if p, err := Prune(t.Context(), d, "s", PruneOptions{Keep: 1}); err != nil || !slices.ContainsFunc(p.Spared, func(s Spared) bool { return s.Number == 2 }) {
		t.Errorf("Prune = %+v, %v", p, err)
	}
}

func TestASessionMayBeCalledAsTheArchiveIs(t *testing.T) {
	d, err := OpenDir(t.TempDir(), DirOptions{})
	must(t, err)
	defer d.Close()
	for _, id := range []string{rootFile, "Archive.JSON"} {
		step := smallStep(1)
		step.Session = id
		if err := d.Put(t.Context(), step); err != nil {
			t.Error(err)
		}
	}
	if ids, err := d.Sessions(t.Context()); err != nil || len(ids) != 2 {
		t.Errorf("Sessions = %v, %v", ids, err)
	}
}

func TestADamagedFormatSaysWhatToDo(t *testing.T) {
	root, d := twoSessions(t)
	must(t, d.Close(), os.WriteFile(filepath.Join(root, rootFile), nil, 0o600))
	for _, o := range []DirOptions{{}, {ReadOnly: true}} {
		if _, err := OpenDir(root, o); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), rootFile) || !strings.Contains(err.Error(), "remove it") {
			t.Errorf("OpenDir %+v: %v", o, err)
		}
	}
	must(t, os.Remove(filepath.Join(root, rootFile)))
	d, err := OpenDir(root, DirOptions{})
	must(t, err)
	defer d.Close()
	if f, err := Verify(t.Context(), d, "s"); err != nil || !f.Clean() || f.Steps != 2 {
		t.Errorf("Verify = %+v, %v", f, err)
	}
}

// A folder that cannot be listed, such as one of another user, is a damage of its
// session alone.
func TestAFolderThatCannotBeListedHidesNoOther(t *testing.T) {
	root, d := twoSessions(t)
	folder := filepath.Join(root, "s")
	must(t, os.RemoveAll(folder), os.WriteFile(folder, nil, 0o600)) // a file cannot be listed as a folder, even by root
	if f, err := Verify(t.Context(), d, "s"); err != nil || len(f.Damages) != 1 || !strings.Contains(f.Damages[0].Error(), folder) {
		t.Errorf("Verify = %+v, %v", f, err)
	}
	if _, err := d.Steps(t.Context(), "s"); !errors.Is(err, ErrDamaged) {
		t.Errorf("Steps: %v", err)
	}
	if os.Getuid() > 0 {
		must(t, os.Remove(folder), os.Mkdir(folder, 0))
		if ids, err := d.Sessions(t.Context()); err != nil || !slices.Equal(ids, []string{"s", "t/t"}) {
			t.Errorf("Sessions = %v, %v", ids, err)
		}
	}
}

// Sessions are listed without session.json too, and listing them does not change
// later reads.
func TestSessionsWithoutSessionFilesAreRead(t *testing.T) {
	root := t.TempDir()
	d, err := OpenDir(root, DirOptions{})
	must(t, err)
	defer d.Close()
	steps := longSession(t, d, 3)
	must(t, os.Remove(filepath.Join(root, "s", sessionFile)))
	d2, err := OpenDir(root, DirOptions{ReadOnly: true})
	must(t, err)
	if ids, err := d2.Sessions(t.Context()); err != nil || !slices.Equal(ids, []string{"s"}) {
		t.Errorf("Sessions = %v, %v", ids, err)
	}
	for _, want := range steps {
		if got, err := d2.Get(t.Context(), "s", want.Number); err != nil || !sameStep(got, want) {
			t.Errorf("step %d: %+v, %v", want.Number, got, err)
		}
	}
}
