package trace_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tiercompact/tiercompact/trace"
)

// numbered is event number i of a session.
func numbered(i int) trace.Event {
	return trace.New("s", start.Add(time.Duration(i)*time.Second), start.Add(time.Duration(i)*time.Second), trace.Archival{SessionID: "s", Step: i, StorageAdapter: "memory"})
}

func steps(events []trace.Event) (out []int) {
	for _, e := range events {
		if p, is := e.Data.(trace.Archival); is {
			out = append(out, p.Step)
		} else {
			out = append(out, -1) // a warning of a gap
		}
	}
	return out
}

func TestQueueKeepsOrderAndLosesNothingWhileThereIsRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []trace.Event
		q := trace.NewQueue(func(e trace.Event) { got = append(got, e) }, 500)
		for i := range 500 {
			q.Emit(numbered(i))
		}
		if err := q.Flush(t.Context()); err != nil || len(got) != 500 {
			t.Fatalf("%d events, %v", len(got), err)
		}
		for i, n := range steps(got) {
			if n != i {
				t.Fatalf("event %d is at %d", n, i)
			}
		}
		if err := q.Close(t.Context()); err != nil || q.Dropped() != 0 {
			t.Errorf("%v, %d dropped", err, q.Dropped())
		}
		if err := errors.Join(q.Close(t.Context()), q.Flush(t.Context())); err != nil {
			t.Errorf("once more: %v", err)
		}
	})
}

func TestFullQueueDropsTheNewestAndReportsTheGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		var got []trace.Event
		q := trace.NewBatchQueue(func(events []trace.Event) {
			<-gate
			got = append(got, events...)
		}, trace.QueueOptions{Size: 3})
		q.Emit(numbered(0))
		synctest.Wait() // 0 is in the sink
		for i := 1; i <= 5; i++ {
			q.Emit(numbered(i)) // 4 and 5 find no room
		}
		if q.Dropped() != 2 {
			t.Errorf("%d dropped", q.Dropped())
		}
		gate <- struct{}{}
		synctest.Wait() // 1 is in the sink
		q.Emit(numbered(6))
		close(gate)
		synctest.Wait()
		if want := "[0 1 2 3 -1 6]"; fmt.Sprint(steps(got)) != want {
			t.Errorf("%v, want %s", steps(got), want)
		}
		gap := got[4]
		if err := trace.Check(gap); err != nil || !gap.Start.Equal(numbered(4).Start) || !gap.End.Equal(numbered(5).End) {
			t.Errorf("%+v, %v", gap, err)
		}
		if w := gap.Data.(trace.Warning); w.Message != "2 trace events were dropped: the sink is slower than the session" {
			t.Errorf("%q", w.Message)
		}
		_ = q.Close(t.Context())
	})
}

func TestQueueReportsAGapAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		var got []trace.Event
		q := trace.NewBatchQueue(func(events []trace.Event) {
			<-gate
			got = append(got, events...)
		}, trace.QueueOptions{Size: 1})
		q.Emit(numbered(0))
		synctest.Wait()
		q.Emit(numbered(2))
		q.Emit(numbered(1)) // dropped; its clock was set back
		close(gate)
		if err := q.Close(t.Context()); err != nil || fmt.Sprint(steps(got)) != "[0 2 -1]" {
			t.Errorf("%v, %v", steps(got), err)
		}
		q.Emit(numbered(3))
		if q.Dropped() != 2 {
			t.Errorf("%d dropped", q.Dropped())
		}
	})
}

func TestBatchesAreFullOrWaitNoLongerThanTheyMay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		var got []string
		q := trace.NewBatchQueue(func(events []trace.Event) {
			got = append(got, fmt.Sprint(len(events), time.Since(begin)))
		}, trace.QueueOptions{Batch: 4, Wait: 50 * time.Millisecond})
		q.Emit(numbered(0))
		time.Sleep(20 * time.Millisecond)
		q.Emit(numbered(1))
		time.Sleep(60 * time.Millisecond) // at 50 ms the two were sent
		q.Emit(numbered(2))               // its own 50 ms begin
		time.Sleep(70 * time.Millisecond)
		for i := range 9 {
			q.Emit(numbered(i)) // two full batches at 150 ms, the rest at 200 ms
		}
		time.Sleep(time.Second)
		q.Emit(numbered(0))
		_ = q.Flush(t.Context()) // immediately
		_ = q.Close(t.Context())
		if want := "[2 50ms 1 130ms 4 150ms 4 150ms 1 200ms 1 1.15s]"; fmt.Sprint(got) != want {
			t.Errorf("%v, want %s", got, want)
		}
	})
}

func TestQueueIsGivenUpWhenTheContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := make(chan struct{})
		sent := 0
		q := trace.NewBatchQueue(func(events []trace.Event) {
			<-stuck
			sent += len(events)
		}, trace.QueueOptions{})
		for i := range 10 {
			q.Emit(numbered(i))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := q.Flush(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("flush: %v", err)
		}
		if err := q.Close(ctx); !errors.Is(err, context.DeadlineExceeded) || q.Dropped() != 9 {
			t.Errorf("close: %v, %d dropped", err, q.Dropped())
		}
		close(stuck)
		if err := q.Close(t.Context()); err != nil || sent != 1 {
			t.Errorf("%d sent, %v", sent, err)
		}
	}) // which fails if a goroutine is left
}

func TestQueueServesManySessionsAtOnce(t *testing.T) {
	var got atomic.Int64
	q := trace.NewQueue(func(trace.Event) { got.Add(1) }, 64)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 1000 {
				q.Emit(numbered(i))
				if i%100 == 0 {
					_ = q.Flush(t.Context())
				}
			}
		})
	}
	wg.Wait()
	if err := q.Close(t.Context()); err != nil || int(got.Load())+q.Dropped() < 8000 {
		t.Errorf("%d events, %d dropped, %v", got.Load(), q.Dropped(), err)
	}
}

func BenchmarkQueue(b *testing.B) {
	e := events()[2]
	stuck := make(chan struct{})
	for name, sink := range map[string]trace.Sink{"sink=fast": func(trace.Event) {}, "sink=stuck": func(trace.Event) { <-stuck }} {
		b.Run(name, func(b *testing.B) {
			q := trace.NewQueue(sink, 0)
			b.ReportAllocs()
			for b.Loop() {
				q.Emit(e)
			}
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			_ = q.Close(ctx)
		})
	}
	close(stuck)
}
