package archive

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
)

// marker returns a message that replaces the entry with a recall id.
func marker(id string) chat.Message {
	m := text("marker of " + id)
	m.Recall = id
	return m
}

// refer returns step n, made n hours after noon on a conversation with these
// markers; it replaces the removed messages by the marker own, with these ids below.
func refer(n int, shown []string, own string, below ...string) Step {
	s := Step{Session: "s", Number: n, Time: noon.Add(time.Duration(n) * time.Hour), Level: "hard"}
	for _, id := range shown {
		s.Before = append(s.Before, marker(id))
	}
	s.Before = append(s.Before, text(fmt.Sprint("message ", n)))
	last := len(s.Before)
	s.Removed = []Entry{{ID: own, Messages: s.Before[last-1:], Below: below}}
	s.Edits = edit.Round{Seen: last, Sum: edit.Sum(s.Before), Steps: [][]edit.Edit{{{Start: last - 1, End: last, New: []chat.Message{marker(own)}}}}}
	return s
}

func undo(n, of int, shown ...string) Step {
	s := refer(n, shown, "none")
	s.Removed, s.Edits, s.Undoes = nil, edit.Round{}, of
	return s
}

func TestPruneKeepsWhatIsReferredTo(t *testing.T) {
	all := time.Duration(99)
	for _, test := range []struct {
		name  string
		steps []Step
		o     PruneOptions
		older time.Duration // hours after noon; 0: of any age
		gone  []int
		says  string // of a spared step
	}{
		{name: "unreferenced, by number", steps: []Step{refer(1, nil, "a"), refer(2, nil, "b"), refer(3, nil, "c")}, o: PruneOptions{Keep: 1}, gone: []int{1, 2}},
		{name: "two stay", steps: []Step{refer(1, nil, "a"), refer(2, nil, "b"), refer(3, nil, "c")}, o: PruneOptions{Keep: 2}, gone: []int{1}},
		{name: "by age", steps: []Step{refer(1, nil, "a"), refer(2, nil, "b"), refer(3, nil, "c")}, older: 2, gone: []int{1}},
		{name: "the newest always stays", steps: []Step{refer(1, nil, "a")}, older: all},
		{name: "it is in the conversation", steps: []Step{refer(1, nil, "a"), refer(2, []string{"a"}, "b")}, o: PruneOptions{Keep: 1}, says: "its entry a"},
		{name: "below what is in it", steps: []Step{refer(1, nil, "a"), refer(2, []string{"a"}, "b", "a"), refer(3, []string{"b"}, "c")}, o: PruneOptions{Keep: 1}, says: "its entry a"},
		{name: "below, far down", steps: []Step{refer(1, nil, "a"), refer(2, nil, "b", "a"), refer(3, nil, "c", "b"), refer(4, nil, "d"), refer(5, []string{"c"}, "e")}, o: PruneOptions{Keep: 1}, gone: []int{4}, says: "its entry a"},
		{name: "the newest of an id is enough", steps: []Step{refer(1, nil, "a"), refer(2, nil, "a"), refer(3, []string{"a"}, "c")}, o: PruneOptions{Keep: 1}, gone: []int{1}, says: "its entry a"},
		{name: "by force", steps: []Step{refer(1, nil, "a"), refer(2, []string{"a"}, "b")}, o: PruneOptions{Keep: 1, Force: true}, gone: []int{1}},
		{name: "an undo brings ids back", steps: []Step{refer(1, nil, "a"), refer(2, []string{"a"}, "b"), undo(3, 2, "b")}, o: PruneOptions{Keep: 1}, says: "its entry a"},
		{name: "an undo stays with what it undoes", steps: []Step{refer(1, nil, "a"), undo(2, 1, "a"), refer(3, []string{"a"}, "c")}, o: PruneOptions{Keep: 1}, says: "it undoes step 1"},
		{name: "an undo goes with what it undoes", steps: []Step{refer(1, nil, "a"), undo(2, 1), refer(3, nil, "c")}, o: PruneOptions{Keep: 1}, gone: []int{1, 2}},
		{name: "what was undone is not there", steps: []Step{refer(1, nil, "a"), undo(3, 2)}, o: PruneOptions{Keep: 1}, says: "not known"},
	} {
		stores := map[string]Store{"memory": NewMemory()}
		d, err := OpenDir(t.TempDir(), DirOptions{})
		must(t, err)
		defer d.Close()
		stores["dir"], stores["objects"] = d, openHeap(t, newHeap())
		for name, store := range stores {
			for _, s := range test.steps {
				must(t, store.Put(t.Context(), s))
			}
			o := test.o
			if test.older > 0 {
				o.Before = noon.Add(test.older * time.Hour)
			}
			o.Dry = true
			dry, err := Prune(t.Context(), store, "s", o)
			must(t, err)
			if infos, err := store.Steps(t.Context(), "s"); err != nil || len(infos) != len(test.steps) {
				t.Errorf("%s, %s: a dry run left %d steps, %v", test.name, name, len(infos), err)
			}
			o.Dry = false
			p, err := Prune(t.Context(), store, "s", o)
			must(t, err)
			var gone []int
			for _, s := range p.Steps {
				gone = append(gone, s.Number)
			}
			if !slices.Equal(gone, test.gone) || len(dry.Steps) != len(p.Steps) {
				t.Errorf("%s, %s: %v went, a dry run says %d, want %v", test.name, name, gone, len(dry.Steps), test.gone)
			}
			if !strings.Contains(fmt.Sprint(p.Spared), test.says) {
				t.Errorf("%s, %s: spared %v, want one that says %q", test.name, name, p.Spared, test.says)
			}
			checkPruned(t, store, test.steps, gone)
		}
	}
}

// checkPruned checks that the pruned steps are gone, and all else is there.
func checkPruned(t *testing.T, store Store, steps []Step, gone []int) {
	t.Helper()
	for _, s := range steps {
		_, err := store.Get(t.Context(), "s", s.Number)
		if went := slices.Contains(gone, s.Number); went != errors.Is(err, ErrNotFound) {
			t.Errorf("step %d: %v", s.Number, err)
		}
	}
	f, err := Verify(t.Context(), store, "s")
	notes := slices.DeleteFunc(f.Notes, func(n Note) bool { return strings.Contains(n.Text, "pruned by force") })
	if err != nil || !f.Clean() || len(notes) > 0 {
		t.Errorf("Verify = %+v, %v", f, err)
	}
	infos, err := store.Steps(t.Context(), "s")
	if last := steps[len(steps)-1].Number; err != nil || Next(infos) != last+1 {
		t.Errorf("the next number is %d, %v; want %d", Next(infos), err, last+1)
	}
}

func TestMemoryRecallsTheOlderEntryWhereTheNewerWasPruned(t *testing.T) {
	m := NewMemory()
	must(t, m.Put(t.Context(), refer(1, nil, "a")), m.Put(t.Context(), refer(2, nil, "a")))
	must(t, m.Remove(t.Context(), "s", 2), m.Remove(t.Context(), "s", 9))
	if e, err := m.Recall(t.Context(), "s", "a"); err != nil || ids(e.Messages) != "message 1" {
		t.Errorf("Recall = %v, %v", e, err)
	}
	must(t, m.Remove(t.Context(), "s", 1))
	if _, err := m.Recall(t.Context(), "s", "a"); !errors.Is(err, ErrNotFound) {
		t.Errorf("Recall of what is gone: %v", err)
	}
}

// Remains of a step are not removed without force: only an archive with several
// writing processes has unfinished numbers.
func TestPruneLeavesWhatIsLeftOfLostSteps(t *testing.T) {
	root := t.TempDir()
	d := openFirst(t, root)
	defer d.Close()
	for n := 1; n <= 4; n++ {
		must(t, d.Put(t.Context(), refer(n, nil, fmt.Sprint("e", n))))
	}
	must(t, os.Remove(filepath.Join(root, "s", stepName(2))))
	must(t, os.WriteFile(filepath.Join(root, "s", transcriptName(5)), []byte("{"), 0o600))
	left := func() (names []string) {
		names, err := filepath.Glob(filepath.Join(root, "s", "*-00[25].*"))
		must(t, err)
		return names
	}
	f, err := Verify(t.Context(), d, "s")
	if err != nil || len(f.Damages) != 1 || f.Damages[0].Step != 2 || !strings.Contains(f.Damages[0].Error(), "missing") {
		t.Errorf("Verify = %+v, %v", f, err)
	}
	p, err := Prune(t.Context(), d, "s", PruneOptions{Keep: 1})
	if err != nil || len(p.Leftovers) > 0 || len(left()) != 2 || !slices.ContainsFunc(p.Spared, func(s Spared) bool { return s.Number == 2 }) {
		t.Errorf("pruned %+v, %v; left are %v", p, err, left())
	}
	p, err = Prune(t.Context(), d, "s", PruneOptions{Keep: 1, Force: true})
	if err != nil || len(left()) != 1 {
		t.Errorf("by force: %+v, %v; left are %v; 5 may be just being written", p, err, left())
	}
	if f, err := Verify(t.Context(), d, "s"); err != nil || !f.Clean() {
		t.Errorf("Verify = %+v, %v", f, err)
	}
}

// In a bucket, a number with only a part of a step is not put again.
func TestPruneSweepsWhatWasLeft(t *testing.T) {
	h := newHeap()
	o := openHeap(t, h)
	for _, n := range []int{1, 3} {
		must(t, o.Put(t.Context(), refer(n, nil, fmt.Sprint("e", n))))
	}
	for _, name := range []string{"transcript-pre-compact-002.jsonl", "summary-002.json", "transcript-pre-compact-004.jsonl"} {
		h.objects["s/"+name] = "{"
	}
	p, err := Prune(t.Context(), o, "s", PruneOptions{Keep: 9})
	must(t, err)
	if !slices.Equal(p.Leftovers, []int{2}) || len(p.Steps) > 0 {
		t.Errorf("pruned %+v; 4 may be just being written", p)
	}
	if _, there := h.objects["s/transcript-pre-compact-004.jsonl"]; !there || h.objects["s/summary-002.json"] != "" {
		t.Errorf("left are %v", h.objects)
	}
}

// An interrupted removal leaves no damage, whichever file was removed last.
func TestAHalfPrunedStepIsNoDamage(t *testing.T) {
	for stop := range 3 {
		h := newHeap()
		o := openHeap(t, h)
		must(t, o.Put(t.Context(), smallStep(1)), o.Put(t.Context(), refer(2, nil, "b")))
		removed := 0
		h.fail = func(verb, key string) error {
			if verb == "remove" {
				if removed++; removed > stop {
					return errors.New("down")
				}
			}
			return nil
		}
		if _, err := Prune(t.Context(), o, "s", PruneOptions{Keep: 1}); err == nil || !strings.Contains(err.Error(), "remove step 1") {
			t.Errorf("Prune = %v", err)
		}
		h.fail = nil
		f, err := Verify(t.Context(), o, "s")
		if err != nil || !f.Clean() {
			t.Errorf("stopped after %d files: %+v, %v", stop, f, err)
		}
		_, err = Prune(t.Context(), o, "s", PruneOptions{Keep: 1})
		must(t, err)
		if f, err := Verify(t.Context(), o, "s"); err != nil || f.Steps != 1 || len(f.Notes) > 0 {
			t.Errorf("pruned again: %+v, %v", f, err)
		}
	}
}

func TestPruneSparesAllWhereSomethingCannotBeRead(t *testing.T) {
	root := t.TempDir()
	d := openFirst(t, root)
	defer d.Close()
	for n := range 3 {
		must(t, d.Put(t.Context(), refer(n+1, nil, fmt.Sprint("e", n))))
	}
	must(t, os.WriteFile(filepath.Join(root, "s", "step-003.jsonl"), []byte("{"), 0o600))
	p, err := Prune(t.Context(), d, "s", PruneOptions{Keep: 1})
	must(t, err)
	if len(p.Steps) > 0 || len(p.Spared) != 2 || !strings.Contains(p.Spared[0].Why, "not known") {
		t.Errorf("pruned %+v", p)
	}
	must(t, os.WriteFile(filepath.Join(root, "s", "step-001.jsonl"), []byte("{"), 0o600))
	must(t, d.Put(t.Context(), refer(4, nil, "e9")))
	p, err = Prune(t.Context(), d, "s", PruneOptions{Keep: 1})
	must(t, err)
	if len(p.Steps) != 1 || p.Steps[0].Number != 2 || len(p.Spared) != 2 {
		t.Errorf("pruned %+v, want step 2 alone", p)
	}
}

func TestPruneRefuses(t *testing.T) {
	m := NewMemory()
	if _, err := Prune(t.Context(), m, "s", PruneOptions{}); err == nil || !strings.Contains(err.Error(), "Keep or Before") {
		t.Errorf("without a rule: %v", err)
	}
	if _, err := Prune(t.Context(), struct{ Store }{m}, "s", PruneOptions{Keep: 1}); err == nil || !strings.Contains(err.Error(), "cannot remove") {
		t.Errorf("of a store that cannot: %v", err)
	}
	if p, err := Prune(t.Context(), m, "nobody", PruneOptions{Keep: 1}); err != nil || len(p.Steps) > 0 {
		t.Errorf("of nothing: %+v, %v", p, err)
	}
	r, err := OpenDir(filepath.Join("testdata", "first"), DirOptions{ReadOnly: true})
	must(t, err)
	if _, err := Prune(t.Context(), r, "s", PruneOptions{Keep: 1, Force: true}); !errors.Is(err, ErrReadOnly) {
		t.Errorf("of a folder that is only read: %v", err)
	}
}
