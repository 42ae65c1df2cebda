package suite

import (
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"

	tiercompact "github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	made "github.com/tiercompact/tiercompact/internal/bench/corpus"
	"github.com/tiercompact/tiercompact/levels"
)

// BenchmarkRoundSteady makes one round of steady on 1,000 messages and about 340,000
// tokens, with the built-in engines: in a session in use, to which the messages were
// added one by one, and at first sight, directly after Load. cpu-ms is the time of the
// processor for the round alone, on all threads, garbage collection included. load-cpu-ms
// is that of Load.
func BenchmarkRoundSteady(b *testing.B) {
	history := denseHistory(1000)
	c, err := tiercompact.New(tiercompact.Config{Window: 400_000, Preset: tiercompact.Steady, NoAuto: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("in use", func(b *testing.B) {
		benchmarkRound(b, c, func(s *tiercompact.Session) error {
			for _, m := range history {
				if _, err := s.AddMessage(b.Context(), m); err != nil {
					return err
				}
			}
			return nil
		})
	})
	b.Run("first sight", func(b *testing.B) {
		loading := time.Duration(0)
		benchmarkRound(b, c, func(s *tiercompact.Session) error {
			began := cpuTime(b)
			defer func() { loading += cpuTime(b) - began }()
			return s.Load(history)
		})
		b.ReportMetric(loading.Seconds()*1000/float64(b.N), "load-cpu-ms")
	})
}

// denseHistory returns n messages, about 340 tokens each on average: of generated
// sessions with long messages.
func denseHistory(n int) (history chat.Transcript) {
	const length, bytes = 200, 1030 // of a session, and of a message on average
	for seed := uint64(42); len(history) < n; seed++ {
		part, size := made.Of(seed, length).Messages, 0
		for _, m := range part {
			for _, p := range m.Parts {
				size += len(p.Text) + len(p.Args)
			}
		}
		if size >= bytes*len(part) {
			history = append(history, part...)
		}
	}
	return history[:n]
}

// benchmarkRound measures a round of a session that fill has filled.
func benchmarkRound(b *testing.B, c *tiercompact.Compactor, fill func(*tiercompact.Session) error) {
	before, spent := 0, time.Duration(0)
	for i := range b.N {
		b.StopTimer()
		name := fmt.Sprint("s", i)
		s := c.Session(name)
		if err := fill(s); err != nil {
			b.Fatal(err)
		}
		runtime.GC()
		began := cpuTime(b)
		b.StartTimer()
		report, err := s.CompactLevel(b.Context(), levels.Emergency)
		if err != nil || !report.Compacted() {
			b.Fatal(report.Reason, err)
		}
		spent += cpuTime(b) - began
		before = report.Before
		c.Forget(name)
	}
	b.ReportMetric(float64(before), "tokens")
	b.ReportMetric(spent.Seconds()*1000/float64(b.N), "cpu-ms")
}

// cpuTime returns the time of the processor that this process has used.
func cpuTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
