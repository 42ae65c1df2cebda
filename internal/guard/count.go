package guard

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/tiercompact/tiercompact/tokens"
)

// A Counter is the caller's Count while one thing is counted by it: a message, or
// all of a round. Count is called too often for a goroutine each. So what counts
// is in one goroutine, and somebody watches whether a call has come back.
type Counter struct {
	guard   *Guard
	count   func(string) int
	builtIn *tokens.Counter // stands in for what count gets wrong
	faults  *Faults
	Out     bool // Count is left out

	mu    sync.Mutex // guards what follows; held for no call
	calls int        // begun so far
	in    int        // not back yet
	left  int        // given up while they were not back
	alone bool       // nobody waits any more
}

// possible is more than any counter finds in so many bytes: tokens have a byte
// each at least, and counters may put some around a text or count it thrice.
func possible(bytes int) int { return 4*bytes + 256 }

// Text returns the tokens of s by count, or by the built-in counter where count
// panics or returns what cannot be. In a goroutine that was given up it does not
// return.
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

// stuck reports whether the call that was begun as the n-th and last is not back.
func (c *Counter) stuck(n int) bool { return c.in > 0 && c.calls == n }

// giveUp ends the wait if the n-th call is still the last, and not back.
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

// looks is how often a call is looked at within its deadline.
const looks = 4

// Watch has f count in a goroutine of its own, and waits for it unless one
// call of count passes its deadline. What f has made by then is dropped.
func Watch[T any](c *Counter, f func() (T, error)) (T, error) {
	var none T
	if c == nil || c.Out {
		return f()
	}
	back := make(chan result[T], 1)
	go func() {
		o := result[T]{err: &Error{Callback: c.guard.Name, Reason: "ended its goroutine"}}
		defer func() {
			o.panicked = recover() // not in Count: it is the waiting goroutine's
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

// NewCounter returns the Counter of one thing. builtIn stands in for what count
// gets wrong, and for all of it while g leaves count out.
func NewCounter(g *Guard, count func(string) int, builtIn *tokens.Counter, faults *Faults) *Counter {
	return &Counter{guard: g, count: count, builtIn: builtIn, faults: faults, Out: g.Enter() != nil}
}

// BuiltIn returns a Counter that never calls Count.
func BuiltIn(builtIn *tokens.Counter) *Counter { return &Counter{builtIn: builtIn, Out: true} }
