package trace

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// A Queue is between sessions and a slow sink. Emit never waits: events are
// handed on in their order, by one goroutine of the queue. A full queue drops
// the newest event. What is already there reports how things began, and stays
// without a gap; and the session pays nothing to make room. As soon as there
// is room again, a [Warning] in the place of what was dropped says how many
// events that were.
type Queue struct {
	send func([]Event)
	opts QueueOptions
	wake chan struct{} // there is something to do
	now  chan struct{} // do it without waiting for more
	done chan struct{} // closed when nothing is handed on any more

	mu      sync.Mutex    // guards what follows; never held while send runs
	events  []Event       // not handed on yet, oldest first
	gap     droppedEvents // dropped behind the newest of events
	dropped int
	in, out int // events taken and handed on, so far
	flushes []flush
	closed  bool
}

// QueueOptions say how much a queue holds, and how it is handed on.
type QueueOptions struct {
	Size  int           // events that wait at most; 0: 1,024
	Batch int           // events that are handed on together at most; 0: 1
	Wait  time.Duration // a batch that is not full waits so long for more events
}

type flush struct {
	until int // of Queue.out
	done  chan struct{}
}

// droppedEvents is what was dropped in one place.
type droppedEvents struct {
	events      int
	first, last Event
}

// NewQueue returns a queue of at most size events in front of sink; 0 is 1,024.
// It must be closed.
func NewQueue(sink Sink, size int) *Queue {
	return NewBatchQueue(func(events []Event) {
		for _, e := range events {
			sink.Emit(e)
		}
	}, QueueOptions{Size: size, Batch: 64})
}

// NewBatchQueue returns a queue that hands events to send in batches, one at a
// time. A batch is send's only while send runs. The queue must be closed.
func NewBatchQueue(send func([]Event), opts QueueOptions) *Queue {
	if opts.Size <= 0 {
		opts.Size = 1024
	}
	opts.Batch = min(max(1, opts.Batch), opts.Size)
	q := &Queue{send: send, opts: opts, wake: make(chan struct{}, 1), now: make(chan struct{}, 1), done: make(chan struct{})}
	go q.deliverEvents()
	return q
}

// Emit puts e at the end of the queue, or drops it where the queue is full or
// closed. It is a [Sink], and may be used concurrently.
func (q *Queue) Emit(e Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		q.dropped++
		return
	}
	if len(q.events) >= q.opts.Size {
		q.dropped++
		q.gap.addDropped(e)
		return
	}
	q.reportGap()
	q.pushEvent(e)
	notifyOnce(q.wake)
	if len(q.events) >= q.opts.Batch {
		notifyOnce(q.now)
	}
}

// Dropped returns how many events were dropped so far.
func (q *Queue) Dropped() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.dropped
}

// Flush waits until all events that were taken so far are handed on, or for ctx.
func (q *Queue) Flush(ctx context.Context) error {
	q.mu.Lock()
	f := flush{q.in, make(chan struct{})}
	q.flushes = append(q.flushes, f)
	q.mu.Unlock()
	q.wakeWorker()
	select {
	case <-f.done:
		return nil
	case <-q.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("flush trace: %w", ctx.Err())
	}
}

// Close hands on what waits, and ends the queue. Events that come later are
// dropped. When ctx ends first, so is what still waits, and the goroutine ends
// as soon as the sink returns. A second Close does the same.
func (q *Queue) Close(ctx context.Context) error {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.wakeWorker()
	select {
	case <-q.done:
		return nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	left := len(q.events)
	q.events, q.gap, q.dropped = nil, droppedEvents{}, q.dropped+left
	q.mu.Unlock()
	return fmt.Errorf("close trace: %d events were not handed on: %w", left, ctx.Err())
}

func (q *Queue) wakeWorker() {
	notifyOnce(q.now)
	notifyOnce(q.wake)
}

// deliverEvents hands events on until the queue is closed and empty.
func (q *Queue) deliverEvents() {
	defer close(q.done)
	var batch []Event
	for {
		<-q.wake
		q.waitForBatch()
		batch = q.takeBatch(batch[:0])
		if len(batch) > 0 {
			q.send(batch)
		}
		ended := q.handedOn(len(batch))
		clear(batch)
		if ended {
			return
		}
	}
}

// waitForBatch waits until a batch is full, or has waited long enough.
func (q *Queue) waitForBatch() {
	if q.opts.Wait <= 0 {
		return
	}
	t := time.NewTimer(q.opts.Wait)
	defer t.Stop()
	select {
	case <-t.C:
	case <-q.now:
	}
}

// takeBatch appends the next events to batch.
func (q *Queue) takeBatch(batch []Event) []Event {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(len(q.events), q.opts.Batch)
	batch = append(batch, q.events[:n]...)
	q.events = slices.Delete(q.events, 0, n)
	if len(q.events) == 0 {
		q.reportGap()
	}
	return batch
}

// handedOn notes that n events left, and reports whether they were the last.
func (q *Queue) handedOn(n int) (ended bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.out += n
	q.flushes = slices.DeleteFunc(q.flushes, func(f flush) bool {
		if f.until > q.out {
			return false
		}
		close(f.done)
		return true
	})
	if len(q.events) > 0 {
		notifyOnce(q.wake)
		if q.closed || len(q.flushes) > 0 || len(q.events) >= q.opts.Batch {
			notifyOnce(q.now)
		}
	}
	return q.closed && len(q.events) == 0
}

// pushEvent and tellGap are called with the lock held.
func (q *Queue) pushEvent(e Event) {
	q.events = append(q.events, e)
	q.in++
}

func (q *Queue) reportGap() {
	if q.gap.events > 0 {
		q.pushEvent(q.gap.gapWarning())
		q.gap = droppedEvents{}
	}
}

func (g *droppedEvents) addDropped(e Event) {
	if g.events == 0 {
		g.first = e
	}
	g.events++
	g.last = e
}

// gapWarning replaces what was dropped: it spans the same time.
func (g *droppedEvents) gapWarning() Event {
	end := g.last.End
	if end.Before(g.first.Start) {
		end = g.first.Start
	}
	return New(g.first.Session, g.first.Start, end, Warning{
		Severity: Medium,
		Message:  fmt.Sprintf("%d trace events were dropped: the sink is slower than the session", g.events),
		Remedy:   "use a faster sink, or a larger queue",
	})
}

// notifyOnce leaves word in c, once.
func notifyOnce(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
