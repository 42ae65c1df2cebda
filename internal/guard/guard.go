// Package guard calls foreign code: a callback of the settings can neither block its
// caller, nor end the process by a panic.
package guard

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/tiercompact/tiercompact/tokens"
)

// An Error names a callback of the settings that failed, and the reason: it panicked, did
// not return in time, or returned an invalid value.
type Error struct {
	Callback string // the field of Config, or Recorder
	Reason   string
	cause    error
}

func (e *Error) Error() string { return e.Callback + " " + e.Reason }

// Unwrap returns the cause of a late callback's end, or the error with which it panicked;
// nil for other values.
func (e *Error) Unwrap() error { return e.cause }

// Late reports whether the callback passed its deadline, or was skipped because of that.
func (e *Error) Late() bool {
	return errors.Is(e.cause, ErrLeftOut) || errors.Is(e.cause, context.DeadlineExceeded) || errors.Is(e.cause, context.Canceled)
}

// Recovered returns the error of f, or that of a callback's panic in it. Other panics
// continue.
func Recovered(f func() error) (err error) {
	defer func() {
		failed := recover()
		if failed == nil {
			return
		}
		named, ok := failed.(*Error)
		if !ok {
			panic(failed)
		}
		err = named
	}()
	return f()
}

// ErrLeftOut is wrapped by the Error of a callback that was not called.
var ErrLeftOut = errors.New("left out")

// A Guard protects the callers of one callback, for all sessions of a compactor. The
// callback runs in its own goroutine, so it can neither block its caller nor end the
// process by a panic. Until a late call has returned, the callback is not called again:
// only the goroutines that were in it already hang.
type Guard struct {
	Name   string
	Within time.Duration // max time of one call; 0: as long as its context
	// Backs skips calls after a late one has returned too: 64, then 128, up to 65,536 while
	// they are late.
	Backs bool

	mu   sync.Mutex // guards the fields below; not held during calls
	hung int        // late calls that have not returned
	late int        // calls in a row that were late
	skip int        // calls to skip
}

const (
	firstSkipped = 64
	maxSkipped   = 1 << 16
	// grace is the extra time of a call after its deadline: a callback that respects its
	// context returns within it, and does not count as hanging.
	grace = time.Second
)

// Enter returns why the callback is skipped, nil if it may be called.
func (g *Guard) Enter() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.hung > 0:
		return &Error{g.Name, "has not returned from an earlier call: it is left out until it does", ErrLeftOut}
	case g.skip > 0:
		g.skip--
		return &Error{g.Name, fmt.Sprintf("was late: it is left out for %d more calls", g.skip+1), ErrLeftOut}
	}
	return nil
}

// Hanging reports whether a late call has not returned.
func (g *Guard) Hanging() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.hung > 0
}

// after records whether a call was late.
func (g *Guard) after(late bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !late {
		g.late = 0
		return
	}
	if g.late++; g.Backs {
		g.skip = firstSkipped
		for range g.late - 1 {
			g.skip = min(2*g.skip, maxSkipped)
		}
	}
}

func (g *Guard) leave(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.hung += n
}

// Panicked returns the error for a callback's panic. If another callback called it, the
// error keeps the inner name.
func (g *Guard) Panicked(value any) error {
	err, isError := value.(error)
	if named, ok := errors.AsType[*Error](err); isError && ok {
		return named
	}
	e := &Error{Callback: g.Name, Reason: fmt.Sprintf("panicked: %v", value)}
	switch {
	case value == nil:
		e.Reason = "ended its goroutine"
	case isError:
		e.cause = err
	}
	return e
}

// A result is the result of a call.
type result[T any] struct {
	value    T
	err      error
	panicked any
}

// A call is one call in its goroutine.
type call[T any] struct {
	back chan result[T]

	mu    sync.Mutex // guards the fields below
	over  bool
	alone bool // the caller no longer waits
}

// Call calls f, and waits for it at most until ctx ends or g.Within passes. A late answer
// is dropped. A panic becomes an error that names the callback.
func Call[T any](ctx context.Context, g *Guard, f func(context.Context) (T, error)) (T, error) {
	var none T
	if err := g.Enter(); err != nil {
		return none, err
	}
	if g.Within > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, g.Within)
		defer stop()
	}
	c := &call[T]{back: make(chan result[T], 1)}
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
	o := <-c.back // it has just returned
	return o.value, o.err
}

// lateness is the error of a call that has not returned by the end of ctx.
func (g *Guard) lateness(ctx context.Context) error {
	reason := "did not return when its context ended"
	if g.Within > 0 && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		reason = fmt.Sprintf("did not return within %s", g.Within)
	}
	return &Error{g.Name, reason, ctx.Err()}
}

func (c *call[T]) run(ctx context.Context, g *Guard, f func(context.Context) (T, error)) {
	var o result[T]
	returned := false
	defer func() {
		if !returned {
			o = result[T]{err: g.Panicked(recover())}
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.over = true; c.alone {
			g.leave(-1)
			return
		}
		c.back <- o
	}()
	if o.value, o.err = f(ctx); o.err != nil {
		o.err = settledError{o.err, o.err.Error()}
	}
	returned = true
}

// A settledError is a callback's error whose text was read inside of the guard, because
// Error can hang or panic too.
type settledError struct {
	error
	text string
}

func (e settledError) Error() string { return e.text }
func (e settledError) Unwrap() error { return e.error }

// leave abandons a call, and reports whether it was still running.
func (c *call[T]) leave(g *Guard) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return false
	}
	c.alone = true
	g.leave(1)
	return true
}

// Do is Call for functions without an error.
func Do[T any](g *Guard, f func() T) (T, error) {
	return Call(context.Background(), g, func(context.Context) (T, error) { return f(), nil })
}

// Faults are the errors of the callbacks of one session since the last report.
type Faults struct {
	mu   sync.Mutex
	errs []error
}

// maxFaults is the maximum number of callbacks in one report.
const maxFaults = 8

// Add records an error of a callback, each once until it is reported. A skipped callback
// was reported when it failed.
func (f *Faults) Add(err error) {
	if err == nil || errors.Is(err, ErrLeftOut) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, known := range f.errs {
		if known.Error() == err.Error() {
			return
		}
	}
	if len(f.errs) < maxFaults {
		f.errs = append(f.errs, err)
	}
}

// Take returns the errors since the last call.
func (f *Faults) Take() []error {
	f.mu.Lock()
	defer f.mu.Unlock()
	errs := f.errs
	f.errs = nil
	return errs
}

// A Counter wraps the caller's Count during one operation: a message that is added, or a
// whole round. Count is called too often for a goroutine each, so all counting is in one
// goroutine, and a watcher checks whether each call returns.
type Counter struct {
	guard   *Guard
	count   func(string) int
	builtIn *tokens.Counter // the fallback if count fails
	faults  *Faults
	Out     bool // Count is not called

	mu    sync.Mutex // guards the fields below; not held during calls
	calls int        // begun so far
	in    int        // not returned yet
	left  int        // given up before they returned
	alone bool       // the caller no longer waits
}

// possible is the maximum plausible count for a number of bytes: a token has at least one
// byte, and counters may add some around a text or count it three times.
func possible(bytes int) int { return 4*bytes + 256 }

// Text returns the tokens of s by count, or by the built-in counter if count panics or
// returns an impossible value. In an abandoned goroutine it does not return.
func (c *Counter) Text(s string) (n int) {
	if c.Out {
		return c.builtIn.Text(s)
	}
	c.enter()
	returned := false
	defer func() {
		var failed any
		if !returned {
			failed = recover()
		}
		c.leave()
		if !returned {
			c.faults.Add(c.guard.Panicked(failed))
			n = c.builtIn.Text(s)
		}
	}()
	n = c.count(s)
	returned = true
	if most := possible(len(s)); n < 0 || n > most {
		reason := fmt.Sprintf("returned %d tokens for a text of %d bytes, which has 0 to %d", n, len(s), most)
		c.faults.Add(&Error{Callback: c.guard.Name, Reason: reason})
		n = c.builtIn.Text(s)
	}
	return n
}

func (c *Counter) enter() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.alone {
		runtime.Goexit()
	}
	c.calls++
	c.in++
}

func (c *Counter) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.in--
	if c.alone {
		if c.left > 0 {
			c.left--
			c.guard.leave(-1)
		}
		runtime.Goexit()
	}
}

// stuck reports whether call n, the latest, has not returned.
func (c *Counter) stuck(n int) bool { return c.in > 0 && c.calls == n }

// giveUp ends the wait if call n is still the latest, and has not returned.
func (c *Counter) giveUp(n int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.stuck(n) {
		return false
	}
	c.alone, c.left = true, c.in
	c.guard.leave(c.in)
	return true
}

func (c *Counter) begun() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls
}

// looks is how often a call is checked within its deadline.
const looks = 4

// Watch runs f in its own goroutine, and waits for it unless one call of count passes its
// deadline. In that case the result of f is dropped.
func Watch[T any](c *Counter, f func() (T, error)) (T, error) {
	var none T
	if c == nil || c.Out {
		return f()
	}
	back := make(chan result[T], 1)
	go func() {
		o := result[T]{err: &Error{Callback: c.guard.Name, Reason: "ended its goroutine"}}
		defer func() {
			o.panicked = recover() // not in Count: the waiting goroutine handles it
			back <- o
		}()
		o.value, o.err = f()
	}()
	var look <-chan time.Time
	if c.guard.Within > 0 {
		ticker := time.NewTicker(max(1, c.guard.Within/looks))
		defer ticker.Stop()
		look = ticker.C
	}
	for last, seen := -1, 0; ; {
		select {
		case o := <-back:
			if o.panicked != nil {
				panic(o.panicked)
			}
			c.guard.after(false)
			return o.value, o.err
		case <-look:
			if now := c.begun(); now != last {
				last, seen = now, 0
			}
			if seen++; seen > looks && c.giveUp(last) {
				c.guard.after(true)
				return none, &Error{c.guard.Name, fmt.Sprintf("did not return within %s", c.guard.Within), context.DeadlineExceeded}
			}
		}
	}
}

// NewCounter returns the Counter of one operation. builtIn is the fallback if count fails,
// and for all counts while g skips count.
func NewCounter(g *Guard, count func(string) int, builtIn *tokens.Counter, faults *Faults) *Counter {
	return &Counter{guard: g, count: count, builtIn: builtIn, faults: faults, Out: g.Enter() != nil}
}

// BuiltIn returns a Counter that never calls Count.
func BuiltIn(builtIn *tokens.Counter) *Counter { return &Counter{builtIn: builtIn, Out: true} }
