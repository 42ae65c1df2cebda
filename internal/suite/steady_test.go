package suite

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/levels"
)

// Each round of steady costs a prefill, so none begins before 0.95 of the budget. If the
// caller sets thresholds, they decide.
func TestSteadyBeginsNearTheBudget(t *testing.T) {
	own := levels.Thresholds{levels.SoftName: 0.4, levels.HardName: 0.5, levels.Emergency: 0.6}
	for _, test := range []struct {
		name   string
		cfg    tiercompact.Config
		tokens int
		reason string
	}{
		{"steady below 0.95 of the budget", tiercompact.Config{Preset: tiercompact.Steady}, 16600, tiercompact.BelowBudget},
		{"steady at 0.95 of the budget", tiercompact.Config{Preset: tiercompact.Steady}, 16800, ""},
		{"own thresholds", tiercompact.Config{Preset: tiercompact.Steady, Thresholds: own}, 13000, ""},
		{"default", tiercompact.Config{}, 13000, tiercompact.NothingToDo},
	} {
		test.cfg.Window, test.cfg.Count = 20000, quarter
		test.cfg.Policy.HardCapBuffer = tiercompact.Tokens(2400)
		s := start(t, test.cfg)
		fill(t, s, 0, turns("", 40, test.tokens/100)...)
		left := test.tokens - s.Usage().Tokens
		if left < 0 {
			t.Fatal(left)
		}
		r := add(t, s, said(chat.Assistant, left, 99))
		if r.Before != test.tokens || r.Reason != test.reason {
			t.Errorf("%s: %d tokens, reason %q, want %d and %q", test.name, r.Before, r.Reason, test.tokens, test.reason)
		}
	}
}

// The minimum gain is a share of what can be freed: in a small window, of which the
// system prompt takes most, a round of steady is still made within the budget.
func TestMinGainIsAShareOfWhatCanBeFreed(t *testing.T) {
	s := start(t, tiercompact.Config{Window: 5000, Preset: tiercompact.Steady, Count: quarter})
	fill(t, s, 0, said(chat.System, 2300, 0), said(chat.User, 50, 1))
	var r tiercompact.Report
	for i := 2; !r.Compacted() && i < 100; i++ {
		r = add(t, s, said([]chat.Role{chat.User, chat.Assistant}[i%2], 60, i))
	}
	if budget := r.Usage.Budget; !r.Compacted() || r.Before > budget || 100*r.Before < 95*budget {
		t.Errorf("compacted %v at %d of %d tokens", r.Compacted(), r.Before, budget)
	}
}

// A round that takes its names from before earlier rounds is undone exactly.
func TestUndoOfALaterRoundOfSteady(t *testing.T) {
	s := start(t, tiercompact.Config{Window: 4000, Preset: tiercompact.Steady, Count: quarter})
	fill(t, s, 0, said(chat.User, 20, 0))
	rounds, before := 0, s.Messages()
	for i := 1; rounds < 2 && i < 400; i++ {
		m := chat.NewText([]chat.Role{chat.User, chat.Assistant}[i%2], strings.Repeat(fmt.Sprintf("We call pkg%d.Handle%dRequest. ", i, i), 6))
		if add(t, s, m).Compacted() {
			rounds++
			if _, err := s.Undo(t.Context()); err != nil {
				t.Fatal(err)
			}
			before = s.Messages()
			if r, err := s.CompactLevel(t.Context(), levels.Emergency); err != nil || !r.Compacted() {
				t.Fatal(r.Reason, err)
			}
		}
	}
	if rounds < 2 {
		t.Fatal(rounds)
	}
	if _, err := s.Undo(t.Context()); err != nil {
		t.Fatal(err)
	}
	now := s.Messages()
	if len(now) != len(before) {
		t.Fatal(len(now), len(before))
	}
	for i, m := range now {
		if m.Text() != before[i].Text() || m.ID != before[i].ID {
			t.Errorf("message %d is another after an undo", i)
		}
	}
}
