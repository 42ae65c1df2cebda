package archive

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
)

// readsOther returns an error text if a session file is read as another
// conversation than want without an error, else "".
func readsOther(text []byte, want State) string {
	s, err := DecodeSession(bytes.NewReader(text))
	switch {
	case err != nil && !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrVersion):
		return "the error is " + err.Error()
	case err == nil && (!reflect.DeepEqual(s.Messages, want.Messages) || s.Torn != 0 || s.Since != want.Since || len(s.Rounds) != len(want.Rounds)):
		return "it is read as " + ids(s.Messages)
	}
	return ""
}

// Every flipped bit and every removed byte of a session file is found.
func TestEveryFlipOfASessionFileIsFound(t *testing.T) {
	whole, _ := sessionBytes(t)
	want, err := DecodeSession(bytes.NewReader(whole))
	must(t, err)
	found := 0
	for at := range whole {
		for bit := range 8 {
			text := bytes.Clone(whole)
			text[at] ^= 1 << bit
			if wrong := readsOther(text, want); wrong != "" {
				t.Fatalf("bit %d of byte %d of %d: %s", bit, at, len(whole), wrong)
			}
			if _, err := DecodeSession(bytes.NewReader(text)); err == nil {
				t.Fatalf("bit %d of byte %d: no error", bit, at)
			}
			found++
		}
	}
	for at := range whole {
		text := append(bytes.Clone(whole[:at]), whole[at+1:]...)
		if wrong := readsOther(text, want); wrong != "" {
			t.Errorf("without byte %d: %s", at, wrong)
		}
		if _, err := DecodeSession(bytes.NewReader(text)); err == nil && at != len(whole)-1 {
			t.Errorf("without byte %d of %d: no error", at, len(whole))
		}
	}
	t.Logf("%d flips, %d bytes", found, len(whole))
}

// A record that is removed, duplicated, moved or from another file is found and named.
func TestEveryRecordHasItsPlace(t *testing.T) {
	whole, _ := sessionBytes(t)
	want, err := DecodeSession(bytes.NewReader(whole))
	must(t, err)
	lines := bytes.SplitAfter(bytes.TrimSuffix(whole, []byte("\n")), []byte("\n"))
	lines[len(lines)-1] = append(bytes.Clone(lines[len(lines)-1]), '\n')
	other := otherSession(t, len(lines))
	join := func(parts ...[][]byte) []byte {
		var all []byte
		for _, p := range parts {
			all = append(all, bytes.Join(p, nil)...)
		}
		return all
	}
	for i := range lines {
		changed := map[string][]byte{
			"doubled":  join(lines[:i+1], lines[i:]),
			"replaced": join(lines[:i], other[i:i+1], lines[i+1:]),
		}
		if i < len(lines)-1 {
			changed["removed"] = join(lines[:i], lines[i+1:])
			changed["moved"] = join(lines[:i], lines[i+1:i+2], lines[i:i+1], lines[i+2:])
		}
		for how, text := range changed {
			if _, err := DecodeSession(bytes.NewReader(text)); !errors.Is(err, ErrDamaged) {
				t.Errorf("record %d %s: %v", i+1, how, err)
			}
			s, r, err := DecodeDamagedSession(bytes.NewReader(text))
			if err != nil || len(r.Damages) == 0 {
				t.Errorf("record %d %s: %+v, %v", i+1, how, r, err)
			}
			if (how == "doubled" || how == "moved") && (!reflect.DeepEqual(s.Messages, want.Messages) || len(r.Lost()) > 0) {
				t.Errorf("record %d %s: it is at %q, lost %v", i+1, how, ids(s.Messages), r.Lost())
			}
		}
	}
}

// otherSession returns the lines of another session file.
func otherSession(t *testing.T, n int) [][]byte {
	t.Helper()
	lines := []sessionLine{{Meta: &Meta{Session: "other"}}}
	for range n {
		lines = append(lines, sessionLine{Message: &message{Message: text("other")}})
	}
	b, _, err := encodeRecords(lines, position{})
	must(t, err)
	return bytes.SplitAfter(b, []byte("\n"))
}

func TestCutOrReplacedSessionFileIsFoundWhenItIsOpened(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, path string, b []byte){
		"cut at a record": func(t *testing.T, path string, b []byte) {
			must(t, os.Truncate(path, int64(bytes.LastIndexByte(b[:len(b)-1], '\n')+1)))
		},
		"cut in a record": func(t *testing.T, path string, b []byte) { must(t, os.Truncate(path, int64(len(b)-9))) },
		"emptied":         func(t *testing.T, path string, _ []byte) { must(t, os.Truncate(path, 0)) },
		"another session": func(t *testing.T, path string, _ []byte) {
			must(t, os.WriteFile(path, bytes.Join(otherSession(t, 20), nil), 0o600))
		},
		"another history": func(t *testing.T, path string, b []byte) {
			f := bytes.SplitAfter(b, []byte("\n"))
			_, r, err := decodeSession(bytes.NewReader(f[0]), nil)
			must(t, err)
			more, _, err := encodeRecords(bytesLines(20), r.at)
			must(t, err, os.WriteFile(path, append(bytes.Clone(f[0]), more...), 0o600))
		},
	} {
		path := filepath.Join(t.TempDir(), "s.jsonl")
		f, err := CreateSession(path, Meta{Session: "s"})
		must(t, err, f.Append(text("a")), f.Append(text("b")), f.Append(text("c")), f.Close())
		b, err := os.ReadFile(path)
		must(t, err)
		change(t, path, b)
		_, _, openErr := OpenSession(path)
		_, readErr := ReadSession(path)
		if !errors.Is(openErr, ErrDamaged) || !errors.Is(readErr, ErrDamaged) || !strings.Contains(openErr.Error(), "--lenient") && name != "emptied" {
			t.Errorf("%s: %v, %v", name, openErr, readErr)
		}
	}
}

func bytesLines(n int) (lines []sessionLine) {
	for range n {
		lines = append(lines, sessionLine{Message: &message{Message: text("z")}})
	}
	return lines
}

// The content of a damaged record is taken from the step of a later round.
func TestDamagedRecordsAreTakenFromTheArchive(t *testing.T) {
	store := NewMemory()
	path := filepath.Join(t.TempDir(), "s.jsonl")
	f, err := CreateSession(path, Meta{Session: "s"})
	must(t, err)
	var now chat.Transcript
	say := func(names ...string) {
		for _, name := range names {
			must(t, f.Append(text(name)))
			now = append(now, text(name))
		}
	}
	compact := func(number, start, end int, marker string) {
		round := replace(number, start, end, text(marker))
		round.Edits.Seen, round.Edits.Sum = len(now), edit.Sum(now)
		must(t, store.Put(t.Context(), Step{Session: "s", Number: number, Before: now, Edits: round.Edits, Time: noon}), f.Round(round))
		after, _, err := applyRound(now, round.Edits.Steps)
		must(t, err)
		now = after
	}
	say("a", "b", "c", "d") // lines 2 to 5
	compact(1, 1, 3, "x")   // line 6
	say("e", "f")           // lines 7 and 8
	compact(2, 1, 2, "y")   // line 9
	say("g", "h")           // lines 10 and 11
	must(t, f.Close())
	whole, err := os.ReadFile(path)
	must(t, err)
	lines := bytes.SplitAfter(whole, []byte("\n"))
	later := text("z")
	for _, test := range []struct {
		damaged        []int
		with, without  string // the conversation with and without the archive
		missing, apart int
	}{
		{[]int{3}, "a y d e f g h", "a c d e f g h", 0, 1},
		{[]int{2, 3, 4, 5}, "a y d e f g h", "e f g h", 0, 4},
		{[]int{6}, "a y d e f g h", "a b c d e f g h", 0, 1},
		{[]int{7}, "a y d e f g h", "a x d f g h", 0, 1},
		{[]int{9}, "a x d e f g h", "a x d e f g h", 1, 1},
		{[]int{10}, "a y d e f h", "a y d e f h", 1, 1},
		{[]int{3, 11}, "a y d e f g", "a c d e f g", 1, 2},
		{[]int{5, 7, 8, 10}, "a y d e f h", "a b c h", 1, 4}, // step 2 has no later records
		{[]int{1}, "a y d e f g h", "a y d e f g h", 1, 1},
	} {
		var text []byte
		for i, line := range lines {
			line = bytes.Clone(line)
			for _, n := range test.damaged {
				if n == i+1 {
					line[len(line)/2] ^= 1
				}
			}
			text = append(text, line...)
		}
		path := filepath.Join(t.TempDir(), "s.jsonl") // without a mark
		must(t, os.WriteFile(path, text, 0o600))
		if _, _, err := OpenSession(path); !errors.Is(err, ErrDamaged) {
			t.Errorf("%v: %v", test.damaged, err)
		}
		bare, without, err := CheckSession(t.Context(), path, nil)
		must(t, err)
		if got := ids(bare.Messages); got != test.without || len(without.Lost()) != test.apart {
			t.Errorf("lines %v without the archive: it is at %q, want %q; %v", test.damaged, got, test.without, without.Damages)
		}
		f, s, r, err := RecoverSession(t.Context(), path, store)
		must(t, err)
		if got := ids(s.Messages); got != test.with || len(r.Lost()) != test.missing || s.Meta.Session != "s" {
			t.Errorf("lines %v: it is at %q, want %q; %v", test.damaged, got, test.with, r.Damages)
		}
		if kept, err := os.ReadFile(r.Kept); err != nil || !bytes.Equal(kept, text) {
			t.Errorf("lines %v: the damaged file is not kept: %v", test.damaged, err)
		}
		must(t, f.Append(later), f.Close())
		again, err := ReadSession(path)
		must(t, err)
		if got := ids(again.Messages); got != test.with+" z" {
			t.Errorf("lines %v: opened again it is at %q", test.damaged, got)
		}
	}
}

// A step recovers only records from before it: a message that arrived while its
// round was planned is missing, even if the archive has all earlier ones.
func TestAStepTellsOfNoLaterRecord(t *testing.T) {
	a, b, c, late := text("a"), text("b"), text("c"), text("late")
	first := replace(1, 1, 2, text("x"), text("y"))
	first.Edits.Seen, first.Edits.Sum = 2, edit.Sum(chat.Transcript{a, b})
	now := chat.Transcript{a, text("x"), text("y")}
	second := replace(2, 1, 2, text("z"))
	second.Edits.Seen, second.Edits.Sum = 3, edit.Sum(now)
	for name, test := range map[string]struct {
		steps   []Step
		write   func(f *SessionFile) error
		damaged []int // lines
		missing []int
	}{
		"behind a message": {
			[]Step{{Session: "s", Number: 1, Before: chat.Transcript{a, b}, Edits: first.Edits, Time: noon}},
			func(f *SessionFile) error {
				return errors.Join(f.Append(a), f.Append(b), f.Append(late), f.Round(first), f.Append(c))
			},
			[]int{3, 4}, []int{4},
		},
		"behind a round that wrote two messages": {
			[]Step{
				{Session: "s", Number: 1, Before: chat.Transcript{a, b}, Edits: first.Edits, Time: noon},
				{Session: "s", Number: 2, Before: now, Edits: second.Edits, Time: noon},
			},
			func(f *SessionFile) error {
				return errors.Join(f.Append(a), f.Append(b), f.Round(first), f.Append(late), f.Round(second), f.Append(c))
			},
			[]int{4, 5}, []int{5},
		},
		"behind the newest step": {
			[]Step{{Session: "s", Number: 1, Before: chat.Transcript{a, b}, Edits: first.Edits, Time: noon}},
			func(f *SessionFile) error { return errors.Join(f.Append(a), f.Append(b), f.Append(late)) },
			[]int{3, 4}, []int{4},
		},
	} {
		store, path := NewMemory(), filepath.Join(t.TempDir(), "s.jsonl")
		for _, s := range test.steps {
			must(t, store.Put(t.Context(), s))
		}
		f, err := CreateSession(path, Meta{Session: "s"})
		must(t, err, test.write(f), f.Close())
		whole, err := os.ReadFile(path)
		must(t, err)
		lines := bytes.SplitAfter(whole, []byte("\n"))
		for _, n := range test.damaged {
			lines[n-1][len(lines[n-1])/2] ^= 1
		}
		must(t, os.WriteFile(path, bytes.Join(lines, nil), 0o600))
		_, r, err := CheckSession(t.Context(), path, store)
		must(t, err)
		var missing []int
		for _, d := range r.Lost() {
			missing = append(missing, d.Record)
		}
		if !slices.Equal(missing, test.missing) {
			t.Errorf("%s: records %v are missing, want %v: %v", name, missing, test.missing, r.Damages)
		}
	}
}

// A session file of the former version can be read and continued; new records have
// checksums.
func TestSessionFileOfTheVersionBefore(t *testing.T) {
	old, err := os.ReadFile(filepath.Join("testdata", "session-v1.jsonl"))
	must(t, err)
	path := filepath.Join(t.TempDir(), "s.jsonl")
	must(t, os.WriteFile(path, old, 0o600))
	f, s, err := OpenSession(path)
	must(t, err)
	if got := ids(s.Messages); got != "A b\xff c é" || s.Messages[1].Source == nil || s.Messages[1].Source.JSON != `{"a": 1}` {
		t.Errorf("it is at %q", got)
	}
	must(t, f.Append(text("z")), f.Append(text("zz")), f.Close())
	b, err := os.ReadFile(path)
	must(t, err)
	if !bytes.HasPrefix(b, old) {
		t.Error("what was there was changed")
	}
	want, err := ReadSession(path)
	must(t, err)
	if got := ids(want.Messages); got != "A b\xff c é z zz" {
		t.Errorf("it is at %q", got)
	}
	for at := len(old); at < len(b); at++ {
		for bit := range 8 {
			text := bytes.Clone(b)
			text[at] ^= 1 << bit
			if _, err := DecodeSession(bytes.NewReader(text)); err == nil {
				t.Fatalf("bit %d of byte %d: no error", bit, at)
			}
		}
	}
	lines := bytes.SplitAfter(b, []byte("\n"))
	without := append(bytes.Join(lines[:3], nil), bytes.Join(lines[4:], nil)...)
	if _, err := DecodeSession(bytes.NewReader(without)); !errors.Is(err, ErrDamaged) {
		t.Errorf("an old record was removed: %v", err)
	}
}
