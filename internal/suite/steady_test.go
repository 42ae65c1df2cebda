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

// The rule holds for rounds before a request and in idle time too, if the request fits.
func TestSteadyBeginsNearTheBudgetBeforeARequest(t *testing.T) {
	own := levels.Thresholds{levels.SoftName: 0.4, levels.HardName: 0.5, levels.Emergency: 0.6}
	room := func(s *tiercompact.Session) (tiercompact.Report, error) { return s.MakeRoom(t.Context(), 3000) }
	before := func(s *tiercompact.Session) (tiercompact.Report, error) { return s.Preflight(t.Context()) }
	resent := func(s *tiercompact.Session) (tiercompact.Report, error) {
		c, err := tiercompact.New(tiercompact.Config{Window: 20000, Preset: tiercompact.Steady, Count: quarter})
		if err != nil {
			t.Fatal(err)
		}
		_, r, err := c.Preflight(t.Context(), "", s.Messages())
		return r, err
	}
	policy := func(trigger float64) (p tiercompact.PolicyConfig) {
		p = tiercompact.Defaults(tiercompact.Steady).Policy
		p.TriggerPct = trigger
		return p
	}
	for _, test := range []struct {
		name   string
		cfg    tiercompact.Config
		tokens int
		run    func(*tiercompact.Session) (tiercompact.Report, error)
		reason string
	}{
		{"room, at the end of a turn", tiercompact.Config{Preset: tiercompact.Steady}, 17400, room, ""},
		{"room, own thresholds", tiercompact.Config{Preset: tiercompact.Steady, Thresholds: own}, 17000, room, ""},
		{"room, default", tiercompact.Config{}, 17000, room, ""},
		{"preflight below 0.95", tiercompact.Config{Preset: tiercompact.Steady}, 17400, before, tiercompact.BelowBudget},
		{"preflight at 0.95", tiercompact.Config{Preset: tiercompact.Steady}, 17600, before, ""},
		{"preflight of a history below 0.95", tiercompact.Config{Preset: tiercompact.Steady}, 17400, resent, tiercompact.BelowBudget},
		{"preflight of a history at 0.95", tiercompact.Config{Preset: tiercompact.Steady}, 17600, resent, ""},
		{"preflight, own share", func() tiercompact.Config {
			c := tiercompact.Defaults(tiercompact.Steady)
			c.Policy = policy(0.5)
			return c
		}(), 17000, before, ""},
		{"preflight, default", tiercompact.Config{}, 17400, before, ""},
	} {
		test.cfg.Window, test.cfg.Count, test.cfg.Trigger = 20000, quarter, tiercompact.EveryMessage
		s := start(t, test.cfg)
		if err := s.Load(turns("", 40, test.tokens/100)); err != nil { // adding makes no round here
			t.Fatal(err)
		}
		if err := s.Load([]chat.Message{said(chat.Assistant, test.tokens-s.Usage().Tokens, 99)}); err != nil {
			t.Fatal(err)
		}
		if r, err := test.run(s); r.Before != test.tokens || r.Reason != test.reason || r.Compacted() != (test.reason == "") || err != nil {
			t.Errorf("%s: %d tokens of a budget of %d, reason %q, compacted %v, %v; want %q", test.name, r.Before, r.Usage.Budget, r.Reason, r.Compacted(), err, test.reason)
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
