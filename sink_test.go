package tiercompact_test

import (
	"strings"
	"testing"

	tiercompact "github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/trace"
)

// A sink that panics is the caller's to mend. A caller that recovers goes on
// with a session that compacts as before.
func TestASinkThatPanicsLeavesTheSessionUsable(t *testing.T) {
	for _, at := range []string{"compact.token_estimate", "compact.trigger_decision", "compact.level_applied", "compact.archival"} {
		var broken bool
		sink := func(e trace.Event) {
			if broken && e.Name == at {
				panic("a sink")
			}
		}
		c, err := tiercompact.New(tiercompact.Config{Window: 2048, Trace: sink})
		if err != nil {
			t.Fatal(err)
		}
		s := c.Session("s")
		safely := func(do func()) {
			defer func() { _ = recover() }()
			do()
		}
		broken = true
		for range 30 {
			safely(func() {
				s.AddMessage(t.Context(), chat.NewText(chat.Assistant, strings.Repeat("one of many words ", 40)))
			})
			safely(func() { s.Compact(t.Context(), "") })
		}
		broken = false
		if _, err := s.Compact(t.Context(), ""); err != nil {
			t.Errorf("%s: %v", at, err)
		}
		if report, err := s.Check(t.Context()); err != nil || report.Reason == tiercompact.Busy {
			t.Errorf("%s: %s, %v", at, report.Reason, err)
		}
	}
}
