package suite

import (
	"fmt"
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

func TestRoomIsWhatAMessageCanHave(t *testing.T) {
	for _, test := range []struct {
		name  string
		turns int
		pins  bool
	}{
		{"a new session", 0, false},
		{"a short session", 2, false},
		{"a full session", 24, false},
		{"pins", 6, true},
	} {
		for _, over := range []int{-100, 100} {
			c, err := tiercompact.New(tiercompact.Config{Window: 4096, Preset: tiercompact.Steady, Trigger: tiercompact.AssistantOnly})
			if err != nil {
				t.Fatal(err)
			}
			s := c.Session("s")
			s.SetTools([]byte(`[{"type":"function","function":{"name":"f","description":"` + strings.Repeat("it does what it does. ", 20) + `"}}]`))
			s.Load([]chat.Message{chat.NewText(chat.System, "You keep the log of the harbour.")})
			for i := range test.turns {
				said := chat.NewText(chat.User, fmt.Sprintf("what of the harbour and its ships on day %d?", i))
				said.Protected = test.pins
				s.Load([]chat.Message{said, chat.NewText(chat.Assistant, strings.Repeat("the ships are as they were. ", 12))})
			}
			before := s.Usage()
			cargo := func(times int) chat.Message {
				return chat.NewText(chat.User, strings.Repeat("the cargo of the day. ", times))
			}
			hundred, small := s.Room(cargo(100))
			_, room := s.Room(cargo(1000))
			if small > room || small < hundred {
				t.Errorf("%s: the room for %d tokens is %d, for more than fits %d", test.name, hundred, small, room)
			}
			text := cargo(100 * (room + over) / hundred)
			if tokens, most := s.Room(text); (tokens <= most) != (over < 0) {
				t.Errorf("%s: %d tokens fit a room of %d, though %d are the most", test.name, tokens, most, room)
			}
			if s.Usage() != before || len(s.Messages()) != 1+2*test.turns {
				t.Errorf("%s: the session has changed", test.name)
			}
			if _, err := s.AddMessage(t.Context(), text); err != nil && over < 0 {
				t.Errorf("%s: %v", test.name, err)
			}
			report, err := s.Preflight(t.Context())
			fits := err == nil && len(report.Warnings) == 0
			if fits != (over < 0) {
				t.Errorf("%s, %d tokens beside a room of %d: %v, %q", test.name, over, room, err, report.Warnings)
			}
		}
	}
}
