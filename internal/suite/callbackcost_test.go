package suite

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tiercompact "github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/summarize"
)

// A put that hangs costs one deadline, however many messages arrive meanwhile.
func TestAPutThatHangsCostsOneDeadline(t *testing.T) {
	if _, err := tiercompact.New(tiercompact.Config{Window: 1000}); err != nil { // loads what is shared by all
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		x := &trouble{release: make(chan struct{})}
		cfg := tiercompact.Config{Window: 2000, Count: quarter, Archive: troubledStore{archive.NewMemory(), x}}
		s := start(t, cfg)
		if err := s.Load(working(14, 200)); err != nil {
			t.Fatal(err)
		}
		x.set("Archive.Put", hangs)
		began := time.Now()
		for i := range 100 {
			_, err := s.AddMessage(t.Context(), said(chat.Assistant, 10, i))
			if e, ok := errors.AsType[*tiercompact.CallbackError](err); !ok || e.Callback != "Archive" {
				t.Fatalf("message %d: %v", i, err)
			}
		}
		if took, most := time.Since(began), 61*time.Second; took > most || x.calls() != 1 {
			t.Errorf("100 messages took %s, the archive was called %d times", took, x.calls())
		}
		x.set("", "")
		x.free()
		synctest.Wait()
		if r, err := s.Compact(t.Context(), ""); err != nil || !r.Compacted() {
			t.Errorf("when the archive is back: %s, %v", r.Reason, err)
		}
	})
}

// A picky store rejects steps above a number of messages.
type picky struct {
	archive.Store
	most int
}

func (p picky) Put(ctx context.Context, s archive.Step) error {
	if len(s.Before) == p.most {
		return fmt.Errorf("%d messages are too large for this store", p.most)
	}
	return p.Store.Put(ctx, s)
}

// A step that can never be written does not block others.
func TestARefusedStepDoesNotBlockCompaction(t *testing.T) {
	store := archive.NewMemory()
	s := start(t, tiercompact.Config{Window: 2000, Count: quarter, Archive: picky{store, 60}})
	in := working(14, 200)
	if err := s.Load(in); err != nil {
		t.Fatal(err)
	}
	var added []string
	refused, made := 0, -1
	for i := 0; i < 20 && made < 0; i++ {
		m := said(chat.Assistant, 10, i)
		added = append(added, m.Text())
		if len(s.Messages()) < 59 {
			if err := s.Load([]chat.Message{m}); err != nil {
				t.Fatal(err)
			}
			continue
		}
		r, err := s.AddMessage(t.Context(), m)
		switch {
		case err != nil && strings.Contains(err.Error(), "too large for this store"):
			refused++
		case err != nil:
			t.Fatal(err)
		case r.Compacted():
			made = i
		}
	}
	if made < 0 || refused != 3 { // the message itself, and two that the archive is left out for
		t.Errorf("refused %d times, made at message %d", refused, made)
	}
	checkAllThere(t, store, s.Messages(), added)
}

func TestImpossibleTokenCountsAreNotObserved(t *testing.T) {
	s := start(t, tiercompact.Config{Window: 8192, Count: quarter})
	fill(t, s, 1000)
	for _, n := range []int{1 << 40, math.MaxInt, 8193, 0, -1, math.MinInt} {
		before := s.Usage()
		if sample := s.Observe(n); sample.Taken || sample.Reason == "" || s.Usage() != before {
			t.Errorf("%d: %+v, %+v", n, sample, s.Usage())
		}
	}
	if sample := s.Observe(1100); !sample.Taken {
		t.Errorf("a count that is possible: %+v", sample)
	}
	for _, n := range []int{math.MaxInt, math.MinInt, -5} {
		if _, err := s.MakeRoom(t.Context(), n); err != nil {
			t.Errorf("room for %d: %v", n, err)
		}
	}
}

// BenchmarkCallbacks measures the cost of guards: a session with a Count, and one with all
// other callbacks as well.
func BenchmarkCallbacks(b *testing.B) {
	x := &trouble{release: make(chan struct{})}
	all := x.config(b, archive.NewMemory())
	all.Window, all.Archive = 1<<20, nil
	for name, cfg := range map[string]tiercompact.Config{
		"none": {Window: 1 << 20}, "count": {Window: 1 << 20, Count: quarter}, "all": all,
	} {
		b.Run(name, func(b *testing.B) {
			c, err := tiercompact.New(cfg)
			if err != nil {
				b.Fatal(err)
			}
			s := c.Session("x")
			m := chat.NewText(chat.User, "a short message of some words")
			for b.Loop() {
				_, _ = s.AddMessage(b.Context(), m)
			}
		})
	}
}

// A typedNil is an error that panics when its text is read, as a nil pointer in an error does.
type typedNil struct{ text string }

func (e *typedNil) Error() string { return e.text }

type givesTypedNil struct{ archive.Store }

func (givesTypedNil) Summarize(context.Context, summarize.Request) (string, error) {
	var err *typedNil
	return "", err
}

func (givesTypedNil) Embed(context.Context, []string) ([][]float32, error) {
	var err *typedNil
	return nil, err
}

func (givesTypedNil) Put(context.Context, archive.Step) error {
	var err *typedNil
	return err
}

// The text of an error is a callback, too.
func TestAnErrorThatPanicsLeavesASessionUsable(t *testing.T) {
	store := archive.NewMemory()
	for name, cfg := range map[string]tiercompact.Config{
		"Summarizer": {Summary: tiercompact.SummaryConfig{Summarizer: givesTypedNil{}, Name: "m"}},
		"Embedder":   {Embed: tiercompact.EmbedConfig{Embedder: givesTypedNil{}, Name: "e"}},
		"Archive":    {Archive: givesTypedNil{store}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg.Window, cfg.Count = 4000, quarter
			s := start(t, cfg)
			if err := s.Load(working(14, 200)); err != nil {
				t.Fatal(err)
			}
			for _, level := range []levels.Name{levels.HardName, levels.Emergency} {
				_, err := s.CompactLevel(t.Context(), level)
				if name == "Archive" == (err == nil) {
					t.Errorf("%s: %v", level, err)
				}
			}
			n := len(s.Messages())
			if r, err := s.AddMessage(t.Context(), said(chat.User, 10, 1)); name != "Archive" && err != nil || r.Message == "" || len(s.Messages()) != n+1 {
				t.Errorf("the next message: %v", err)
			}
		})
	}
}
