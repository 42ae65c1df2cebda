package suite

import (
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/trace"
)

func TestRoomIsMadeForTheNextMessage(t *testing.T) {
	for _, test := range []struct {
		name   string
		cfg    tiercompact.Config
		turns  int
		next   int    // tokens
		reason string // "": a round is made
	}{
		{"the next message fits", tiercompact.Config{}, 10, 500, tiercompact.BelowThreshold},
		{"it would not fit", tiercompact.Config{}, 24, 1200, ""},
		{"it would not fit, at the least gain of steady", tiercompact.Config{Preset: tiercompact.Steady}, 24, 1200, ""},
		{"it would not fit whatever is done", tiercompact.Config{}, 24, 40000, tiercompact.ByMinGain},
		{"nothing is old", tiercompact.Config{}, 1, 4000, tiercompact.NothingToDo},
		{"automatic compaction is off", tiercompact.Config{NoAuto: true}, 24, 1200, tiercompact.SwitchedOff},
		{"by hand alone", tiercompact.Config{Trigger: tiercompact.Manual}, 24, 1200, tiercompact.SwitchedOff},
	} {
		var decided trace.TriggerDecision
		test.cfg.Window = 4096
		test.cfg.Trace = func(e trace.Event) {
			if d, ok := e.Data.(trace.TriggerDecision); ok {
				decided = d
			}
		}
		c, err := tiercompact.New(test.cfg)
		if err != nil {
			t.Fatal(err)
		}
		s := c.Session("s")
		for range test.turns {
			s.Load([]chat.Message{chat.NewText(chat.User, "what of the harbour and its ships?"), chat.NewText(chat.Assistant, strings.Repeat("the ships are as they were. ", 12))})
		}
		report, err := s.MakeRoom(t.Context(), test.next)
		if err != nil || report.Reason != test.reason || report.Compacted() != (test.reason == "") || report.Picked != levels.Emergency {
			t.Errorf("%s: %s, reason %q, compacted %v, %v; want %q", test.name, report.Picked, report.Reason, report.Compacted(), err, test.reason)
		}
		want := test.reason
		if want == "" {
			want = "room for the next message"
			if u := s.Usage(); u.Tokens+test.next > u.Budget {
				t.Errorf("%s: %d tokens are left, so the next message does not fit %d", test.name, u.Tokens, u.Budget)
			}
		}
		if decided.Triggered != report.Compacted() || decided.Reason != want {
			t.Errorf("%s: the event says %+v, want %q", test.name, decided, want)
		}
	}
}
