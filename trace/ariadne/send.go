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

	"github.com/tiercompact/tiercompact/trace"
	"github.com/tiercompact/tiercompact/trace/internal/loss"
)

// A sender posts batches. All but end and says belongs to the goroutine of the
// queue.
type sender struct {
	ctx     context.Context // of all requests, which no caller waits for; ends with the sink
	closing <-chan struct{}
	ended   sync.Once
	client  *http.Client
	url     string
	tree    tree
	failed  int       // requests in a row
	resume  time.Time // when the next is due
	problem string    // of the last of them
	lastTry bool      // was made, or is under way
	says    *loss.Report
}

// The pause after a failure doubles with each in a row.
const (
	firstPause   = 250 * time.Millisecond
	longestPause = 8 * time.Second
)

// A refusal is a batch that the server did not take.
type refusal struct {
	problem string
	again   bool // it was not looked at: it may be sent again
}

// end has the sender pause no more.
func (s *sender) end(closing chan struct{}) {
	s.ended.Do(func() { close(closing) })
}

// send posts events in as few requests as the server takes.
func (s *sender) send(events []trace.Event) {
	for len(events) > 0 {
		b, n := s.tree.batch(events)
		ok := s.deliver(s.tree.body(b))
		b.sent(ok)
		if !ok {
			s.says.Add(n, shown(s.url)+": "+s.problem)
		}
		events = events[n:]
	}
}

// deliver posts one body, and reports whether it was taken. Where the server
// could not be reached, or asks to come later, it is posted once more.
func (s *sender) deliver(body []byte) bool {
	for range 2 {
		if !s.pause() {
			break
		}
		no := s.post(body)
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

// pause waits until it is time after a failure, and reports whether to send: a
// server that failed is tried once while the sink is being closed.
func (s *sender) pause() bool {
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

// post sends body, and returns why it was not taken.
func (s *sender) post(body []byte) *refusal {
	ctx, cancel := context.WithTimeout(s.ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		return &refusal{problem: err.Error()}
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := s.client.Do(req)
	if err != nil {
		return failure(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 4096))
	if err != nil {
		return failure(fmt.Errorf("answers %s, and no more: %w", resp.Status, err))
	}
	return refused(resp, answer)
}

// failure says why there is no answer, without what the URL holds.
func failure(err error) *refusal {
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

func refused(resp *http.Response, answer []byte) *refusal {
	code := resp.StatusCode
	switch {
	case code/100 == 2:
		return nil
	case code/100 == 3:
		return &refusal{problem: fmt.Sprintf("answers %s to %q, and redirects are not followed; set the URL to where the server is", resp.Status, resp.Header.Get("Location"))}
	}
	problem := "answers " + resp.Status
	if text := strings.TrimSpace(string(answer)); text != "" {
		problem += ": " + text
	}
	return &refusal{problem, code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable}
}
