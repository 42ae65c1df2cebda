package proxy_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/internal/proxy"
)

// sendOnly sends bytes on a connection, of which it reads nothing until the test ends.
func (s *setup) sendOnly(t *testing.T, text string) {
	t.Helper()
	c, err := net.Dial("tcp", s.Server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
}

func postOf(path, body string, announced int) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, announced, body)
}

// A client that reads nothing of its answer, and one that stops in the middle of a body
// that goes on unread, are left when the time of an exchange is over.
func TestAClientThatStandsStillIsLeft(t *testing.T) {
	for name, text := range map[string]string{
		"it does not read": postOf("/api/chat", smallBody, len(smallBody)),
		"it does not send": postOf("/api/blobs/sha256:0", "{", 500),
	} {
		s := newSetup(t, 100_000, func(c *proxy.Config) { c.TotalWithin = 300 * time.Millisecond })
		s.answer = func(w http.ResponseWriter, _ *http.Request) {
			for piece := make([]byte, 1<<20); ; {
				if _, err := w.Write(piece); err != nil {
					return
				}
			}
		}
		left := make(chan struct{})
		s.Server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer close(left)
			s.proxy.ServeHTTP(w, r)
		})
		s.sendOnly(t, text)
		select {
		case <-left:
		case <-time.After(time.Minute):
			t.Errorf("%s: the proxy still waits for it", name)
		}
	}
}

// The limits of one exchange end with it: the next one on the connection has its own.
func TestAConnectionOutlivesTheLimitOfAnExchange(t *testing.T) {
	const within = 300 * time.Millisecond
	s := newSetup(t, 100_000, func(c *proxy.Config) { c.TotalWithin, c.ReadWithin = within, within })
	c := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}}
	defer c.CloseIdleConnections()
	for _, path := range []string{"/healthz", "/v1/compact", "/healthz", "/api/tags", "/_tiercompact/"} {
		method, body := http.MethodGet, ""
		if path == "/v1/compact" {
			method, body = http.MethodPost, smallBody
		}
		r, _ := http.NewRequest(method, s.Server.URL+path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		answer, err := c.Do(r)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if _, err := io.Copy(io.Discard, answer.Body); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		answer.Body.Close()
		time.Sleep(2 * within) // on an idle connection
	}
}

// The proxy's own answer to /v1/compact may be large: a client that does not read it
// holds no room.
func TestACompactedBodyThatIsNotReadHoldsNoRoom(t *testing.T) {
	s := newSetup(t, 100_000, func(c *proxy.Config) { c.ReadWithin = time.Second })
	body := `{"previous_response_id":"r","input":"` + strings.Repeat("a", 24<<20) + `"}`
	s.sendOnly(t, postOf("/v1/compact", body, len(body)))
	waitFor(t, "the room is free", func() bool { return s.gauge(t, "held_bytes") == 0 })
}

// TestTheWaitForRoomIsNotTheClients has a body wait for room for longer than a client may
// take to send it.
func TestTheWaitForRoomIsNotTheClients(t *testing.T) {
	// A machine that stops for longer than the limit looks like a client that does.
	answered := 0
	for within := 400 * time.Millisecond; answered < 3 && within < 20*time.Second; within *= 6 {
		answered = waitForRoom(t, within)
	}
	if answered < 3 {
		t.Errorf("%d of 3 requests were answered", answered)
	}
}

// waitForRoom sends three bodies, of which one fits, one is alone beyond the room, and one
// waits for twice the time that a body may take. It returns how many are answered.
func waitForRoom(t *testing.T, within time.Duration) int {
	s := newSetup(t, 10_000_000, func(c *proxy.Config) { c.MaxBodies, c.ReadWithin = 3<<19, within })
	next := make(chan struct{})
	s.answer = func(http.ResponseWriter, *http.Request) { <-next }
	var answered atomic.Int64
	var all sync.WaitGroup
	for i := range 3 {
		all.Go(func() {
			if answer, _ := s.post(t, "/api/chat", paddedBody(i, 1_200_000)); answer.StatusCode == http.StatusOK {
				answered.Add(1)
			}
		})
	}
	for began := time.Now(); time.Since(began) < 2*within || len(s.received()) < 2 && time.Since(began) < time.Minute; {
		time.Sleep(time.Millisecond)
	}
	close(next)
	all.Wait()
	return int(answered.Load())
}

// A slowStore is an archive that takes no step until next is closed.
type slowStore struct {
	archive.Store
	began chan<- struct{}
	next  <-chan struct{}
}

func (s slowStore) Put(ctx context.Context, step archive.Step) error {
	select {
	case s.began <- struct{}{}:
	default:
	}
	select {
	case <-s.next:
		return s.Store.Put(ctx, step)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TestAClientThatGoesInARoundLeavesNothing has a client leave while its round is archived.
// The next request of the conversation makes the round, and is not delayed.
func TestAClientThatGoesInARoundLeavesNothing(t *testing.T) {
	began, next := make(chan struct{}, 1), make(chan struct{})
	s := newSetup(t, 3000, func(c *proxy.Config) {
		open, store := c.Open, archive.NewMemory()
		c.Open = func(ctx context.Context, model string) (tiercompact.Config, error) {
			cfg, err := open(ctx, model)
			cfg.Archive = slowStore{store, began, next}
			return cfg, err
		}
	})
	body := history("", 60)
	ctx, leave := context.WithCancel(t.Context())
	r, _ := http.NewRequestWithContext(ctx, http.MethodPost, s.Server.URL+"/api/chat", strings.NewReader(body))
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if answer, err := http.DefaultClient.Do(r); err == nil {
			answer.Body.Close()
		}
	}()
	<-began
	leave()
	<-gone
	waitFor(t, "its room is free", func() bool { return s.gauge(t, "held_bytes") == 0 })
	if len(s.received()) != 0 {
		t.Error("its request went upstream")
	}
	close(next)
	answer, _ := s.post(t, "/api/chat", body)
	if h := answer.Header; h.Get("X-Tiercompact-Level") == "none" || h.Get("X-Tiercompact-Passed")+h.Get("X-Tiercompact-Warning") != "" || len(s.last(t)) >= len(body) {
		t.Errorf("the next request: %d of %d bytes, %v", len(s.last(t)), len(body), h)
	}
}
