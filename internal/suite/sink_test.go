package suite

import (
	"strings"
	"testing"

	tiercompact "github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/trace"
)

// If a sink panics, its events are lost. The session compacts as before, and its reports name
// the error.
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
		broken = true
		told := 0
		for range 30 {
			for _, do := range []func() (tiercompact.Report, error){
				func() (tiercompact.Report, error) {
					return s.AddMessage(t.Context(), chat.NewText(chat.Assistant, strings.Repeat("one of many words ", 40)))
				},
				func() (tiercompact.Report, error) { return s.Compact(t.Context(), "") },
			} {
				r, err := do()
				if err != nil {
					t.Errorf("%s: %v", at, err)
				}
				told += strings.Count(strings.Join(r.Warnings, "\n"), "Trace panicked: a sink")
			}
		}
		if told == 0 {
			t.Errorf("%s: no report tells it", at)
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
