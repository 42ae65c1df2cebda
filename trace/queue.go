package trace

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// A Queue is between sessions and a slow sink. Emit never waits: one goroutine of
// the queue passes events on, in order. A full queue drops the newest event: the
// waiting events report how things began, without a gap, and the session need not
// make room. As soon as there is room again, a [Warning] in place of the dropped
// events gives their number.
type Queue struct {
	send func([]Event)
	opts QueueOptions
	wake chan struct{} // the fields below have changed
	done chan struct{} // closed when no more events are passed on

	mu      sync.Mutex    // guards the fields below; never held while send runs
	events  []Event       // waiting, oldest first
	since   time.Time     // when the wait of the next batch began
	gap     droppedEvents // dropped after the newest of events
	dropped int
	in, out int // events accepted and passed on so far
	flushes []flush
	closed  bool
}

// QueueOptions set the size of a queue, and its batches.
type QueueOptions struct {
	Size  int           // maximum number of waiting events; 0: 1,024
	Batch int           // maximum number of events per batch; 0: 1
	Wait  time.Duration // maximum wait of an incomplete batch for more events
}

type flush struct {
	until int // of Queue.out
	done  chan struct{}
}

// droppedEvents is a run of dropped events.
type droppedEvents struct {
	events      int
	first, last Event
}

// NewQueue returns a queue of at most size events before sink; 0 is 1,024. It must
// be closed.
func NewQueue(sink Sink, size int) *Queue {
	return NewBatchQueue(func(events []Event) {
		for _, e := range events {
			sink.Emit(e)
		}
	}, QueueOptions{Size: size, Batch: 64})
}

// NewBatchQueue returns a queue that passes events to send in batches, one at a
// time. A batch belongs to send only while send runs. The queue must be closed.
func NewBatchQueue(send func([]Event), opts QueueOptions) *Queue {
	if opts.Size <= 0 {
		opts.Size = 1024
	}
	opts.Batch = min(max(1, opts.Batch), opts.Size)
	q := &Queue{send: send, opts: opts, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go q.deliverEvents()
	return q
}

// Emit adds e to the end of the queue, or drops it if the queue is full or closed.
// It is a [Sink], and safe for concurrent use.
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
}

// Dropped returns the number of dropped events so far.
func (q *Queue) Dropped() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.dropped
}

// Flush waits until all events accepted so far are passed on, or for ctx.
func (q *Queue) Flush(ctx context.Context) error {
	q.mu.Lock()
	f := flush{q.in, make(chan struct{})}
	q.flushes = append(q.flushes, f)
	q.mu.Unlock()
	notifyOnce(q.wake)
	select {
	case <-f.done:
		return nil
	case <-q.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("flush trace: %w", ctx.Err())
	}
}

// Close passes on the waiting events, and ends the queue. Later events are dropped.
// If ctx ends first, so are the waiting ones, and the goroutine ends as soon as the
// sink returns. A second Close does the same.
func (q *Queue) Close(ctx context.Context) error {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	notifyOnce(q.wake)
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

// deliverEvents passes events on until the queue is closed and empty.
func (q *Queue) deliverEvents() {
	defer close(q.done)
	var batch []Event
	for {
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

// waitForBatch waits until something is due.
func (q *Queue) waitForBatch() {
	for {
		due, wait := q.isDue()
		if due {
			return
		}
		select {
		case <-q.wake:
		case <-wait:
		}
	}
}

// isDue reports whether the next batch is full, has waited long enough, or must not
// wait; else wait ends its wait.
func (q *Queue) isDue() (due bool, wait <-chan time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || len(q.flushes) > 0 || len(q.events) >= q.opts.Batch {
		return true, nil
	}
	if len(q.events) == 0 {
		return false, nil
	}
	left := q.opts.Wait - time.Since(q.since)
	return left <= 0, time.After(left)
}

// takeBatch appends the next events to batch.
func (q *Queue) takeBatch(batch []Event) []Event {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(len(q.events), q.opts.Batch)
	batch = append(batch, q.events[:n]...)
	q.events = slices.Delete(q.events, 0, n)
	q.since = time.Now()
	if len(q.events) == 0 {
		q.reportGap()
	}
	return batch
}

// handedOn records that n events were passed on, and reports whether they were the
// last.
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
	return q.closed && len(q.events) == 0
}

// pushEvent and reportGap are called with the lock held.
func (q *Queue) pushEvent(e Event) {
	if len(q.events) == 0 {
		q.since = time.Now()
	}
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

// gapWarning replaces dropped events: it spans the same time.
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

// notifyOnce puts a signal into c, if there is none.
func notifyOnce(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
