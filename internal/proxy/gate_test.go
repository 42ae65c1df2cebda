package proxy_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tiercompact/tiercompact/internal/proxy"
)

// gauge returns a value of /metrics.
func (s *setup) gauge(t *testing.T, name string) (value int) {
	t.Helper()
	answer, err := http.Get(s.Server.URL + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	for line := range strings.Lines(string(text)) {
		if n, _ := fmt.Sscanf(line, "tiercompact_proxy_"+name+" %d", &value); n == 1 {
			return value
		}
	}
	t.Fatalf("no %s in %s", name, text)
	return 0
}

// waitFor polls until something holds.
func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("never: " + what)
		}
	}
}

// paddedBody is a request of about n bytes.
func paddedBody(i, n int) string {
	return fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":"%d %s"}]}`, i, strings.Repeat("word ", n/5))
}

// answerAfter answers once next is closed, and counts the requests upstream: those at
// present, and the most at once.
func answerAfter(next <-chan struct{}, now, most *atomic.Int64) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if n := now.Add(1); n > most.Load() {
			most.Store(n)
		}
		<-next
		now.Add(-1)
		_, _ = io.WriteString(w, ollamaAnswer)
	}
}

// However many requests come at once, those in memory are limited, and the others wait:
// none is refused.
func TestRequestsWaitForRoom(t *testing.T) {
	const requests, fit = 12, 3
	size := len(paddedBody(10, 20_000))
	s := newSetup(t, 100_000, func(c *proxy.Config) { c.MaxBodies = int64(fit*size + size/2) })
	var now, most atomic.Int64
	next := make(chan struct{})
	s.answer = answerAfter(next, &now, &most)
	var all sync.WaitGroup
	for i := range requests {
		all.Go(func() {
			if answer, _ := s.post(t, "/api/chat", paddedBody(10+i, 20_000)); answer.StatusCode != http.StatusOK || answer.Header.Get("X-Tiercompact-Passed") != "" {
				t.Errorf("request %d: %d %v", i, answer.StatusCode, answer.Header)
			}
		})
	}
	waitFor(t, "the others wait", func() bool { return s.gauge(t, "waiting_requests") == requests-fit && now.Load() == fit })
	if held := s.gauge(t, "held_bytes"); held > fit*size+size/2 || held < fit*(size-100) {
		t.Errorf("%d bytes are held for %d requests of %d", held, fit, size)
	}
	close(next)
	all.Wait()
	s.proxy.Wait()
	if most.Load() != fit || s.gauge(t, "held_bytes") != 0 || s.gauge(t, "waiting_requests") != 0 {
		t.Errorf("%d at once; %d bytes and %d requests are left", most.Load(), s.gauge(t, "held_bytes"), s.gauge(t, "waiting_requests"))
	}
}

// Requests of a size that is not read at once wait too, and none of them waits forever.
func TestLargerRequestsWaitForRoom(t *testing.T) {
	const requests, size, room = 8, 300_000, 1_100_000
	s := newSetup(t, 1_000_000, func(c *proxy.Config) { c.MaxBodies = room })
	var now, most atomic.Int64
	next := make(chan struct{})
	s.answer = answerAfter(next, &now, &most)
	var all sync.WaitGroup
	for i := range requests {
		all.Go(func() {
			if answer, _ := s.post(t, "/api/chat", paddedBody(10+i, size)); answer.StatusCode != http.StatusOK {
				t.Errorf("request %d: %d", i, answer.StatusCode)
			}
		})
	}
	waitFor(t, "each is upstream or waits", func() bool { return int64(s.gauge(t, "waiting_requests"))+now.Load() == requests })
	if held := s.gauge(t, "held_bytes"); held > room || now.Load() == 0 {
		t.Errorf("%d bytes are held, %d requests are upstream", held, now.Load())
	}
	close(next)
	all.Wait()
	s.proxy.Wait()
	if most.Load() > room/size+1 || s.gauge(t, "held_bytes") != 0 {
		t.Errorf("%d at once; %d bytes are left", most.Load(), s.gauge(t, "held_bytes"))
	}
}

// An answer that streams holds no request.
func TestAStreamHoldsNoRequest(t *testing.T) {
	s := newSetup(t, 100_000, func(c *proxy.Config) { c.MaxBodies = 30_000 })
	end := make(chan struct{})
	s.answer = func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-end
	}
	var all sync.WaitGroup
	for i := range 5 { // each as large as there is room
		all.Go(func() { s.post(t, "/api/chat", paddedBody(i, 29_000)) })
	}
	waitFor(t, "all requests are upstream", func() bool { return len(s.received()) == 5 && s.gauge(t, "held_bytes") == 0 })
	close(end)
	all.Wait()
}

// Bodies of a length that nobody announced, each larger than all the room, come one
// after another. A client that announces much and sends nothing does not delay others.
func TestLargeBodiesDoNotWaitForEachOtherForever(t *testing.T) {
	s := newSetup(t, 10_000_000, func(c *proxy.Config) { c.MaxBodies = 3 << 19; c.MaxBody = 16 << 20 })
	silent, hold := io.Pipe()
	r, _ := http.NewRequest(http.MethodPost, s.Server.URL+"/api/chat", silent)
	r.ContentLength = 16 << 20
	var all sync.WaitGroup
	all.Go(func() {
		if answer, err := http.DefaultClient.Do(r); err == nil {
			answer.Body.Close()
		}
	})
	waitFor(t, "the silent client is admitted", func() bool { return s.gauge(t, "held_bytes") == 64<<10 })
	var sent sync.WaitGroup
	for i := range 4 {
		sent.Go(func() {
			body := io.MultiReader(strings.NewReader(paddedBody(i, 2<<20))) // in chunks
			answer, err := http.Post(s.Server.URL+"/api/chat", "application/json", body)
			if err != nil {
				t.Error(err)
				return
			}
			defer answer.Body.Close()
			if answer.StatusCode != http.StatusOK {
				t.Errorf("body %d: %d", i, answer.StatusCode)
			}
		})
	}
	sent.Wait()
	_ = hold.CloseWithError(io.ErrUnexpectedEOF)
	all.Wait()
	waitFor(t, "all is released", func() bool { return s.gauge(t, "held_bytes") == 0 })
}
