package suite

import (
	"fmt"
	"testing"
	"time"

	tiercompact "github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
)

// turn is a user's request, a file that the assistant reads for it, and the answer.
func turn(k int) []chat.Message {
	path := fmt.Sprintf("internal/pkg%d/file%d.go", k%40, k%200)
	return []chat.Message{
		chat.NewText(chat.User, fmt.Sprintf("Make loadConfig%d read the timeout of %s from the environment.", k, path)),
		call(k, "read", fmt.Sprintf(`{"path":%q}`, path)),
		chat.NewResult(fmt.Sprint("c", k), goSource(k, 1100)),
		chat.NewText(chat.Assistant, fmt.Sprintf("loadConfig%d reads TIMEOUT_%d now; handle%d_0 in %s uses it.", k, k, k, path)),
	}
}

// BenchmarkSession runs a session of 1,000 turns with five compactions, with the built-in
// engines, an archive on disk (with events) and redaction. A model call is a wait of 20 ms,
// one a turn.
func BenchmarkSession(b *testing.B) {
	const turns, modelCall = 1000, 20 * time.Millisecond
	for b.Loop() {
		store, err := archive.OpenDir(b.TempDir(), archive.DirOptions{})
		if err != nil {
			b.Fatal(err)
		}
		c, err := tiercompact.New(tiercompact.Config{Window: 120_000, Preset: tiercompact.Steady, Archive: store})
		if err != nil {
			b.Fatal(err)
		}
		s := c.Session("long")
		var ours time.Duration
		rounds := 0
		began := time.Now()
		for k := range turns {
			for _, m := range turn(k) {
				start := time.Now()
				r, err := s.AddMessage(b.Context(), m)
				ours += time.Since(start)
				if err != nil {
					b.Fatal(err)
				}
				if r.Compacted() {
					rounds++
				}
			}
			time.Sleep(modelCall)
		}
		whole := time.Since(began)
		if err := c.Close(); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(float64(rounds), "compactions")
		b.ReportMetric(100*ours.Seconds()/whole.Seconds(), "%of-session")
		b.ReportMetric(1000*ours.Seconds()/turns, "ms/turn")
	}
}

// BenchmarkEstimate is a preflight of 128,000 tokens that compacts nothing: of a history that
// was counted before except for its last turn, and of a new one.
func BenchmarkEstimate(b *testing.B) {
	var history chat.Transcript
	c, err := tiercompact.New(tiercompact.Config{Window: 1_000_000})
	if err != nil {
		b.Fatal(err)
	}
	estimate := func(id string) int {
		_, r, err := c.Preflight(b.Context(), id, history)
		if err != nil {
			b.Fatal(err)
		}
		return r.Usage.Tokens
	}
	k := 0
	for ; k%50 != 0 || estimate("") < 128_000; k++ {
		history = append(history, turn(k)...)
	}
	b.Run("next", func(b *testing.B) {
		estimate("next")
		n := len(history)
		for b.Loop() {
			history = append(history[:n:n], turn(k)...)
			k++
			estimate("next")
		}
		history = history[:n]
	})
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			estimate("")
		}
	})
}
