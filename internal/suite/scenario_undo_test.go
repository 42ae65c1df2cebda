package suite

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	tiercompact "github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/wire"
)

// bytesOf is a conversation as it is written.
func bytesOf(t *testing.T, s *tiercompact.Session) string {
	t.Helper()
	return written(t, wire.Conversation{}, s.Messages(), "openai") + fmt.Sprint(ids(s.Messages()))
}

func undone(t *testing.T, s *tiercompact.Session) tiercompact.Report {
	t.Helper()
	r, err := s.Undo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// What undo brings back after each level is in restart_test.go.

func TestUndoStartsTheCooldownAndWarnsOfTheThreshold(t *testing.T) {
	s := loaded(t, tiercompact.Config{Window: 10000}, turns("", 20, 195)...)
	if r := add(t, s, said(chat.User, 100, 1)); r.Picked != levels.HardName || !r.Compacted() {
		t.Fatalf("picked %s, %q", r.Picked, r.Reason)
	}
	for i := range 3 { // behind which the cooldown of the round itself is over
		if r := add(t, s, said([]chat.Role{chat.Assistant, chat.User}[i%2], 20, 10+i)); r.Compacted() {
			t.Fatalf("message %d: %v", i+1, applied(r))
		}
	}
	if r := undone(t, s); len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "80 %") || r.Usage.Share < 0.75 {
		t.Errorf("warnings %q at %.2f", r.Warnings, r.Usage.Share)
	}
	for i, compacts := range []bool{false, false, true} {
		if r := add(t, s, said([]chat.Role{chat.User, chat.Assistant}[i%2], 50, 2+i)); r.Compacted() != compacts || !compacts && r.Reason != tiercompact.InCooldown {
			t.Errorf("message %d after the undo: %v, %q", i+1, applied(r), r.Reason)
		}
	}
	low := loaded(t, tiercompact.Config{Window: 100000}, turns("", 20, 195)...)
	compactTo(t, low, levels.Emergency)
	if r := undone(t, low); len(r.Warnings) > 0 {
		t.Errorf("below every threshold: warnings %q", r.Warnings)
	}
}

func TestUndoIsRefusedWhileTheArchiveCannotBeWritten(t *testing.T) {
	broken := false
	store := failing{archive.NewMemory(), func() bool { return broken }, func() bool { return false }}
	s := loaded(t, tiercompact.Config{Window: 100000, Archive: store}, turns("", 12, 100)...)
	compactTo(t, s, levels.Emergency)
	was := bytesOf(t, s)
	broken = true
	if _, err := s.Undo(t.Context()); !errors.Is(err, errDisk) || bytesOf(t, s) != was {
		t.Errorf("%v; the conversation is as it was: %t", err, bytesOf(t, s) == was)
	}
	broken = false
	if undone(t, s); len(s.Messages()) != 24 {
		t.Errorf("%d messages after the undo", len(s.Messages()))
	}
}

func TestRewindIntoASummarisedPartUndoesTheRoundsAfterIt(t *testing.T) {
	in := turns("", 10, 100)
	s := loaded(t, tiercompact.Config{Window: 100000}, in...)
	compactTo(t, s, levels.Emergency)
	fill(t, s, 0, turns("n", 8, 100)...)
	compactTo(t, s, levels.Emergency)
	if err := s.Rewind(t.Context(), "u3"); err != nil {
		t.Fatal(err)
	}
	if got := s.Messages(); !slices.EqualFunc(got, in[:7], unchanged) {
		t.Errorf("left are\n%s", show(got))
	}
	if _, err := s.Undo(t.Context()); !errors.Is(err, tiercompact.ErrNothingToUndo) {
		t.Errorf("a round that was rewound is undone: %v", err)
	}
}

func TestRewindKeepsTheRoundsBeforeItsMessage(t *testing.T) {
	s := loaded(t, tiercompact.Config{Window: 100000}, turns("", 10, 100)...)
	compactTo(t, s, levels.Emergency)
	fill(t, s, 0, turns("n", 8, 100)...)
	compactTo(t, s, levels.Emergency)
	if err := s.Rewind(t.Context(), "nu2"); err != nil {
		t.Fatal(err)
	}
	if err := sameIDs(s.Messages(), "u0 summary-1 u8 a8 u9 a9 nu0 na0 nu1 na1 nu2"); err != nil {
		t.Error(err)
	}
	undone(t, s)
	if got := s.Messages(); !slices.EqualFunc(got[:20], turns("", 10, 100), unchanged) || len(got) != 25 {
		t.Errorf("the first round, undone:\n%s", show(got))
	}
}

func TestRewindToAnUnknownMessageChangesNothing(t *testing.T) {
	s := loaded(t, tiercompact.Config{Window: 100000}, turns("", 10, 100)...)
	compactTo(t, s, levels.Emergency)
	was := bytesOf(t, s)
	if err := s.Rewind(t.Context(), "nobody"); !errors.Is(err, tiercompact.ErrNotFound) || bytesOf(t, s) != was {
		t.Errorf("%v", err)
	}
}
