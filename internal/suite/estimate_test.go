package suite

import (
	"fmt"
	"testing"

	tiercompact "github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
)

// A count on several cores, or with a cache, equals a session's count message by message.
func TestAHistoryIsCountedAsASessionCountsIt(t *testing.T) {
	for _, n := range []int{0, 1, 15, 16, 17, 33, 400} {
		history := join(chat.Transcript{chat.NewText(chat.System, "be brief")}, longSession(n))
		c, err := tiercompact.New(tiercompact.Config{Window: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		s := c.Session("x")
		if err := s.Load(history); err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"", "a", "a"} {
			_, r, err := c.Preflight(t.Context(), id, history)
			if err != nil || fmt.Sprint(r.Usage) != fmt.Sprint(s.Usage()) {
				t.Errorf("%d messages, id %q: %+v, a session %+v, %v", n, id, r.Usage, s.Usage(), err)
			}
		}
	}
}
