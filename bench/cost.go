package bench

import (
	"context"
	"fmt"
	"runtime"
	"runtime/metrics"
	"time"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/bench/corpus"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/levels"
)

// costSession is how many messages the session has at most that costs are
// taken from.
const costSession = 1000

// costs measures each way on one session, one after the other, so that nothing
// else takes time or memory.
func (r *runner) costs(ctx context.Context, report *Report) error {
	s := r.costly()
	if s == nil {
		return nil
	}
	ways := r.ways()
	r.expect(len(ways))
	for i, w := range ways {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("bench: %w", err)
		}
		cost, err := r.cost(ctx, w, s)
		if err != nil {
			return fmt.Errorf("bench: %s, %s: %w", s.name, w.row.Name, err)
		}
		report.Rows[i].Cost = &cost
		r.tell()
	}
	return nil
}

// costly returns the longest session that is not too long, nil for none.
func (r *runner) costly() (best *subject) {
	for _, s := range r.sessions {
		if n := len(s.messages); n > 0 && n <= costSession+costSession/10 && (best == nil || n > len(best.messages)) {
			best = s
		}
	}
	return best
}

func (r *runner) cost(ctx context.Context, w *way, s *subject) (Cost, error) {
	m := newMeter()
	var err error
	if w.row.Kind == Replay {
		_, err = replay(ctx, s.messages, r.config(w.preset, w.row.Level, windowOf(w, s.size)), nil, func(tiercompact.Report) { m.look() })
	} else {
		_, err = r.made(ctx, w, s.messages, s.size)
	}
	m.look()
	return Cost{Session: s.name, Messages: len(s.messages), Millis: m.millis(), PeakBytes: m.peak}, err
}

// A meter takes the time, and the most that the heap grew.
type meter struct {
	began  time.Time
	before uint64
	peak   uint64
	sample []metrics.Sample
}

func newMeter() *meter {
	m := &meter{sample: []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}}
	settle()
	m.before = m.heap()
	m.began = time.Now()
	return m
}

// settle frees all that is not held: what pools keep goes in the second turn.
func settle() {
	runtime.GC()
	runtime.GC()
}

func (m *meter) heap() uint64 {
	metrics.Read(m.sample)
	return m.sample[0].Value.Uint64()
}

// look notes how large the heap is.
func (m *meter) look() {
	if now := m.heap(); now > m.before {
		m.peak = max(m.peak, now-m.before)
	}
}

func (m *meter) millis() float64 { return float64(time.Since(m.began).Microseconds()) / 1000 }

// growth measures made-up sessions of growing length.
func (r *runner) growth(ctx context.Context) (out []Growth, err error) {
	lengths := []int{100, 1000, 10000}
	if r.Quick {
		lengths = lengths[:2]
	}
	r.expect(len(lengths))
	for _, n := range lengths {
		s := corpus.Of(r.Seed, n)
		g, err := r.grown(ctx, s.Messages)
		if err != nil {
			return nil, fmt.Errorf("bench: %d messages: %w", n, err)
		}
		out = append(out, g)
		r.tell()
	}
	return out, nil
}

func (r *runner) grown(ctx context.Context, t chat.Transcript) (Growth, error) {
	g := Growth{Messages: len(t), Tokens: Size(t, r.Config.Count)}
	m := newMeter()
	if _, err := replay(ctx, t, r.config(tiercompact.Steady, Auto, int(half*float64(g.Tokens))), nil, nil); err != nil {
		return g, err
	}
	g.AddMicros = m.millis() * 1000 / float64(len(t))
	for _, l := range []struct {
		name levels.Name
		into *float64
	}{{levels.SoftName, &g.SoftMillis}, {levels.HardName, &g.HardMillis}, {levels.Emergency, &g.FinalMillis}} {
		w := r.alone(tiercompact.Steady, string(l.name))
		m = newMeter()
		if _, _, err := r.once(ctx, w, t, g.Tokens); err != nil {
			return g, err
		}
		*l.into = m.millis()
	}
	return g, r.held(t, &g)
}

// held notes the memory that a session of t holds.
func (r *runner) held(t chat.Transcript, g *Growth) error {
	m := newMeter()
	c, err := tiercompact.New(r.config(tiercompact.Steady, Auto, 2*g.Tokens))
	if err != nil {
		return err
	}
	s := c.Session("bench")
	if err := s.Load(t); err != nil {
		return err
	}
	settle()
	m.look()
	g.Bytes = m.peak
	runtime.KeepAlive(s)
	return nil
}
