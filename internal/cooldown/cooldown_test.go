package cooldown_test

import (
	"testing"

	"github.com/tiercompact/tiercompact/internal/cooldown"
)

func TestGateCountsMessages(t *testing.T) {
	tests := []struct {
		name  string
		gate  cooldown.Gate
		state func(cooldown.Gate) cooldown.State
		added int
		open  bool
		left  int
	}{
		{"never compacted", cooldown.Default(), zero, 0, true, 0},
		{"never compacted, many messages", cooldown.Default(), zero, 9, true, 0},
		{"n", cooldown.Default(), fired(0), 0, false, 2},
		{"n+1", cooldown.Default(), fired(0), 1, false, 1},
		{"n+2", cooldown.Default(), fired(0), 2, false, 0},
		{"n+3", cooldown.Default(), fired(0), 3, true, 0},
		{"two came while it was planned, then one", cooldown.Default(), fired(2), 1, true, 0},
		{"one came while it was planned, then one", cooldown.Default(), fired(1), 1, false, 0},
		{"no cooldown, the next message", cooldown.Gate{}, fired(0), 1, true, 0},
		{"five messages, the fifth", cooldown.Gate{Messages: 5}, fired(0), 5, false, 0},
		{"five messages, the sixth", cooldown.Gate{Messages: 5}, fired(0), 6, true, 0},
	}
	for _, test := range tests {
		s := test.state(test.gate)
		for range test.added {
			s = s.Added()
		}
		if open, left := test.gate.Open(s), test.gate.Left(s); open != test.open || left != test.left {
			t.Errorf("%s: open %t with %d left, want %t with %d", test.name, open, left, test.open, test.left)
		}
	}
}

func zero(cooldown.Gate) cooldown.State { return cooldown.State{} }

func fired(since int) func(cooldown.Gate) cooldown.State {
	return func(g cooldown.Gate) cooldown.State { return g.Start(since) }
}
