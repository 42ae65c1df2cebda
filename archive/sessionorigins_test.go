package archive

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
)

// sessionLines returns the lines of a session file with the records of write.
func sessionLines(t *testing.T, write func(f *SessionFile) error) [][]byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.jsonl")
	f, err := CreateSession(path, Meta{Session: "s"})
	must(t, err, write(f), f.Close())
	whole, err := os.ReadFile(path)
	must(t, err)
	return bytes.SplitAfter(whole, []byte("\n"))
}

// checkDamaged checks lines, some of which are damaged.
func checkDamaged(t *testing.T, store Store, lines [][]byte, damaged ...int) (State, Recovery) {
	t.Helper()
	for _, n := range damaged {
		lines[n-1][len(lines[n-1])/2] ^= 1
	}
	path := filepath.Join(t.TempDir(), "s.jsonl")
	must(t, os.WriteFile(path, bytes.Join(lines, nil), 0o600))
	s, r, err := CheckSession(t.Context(), path, store)
	must(t, err)
	return s, r
}

// roundOn returns a round, and its step, of a conversation.
func roundOn(number, start, end int, marker string, now ...chat.Message) (Round, Step) {
	r := replace(number, start, end, text(marker))
	r.Edits.Seen, r.Edits.Sum = len(now), edit.Sum(now)
	return r, Step{Session: "s", Number: number, Before: now, Edits: r.Edits, Time: noon}
}

// A message that a damaged round removed does not come back after a later round,
// and a record after an impossible undo changes no other messages.
func TestNothingIsDoneToAnotherConversation(t *testing.T) {
	a, b, c, d := text("a"), text("b"), text("c"), text("d")
	first, one := roundOn(1, 1, 3, "x", a, b, c, d)
	second, two := roundOn(2, 1, 2, "y", a, text("x"), d)
	store := NewMemory()
	must(t, store.Put(t.Context(), one), store.Put(t.Context(), two))
	protected := text("f")
	protected.Protected = true
	lines := sessionLines(t, func(f *SessionFile) error {
		return errors.Join(f.Append(a), f.Append(b), f.Append(c), f.Append(d), f.Round(first), f.Round(second), // lines 2 to 7
			f.Append(text("e")), f.Append(text("f")), f.Append(text("g")), f.Cut(6),
			f.Undo(noon), f.Undo(noon), f.Set(5, protected))
	})
	s, r := checkDamaged(t, store, lines, 5, 6)
	if got := ids(s.Messages); got != "a x d e f g" || s.Messages[5].Protected || !s.Messages[4].Protected {
		t.Errorf("it is at %q: %v", got, r.Damages)
	}
}

// A step from before the file was rewritten recovers none of its records.
func TestAnOlderStepTellsOfNothing(t *testing.T) {
	a, b, c, more := text("a"), text("b"), text("c"), text("more")
	first, step := roundOn(1, 1, 2, "x", a, b, c, more)
	store := NewMemory()
	must(t, store.Put(t.Context(), step))
	path := filepath.Join(t.TempDir(), "s.jsonl")
	f, err := CreateSession(path, Meta{Session: "s"})
	must(t, err, f.Append(a), f.Append(b), f.Append(c), f.Append(more), f.Round(first), f.Undo(noon), f.Cut(1), f.Append(text("d")))
	b2, err := os.ReadFile(path)
	must(t, err)
	b2[len(b2)/2] ^= 1
	must(t, os.WriteFile(path, b2, 0o600), os.Truncate(path, int64(len(b2)-1)), f.Append(text("e")), f.Close())
	anew, err := os.ReadFile(path)
	must(t, err)
	lines := bytes.SplitAfter(anew, []byte("\n"))
	for i, line := range lines {
		if !bytes.Contains(line, []byte(`"id":"a"`)) {
			continue
		}
		must(t, os.WriteFile(path, bytes.Join(lines[:i+1], nil), 0o600)) // the rest is cut off
		s, r, err := CheckSession(t.Context(), path, store)
		must(t, err)
		if got := ids(s.Messages); got != "a" || len(r.Lost()) == 0 {
			t.Errorf("it is at %q, and lost are %v", got, r.Damages)
		}
		return
	}
	t.Error("it was not written anew")
}

// A file is another copy even if its record at the mark is damaged: the next record
// repeats the checksum.
func TestAnotherCopyIsFoundByTheNextRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	f, err := CreateSession(path, Meta{Session: "s"})
	must(t, err, f.Append(text("a")), f.Append(text("b")), f.Close())
	other := sessionLines(t, func(f *SessionFile) error {
		return errors.Join(f.Append(text("c")), f.Append(text("d")), f.Append(text("e")))
	})
	for _, damaged := range []int{2, 3} {
		lines := bytes.SplitAfter(bytes.Join(other, nil), []byte("\n"))
		lines[damaged-1][len(lines[damaged-1])/2] ^= 1
		must(t, os.WriteFile(path, bytes.Join(lines, nil), 0o600))
		_, r, err := CheckSession(t.Context(), path, nil)
		must(t, err)
		found := false
		for _, d := range r.Lost() {
			found = found || strings.Contains(d.Err.Error(), "another copy")
		}
		if !found {
			t.Errorf("line %d: %v", damaged, r.Damages)
		}
	}
}

// If a file was cut after its newest step, the messages of the step come back, and
// only the round is missing. The rounds before it can be undone.
func TestTheNewestStepTellsOfACutFile(t *testing.T) {
	a, b, c, d := text("a"), text("b"), text("c"), text("d")
	first, one := roundOn(1, 1, 2, "x", a, b)
	second, two := roundOn(2, 1, 2, "y", a, text("x"), c, d)
	store := NewMemory()
	must(t, store.Put(t.Context(), one), store.Put(t.Context(), two))
	path := filepath.Join(t.TempDir(), "s.jsonl")
	f, err := CreateSession(path, Meta{Session: "s"})
	must(t, err, f.Append(a), f.Append(b), f.Round(first), f.Append(c), f.Append(d), f.Round(second), f.Close())
	whole, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(path, bytes.Join(bytes.SplitAfter(whole, []byte("\n"))[:4], nil), 0o600))
	s, r, err := CheckSession(t.Context(), path, store)
	must(t, err)
	lost := r.Lost()
	if ids(s.Messages) != "a x c d" || len(s.Rounds) != 1 || len(lost) != 1 || lost[0].Record != 7 || lost[0].Until > 7 {
		t.Errorf("it is at %q, %d rounds: %v", ids(s.Messages), len(s.Rounds), r.Damages)
	}
	if err := s.undoRound(); err != nil || ids(s.Messages) != "a b c d" {
		t.Errorf("undone it is at %q, %v", ids(s.Messages), err)
	}
}
