package guard

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/tiercompact/tiercompact/tokens"
)

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
