package cli

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func fill(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

func TestWriteReplacesAPlainFileAndKeepsItsMode(t *testing.T) {
	file := filepath.Join(t.TempDir(), "out.json")
	if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writeOutput(nil, file, fill("new")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(file); string(text) != "new" || info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
		t.Errorf("the file holds %q with mode %v", text, info.Mode())
	}
}

// The output may hold a conversation: only the owner may read a new file, and a
// umask may remove more permissions.
func TestWriteMakesFilesForTheirOwner(t *testing.T) {
	if os.PathSeparator != '/' {
		t.Skip("modes are those of the folder around")
	}
	file := filepath.Join(t.TempDir(), "out.json")
	r, err := newRequests(filepath.Join(t.TempDir(), "requests"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(writeOutput(nil, file, fill("new")), r.writeRequest(nil)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{file: 0o600, r.folder: 0o700, filepath.Join(r.folder, "000001.json"): 0o600} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got&^want != 0 {
			t.Errorf("%s has mode %v, want %v or less", path, got, want)
		}
	}
}

func TestWriteNeverReplacesALink(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := os.WriteFile(file, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file, link); err != nil {
		t.Skip("no symbolic links here: ", err)
	}
	if err := writeOutput(nil, link, fill("new")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(link)
	if text, _ := os.ReadFile(file); err != nil || info.Mode()&os.ModeSymlink == 0 || string(text) != "new" {
		t.Errorf("link is %v, its file holds %q", info.Mode(), text)
	}
}

func TestWriteLeavesNothingBehindWhenItFails(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "out.json")
	if err := os.WriteFile(file, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	if err := writeOutput(nil, file, func(io.Writer) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("write = %v, want %v", err, broken)
	}
	entries, err := os.ReadDir(dir)
	if text, _ := os.ReadFile(file); err != nil || len(entries) != 1 || string(text) != "old" {
		t.Errorf("%d files are left, the old one holds %q", len(entries), text)
	}
	if err := writeOutput(nil, dir, fill("new")); err == nil {
		t.Error("a directory was written to")
	}
}

func TestWhatIsSaidIsOneLineThatATerminalDoesNotObey(t *testing.T) {
	if got := printableLine("read a\x1b[31m.json:\n\tno\u0085 such\u202e file"); got != "read a[31m.json: no such file" {
		t.Errorf("%q", got)
	}
}
