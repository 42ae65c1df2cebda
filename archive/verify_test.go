package archive

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
)

// twoEntries is a step with two entries and a summary.
func twoEntries(n int) Step {
	s := smallStep(n)
	s.Removed = append(s.Removed, Entry{ID: "q", Messages: []chat.Message{text("c")}, Text: "said"})
	return s
}

// verified returns the findings of Verify for session s in a folder.
func verified(t *testing.T, root string) Findings {
	t.Helper()
	d, err := OpenDir(root, DirOptions{ReadOnly: true})
	must(t, err)
	f, err := Verify(t.Context(), Redacted(d, func(s string) string { return s }), "s") // through a wrapper
	must(t, err)
	return f
}

func TestVerifyFindsEveryDamage(t *testing.T) {
	swap := func(old, put string) func([]byte) []byte {
		return func(b []byte) []byte {
			if !bytes.Contains(b, []byte(old)) {
				panic(fmt.Sprintf("%q is not in %s", old, b))
			}
			return bytes.Replace(b, []byte(old), []byte(put), 1)
		}
	}
	gone := func([]byte) []byte { return nil }
	for _, test := range []struct {
		name, file string
		spoil      func([]byte) []byte
		entry      string
		line       int
	}{
		{"an entry", "step-001.jsonl", swap("said", "sang"), "q", 4},
		{"the first entry", "step-001.jsonl", swap("of a", "of x"), "r", 3},
		{"an entry that is no JSON", "step-001.jsonl", swap(`"text":"said"`, `"text":said"`), "q", 4},
		{"the round", "step-001.jsonl", swap(`"seen":2`, `"seen":3`), "", 2},
		{"the header", "step-001.jsonl", swap(`"level":"hard"`, `"level":"soft"`), "", 1},
		{"the hash of an entry", "step-001.jsonl", swap(`"entry_sha256":["`, `"entry_sha256":["0`), "", 1},
		{"the hash of the header", "step-001.jsonl", swap(`"header_sha256"`, `"header_sha257"`), "", 1},
		{"the number", "step-001.jsonl", swap(`"step":1`, `"step":2`), "", 1},
		{"a torn step", "step-001.jsonl", func(b []byte) []byte { return b[:len(b)-9] }, "q", 4},
		{"a transcript", "transcript-pre-compact-001.jsonl", swap("of b", "of x"), "", 0},
		{"a transcript that is no JSON", "transcript-pre-compact-001.jsonl", swap(`"id":"b"`, `"id":b"`), "", 2},
		{"no transcript", "transcript-pre-compact-001.jsonl", gone, "", 0},
		{"a summary", "summary-001.json", swap(`"x"`, `"y"`), "", 0},
		{"no summary", "summary-001.json", gone, "", 0},
		{"an event", "events.jsonl", swap(`{"n":2}`, `{"n":2`), "", 2},
		{"the session", "session.json", swap(`"v"`, `"w"`), "", 0},
		{"no session", "session.json", gone, "", 0},
	} {
		root := t.TempDir()
		d := openFirst(t, root)
		for n := range 2 {
			must(t, d.Put(t.Context(), twoEntries(n+1)), d.Event(t.Context(), "s", fmt.Appendf(nil, `{"n":%d}`, n+1)))
		}
		must(t, d.Event(t.Context(), "s", []byte(`{"n":3}`)), d.Close())
		if f := verified(t, root); !f.Clean() || len(f.Notes) > 0 || f.Steps != 2 || f.Entries != 4 || f.Events != 3 || f.Unhashed != 0 {
			t.Fatalf("before any damage: %+v", f)
		}
		path := filepath.Join(root, "s", test.file)
		b, err := os.ReadFile(path)
		must(t, err)
		if b = test.spoil(b); b == nil {
			must(t, os.Remove(path))
		} else {
			must(t, os.WriteFile(path, b, 0o600))
		}
		f := verified(t, root)
		if len(f.Damages) != 1 {
			t.Errorf("%s: damages %v", test.name, f.Damages)
			continue
		}
		got := f.Damages[0]
		step := 1
		if !strings.Contains(test.file, "001") {
			step = 0
		}
		if got.File != path || got.Session != "s" || got.Step != step || got.Entry != test.entry || got.Line != test.line || !errors.Is(got, ErrDamaged) {
			t.Errorf("%s: %+v, want entry %q, line %d", test.name, got, test.entry, test.line)
		}
	}
}

func TestADamagedEntryIsNamedAndTheOthersAreThere(t *testing.T) {
	root := t.TempDir()
	d := openFirst(t, root)
	must(t, d.Put(t.Context(), twoEntries(1)))
	defer d.Close()
	path := filepath.Join(root, "s", "step-001.jsonl")
	b, err := os.ReadFile(path)
	must(t, err, os.WriteFile(path, bytes.Replace(b, []byte("said"), []byte("sang"), 1), 0o600))
	_, getErr := d.Get(t.Context(), "s", 1)
	_, recallErr := d.Recall(t.Context(), "s", "q")
	for verb, err := range map[string]error{"Get": getErr, "Recall": recallErr} {
		damage, ok := errors.AsType[*Damage](err)
		if !ok || damage.Step != 1 || damage.Entry != "q" || damage.Line != 4 || !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), path+": line 4: entry q") {
			t.Errorf("%s: %v", verb, err)
		}
	}
	if e, err := d.Recall(t.Context(), "s", "r"); err != nil || ids(e.Messages) != "a" {
		t.Errorf("Recall of the other: %v, %v", e, err)
	}
	if hits, err := removedEntries(t.Context(), d, "s"); !errors.Is(err, ErrDamaged) || len(hits) < 1 || hits[0].ID != "r" {
		t.Errorf("Removals = %v, %v; want the other", hits, err)
	}
}

// Remains of interrupted processes, and files that are not the archive's, are noted
// and not damages.
func TestLeftoversAreNoted(t *testing.T) {
	root := t.TempDir()
	d := openFirst(t, root)
	must(t, d.Put(t.Context(), twoEntries(1)), d.Event(t.Context(), "s", []byte(`{"n":1}`)), d.Close())
	want := []string{
		"its step is not there", "its step is not there", "being written", "no file of an archive", "no file of an archive", "line 2 has no end",
	}
	for name, text := range map[string]string{
		"transcript-pre-compact-002.jsonl": "{", "summary-002.json": "{", tempMark + "step-003.jsonl": "{", "notes.txt": "mine", "step-4.jsonl": "",
	} {
		must(t, os.WriteFile(filepath.Join(root, "s", name), []byte(text), 0o600))
	}
	f, err := os.OpenFile(filepath.Join(root, "s", "events.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteString(`{"n":`)
	must(t, err, f.Close())
	found := verified(t, root)
	if !found.Clean() || len(found.Notes) != len(want) {
		t.Errorf("findings %+v", found)
	}
	for _, says := range want {
		if !strings.Contains(fmt.Sprint(found.Notes), says) {
			t.Errorf("notes %v, want one that says %q", found.Notes, says)
		}
	}
	must(t, os.WriteFile(filepath.Join(root, "s", "summary-001.json"), nil, 0o600))
	if found := verified(t, root); found.Clean() {
		t.Error("an empty summary is none")
	}
}

func TestVerifyOfWhatIsNotThere(t *testing.T) {
	d, err := OpenDir(t.TempDir(), DirOptions{})
	must(t, err)
	f, err := Verify(t.Context(), d, "nobody")
	if err != nil || !f.Clean() || f.Steps != 0 || f.Session != "nobody" {
		t.Errorf("Verify = %+v, %v", f, err)
	}
	must(t, d.Close())
	if _, err := Verify(t.Context(), d, "nobody"); !errors.Is(err, ErrClosed) {
		t.Errorf("of a closed store: %v", err)
	}
	m := NewMemory()
	must(t, m.Put(t.Context(), twoEntries(1)))
	if f, err := Verify(t.Context(), m, "s"); err != nil || !f.Clean() || f.Steps != 1 || f.Entries != 2 {
		t.Errorf("of memory: %+v, %v", f, err)
	}
	if ids, err := Sessions(t.Context(), m); err != nil || len(ids) != 1 {
		t.Errorf("Sessions = %v, %v", ids, err)
	}
}

// The archive in testdata/first is from before summaries, rounds and entries
// had hashes.
func TestStepsOfTheFirstReleasesAreRead(t *testing.T) {
	d, err := OpenDir(filepath.Join("testdata", "first"), DirOptions{ReadOnly: true})
	must(t, err)
	f, err := Verify(t.Context(), d, "s")
	if err != nil || !f.Clean() || f.Steps != 2 || f.Unhashed != 2 || f.Entries != 4 || f.Events != 1 {
		t.Errorf("Verify = %+v, %v", f, err)
	}
	e, err := d.Recall(t.Context(), "s", "same")
	if err != nil || e.Text != "of step 2" {
		t.Errorf("Recall = %+v, %v", e, err)
	}
	for n, redacted := range map[int]int{1: 0, 2: 6} { // the record shows only that some were
		s, err := d.Get(t.Context(), "s", n)
		if err != nil || len(s.Before) != 6 || len(s.Removed) != 2 || s.Summary == nil || len(s.Edits.Steps) != 2 || len(s.Redacted) != redacted {
			t.Errorf("step %d: %+v, %v", n, s, err)
		}
	}
}
