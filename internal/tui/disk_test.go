package tui

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Two chats have different names, even if they begin in the same second, or after
// the clock was set back.
func TestASessionWithoutANameHasOneOfItsOwn(t *testing.T) {
	dir, now := t.TempDir(), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if err := prepareFolder(dir); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"20260102-030405", "20260102-030405-2", "20260102-030405-3"} {
		got := freeName(dir, now)
		if got != want {
			t.Errorf("name %q, want %q", got, want)
		}
		if err := os.WriteFile(sessionPath(dir, got), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// A damaged session is not rewritten while its existing archive cannot be opened:
// the archive may have content that the file lacks.
func TestNothingIsRecoveredWithoutTheArchiveThatIsThere(t *testing.T) {
	x := open(t, 2048, says("an answer"))
	if err := x.Do(t.Context(), "a question"); err != nil {
		t.Fatal(err)
	}
	o := x.o
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	path := sessionPath(o.Dir, o.Name)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/2] ^= 1
	header := filepath.Join(o.Dir, "archive", "archive.json")
	whole, err := os.ReadFile(header)
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{path: text, header: []byte(`{"v":99}`)} {
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o.Resume, o.Lenient = true, true
	if _, err := Open(t.Context(), o); err == nil {
		t.Error("no error")
	}
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, text) {
		t.Errorf("the session file was written anew: %v", err)
	}
	if err := os.WriteFile(header, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	reopen(t, o, says("again"))
}
