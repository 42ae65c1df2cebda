package remote

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/tiercompact/tiercompact/internal/model"
)

// A server that is busy, or whose connection broke, is asked once more: after
// shortWait, or what the server asks for with Retry-After, but not after more than
// longestWait.
const (
	shortWait   = time.Second
	longestWait = 5 * time.Second
)

// Make makes a call, and returns why it failed. If a server answers 429 or 503, or
// the connection ends before any part of a stream reached the caller, it makes the
// call once more, if the deadline of ctx leaves time for it. call is then run
// again. secret must not be in errors; "" for none.
func Make(ctx context.Context, secret string, call func(*http.Client) error) error {
	first := Call{Secret: secret}
	err := first.Fault(ctx, call(first.Client()))
	if err == nil || !waitFor(ctx, first.retryAfter(err)) {
		return err
	}
	second := Call{Secret: secret}
	return second.Fault(ctx, call(second.Client()))
}

// retryAfter returns when to make a failed call once more; a negative duration:
// never.
func (c *Call) retryAfter(err error) time.Duration {
	switch {
	case c.status == http.StatusTooManyRequests || c.status == http.StatusServiceUnavailable:
		wait := requestedWait(c.wait)
		if wait > longestWait {
			return -1
		}
		return wait
	case errors.Is(err, model.ErrBroken) && !c.passed:
		return 0
	}
	return -1
}

// requestedWait returns the duration in a Retry-After: a number of seconds, or a
// date.
func requestedWait(header string) time.Duration {
	if seconds, err := strconv.ParseUint(header, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if date, err := http.ParseTime(header); err == nil {
		return max(0, time.Until(date))
	}
	return shortWait
}

// waitFor waits, and reports whether there is time for another call.
func waitFor(ctx context.Context, wait time.Duration) bool {
	if deadline, ok := ctx.Deadline(); wait < 0 || ok && time.Until(deadline) <= wait {
		return false
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
