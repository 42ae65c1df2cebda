package proxy

import (
	"context"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
)

// A bodyGate limits the bytes of the request bodies that are in memory at once, each with
// its decoded form. Requests wait for their turn, in the order in which they come.
type bodyGate struct {
	bytes   *semaphore.Weighted
	total   int64
	large   *semaphore.Weighted // a body that grows beyond what is free is read alone
	waiting atomic.Int64        // requests
	held    atomic.Int64        // bytes
}

func newBodyGate(total int64) *bodyGate {
	return &bodyGate{bytes: semaphore.NewWeighted(total), total: total, large: semaphore.NewWeighted(1)}
}

// firstHold is what a request holds before any of its body has come, at most: what a
// client announces and does not send must not delay others.
const firstHold = 64 << 10

// admit waits until there is room for a body whose length the client announces, -1 for
// none.
func (g *bodyGate) admit(ctx context.Context, announced int64) (*admission, error) {
	if announced < 0 || announced > firstHold {
		announced = firstHold
	}
	a := &admission{gate: g}
	n := min(max(announced, 1), g.total)
	if !g.bytes.TryAcquire(n) {
		g.waiting.Add(1)
		defer g.waiting.Add(-1)
		if err := g.bytes.Acquire(ctx, n); err != nil {
			return nil, err
		}
	}
	a.holders.Store(1)
	a.add(n)
	return a, nil
}

// An admission is the room of one request. Whatever needs the request's messages holds
// it.
type admission struct {
	gate    *bodyGate
	bytes   int64
	large   bool
	holders atomic.Int64
}

// grow waits until there is room for a body of size bytes. Requests that wait hold
// what they have, and could wait for each other, so one at a time goes beyond the gate's
// bytes.
func (a *admission) grow(ctx context.Context, size int64) error {
	g, more := a.gate, size-a.bytes
	if a.large || more <= 0 {
		return nil
	}
	fits := size <= g.total
	if fits && g.bytes.TryAcquire(more) {
		a.add(more)
		return nil
	}
	g.waiting.Add(1)
	defer g.waiting.Add(-1)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	room, alone := make(chan error, 1), make(chan error, 1)
	go func() { alone <- g.large.Acquire(ctx, 1) }()
	if fits {
		go func() { room <- g.bytes.Acquire(ctx, more) }()
	}
	select {
	case err := <-alone:
		a.large = err == nil
		if stop(); fits && <-room == nil {
			g.bytes.Release(more)
		}
		return err
	case err := <-room:
		if err == nil {
			a.add(more)
		}
		if stop(); <-alone == nil {
			g.large.Release(1)
		}
		return err
	}
}

func (a *admission) add(more int64) {
	a.bytes += more
	a.gate.held.Add(more)
}

func (a *admission) hold() { a.holders.Add(1) }

// release ends the hold of one holder.
func (a *admission) release() {
	if a == nil || a.holders.Add(-1) != 0 {
		return
	}
	a.gate.bytes.Release(a.bytes)
	a.gate.held.Add(-a.bytes)
	if a.large {
		a.gate.large.Release(1)
	}
}
