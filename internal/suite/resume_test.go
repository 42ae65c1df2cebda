package suite

import (
	"path/filepath"
	"testing"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/levels"
)

// A level that has nothing to offer waits. In a resumed session it still waits, and runs again
// at the same message as in a session that was never closed.
func TestAResumedSessionWaitsLikeAnUninterruptedOne(t *testing.T) {
	cfg := tiercompact.Config{Window: 10000, Policy: tiercompact.PolicyConfig{HardCapBuffer: tiercompact.Tokens(0)}, MinGain: 0.08, Count: quarter}
	next := func() (asked *int, c *tiercompact.Compactor) {
		asked, here := new(int), cfg
		here.Embed.Embedder = asking{asked}
		c, err := tiercompact.New(here)
		if err != nil {
			t.Fatal(err)
		}
		return asked, c
	}
	for _, stop := range []int{0, 1, 3, 4} { // messages behind the round that was put off
		path := filepath.Join(t.TempDir(), "s.jsonl")
		file, err := archive.CreateSession(path, archive.Meta{Session: "s"})
		if err != nil {
			t.Fatal(err)
		}
		asked, c := next()
		s := c.Session("s")
		if err := s.Record(file); err != nil {
			t.Fatal(err)
		}
		for i, size := range littleToDrop {
			fill(t, s, 0, said([]chat.Role{chat.User, chat.Assistant}[i%2], size, i))
		}
		if r := add(t, s, said(chat.Assistant, 10, 8)); r.Reason != tiercompact.ByMinGain || *asked != 1 {
			t.Fatalf("no round was put off: %q", r.Reason)
		}
		for i, size := range []int{10, 10, 10, 700, 80} {
			if i == stop { // it ends here, and goes on in another process
				if err := file.Close(); err != nil {
					t.Fatal(err)
				}
				state, err := archive.ReadSession(path)
				if err != nil || len(state.Waiting) != 1 || state.Waiting[0].Level != string(levels.HardName) || state.Since != -1 {
					t.Fatalf("stopped after %d: %+v, %d since, %v", stop, state.Waiting, state.Since, err)
				}
				asked, c = next()
				if s, err = c.Resume(t.Context(), state); err != nil {
					t.Fatal(err)
				}
				*asked = 1
			}
			r := add(t, s, said([]chat.Role{chat.User, chat.Assistant}[i%2], size, 20+i))
			if again := i == 4; again != (*asked == 2) || again != (r.Reason == "") || !again && r.Reason != tiercompact.ByMinGain {
				t.Errorf("stopped after %d, message %d: %q, asked %d times", stop, i, r.Reason, *asked)
			}
		}
	}
}
