package archive

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
)

// Random records give the same conversation as in memory.
func TestSessionEqualsModel(t *testing.T) {
	dir := t.TempDir()
	runs := 0
	rapid.Check(t, func(rt *rapid.T) {
		runs++
		path := filepath.Join(dir, fmt.Sprint(runs))
		f, err := createSession(path, Meta{Session: "s"}, unsynced)
		if err != nil {
			rt.Fatal(err)
		}
		defer f.Close()
		m := model{}
		for range rapid.IntRange(0, 30).Draw(rt, "records") {
			if err := m.step(rt, f); err != nil {
				rt.Fatal(err)
			}
		}
		s, err := ReadSession(path)
		if err != nil {
			rt.Fatal(err)
		}
		if got, want := ids(s.Messages), ids(m.t); got != want || len(s.Rounds) != len(m.before) {
			rt.Fatalf("is at %q with %d rounds, want %q with %d", got, len(s.Rounds), want, len(m.before))
		}
	})
}

// A model is a session in memory that keeps every conversation before a round.
type model struct {
	t      chat.Transcript
	before []chat.Transcript
	after  []int
	ids    int
}

func (m *model) new() chat.Message {
	m.ids++
	return text(fmt.Sprint(m.ids))
}

func (m *model) step(rt *rapid.T, f *SessionFile) error {
	switch kind := rapid.IntRange(0, 9).Draw(rt, "kind"); {
	case kind < 4 || len(m.t) == 0:
		added := m.new()
		m.t = append(m.t[:len(m.t):len(m.t)], added)
		return f.Append(added)
	case kind < 7:
		return m.round(rt, f)
	case kind == 7 && len(m.before) > 0:
		last := len(m.before) - 1
		m.t = slices.Concat(m.before[last], m.t[m.after[last]:])
		m.before, m.after = m.before[:last], m.after[:last]
		return f.Undo(noon)
	case kind == 8:
		n := rapid.IntRange(0, len(m.t)).Draw(rt, "cut")
		m.t = m.t[:n:n]
		for i, after := range slices.Backward(m.after) {
			if after > n {
				m.before, m.after = m.before[i+1:], m.after[i+1:]
				break
			}
		}
		return f.Cut(n)
	}
	return f.Round(Round{Time: noon})
}

// round makes one or two lists of edits that insert, drop and replace.
func (m *model) round(rt *rapid.T, f *SessionFile) error {
	r := Round{Number: len(m.before) + 1, Time: noon}
	m.before = append(m.before, m.t)
	for range rapid.IntRange(1, 2).Draw(rt, "levels") {
		var edits []edit.Edit
		var next chat.Transcript
		at := 0
		for range rapid.IntRange(0, 3).Draw(rt, "edits") {
			e := edit.Edit{Start: rapid.IntRange(at, len(m.t)).Draw(rt, "start")}
			e.End = rapid.IntRange(e.Start, len(m.t)).Draw(rt, "end")
			for range rapid.IntRange(0, 2).Draw(rt, "new") {
				e.New = append(e.New, m.new())
			}
			if n := len(edits); n > 0 && e.End == e.Start && edits[n-1].Start == e.Start {
				continue // the order of two insertions in one place, or after a run, is decided by edit
			}
			next = append(append(next, m.t[at:e.Start]...), e.New...)
			edits, at = append(edits, e), e.End
		}
		m.t = append(next, m.t[at:]...)
		r.Edits.Steps = append(r.Edits.Steps, edits)
	}
	m.after = append(m.after, len(m.t))
	return f.Round(r)
}

// unsynced is a disk that does not wait.
func unsynced(path string, flag int) (writableFile, error) {
	f, err := realDisk(path, flag)
	return noSync{f}, err
}

type noSync struct{ writableFile }

func (noSync) Sync() error { return nil }

func BenchmarkAppend(b *testing.B) {
	for _, c := range []struct {
		name string
		disk disk
	}{{"synced", realDisk}, {"unsynced", unsynced}} {
		b.Run(c.name, func(b *testing.B) {
			f, err := createSession(filepath.Join(b.TempDir(), "s"), Meta{Session: "s"}, c.disk)
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			m := text(strings.Repeat("x", 2000))
			for b.Loop() {
				if err := f.Append(m); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
