package archive

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
)

// TestRandomSessionFile checks, for random operations on a session file with
// failing writes, kills and restarts, while another program removes, replaces, cuts
// and flips the file: every acknowledged record is read, or an error reported its loss.
func TestRandomSessionFile(t *testing.T) {
	skipOnWindows(t)
	var all randomCounts
	for seed := range *seeds {
		h := &history{T: t, seed: seed, r: rand.New(rand.NewPCG(uint64(seed), 7)), store: NewMemory(), disk: &fullAfter{left: plenty}}
		h.path = filepath.Join(t.TempDir(), "s.jsonl")
		h.run()
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
		all.add(h.randomCounts)
	}
	t.Logf("%d seeds: %+v", *seeds, all)
	if *seeds >= 30 && (all.Refused == 0 || all.Meddled == 0 || all.Restored == 0 || all.Recovered == 0 || all.Whole == 0) {
		t.Errorf("something never happened: %+v", all)
	}
}

type randomCounts struct {
	Done, Refused       int // operations
	Meddled, Restored   int // changes from outside, rewritten files
	Restarts, Whole     int // of those without damage
	Recovered, FromArch int // damaged files; the ones completed from the archive
	Missing, Gone       int // messages that a recovery reported as missing; missing files
}

func (c *randomCounts) add(o randomCounts) {
	c.Done, c.Refused, c.Meddled, c.Restored = c.Done+o.Done, c.Refused+o.Refused, c.Meddled+o.Meddled, c.Restored+o.Restored
	c.Restarts, c.Whole, c.Recovered, c.FromArch = c.Restarts+o.Restarts, c.Whole+o.Whole, c.Recovered+o.Recovered, c.FromArch+o.FromArch
	c.Missing, c.Gone = c.Missing+o.Missing, c.Gone+o.Gone
}

const plenty = 1 << 30

// A history is one random session, and its expected state.
type history struct {
	*testing.T
	seed  int
	r     *rand.Rand
	path  string
	store *Memory
	disk  *fullAfter
	f     *SessionFile
	n     int // messages made
	steps int // of the archive
	now   chat.Transcript
	made  []madeRound
	randomCounts
}

// A madeRound is a round that was acknowledged.
type madeRound struct {
	before chat.Transcript
	after  int
}

func (h *history) run() {
	h.create()
	for range 80 {
		switch n := h.r.IntN(20); {
		case n < 1:
			h.restart()
		case n < 3:
			h.meddle()
		case n < 5:
			h.disk.left = h.r.IntN(600)
		case n < 7:
			h.disk.left = plenty
		default:
			h.operate()
		}
		if h.Failed() {
			return
		}
	}
	h.restart()
	_ = h.f.Close()
}

func (h *history) create() {
	h.disk.left = plenty
	f, err := createSession(h.path, Meta{Session: "s"}, h.disk.open)
	must(h.T, err)
	h.f, h.now, h.made = f, nil, nil
}

// operate makes one change, and remembers it if it was acknowledged.
func (h *history) operate() {
	var err error
	after, made := slices.Clone(h.now), slices.Clone(h.made)
	switch n := h.r.IntN(12); {
	case n < 6:
		m := h.message()
		after = append(after, m)
		err = h.f.Append(m)
	case n < 7:
		more := []chat.Message{h.message(), h.message()}
		after = append(after, more...)
		err = h.f.Load(more)
	case n < 9 && len(after) > 3:
		start := h.r.IntN(len(after) - 2)
		round := replace(h.steps+1, start, start+1+h.r.IntN(len(after)-start-1), h.message())
		round.Edits.Seen, round.Edits.Sum = len(after), edit.Sum(after)
		must(h.T, h.store.Put(h.Context(), Step{Session: "s", Number: round.Number, Before: h.now, Edits: round.Edits, Time: noon}))
		h.steps++
		after, _, err = applyRound(h.now, round.Edits.Steps)
		must(h.T, err)
		made = append(made, madeRound{h.now, len(after)})
		err = h.f.Round(round)
	case n < 10 && len(made) > 0:
		last := made[len(made)-1]
		after = append(slices.Clone(last.before), after[last.after:]...)
		made = made[:len(made)-1]
		err = h.f.Undo(noon)
		if errors.Is(err, ErrNotFound) { // a file that was cut gave it up; a real session would write everything again
			h.made = nil
		}
	case n < 11 && len(after) > 0:
		i := h.r.IntN(len(after))
		after[i].Protected = true
		err = h.f.Set(i, after[i])
	default:
		keep := len(after) - min(len(after), h.r.IntN(2))
		for i := len(made) - 1; i >= 0; i-- {
			if made[i].after > keep {
				made = made[i+1:]
				break
			}
		}
		after = after[:keep]
		err = h.f.Cut(keep)
	}
	for _, r := range h.f.Restorations() {
		h.Restored++
		if r.Rounds > 0 {
			made = made[min(len(made), r.Rounds):]
		}
	}
	if err != nil {
		h.Refused++
		return
	}
	h.Done++
	h.now, h.made = after, made
}

func (h *history) message() chat.Message {
	h.n++
	return text(fmt.Sprint("n", h.n))
}

// meddle changes the file as another program may.
func (h *history) meddle() {
	h.Meddled++
	names := slices.Sorted(maps.Keys(meddling))
	if n := h.r.IntN(len(names) + 4); n < len(names) {
		_ = meddling[names[n]](h.path) // it may be gone already
		return
	}
	b, err := os.ReadFile(h.path)
	if err != nil || len(b) == 0 {
		return
	}
	for range 1 + h.r.IntN(2) {
		b[h.r.IntN(len(b))] ^= 1 << h.r.IntN(8)
	}
	if f, err := os.OpenFile(h.path, os.O_WRONLY, 0); err == nil {
		_, err = f.WriteAt(b, 0)
		must(h.T, err, f.Close())
	}
}

// restart closes or kills the process with the file, and opens the file again.
func (h *history) restart() {
	h.Restarts++
	told := false // an error has reported a loss
	if h.r.IntN(2) == 0 {
		told = h.f.Close() != nil
	} else {
		must(h.T, h.f.file.Close(), h.f.hold.release())
	}
	h.disk.left = plenty
	if h.r.IntN(3) == 0 {
		h.meddle()
	}
	f, s, err := openSession(h.path, h.disk.open)
	switch {
	case err == nil:
		h.Whole++
		if got, want := ids(s.Messages), ids(h.now); got != want && !told {
			h.Errorf("seed %d: it is read in silence as\n%s\nand is\n%s", h.seed, got, want)
		}
		for i, m := range s.Messages {
			if i < len(h.now) && !edit.Same(m, text(m.ID)) && !told {
				h.Errorf("seed %d: message %s says %q", h.seed, m.ID, m.Text())
			}
		}
		h.goOn(f, s)
	case errors.Is(err, ErrDamaged):
		h.recover()
	default: // it is gone, a folder, or a link to nothing
		must(h.T, os.RemoveAll(h.path))
		h.Gone++
		h.create()
	}
}

// recover opens a damaged file, and checks that each message is there, or is
// counted as missing.
func (h *history) recover() {
	f, s, r, err := recoverSession(h.Context(), h.path, h.store, h.disk.open)
	if err != nil { // no record is left
		must(h.T, os.RemoveAll(h.path))
		h.Gone++
		h.create()
		return
	}
	h.Recovered++
	there := make(map[string]bool)
	for _, m := range s.Messages {
		there[m.ID] = true
		if !edit.Same(m, text(m.ID)) {
			h.Errorf("seed %d: message %s says %q", h.seed, m.ID, m.Text())
		}
	}
	for n := range h.steps {
		step, err := h.store.Get(h.Context(), "s", n+1)
		must(h.T, err)
		for _, m := range step.Before {
			there[m.ID] = true
		}
		for _, m := range step.Edits.Steps[0][0].New {
			there[m.ID] = true
		}
	}
	missing, most, lost := 0, 0, r.Lost()
	for _, m := range h.now {
		if !there[m.ID] {
			missing++
		}
	}
	for _, d := range lost {
		most += 2 // a record of a snapshot or a round may hold more
		most += 2 * max(0, d.Until-d.Record)
		if d.Record == 0 {
			most = plenty
		}
	}
	if missing > most {
		h.Errorf("seed %d: %d messages are missing, and %d may be by what is told: %v", h.seed, missing, most, r.Damages)
	}
	if h.Missing += missing; len(lost) == 0 {
		h.FromArch++
	}
	h.goOn(f, s)
}

// goOn continues with an opened file.
func (h *history) goOn(f *SessionFile, s State) {
	h.f, h.now, h.made = f, s.Messages, nil
	t := s.Messages
	for _, r := range slices.Backward(s.Rounds) {
		before, _, err := applyRound(t, r.Inverse)
		must(h.T, err)
		h.made = append(h.made, madeRound{before[:r.after+len(before)-len(t)], r.after})
		t = before
	}
	slices.Reverse(h.made)
}
