package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
)

// longSession puts n rounds of a growing conversation, each of which removes the
// oldest messages, and returns the steps.
func longSession(t *testing.T, store Store, n int) (steps []Step) {
	t.Helper()
	var now chat.Transcript
	for k := 1; k <= n; k++ {
		for i := range 4 {
			now = append(now, chat.Message{ID: fmt.Sprintf("m%d.%d", k, i), Role: chat.User, Parts: []chat.Part{{
				Kind: chat.Text, Text: strings.Repeat(fmt.Sprintf("what was said %d.%d; ", k, i), 20),
			}}})
		}
		id := fmt.Sprintf("r%d", k)
		gone := len(now) - 3
		s := Step{
			Session: "s", Number: k, Before: now, Time: noon, Level: "hard",
			Removed: []Entry{{ID: id, Messages: now[:gone:gone], Below: recallIDs(now[:gone])}},
			Edits:   edit.Round{Seen: len(now), Sum: edit.Sum(now), Steps: [][]edit.Edit{{{End: gone, New: []chat.Message{marker(id)}}}}},
		}
		must(t, store.Put(t.Context(), s))
		steps = append(steps, s)
		after, _, err := applyRound(now, s.Edits.Steps)
		must(t, err)
		now = after
	}
	return steps
}

// sameStep reports whether two steps are the same.
func sameStep(a, b Step) bool {
	a.Time, b.Time = noon, noon
	for _, s := range []*Step{&a, &b} {
		if len(s.Removed) == 0 {
			s.Removed = nil
		}
	}
	return reflect.DeepEqual(a, b)
}

func TestManyStepsAreFewFiles(t *testing.T) {
	root := t.TempDir()
	d, err := openDir(root, DirOptions{}, unsynced)
	must(t, err)
	steps := longSession(t, d, 150)
	for k := range 200 {
		must(t, d.Event(t.Context(), "s", fmt.Appendf(nil, `{"n":%d,"text":%q}`, k, strings.Repeat("event ", 500))))
	}
	must(t, d.Close())
	files, err := os.ReadDir(filepath.Join(root, "s"))
	must(t, err)
	if len(files) > 2*gatherAt {
		t.Errorf("%d files for %d steps", len(files), len(steps))
	}
	d, err = OpenDir(root, DirOptions{})
	must(t, err)
	defer d.Close()
	f, err := Verify(t.Context(), d, "s")
	if err != nil || !f.Clean() || len(f.Notes) > 0 || f.Steps != 150 || f.Entries != 150 || f.Events != 200 {
		t.Errorf("Verify = %+v, %v", f, err)
	}
	for _, want := range steps {
		got, err := d.Get(t.Context(), "s", want.Number)
		if err != nil || !sameStep(got, want) {
			t.Fatalf("step %d: %+v, %v", want.Number, got, err)
		}
		e, err := d.Recall(t.Context(), "s", want.Removed[0].ID)
		if err != nil || !reflect.DeepEqual(e, want.Removed[0]) {
			t.Fatalf("entry of step %d: %+v, %v", want.Number, e, err)
		}
	}
	p, err := Prune(t.Context(), d, "s", PruneOptions{Keep: 10, Force: true})
	must(t, err)
	if len(p.Steps) != 140 {
		t.Errorf("%d steps went", len(p.Steps))
	}
	for _, want := range steps[140:] {
		if got, err := d.Get(t.Context(), "s", want.Number); err != nil || !sameStep(got, want) {
			t.Fatalf("step %d after prune: %+v, %v", want.Number, got, err)
		}
	}
	if f, err := Verify(t.Context(), d, "s"); err != nil || !f.Clean() || f.Steps != 10 {
		t.Errorf("Verify after prune = %+v, %v", f, err)
	}
	entries, err := os.ReadDir(filepath.Join(root, "s"))
	must(t, err)
	for _, e := range entries {
		if text := inflated(t, filepath.Join(root, "s", e.Name())); bytes.Contains(text, []byte("what was said 9.")) {
			t.Errorf("%s still has what was pruned", e.Name())
		}
	}
}

// The content of a conversation is on disk once, for any number of steps, even if
// it cannot be compressed.
func TestSizeOfAFolder(t *testing.T) {
	for name, textOf := range map[string]func(n int) string{
		"words":  func(n int) string { return strings.Repeat(fmt.Sprintf("line %d of a long text\n", n), 200) },
		"base64": func(n int) string { return noise(n, 4000) },
	} {
		root := t.TempDir()
		d, err := openDir(root, DirOptions{}, unsynced)
		must(t, err)
		size, now := 0, chat.Transcript{}
		for n := 1; n <= 100; n++ {
			for range 3 {
				m := text(fmt.Sprint(len(now), ".", n))
				m.Parts[0].Text = textOf(n*1000 + len(now))
				m.Source = &chat.Source{Format: "openai", JSON: fmt.Sprintf(`{"role":"user","content":%q}`, m.Parts[0].Text), Count: 1}
				size += len(m.Parts[0].Text)
				now = append(now, m)
			}
			gone := max(0, len(now)-10)
			s := Step{Session: "s", Number: n, Before: now, Time: noon, Removed: []Entry{{ID: fmt.Sprint("r", n), Messages: now[:gone:gone]}}}
			s.Edits = edit.Round{Seen: len(now), Steps: [][]edit.Edit{{{End: gone, New: []chat.Message{marker(fmt.Sprint("r", n))}}}}}
			must(t, d.Put(t.Context(), s))
			now, _, err = applyRound(now, s.Edits.Steps)
			must(t, err)
		}
		must(t, d.Close())
		all := int64(0)
		entries, err := os.ReadDir(filepath.Join(root, "s"))
		must(t, err)
		for _, e := range entries {
			info, err := e.Info()
			must(t, err)
			all += info.Size()
		}
		if times := float64(all) / float64(size); times > 2 {
			t.Errorf("%s: %.2f times the text on disk", name, times)
		}
	}
}

// noise returns a text that hardly compresses.
func noise(seed, size int) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	b := make([]byte, size)
	x := uint64(seed)*2862933555777941757 + 3037000493
	for i := range b {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		b[i] = letters[x%64]
	}
	return string(b)
}

// Any damage in a folder is found, and named by its step.
func TestVerifyFindsWhatIsLost(t *testing.T) {
	remove := func(names ...string) func(folder string) error {
		return func(folder string) error {
			var errs []error
			for _, name := range names {
				errs = append(errs, os.Remove(filepath.Join(folder, name)))
			}
			return errors.Join(errs...)
		}
	}
	change := func(name, old, put string) func(string) error {
		return func(folder string) error {
			path := filepath.Join(folder, name)
			b, err := os.ReadFile(path)
			if err != nil || !bytes.Contains(b, []byte(old)) {
				return fmt.Errorf("%q is not in %s: %w", old, name, err)
			}
			return os.WriteFile(path, bytes.Replace(b, []byte(old), []byte(put), 1), 0o600)
		}
	}
	var all []string
	for n := 1; n <= 4; n++ {
		all = append(all, packName(n, n))
	}
	for _, test := range []struct {
		name  string
		spoil func(folder string) error
		steps []int // damaged
		says  string
	}{
		{"one of the middle", remove(packName(2, 2)), []int{2}, "missing"},
		{"the newest", remove(packName(4, 4)), []int{4}, "missing"},
		{"the first", remove(packName(1, 1)), []int{1}, "missing"},
		{"all of a session", remove(all...), []int{1, 2, 3, 4}, "missing"},
		{"all, and session.json", remove(append(all, sessionFile)...), []int{0, 4}, "missing"},
		{"session.json", remove(sessionFile), []int{0}, "missing"},
		{"a number in session.json", change(sessionFile, "[[1,4]]", "[[1,3]]"), []int{0}, "as it was written"},
		{"the version in session.json", change(sessionFile, `{"v":2`, `{"v":1`), []int{0}, "as it was written"},
		{"another file in its place", func(folder string) error {
			b, err := os.ReadFile(filepath.Join(folder, packName(1, 1)))
			return errors.Join(err, os.WriteFile(filepath.Join(folder, packName(3, 3)), b, 0o600))
		}, []int{0, 3}, "file of steps 1 to 1"},
		{"a cut file", func(folder string) error {
			path := filepath.Join(folder, packName(3, 3))
			info, err := os.Stat(path)
			return errors.Join(err, os.Truncate(path, info.Size()-70))
		}, []int{0}, "damaged"},
		{"a header", change(packName(3, 3), "~~ head 3 3", "~~ head 3 4"), []int{0, 3}, "damaged"},
		{"a body", change(packName(3, 3), "~~ body 3 3", "~~ body 3 4"), []int{0, 3}, "damaged"},
		{"a step of another session", func(folder string) error {
			b, err := os.ReadFile(filepath.Join(folder, "..", "t", packName(3, 3)))
			return errors.Join(err, os.WriteFile(filepath.Join(folder, packName(3, 3)), b, 0o600))
		}, []int{0, 3}, `holds session "t"`},
		{"another step file of another session", func(folder string) error {
			b, err := os.ReadFile(filepath.Join(folder, "..", "t", packName(3, 3)))
			return errors.Join(err, os.WriteFile(filepath.Join(folder, packName(5, 5)), b, 0o600))
		}, []int{0}, `holds session "t"`},
	} {
		root := t.TempDir()
		d, err := openDir(root, DirOptions{}, unsynced)
		must(t, err)
		steps := longSession(t, d, 4)
		for _, s := range steps {
			s.Session = "t"
			must(t, d.Put(t.Context(), s), d.Event(t.Context(), "s", fmt.Appendf(nil, `{"data":{"session_id":"s","step":%d,"storage_adapter":"dir"}}`, s.Number)))
		}
		must(t, d.Close())
		if f := verified(t, root); !f.Clean() || len(f.Notes) > 0 {
			t.Fatalf("before any damage: %+v", f)
		}
		must(t, test.spoil(filepath.Join(root, "s")))
		f := verified(t, root)
		var got []int
		for _, d := range f.Damages {
			if !slices.Contains(got, d.Step) {
				got = append(got, d.Step)
			}
		}
		slices.Sort(got)
		if missing := slices.DeleteFunc(slices.Clone(test.steps), func(n int) bool { return slices.Contains(got, n) }); len(missing) > 0 || !strings.Contains(fmt.Sprint(f.Damages), test.says) {
			t.Errorf("%s: damages %v, want of steps %v, one that says %q", test.name, f.Damages, test.steps, test.says)
		}
		checkNothingGoes(t, test.name, root, f)
	}
}

// checkNothingGoes checks that prune removes nothing that a damage concerns.
func checkNothingGoes(t *testing.T, name, root string, f Findings) {
	t.Helper()
	before := filesIn(t, filepath.Join(root, "s"))
	d, err := openDir(root, DirOptions{}, unsynced)
	must(t, err)
	defer d.Close()
	p, err := Prune(t.Context(), d, "s", PruneOptions{Keep: 1})
	if err != nil && !unreadable(err) {
		t.Errorf("%s: Prune: %v", name, err)
	}
	damaged := func(n int) bool {
		return slices.ContainsFunc(f.Damages, func(d *Damage) bool { return d.Step == n })
	}
	for _, s := range p.Steps {
		if damaged(s.Number) {
			t.Errorf("%s: step %d went", name, s.Number)
		}
	}
	after := filesIn(t, filepath.Join(root, "s"))
	for _, d := range f.Damages {
		if base := filepath.Base(d.File); before[base] != "" && after[base] != before[base] {
			t.Errorf("%s: prune changed %s", name, base)
		}
	}
}

func filesIn(t *testing.T, folder string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	entries, err := os.ReadDir(folder)
	must(t, err)
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(folder, e.Name()))
		must(t, err)
		all[e.Name()] = string(b)
	}
	return all
}

// In every store, an unresolved recall id in the conversation is a finding.
func TestVerifyNamesRecallIDsThatResolveToNothing(t *testing.T) {
	d, err := OpenDir(t.TempDir(), DirOptions{})
	must(t, err)
	defer d.Close()
	for name, store := range map[string]Store{"memory": NewMemory(), "dir": d, "objects": openHeap(t, newHeap())} {
		brought := refer(1, []string{"of another archive"}, "a")
		must(t, store.Put(t.Context(), brought), store.Put(t.Context(), refer(2, []string{"of another archive", "a", "gone"}, "b")))
		f, err := Verify(t.Context(), store, "s")
		if err != nil || len(f.Damages) != 1 || f.Damages[0].Entry != "gone" || !strings.Contains(f.Damages[0].Error(), "the conversation refers to it") {
			t.Errorf("%s: Verify = %+v, %v", name, f, err)
		}
		state := State{Meta: Meta{Session: "s"}, Messages: chat.Transcript{marker("b"), marker("lost")}, Rounds: []AppliedRound{{Round: Round{Number: 2}}, {Round: Round{Number: 3}}}}
		damages, err := VerifyState(t.Context(), store, state)
		if err != nil || len(damages) != 2 || damages[0].Step != 3 || damages[1].Entry != "lost" {
			t.Errorf("%s: VerifyState = %v, %v", name, damages, err)
		}
	}
}

// In a bucket too, a lost step is a damage, and an unfinished number is not.
func TestObjectsKnowWhatIsLost(t *testing.T) {
	for name, gone := range map[string][]int{"one": {2}, "the newest": {4}, "all": {1, 2, 3, 4}} {
		h := newHeap()
		o := openHeap(t, h)
		longSession(t, o, 4)
		for _, n := range gone {
			for _, file := range stepFiles(n) {
				delete(h.objects, "s/"+file)
			}
		}
		f, err := Verify(t.Context(), openHeap(t, h), "s")
		must(t, err)
		for _, n := range gone {
			if !slices.ContainsFunc(f.Damages, func(d *Damage) bool { return d.Step == n && errors.Is(d, errMissing) }) {
				t.Errorf("%s: damages %v, want one of step %d", name, f.Damages, n)
			}
		}
		if err := openHeap(t, h).Put(t.Context(), smallStep(4)); !errors.Is(err, ErrExists) {
			t.Errorf("%s: Put of a number that was put: %v", name, err)
		}
	}
}

// The archive in testdata/second has the format before packs. Its rounds can be
// read, undone, recalled and pruned, and it continues.
func TestArchiveOfTheVersionBefore(t *testing.T) {
	root := t.TempDir()
	must(t, os.CopyFS(root, os.DirFS(filepath.Join("testdata", "second"))))
	d, err := OpenDir(root, DirOptions{})
	must(t, err)
	defer d.Close()
	verify := func(steps int) Findings {
		t.Helper()
		f, err := Verify(t.Context(), d, "s")
		if err != nil || !f.Clean() || f.Steps != steps || f.Unhashed > 0 {
			t.Errorf("Verify = %+v, %v", f, err)
		}
		return f
	}
	if f := verify(6); f.Events != 6 || len(f.Notes) > 0 {
		t.Errorf("%+v", f)
	}
	if e, err := d.Recall(t.Context(), "s", "r2"); err != nil || ids(e.Messages) != "marker of r1 3 4 5 6" {
		t.Errorf("Recall = %v, %v", ids(e.Messages), err)
	}
	fourth, err := d.Get(t.Context(), "s", 4)
	must(t, err)
	left, _, err := applyRound(fourth.Before, fourth.Edits.Steps)
	must(t, err)
	if u, err := Undo(t.Context(), d, "s", left); err != nil || edit.Sum(u.Messages) != edit.Sum(fourth.Before) {
		t.Errorf("Undo = %+v, %v", u, err)
	}
	next := refer(7, []string{"r5"}, "r7")
	must(t, d.Put(t.Context(), next))
	verify(7)
	if err := d.Put(t.Context(), refer(3, nil, "r3")); !errors.Is(err, ErrExists) {
		t.Errorf("Put of a number that is taken: %v", err)
	}
	p, err := Prune(t.Context(), d, "s", PruneOptions{Keep: 1})
	must(t, err)
	if len(p.Steps) != 0 || len(p.Spared) != 6 { // r5 replaces r4 and so on; 6 undoes 5
		t.Errorf("pruned %+v", p)
	}
	must(t, os.Remove(filepath.Join(root, "s", stepName(3))))
	if f, err := Verify(t.Context(), d, "s"); err != nil || len(f.Damages) != 1 || f.Damages[0].Step != 3 {
		t.Errorf("without step 3: %+v, %v", f, err)
	}
	p, err = Prune(t.Context(), d, "s", PruneOptions{Keep: 1, Force: true})
	if err != nil || len(p.Steps) != 6 {
		t.Errorf("pruned %+v, %v", p, err)
	}
	verify(1)
}

// In an archive of the former format, an empty gap is only noted: it may have been pruned.
func TestAGapOfTheVersionBeforeIsNoted(t *testing.T) {
	root := t.TempDir()
	must(t, os.CopyFS(root, os.DirFS(filepath.Join("testdata", "second"))))
	for _, name := range stepFiles(1) {
		must(t, os.Remove(filepath.Join(root, "s", name)))
	}
	f := verified(t, root)
	if !f.Clean() || len(f.Notes) != 1 || !strings.Contains(f.Notes[0].Text, "not known whether they are lost") {
		t.Errorf("Verify = %+v", f)
	}
	for _, name := range []string{stepName(6), transcriptName(6)} { // the newest is never pruned, and an event names it
		must(t, os.Remove(filepath.Join(root, "s", name)))
	}
	must(t, os.WriteFile(filepath.Join(root, "s", "events.jsonl"), []byte(`{"data":{"session_id":"s","step":6,"storage_adapter":"dir"}}`+"\n"), 0o600))
	if f := verified(t, root); len(f.Damages) != 1 || f.Damages[0].Step != 6 {
		t.Errorf("without the newest: %+v", f)
	}
}

// Remains of an interrupted merge are not a damage.
func TestInterruptedGathering(t *testing.T) {
	root := t.TempDir()
	d, err := openDir(root, DirOptions{}, unsynced)
	must(t, err)
	longSession(t, d, gatherAt-1)
	folder := filepath.Join(root, "s")
	before := filesIn(t, folder)
	longSessionOn(t, d, gatherAt)
	must(t, d.Close())
	for _, n := range []int{1, 2, gatherAt - 1} { // as before their removal
		must(t, os.WriteFile(filepath.Join(folder, packName(n, n)), []byte(before[packName(n, n)]), 0o600))
	}
	f := verified(t, root)
	if !f.Clean() || len(f.Notes) != 3 || f.Steps != gatherAt {
		t.Errorf("Verify = %+v", f)
	}
	d, err = openDir(root, DirOptions{}, unsynced)
	must(t, err)
	defer d.Close()
	_, err = Prune(t.Context(), d, "s", PruneOptions{Keep: 100})
	must(t, err)
	if f := verified(t, root); !f.Clean() || len(f.Notes) > 0 {
		t.Errorf("Verify after prune = %+v", f)
	}
}

// Steps that an interrupted process had merged into one file are not merged into a
// second one.
func TestInterruptedGatheringGoesOn(t *testing.T) {
	root := t.TempDir()
	d, err := openDir(root, DirOptions{}, unsynced)
	must(t, err)
	longSession(t, d, gatherAt-1)
	folder := filepath.Join(root, "s")
	before := filesIn(t, folder)
	longSessionOn(t, d, gatherAt)
	must(t, d.Close())
	for n := 1; n < gatherAt; n++ { // as before any removal
		must(t, os.WriteFile(filepath.Join(folder, packName(n, n)), []byte(before[packName(n, n)]), 0o600))
	}
	d, err = openDir(root, DirOptions{}, unsynced)
	must(t, err)
	longSessionOn(t, d, gatherAt+1)
	must(t, d.Close())
	packs, err := filepath.Glob(filepath.Join(folder, "steps-*"))
	must(t, err)
	want := []string{filepath.Join(folder, packName(1, gatherAt)), filepath.Join(folder, packName(gatherAt+1, gatherAt+1))}
	if f := verified(t, root); !f.Clean() || f.Steps != gatherAt+1 || !slices.Equal(packs, want) {
		t.Errorf("%v: %+v", packs, f)
	}
}

func longSessionOn(t *testing.T, d *Dir, n int) {
	t.Helper()
	must(t, d.Put(context.Background(), refer(n, []string{"r1"}, "last")))
}

func openDir(root string, o DirOptions, disk disk) (*Dir, error) {
	return openDirContext(context.Background(), root, o, disk)
}
