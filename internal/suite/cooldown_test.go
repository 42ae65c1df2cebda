package suite

import (
	"context"
	"testing"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/levels"
)

func TestCooldownSaysWhatTheNextCheckDoes(t *testing.T) {
	c, err := tiercompact.New(tiercompact.Config{Window: 20000})
	if err != nil {
		t.Fatal(err)
	}
	s, ctx := c.Session("s"), context.Background()
	want := func(when string, want int) {
		t.Helper()
		if left, of := s.Cooldown(); left != want || of != 2 {
			t.Errorf("%s: %d of %d, want %d of 2", when, left, of, want)
		}
	}
	want("before a compaction", 0)
	for i := range 30 {
		if _, err := s.AddMessage(ctx, said([]chat.Role{chat.User, chat.Assistant}[i%2], 300, i)); err != nil {
			t.Fatal(err)
		}
	}
	if r, err := s.CompactLevel(ctx, levels.SoftName); err != nil || r.Compacted() {
		t.Fatalf("soft without a file: %+v, %v", r.Applied, err)
	}
	want("a level that had nothing to offer", 0)
	if r, err := s.CompactLevel(ctx, levels.Emergency); err != nil || !r.Compacted() {
		t.Fatalf("nothing was compacted: %s, %v", r.Reason, err)
	}
	want("after a compaction", 2)
	for i, left := range []int{1, 0, 0} {
		if _, err := s.AddMessage(ctx, said(chat.User, 10, 40+i)); err != nil {
			t.Fatal(err)
		}
		want("after a message", left)
	}
	if _, err := s.Undo(ctx); err != nil {
		t.Fatal(err)
	}
	want("after an undo", 2)
}

func TestZeroReportHasNoCompaction(t *testing.T) {
	c, err := tiercompact.New(tiercompact.Config{Window: 8192})
	if err != nil {
		t.Fatal(err)
	}
	s := c.Session("s")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var zero tiercompact.Report
	if r, err := s.AddMessage(context.Background(), chat.NewText(chat.User, "hello")); err == nil || r.Compacted() != zero.Compacted() || r.FirstChanged != zero.FirstChanged || r.Picked != zero.Picked {
		t.Errorf("%+v, %v", r, err)
	}
}
