package suite

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	tiercompact "github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/levels"
)

// All invariants hold, whichever callbacks fail, in any order and way.
func TestCallbacksThatFailAtRandom(t *testing.T) {
	if _, err := tiercompact.New(tiercompact.Config{Window: 1000}); err != nil { // loads what is shared by all
		t.Fatal(err)
	}
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { failAtRandom(t, seed) })
		})
	}
}

func failAtRandom(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 3))
	x := &trouble{release: make(chan struct{})}
	store := archive.NewMemory()
	cfg := x.config(t, store)
	cfg.Preset = []tiercompact.Preset{tiercompact.Default, tiercompact.Eager, tiercompact.Steady}[seed%3]
	cfg.ArchiveOptional, cfg.Redact.Prompts = seed%4 == 0, seed%5 == 0
	s := newSession(t, cfg)
	file := filepath.Join(t.TempDir(), "x.session")
	f, err := archive.CreateSession(file, archive.Meta{Session: "x"})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := s.Record(troubledFile{f, x}); err != nil {
		t.Fatal(err)
	}
	all := callbacks()
	call := &caller{t: t}
	var in chat.Transcript
	for i := range 80 {
		switch random.IntN(8) {
		case 0:
			c := all[random.IntN(len(all))]
			x.set(c.name, []string{hangs, dawdles, panics, ends, errs, isAbsurd}[random.IntN(6)])
		case 1:
			x.set("", "")
		case 2:
			x.free()
		}
		// Callbacks that hung before are not called again, so each passed deadline belongs to a
		// new failure.
		call.within = archiveDeadline
		in = append(in, failStep(t, s, call, random, i)...)
		now := s.Messages()
		if calls, results := orphans(now); calls+results > 0 {
			t.Fatalf("step %d: %d calls and %d results without partner", i, calls, results)
		}
	}
	x.set("", "")
	x.free()
	time.Sleep(2 * time.Hour)
	synctest.Wait()
	recovers(t, s, call)
	var added []string
	for _, m := range in {
		added = append(added, m.Text())
	}
	checkAllThere(t, store, s.Messages(), added)
	st, err := archive.ReadSession(file)
	if err != nil {
		t.Fatal(err)
	}
	same(t, 0, st.Messages, s.Messages())
}

// failStep performs one operation on a session, and returns the messages that it added.
func failStep(t *testing.T, s *tiercompact.Session, call *caller, random *rand.Rand, i int) (in chat.Transcript) {
	messages := s.Messages()
	switch n := random.IntN(16); n {
	case 0:
		call.call("Undo", func() (tiercompact.Report, error) { return s.Undo(t.Context()) })
	case 1:
		call.call("Compact", func() (tiercompact.Report, error) { return s.Compact(t.Context(), "") })
	case 2:
		level := []levels.Name{levels.SoftName, levels.HardName, levels.Emergency}[random.IntN(3)]
		call.call("CompactLevel", func() (tiercompact.Report, error) { return s.CompactLevel(t.Context(), level) })
	case 3:
		call.call("Preflight", func() (tiercompact.Report, error) { return s.Preflight(t.Context()) })
	case 4:
		call.call("Search", func() (tiercompact.Report, error) {
			_, err := s.Search(t.Context(), "bug", 2)
			return tiercompact.Report{}, err
		})
	case 5:
		if len(messages) > 0 && random.IntN(3) == 0 {
			call.call("Protect", func() (tiercompact.Report, error) {
				return tiercompact.Report{}, s.Protect(messages[random.IntN(len(messages))].ID)
			})
		}
	case 6, 7:
		in = readOf(fmt.Sprint("r", i), fmt.Sprintf("f%d.go", i%4), 150)
	default:
		in = chat.Transcript{said([]chat.Role{chat.User, chat.Assistant}[n%2], 20+random.IntN(100), i)}
	}
	for _, m := range in {
		before := len(s.Messages())
		r, err := call.call("AddMessage", func() (tiercompact.Report, error) { return s.AddMessage(t.Context(), m) })
		if r.Message == "" || !r.Compacted() && len(s.Messages()) != before+1 {
			t.Fatalf("step %d: the message is not in the conversation: %v", i, err)
		}
	}
	return in
}
