package ariadne

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/tiercompact/tiercompact/internal/loss"
	"github.com/tiercompact/tiercompact/trace"
)

// A sender posts batches. Everything except end and says belongs to the goroutine
// of the queue.
type sender struct {
	closing <-chan struct{}
	ended   sync.Once
	client  *http.Client
	url     string
	tree    spanTree
	failed  int       // requests in a row
	resume  time.Time // when the next is due
	problem string    // of the last of them
	lastTry bool      // a request was made, or is in progress
	says    *loss.Report
}

// The pause after a failure doubles with each consecutive failure.
const (
	firstPause   = 250 * time.Millisecond
	longestPause = 8 * time.Second
)

// A refusal is a batch that the server did not accept.
type refusal struct {
	problem string
	again   bool // the server did not read it: it may be sent again
}

// stopWaiting makes the sender stop pausing.
func (s *sender) stopWaiting(closing chan struct{}) {
	s.ended.Do(func() { close(closing) })
}

// postEvents posts events in as few requests as the server accepts.
func (s *sender) postEvents(ctx context.Context, events []trace.Event) {
	for len(events) > 0 {
		b, n := s.tree.nextBatch(events)
		ok := s.deliverBody(ctx, s.tree.batchBody(b))
		b.markSent(ok)
		if !ok {
			s.says.Add(n, redactedURL(s.url)+": "+s.problem)
		}
		events = events[n:]
	}
}

// deliverBody posts one body, and reports whether it was accepted. If the server
// could not be reached, or asks to try later, it is posted once more.
func (s *sender) deliverBody(ctx context.Context, body []byte) bool {
	for range 2 {
		if !s.waitForRetry() {
			break
		}
		no := s.postOnce(ctx, body)
		if no == nil {
			s.failed = 0
			return true
		}
		s.failed++
		s.resume = time.Now().Add(min(firstPause<<min(s.failed-1, 10), longestPause))
		s.problem = no.problem
		if !no.again {
			break
		}
	}
	return false
}

// waitForRetry waits for the end of the pause after a failure, and reports whether
// to send: a server that failed is tried once while the sink is being closed.
func (s *sender) waitForRetry() bool {
	select {
	case <-s.closing:
		first := !s.lastTry
		s.lastTry = true
		return first || s.failed == 0
	default:
	}
	if s.failed == 0 {
		return true
	}
	t := time.NewTimer(time.Until(s.resume))
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.closing:
		s.lastTry = true
	}
	return true
}

// postOnce sends body, and returns why it was not accepted.
func (s *sender) postOnce(ctx context.Context, body []byte) *refusal {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		return &refusal{problem: err.Error()}
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := s.client.Do(req)
	if err != nil {
		return requestFailure(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 4096))
	if err != nil {
		return requestFailure(fmt.Errorf("answers %s, and no more: %w", resp.Status, err))
	}
	return refusalOf(resp, answer)
}

// requestFailure returns why there is no answer, without the content of the URL.
func requestFailure(err error) *refusal {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return &refusal{problem: fmt.Sprintf("no whole answer within %v", timeout)}
	}
	var dial *net.OpError
	return &refusal{err.Error(), errors.As(err, &dial) && dial.Op == "dial"}
}

func refusalOf(resp *http.Response, answer []byte) *refusal {
	code := resp.StatusCode
	switch {
	case code/100 == 2:
		return nil
	case code/100 == 3:
		return &refusal{problem: fmt.Sprintf("answers %s to %q, and redirects are not followed; set the URL to the address of the server", resp.Status, resp.Header.Get("Location"))}
	}
	problem := "answers " + resp.Status
	if text := strings.TrimSpace(string(answer)); text != "" {
		problem += ": " + text
	}
	return &refusal{problem, code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable}
}
