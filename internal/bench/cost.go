package bench

import (
	"context"
	"fmt"
	"runtime"
	"runtime/metrics"
	"time"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/bench/corpus"
	"github.com/tiercompact/tiercompact/levels"
)

// costSession is the maximum number of messages of the session on which costs are
// measured.
const costSession = 1000

// measureCosts measures each way on one session, one after the other, so that
// nothing else uses time or memory.
func (r *runner) measureCosts(ctx context.Context, report *Report) error {
	s := r.costliestSession()
	if s == nil {
		return nil
	}
	ways := r.allWays()
	r.expectTasks(len(ways))
	for i, w := range ways {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("bench: %w", err)
		}
		cost, err := r.measureCost(ctx, w, s)
		if err != nil {
			return fmt.Errorf("bench: %s, %s: %w", s.name, w.row.Name, err)
		}
		report.Rows[i].Cost = &cost
		r.reportProgress()
	}
	return nil
}

// costliestSession returns the longest session that is not too long, nil for none.
func (r *runner) costliestSession() (best *subject) {
	for _, s := range r.sessions {
		if n := len(s.messages); n > 0 && n <= costSession+costSession/10 && (best == nil || n > len(best.messages)) {
			best = s
		}
	}
	return best
}

func (r *runner) measureCost(ctx context.Context, w *way, s *subject) (Cost, error) {
	m := newMeter()
	var err error
	if w.row.Kind == Replay {
		_, err = replayMessages(ctx, s.messages, r.compactorConfig(w.preset, w.row.Level, windowOf(w, s.size)), nil, func(tiercompact.Report) { m.sampleHeap() })
	} else {
		_, err = r.applyWay(ctx, w, s.messages, s.size)
	}
	m.sampleHeap()
	return Cost{Session: s.name, Messages: len(s.messages), Millis: m.elapsedMillis(), PeakBytes: m.peak}, err
}

// A meter measures the time, and the maximum growth of the heap.
type meter struct {
	began  time.Time
	before uint64
	peak   uint64
	sample []metrics.Sample
}

func newMeter() *meter {
	m := &meter{sample: []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}}
	collectGarbage()
	m.before = m.heapBytes()
	m.began = time.Now()
	return m
}

// collectGarbage frees all unused memory: that of pools in the second run.
func collectGarbage() {
	runtime.GC()
	runtime.GC()
}

func (m *meter) heapBytes() uint64 {
	metrics.Read(m.sample)
	return m.sample[0].Value.Uint64()
}

// sampleHeap records the size of the heap.
func (m *meter) sampleHeap() {
	if now := m.heapBytes(); now > m.before {
		m.peak = max(m.peak, now-m.before)
	}
}

func (m *meter) elapsedMillis() float64 { return float64(time.Since(m.began).Microseconds()) / 1000 }

// measureGrowth measures generated sessions of growing length.
func (r *runner) measureGrowth(ctx context.Context) (out []Growth, err error) {
	lengths := []int{100, 1000, 10000}
	if r.Quick {
		lengths = lengths[:2]
	}
	r.expectTasks(len(lengths))
	for _, n := range lengths {
		s := corpus.Of(r.Seed, n)
		g, err := r.growthOf(ctx, s.Messages)
		if err != nil {
			return nil, fmt.Errorf("bench: %d messages: %w", n, err)
		}
		out = append(out, g)
		r.reportProgress()
	}
	return out, nil
}

func (r *runner) growthOf(ctx context.Context, t chat.Transcript) (Growth, error) {
	g := Growth{Messages: len(t), Tokens: Size(t, r.Config.Count)}
	m := newMeter()
	if _, err := replayMessages(ctx, t, r.compactorConfig(tiercompact.Steady, Auto, int(half*float64(g.Tokens))), nil, nil); err != nil {
		return g, err
	}
	g.AddMicros = m.elapsedMillis() * 1000 / float64(len(t))
	for _, l := range []struct {
		name levels.Name
		into *float64
	}{{levels.SoftName, &g.SoftMillis}, {levels.HardName, &g.HardMillis}, {levels.Emergency, &g.FinalMillis}} {
		w := r.singleLevel(tiercompact.Steady, string(l.name))
		m = newMeter()
		if _, _, err := r.compactOnce(ctx, w, t, g.Tokens); err != nil {
			return g, err
		}
		*l.into = m.elapsedMillis()
	}
	return g, r.measureHeld(t, &g)
}

// measureHeld records the memory that a session of t uses.
func (r *runner) measureHeld(t chat.Transcript, g *Growth) error {
	m := newMeter()
	c, err := tiercompact.New(r.compactorConfig(tiercompact.Steady, Auto, 2*g.Tokens))
	if err != nil {
		return err
	}
	s := c.Session("bench")
	if err := s.Load(t); err != nil {
		return err
	}
	collectGarbage()
	m.sampleHeap()
	g.Bytes = m.peak
	runtime.KeepAlive(s)
	return nil
}
