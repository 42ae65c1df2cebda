package tiercompact

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// A CallbackError says which callback of a [Config] did not do its work, and
// how: it panicked, did not return in time, or returned what cannot be.
type CallbackError struct {
	Callback string // the field of Config, or Recorder
	Reason   string
	cause    error
}

func (e *CallbackError) Error() string { return e.Callback + " " + e.Reason }

// Unwrap returns what a callback that is late was ended by, or the error that
// it panicked with; nil for other values.
func (e *CallbackError) Unwrap() error { return e.cause }

// late reports whether the callback took longer than it may, or was left out
// because of that.
func (e *CallbackError) late() bool {
	return errors.Is(e.cause, errLeftOut) || errors.Is(e.cause, context.DeadlineExceeded) || errors.Is(e.cause, context.Canceled)
}

// recovered returns the error that f returns, or that a callback in it panicked
// with. What is no callback's goes on.
func recovered(f func() error) (err error) {
	defer func() {
		failed := recover()
		if failed == nil {
			return
		}
		named, ok := failed.(*CallbackError)
		if !ok {
			panic(failed)
		}
		err = named
	}()
	return f()
}

// errLeftOut is under a CallbackError of a callback that was not called.
var errLeftOut = errors.New("left out")

// A guard stands in front of one callback, for all sessions of a compactor.
// What a callback does in a goroutine of its own can neither hang its caller,
// nor end the process by a panic. As long as one call that was late has not
// returned, the callback is not called again: of the goroutines that call it,
// only those hang that were in it already.
type guard struct {
	name   string
	within time.Duration // of one call; 0: as long as its context
	// backs has calls left out also after a late one has returned: 64, then 128,
	// up to 65,536 while they are late.
	backs bool

	mu   sync.Mutex // guards what follows; held for no call
	hung int        // late calls that have not returned
	late int        // calls in a row that were late
	skip int        // calls yet to be left out
}

const (
	firstSkipped = 64
	mostSkipped  = 1 << 16
	// grace is how long a call may go on behind its deadline: one that heeds its
	// context returns in it, and is not held to hang.
	grace = time.Second
)

// enter returns why the callback is left out, nil where it may be called.
func (g *guard) enter() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.hung > 0:
		return &CallbackError{g.name, "has not returned from an earlier call: it is left out until it does", errLeftOut}
	case g.skip > 0:
		g.skip--
		return &CallbackError{g.name, fmt.Sprintf("was late: it is left out for %d more calls", g.skip+1), errLeftOut}
	}
	return nil
}

// hanging reports whether a late call has not returned.
func (g *guard) hanging() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.hung > 0
}

// after notes whether a call was late.
func (g *guard) after(late bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !late {
		g.late = 0
		return
	}
	if g.late++; g.backs {
		g.skip = firstSkipped
		for range g.late - 1 {
			g.skip = min(2*g.skip, mostSkipped)
		}
	}
}

func (g *guard) leave(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.hung += n
}

// panicked returns the error of what a callback panicked with. A callback that
// another one has called has its own name already.
func (g *guard) panicked(value any) error {
	err, isError := value.(error)
	if named, ok := errors.AsType[*CallbackError](err); isError && ok {
		return named
	}
	e := &CallbackError{Callback: g.name, Reason: fmt.Sprintf("panicked: %v", value)}
	switch {
	case value == nil:
		e.Reason = "ended its goroutine"
	case isError:
		e.cause = err
	}
	return e
}

// An outcome is what a call came back with.
type outcome[T any] struct {
	value    T
	err      error
	panicked any
}

// A calling is one call in its goroutine.
type calling[T any] struct {
	back chan outcome[T]

	mu    sync.Mutex // guards what follows
	over  bool
	alone bool // nobody waits any more
}

// guarded calls f, and waits for it no longer than ctx and g.within. A late
// answer is dropped. A panic is an error that names the callback.
func guarded[T any](ctx context.Context, g *guard, f func(context.Context) (T, error)) (T, error) {
	var none T
	if err := g.enter(); err != nil {
		return none, err
	}
	if g.within > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, g.within)
		defer stop()
	}
	c := &calling[T]{back: make(chan outcome[T], 1)}
	go c.run(ctx, g, f)
	select {
	case o := <-c.back:
		g.after(errors.Is(o.err, context.DeadlineExceeded) && ctx.Err() != nil)
		return o.value, o.err
	case <-ctx.Done():
	}
	limit := time.NewTimer(grace)
	defer limit.Stop()
	select {
	case o := <-c.back:
		g.after(o.err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded))
		return o.value, o.err
	case <-limit.C:
	}
	if c.leave(g) {
		g.after(true)
		return none, g.lateness(ctx)
	}
	o := <-c.back // it returned just now
	return o.value, o.err
}

// lateness is the error of a call that has not returned when ctx had ended.
func (g *guard) lateness(ctx context.Context) error {
	reason := "did not return when its context ended"
	if g.within > 0 && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		reason = fmt.Sprintf("did not return within %s", g.within)
	}
	return &CallbackError{g.name, reason, ctx.Err()}
}

func (c *calling[T]) run(ctx context.Context, g *guard, f func(context.Context) (T, error)) {
	var o outcome[T]
	returned := false
	defer func() {
		if !returned {
			o = outcome[T]{err: g.panicked(recover())}
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.over = true; c.alone {
			g.leave(-1)
			return
		}
		c.back <- o
	}()
	o.value, o.err = f(ctx)
	o.err = settled(o.err)
	returned = true
}

// A settledError is an error of a callback whose text was asked for where that
// can neither hang nor panic out of a session.
type settledError struct {
	error
	text string
}

func (e settledError) Error() string { return e.text }
func (e settledError) Unwrap() error { return e.error }

func settled(err error) error {
	if err == nil {
		return nil
	}
	return settledError{err, err.Error()}
}

// leave gives a call up, and reports whether it was still going on.
func (c *calling[T]) leave(g *guard) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return false
	}
	c.alone = true
	g.leave(1)
	return true
}

// do is guarded for what returns no error.
func do[T any](g *guard, f func() T) (T, error) {
	return guarded(context.Background(), g, func(context.Context) (T, error) { return f(), nil })
}

// faults are what the callbacks of one session failed by since it was told last.
type faults struct {
	mu   sync.Mutex
	errs []error
}

// mostFaults bounds what one report tells of callbacks.
const mostFaults = 8

// add takes an error of a callback, each once until it is told. That one is
// left out was told when it failed.
func (f *faults) add(err error) {
	if err == nil || errors.Is(err, errLeftOut) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, known := range f.errs {
		if known.Error() == err.Error() {
			return
		}
	}
	if len(f.errs) < mostFaults {
		f.errs = append(f.errs, err)
	}
}

func (f *faults) take() []error {
	f.mu.Lock()
	defer f.mu.Unlock()
	errs := f.errs
	f.errs = nil
	return errs
}
