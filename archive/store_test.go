package archive_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/internal/archivetest"
)

func openDir(t *testing.T, root string) *archive.Dir {
	t.Helper()
	d, err := archive.OpenDir(root, archive.DirOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func TestMemoryIsAStore(t *testing.T) {
	if err := archivetest.Check(t.Context(), func() archive.Store { return archive.NewMemory() }); err != nil {
		t.Error(err)
	}
}

func TestDirIsAStore(t *testing.T) {
	root := filepath.Join(t.TempDir(), "a", "archive")
	if err := archivetest.Check(t.Context(), func() archive.Store { return openDir(t, root) }); err != nil {
		t.Error(err)
	}
}

func TestRedactedStoresAreStores(t *testing.T) {
	unchanged := func(s string) string { return s }
	root := t.TempDir()
	for name, open := range map[string]func() archive.Store{
		"memory": func() archive.Store { return archive.Redacted(dropLeft{archive.NewMemory()}, unchanged) },
		"dir":    func() archive.Store { return archive.Redacted(dropLeft{openDir(t, root)}, unchanged) },
	} {
		if err := archivetest.Check(t.Context(), open); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDirOutlivesItsProcess(t *testing.T) {
	root := t.TempDir()
	d := openDir(t, root)
	if err := errors.Join(d.Put(t.Context(), archivetest.Step("s", 1)), d.Close()); err != nil {
		t.Fatal(err)
	}
	if e, err := openDir(t, root).Recall(t.Context(), "s", "same"); err != nil || e.Text != "of step 1" {
		t.Errorf("Recall = %v, %v", e, err)
	}
}

func TestFilesOfADir(t *testing.T) {
	root := filepath.Join(t.TempDir(), ".compact", "archive")
	d := openDir(t, root)
	if err := d.Put(t.Context(), archivetest.Step("talk", 7)); err != nil {
		t.Fatal(err)
	}
	if err := d.Event(t.Context(), "talk", []byte(`{"v":1}`)); err != nil {
		t.Fatal(err)
	}
	var got []string
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s may be read by others: %v", path, info.Mode())
		}
		rel, _ := filepath.Rel(root, path)
		got = append(got, filepath.ToSlash(rel))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{".", ".gitignore", ".lock", "archive.json", "talk", "talk/events.jsonl", "talk/session.json",
		"talk/steps-007.pack"}
	if !slices.Equal(got, want) {
		t.Errorf("files %v, want %v", got, want)
	}
	if adapter, path := archive.Where(d, "talk", 7); adapter != "dir" || path != filepath.Join(root, want[7]) {
		t.Errorf("Where = %s, %s", adapter, path)
	}
	if text, _ := os.ReadFile(filepath.Join(root, ".gitignore")); strings.TrimSpace(string(text)) != "*" {
		t.Errorf(".gitignore holds %q", text)
	}
	if ids, err := d.Sessions(t.Context()); err != nil || !slices.Equal(ids, []string{"talk"}) {
		t.Errorf("Sessions = %v, %v", ids, err)
	}
}

// dropLeft hides from the suite the fields that a redacted store adds to a step.
type dropLeft struct{ archive.Store }

func (d dropLeft) Put(ctx context.Context, s archive.Step) error {
	s.Left = ""
	return d.Store.Put(ctx, s)
}

func BenchmarkDir(b *testing.B) {
	d, err := archive.OpenDir(b.TempDir(), archive.DirOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	n := 0
	b.Run("put", func(b *testing.B) {
		for b.Loop() {
			n++
			if err := d.Put(b.Context(), archivetest.Step("s", n)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("event", func(b *testing.B) {
		for b.Loop() {
			if err := d.Event(b.Context(), "e", []byte(`{"v":1,"name":"compact.token_estimate"}`)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("recall", func(b *testing.B) {
		for b.Loop() {
			if _, err := d.Recall(b.Context(), "s", "r1"); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(n), "steps")
	})
}
