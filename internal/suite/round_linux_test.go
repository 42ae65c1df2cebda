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

// BenchmarkRoundSteady makes one round of steady in a session in use, of 1,000 messages
// and about 340,000 tokens, with the built-in engines. cpu-ms is the time of the processor, on all
// threads, garbage collection included.
func BenchmarkRoundSteady(b *testing.B) {
	var history chat.Transcript
	for seed := uint64(42); len(history) < 1000; seed++ {
		history = append(history, made.Of(seed, 1000-len(history)).Messages...)
	}
	c, err := tiercompact.New(tiercompact.Config{Window: 400_000, Preset: tiercompact.Steady, NoAuto: true})
	if err != nil {
		b.Fatal(err)
	}
	before, rounds, spent := 0, 0, time.Duration(0)
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		s := c.Session(fmt.Sprint("s", i))
		for _, m := range history {
			if _, err := s.AddMessage(b.Context(), m); err != nil {
				b.Fatal(err)
			}
		}
		runtime.GC()
		began := cpuTime(b)
		b.StartTimer()
		report, err := s.CompactLevel(b.Context(), levels.Emergency)
		if err != nil || !report.Compacted() {
			b.Fatal(report.Reason, err)
		}
		b.StopTimer()
		spent += cpuTime(b) - began
		before = report.Before
		rounds++
		c.Forget(fmt.Sprint("s", i))
		b.StartTimer()
	}
	b.ReportMetric(float64(before), "tokens")
	b.ReportMetric(spent.Seconds()*1000/float64(rounds), "cpu-ms")
}

// cpuTime returns the time of the processor that this process has used.
func cpuTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
