package tiercompact

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/tokens"
)

// A counting is Config.Count while one thing is counted by it: a message, or
// all of a round. Count is called too often for a goroutine each. So what counts
// is in one goroutine, and somebody watches whether a call has come back.
type counting struct {
	guard   *guard
	count   func(string) int
	builtIn *tokens.Counter // stands in for what count gets wrong
	faults  *faults
	out     bool // count is left out

	mu    sync.Mutex // guards what follows; held for no call
	calls int        // begun so far
	in    int        // not back yet
	left  int        // given up while they were not back
	alone bool       // nobody waits any more
}

// possible is more than any counter finds in so many bytes: tokens have a byte
// each at least, and counters may put some around a text or count it thrice.
func possible(bytes int) int { return 4*bytes + 256 }

// text returns the tokens of s by count, or by the built-in counter where count
// panics or returns what cannot be. In a goroutine that was given up it does not
// return.
func (c *counting) text(s string) (n int) {
	if c.out {
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
			c.faults.add(c.guard.panicked(failed))
			n = c.builtIn.Text(s)
		}
	}()
	n = c.count(s)
	returned = true
	if most := possible(len(s)); n < 0 || n > most {
		reason := fmt.Sprintf("returned %d tokens for a text of %d bytes, which has 0 to %d", n, len(s), most)
		c.faults.add(&CallbackError{Callback: c.guard.name, Reason: reason})
		n = c.builtIn.Text(s)
	}
	return n
}

func (c *counting) enter() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.alone {
		runtime.Goexit()
	}
	c.calls++
	c.in++
}

func (c *counting) leave() {
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
func (c *counting) stuck(n int) bool { return c.in > 0 && c.calls == n }

// giveUp ends the wait if the n-th call is still the last, and not back.
func (c *counting) giveUp(n int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.stuck(n) {
		return false
	}
	c.alone, c.left = true, c.in
	c.guard.leave(c.in)
	return true
}

func (c *counting) begun() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls
}

// looks is how often a call is looked at within its deadline.
const looks = 4

// watched has f count in a goroutine of its own, and waits for it unless one
// call of count passes its deadline. What f has made by then is dropped.
func watched[T any](c *counting, f func() (T, error)) (T, error) {
	var none T
	if c == nil || c.out {
		return f()
	}
	back := make(chan outcome[T], 1)
	go func() {
		o := outcome[T]{err: &CallbackError{Callback: c.guard.name, Reason: "ended its goroutine"}}
		defer func() {
			o.panicked = recover() // not in Count: it is the waiting goroutine's
			back <- o
		}()
		o.value, o.err = f()
	}()
	var look <-chan time.Time
	if c.guard.within > 0 {
		ticker := time.NewTicker(max(1, c.guard.within/looks))
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
				return none, &CallbackError{c.guard.name, fmt.Sprintf("did not return within %s", c.guard.within), context.DeadlineExceeded}
			}
		}
	}
}

// counters count texts, messages and tool schemas, for one thing that is counted:
// a message, or a round.
type counters struct {
	counting     *counting // by which Config.Count is called; nil without it
	countText    func(string) int
	countMessage func(chat.Message) int
	countTools   func([]byte) int
}

// newCounters returns those of one thing. It needs no lock.
func (cfg *settings) newCounters() *counters {
	if cfg.Count == nil {
		return &cfg.counters
	}
	c := &counting{guard: cfg.guards.count, count: cfg.Count, builtIn: cfg.builtIn, faults: cfg.faults}
	c.out = c.guard.enter() != nil
	return cfg.countersBy(c)
}

func (cfg *settings) countersBy(c *counting) *counters {
	return &counters{
		counting: c, countText: c.text, countMessage: cfg.builtIn.With(c.text).Message,
		countTools: func(raw []byte) int {
			if len(raw) == 0 {
				return 0
			}
			return c.text(string(raw))
		},
	}
}

// counted returns cfg for a round. Its caller holds the lock.
func (cfg *settings) counted() *settings {
	own := *cfg
	own.counters = *cfg.newCounters()
	return &own
}

// count has f count by what it is given; where a call of Count does not return,
// again by what is built in. f may change nothing.
func count[T any](cfg *settings, f func(*counters) T) T {
	own := cfg.newCounters()
	made, err := watched(own.counting, func() (T, error) { return f(own), nil })
	if err != nil {
		cfg.faults.add(err)
		return f(cfg.countersBy(&counting{builtIn: cfg.builtIn, out: true}))
	}
	return made
}

// measured measures messages, by a Count that may hang or panic.
func (cfg *settings) measured(messages []chat.Message) []measuredMessage {
	return count(cfg, func(own *counters) []measuredMessage {
		entries := make([]measuredMessage, len(messages))
		for i, m := range messages {
			entries[i] = own.measure(m)
		}
		return entries
	})
}

// toolTokens returns the tokens of tool schemas.
func (cfg *settings) toolTokens(raw []byte) int {
	return count(cfg, func(own *counters) int { return own.countTools(raw) })
}
