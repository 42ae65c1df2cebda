package archive

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
)

var (
	seeds     = flag.Int("seeds", 12, "how many random histories TestRandomDamageIsFound and TestRandomSessionFile have")
	firstSeed = flag.Int("first-seed", 0, "seed of the first one of TestRandomDamageIsFound")
)

// TestRandomDamageIsFound makes sessions in a folder by random operations, with
// restarts, full disks and interrupted removals, and then removes, replaces, cuts
// and flips their files. Damage is found, undamaged steps stay readable, every text
// that is read equals the written one, and prune changes nothing that a damage concerns.
func TestRandomDamageIsFound(t *testing.T) {
	for seed := *firstSeed; seed < *firstSeed+*seeds; seed++ {
		r := &randomSession{T: t, seed: seed, Rand: rand.New(rand.NewPCG(uint64(seed), 9)), root: t.TempDir(), steps: make(map[int]Step)}
		r.disk.left = 1 << 30
		r.open()
		for range 15 + r.IntN(60) {
			r.operate()
		}
		r.checkWhole()
		r.damageAndCheck()
		must(t, r.store.Close(), os.RemoveAll(r.root))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// A randomSession knows the expected content of a store.
type randomSession struct {
	*testing.T
	*rand.Rand
	seed   int
	root   string
	disk   fullAfter
	store  *Dir
	now    chat.Transcript
	steps  map[int]Step // the steps put and not pruned
	last   int
	texts  int
	events int
	said   []string // the operations so far
}

func (r *randomSession) open() {
	r.Helper()
	d, err := openDir(r.root, DirOptions{}, r.disk.open)
	must(r.T, err)
	r.store = d
}

func (r *randomSession) folder() string { return filepath.Join(r.root, "s") }

func (r *randomSession) operate() {
	kind := r.IntN(20)
	r.said = append(r.said, fmt.Sprint(kind))
	switch {
	case kind < 9:
		r.round()
	case kind < 11:
		r.undo()
	case kind == 11:
		r.prune()
	case kind == 12:
		must(r.T, r.store.Close())
		r.open()
	case kind == 13: // the disk is temporarily full
		r.disk.left = r.IntN(3000)
		r.round()
		r.disk.left = 1 << 30
	case kind < 16:
		if r.store.Event(r.Context(), "s", fmt.Appendf(nil, `{"n":%d,"text":%q}`, r.events, strings.Repeat("x", r.IntN(20_000)))) == nil {
			r.events++
		}
	default:
		r.readOne()
	}
}

// add adds messages, some with a shared source.
func (r *randomSession) add() {
	var source *chat.Source
	for range 1 + r.IntN(6) {
		r.texts++
		m := text(fmt.Sprint(r.texts))
		m.Parts[0].Text = fmt.Sprintf("text %d of seed %d: %s", r.texts, r.seed, noise(r.texts, r.IntN(6000)))
		switch r.IntN(4) {
		case 0:
			source = &chat.Source{Format: "openai", JSON: fmt.Sprintf(`{"content":%q}`, m.Parts[0].Text), Count: 1}
			m.Source = source
		case 1:
			m.Source, m.Index = source, 1
		case 2:
			m.Parts[0].Text += "\xff"
		}
		r.now = append(r.now[:len(r.now):len(r.now)], m)
	}
}

func (r *randomSession) round() {
	r.add()
	n := r.last + 1
	gone := r.IntN(len(r.now) + 1)
	id := fmt.Sprintf("r%d.%d", r.seed, n)
	s := Step{
		Session: "s", Number: n, Before: r.now, Time: noon, Level: "hard", Note: noise(n, 20),
		Removed: []Entry{{ID: id, Messages: slices.Clone(r.now[:gone]), Below: recallIDs(r.now[:gone])}},
		Edits:   edit.Round{Seen: len(r.now), Sum: edit.Sum(r.now), Steps: [][]edit.Edit{{{End: gone, New: []chat.Message{marker(id)}, Why: "old"}}}},
	}
	if r.IntN(2) == 0 {
		s.Summary = fmt.Appendf(nil, `{"goal":"%d"}`, n)
	}
	if r.put(s) {
		after, _, err := applyRound(r.now, s.Edits.Steps)
		must(r.T, err)
		r.now = after
	}
}

func (r *randomSession) put(s Step) bool {
	r.Helper()
	err := r.store.Put(r.Context(), s)
	infos, listErr := r.store.Steps(r.Context(), "s")
	must(r.T, listErr)
	if there := len(infos) > 0 && infos[len(infos)-1].Number == s.Number; there != (err == nil) {
		r.Errorf("seed %d: step %d is there: %v, Put: %v", r.seed, s.Number, there, err)
	}
	if err == nil {
		r.steps[s.Number], r.last = s, s.Number
	}
	return err == nil
}

func (r *randomSession) undo() {
	done, err := Undo(r.Context(), r.store, "s", r.now)
	if errors.Is(err, ErrNotFound) {
		return
	}
	must(r.T, err)
	want := r.steps[done.Round.Number]
	if edit.Sum(done.Messages[:len(want.Before)]) != edit.Sum(want.Before) {
		r.Errorf("seed %d: undo of %d gives another conversation", r.seed, done.Round.Number)
	}
	if r.put(Step{Session: "s", Number: r.last + 1, Before: r.now, Undoes: done.Round.Number, Time: noon}) {
		r.now = done.Messages
	}
}

func (r *randomSession) prune() {
	p, err := Prune(r.Context(), r.store, "s", PruneOptions{Keep: 1 + r.IntN(5), Force: r.IntN(4) == 0})
	must(r.T, err)
	for _, s := range p.Steps {
		delete(r.steps, s.Number)
	}
}

func (r *randomSession) readOne() {
	if r.last == 0 {
		return
	}
	n := 1 + r.IntN(r.last)
	want, there := r.steps[n]
	got, err := r.store.Get(r.Context(), "s", n)
	if !there && !errors.Is(err, ErrNotFound) || there && (err != nil || !sameStep(got, want)) {
		r.Errorf("seed %d: step %d, there %v: %v", r.seed, n, there, err)
	}
}

// checkWhole checks that everything is there and undamaged.
func (r *randomSession) checkWhole() {
	r.Helper()
	f, err := Verify(r.Context(), r.store, "s")
	if err != nil || !f.Clean() || f.Steps != len(r.steps) || f.Events != r.events {
		r.Errorf("seed %d, %v: Verify = %+v, %v; want %d steps, %d events", r.seed, r.said, f, err, len(r.steps), r.events)
	}
	r.checkSteps(nil)
}

// checkSteps checks that each step and entry is read as it was put, or is an error.
// The steps for which safe reports true must be there; nil: all.
func (r *randomSession) checkSteps(safe func(n int) bool) (readable map[int]bool) {
	r.Helper()
	readable = make(map[int]bool)
	for n, want := range r.steps {
		got, err := r.store.Get(r.Context(), "s", n)
		readable[n] = err == nil
		if err == nil && !sameStep(got, want) {
			r.Errorf("seed %d: step %d comes back as %+v, want %+v", r.seed, n, got, want)
		}
		if err != nil && (safe == nil || safe(n)) {
			r.Errorf("seed %d: step %d: %v", r.seed, n, err)
		}
		for _, e := range want.Removed {
			got, recallErr := r.store.Recall(r.Context(), "s", e.ID)
			if recallErr == nil && !reflect.DeepEqual(got, e) {
				r.Errorf("seed %d: entry %s comes back as %+v, want %+v", r.seed, e.ID, got, e)
			}
			if err == nil && recallErr != nil {
				r.Errorf("seed %d: step %d can be read, and its entry %s not: %v", r.seed, n, e.ID, recallErr)
			}
		}
	}
	return readable
}

// damageAndCheck damages one to three files.
func (r *randomSession) damageAndCheck() {
	if len(r.steps) == 0 {
		return
	}
	places := r.places()
	hurt := make(map[string]string)
	for range 1 + r.IntN(3) {
		name, how := r.damage(hurt)
		if name != "" {
			hurt[name] = how
		}
	}
	f, err := Verify(r.Context(), r.store, "s")
	must(r.T, err)
	left := nothingLeft(filesIn(r.T, r.folder()))
	safe := func(n int) bool { return places.readable(n, hurt) }
	readable := r.checkSteps(safe)
	for name, how := range hurt {
		found := slices.ContainsFunc(f.Damages, func(d *Damage) bool { return filepath.Base(d.File) == name || d.Step > 0 })
		lost := slices.ContainsFunc(slices.Collect(mapKeys(r.steps)), func(n int) bool { return !readable[n] })
		if left || hurt[sessionFile] != "" {
			found = len(f.Damages) > 0 // the damage may hide which steps there were
		}
		if !found && (lost || how != "removed") {
			r.Errorf("seed %d: %s was %s, and verify finds %v", r.seed, name, how, f.Damages)
		}
	}
	if left {
		return
	}
	newest := 0 // the newest readable one: if session.json is gone too, later ones are unknown
	for n := range r.steps {
		if readable[n] {
			newest = max(newest, n)
		}
	}
	for n := range r.steps {
		if hurt[sessionFile] != "" && n > newest {
			continue // session.json is found, above
		}
		if !readable[n] && !slices.ContainsFunc(f.Damages, func(d *Damage) bool { return d.Step == n }) {
			r.Errorf("seed %d: %v; step %d cannot be read, and verify finds %v", r.seed, hurt, n, f.Damages)
		}
	}
	r.checkPrune(f, readable, hurt)
	r.checkGoesOn(hurt)
}

// nothingLeft reports whether every file is gone that names the steps.
func nothingLeft(files map[string]string) bool {
	for name := range files {
		if _, _, ok := packNumbers(name); ok || name == sessionFile {
			return false
		}
	}
	return true
}

func mapKeys[V any](m map[int]V) func(func(int) bool) {
	return func(yield func(int) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// damage damages an undamaged file, and returns its name and the damage. Events are
// left alone, because they have no hashes.
func (r *randomSession) damage(hurt map[string]string) (name, how string) {
	files := filesIn(r.T, r.folder())
	var names []string
	for name := range files {
		_, old := eventsNumber(name)
		_, _, packedEvents := oldEventsNumbers(name)
		if !old && !packedEvents && hurt[name] == "" {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "", ""
	}
	slices.Sort(names)
	name = names[r.IntN(len(names))]
	path, b := filepath.Join(r.folder(), name), []byte(files[name])
	other := []byte(files[names[r.IntN(len(names))]])
	switch kind := r.IntN(4); {
	case kind == 0 && name != prunedFile:
		must(r.T, os.Remove(path))
		return name, "removed"
	case kind == 1 && !bytes.Equal(b, other):
		must(r.T, os.WriteFile(path, other, 0o600))
		return name, "replaced"
	case kind == 2:
		must(r.T, os.WriteFile(path, b[:r.IntN(len(b))], 0o600))
		return name, "cut"
	}
	b[r.IntN(len(b))] ^= 1 << r.IntN(8)
	must(r.T, os.WriteFile(path, b, 0o600))
	return name, "flipped"
}

// filePlaces are the files that each step needs.
type filePlaces struct {
	own   map[int]string
	items map[int][]int
	files map[int][]string // with an item
}

func (r *randomSession) places() filePlaces {
	p := filePlaces{own: make(map[int]string), items: make(map[int][]int), files: make(map[int][]string)}
	v, err := r.store.storeReader().packs(r.Context(), "s")
	must(r.T, err)
	defer v.close()
	for _, b := range slices.Concat(v.blocks, v.again) {
		text, err := b.file.text(b.frame)
		must(r.T, err, decodeBlock(text, "s", func(n int, _ []byte) { p.files[n] = append(p.files[n], b.file.name) }))
	}
	for n := range r.steps {
		h, err := v.header(n)
		must(r.T, err)
		body, err := v.body(h)
		must(r.T, err)
		p.own[n] = v.fileOf(n)
		add := func(refs *refs) {
			if refs == nil {
				return
			}
			for i := range refs.Items.all() {
				x, _, err := v.item(i)
				must(r.T, err)
				p.items[n] = append(p.items[n], i)
				if x.From > 0 {
					p.items[n] = append(p.items[n], x.From)
				}
			}
		}
		add(body.Before)
		for _, e := range body.entries {
			add(e.Messages)
		}
		for _, edits := range body.Steps {
			for _, e := range edits {
				add(e.New)
			}
		}
	}
	return p
}

// readable reports whether step n needs none of the damaged files.
func (p filePlaces) readable(n int, hurt map[string]string) bool {
	if hurt[p.own[n]] != "" {
		return false
	}
	for _, item := range p.items[n] {
		if !slices.ContainsFunc(p.files[item], func(name string) bool { return hurt[name] == "" }) {
			return false
		}
	}
	return true
}

// checkPrune checks that prune without force leaves everything that a damage concerns.
func (r *randomSession) checkPrune(f Findings, readable map[int]bool, hurt map[string]string) {
	before := filesIn(r.T, r.folder())
	p, err := Prune(r.Context(), r.store, "s", PruneOptions{Keep: 1})
	if err != nil && !unreadable(err) {
		r.Errorf("seed %d: Prune: %v", r.seed, err)
	}
	for _, s := range p.Steps {
		if slices.ContainsFunc(f.Damages, func(d *Damage) bool { return d.Step == s.Number }) || !readable[s.Number] {
			r.Errorf("seed %d: %v; prune removed step %d", r.seed, hurt, s.Number)
		}
		delete(r.steps, s.Number)
	}
	after := filesIn(r.T, r.folder())
	lost := len(readable) > 0 && slices.ContainsFunc(slices.Collect(mapKeys(r.steps)), func(n int) bool { return !readable[n] })
	for name, how := range hurt {
		if lost && before[name] != after[name] {
			r.Errorf("seed %d: prune changed %s, which was %s", r.seed, name, how)
		}
	}
	r.checkSteps(func(n int) bool { return readable[n] })
}

// checkGoesOn checks that the session continues. If its records are damaged, the
// error must give a remedy instead.
func (r *randomSession) checkGoesOn(hurt map[string]string) {
	must(r.T, r.store.Close())
	r.open()
	infos, err := r.store.Steps(r.Context(), "s")
	must(r.T, err)
	r.add()
	s := Step{Session: "s", Number: Next(infos), Before: r.now, Time: noon, Level: "soft"}
	err = r.store.Put(r.Context(), s)
	if err != nil && (hurt[sessionFile] == "" || !strings.Contains(err.Error(), "remove")) {
		r.Errorf("seed %d: %v; the next step %d: %v", r.seed, hurt, s.Number, err)
	}
	if err != nil {
		return
	}
	got, err := r.store.Get(r.Context(), "s", s.Number)
	if err != nil || !sameStep(got, s) {
		r.Errorf("seed %d: %v; the next step comes back as %+v, %v", r.seed, hurt, got, err)
	}
}
