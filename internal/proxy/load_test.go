package proxy_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/internal/proxy"
)

// A loadHistory is a conversation that all sessions of a load share but for their first
// message, so that the client needs no memory for each.
type loadHistory struct{ tail string }

// newLoadHistory returns a history of about n tokens.
func newLoadHistory(n int) loadHistory {
	var b strings.Builder
	for i := 0; b.Len() < n*7/2; i++ { // a token of this text has 3.5 bytes
		fmt.Fprintf(&b, `,{"role":"user","content":"Question %d?"},{"role":"assistant","content":"%s"}`, i, strings.Repeat(fmt.Sprintf("func part%d(a int) { return a + %d }\\n", i, i), 60))
	}
	return loadHistory{b.String()}
}

// body returns the n-th request of a session.
func (h loadHistory) body(session string, n int) (io.Reader, int64) {
	parts := []string{`{"model":"m","messages":[{"role":"user","content":"I am ` + session + `."},{"role":"assistant","content":"Yes."}`, h.tail}
	for i := range n {
		parts = append(parts, fmt.Sprintf(`,{"role":"user","content":"More %d?"},{"role":"assistant","content":"Answer %d."}`, i, i))
	}
	parts = append(parts, `,{"role":"user","content":"And now?"}]}`)
	var readers []io.Reader
	size := 0
	for _, p := range parts {
		readers = append(readers, strings.NewReader(p))
		size += len(p)
	}
	return io.MultiReader(readers...), int64(size)
}

// drain is an upstream that reads a request, and answers.
func drain(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"choices":[{"message":{"role":"assistant","content":"Yes."}}]}`)
}

// loadClient sends requests, and waits for their answers.
func loadClient() *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 600, DialContext: (&net.Dialer{}).DialContext}}
}

func sendLoad(c *http.Client, url string, body io.Reader, size int64) (time.Duration, error) {
	r, err := http.NewRequest(http.MethodPost, url+"/v1/chat/completions", body)
	if err != nil {
		return 0, err
	}
	r.ContentLength = size
	r.Header.Set("Content-Type", "application/json")
	began := time.Now()
	answer, err := c.Do(r)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return 0, err
	}
	if answer.StatusCode != http.StatusOK || answer.Header.Get("X-Tiercompact-Passed") != "" {
		return 0, fmt.Errorf("%d, passed: %s", answer.StatusCode, answer.Header.Get("X-Tiercompact-Passed"))
	}
	return time.Since(began), nil
}

func share(times []time.Duration, of float64) float64 {
	slices.Sort(times)
	return float64(times[min(len(times)-1, int(of*float64(len(times))))].Microseconds()) / 1000
}

// BenchmarkAddedTime measures what the proxy adds to a request of 128,000 tokens that
// fits: the time by the proxy less that of the same request sent to the upstream, over
// loopback, for each next request of a session. The first one counts the history, and is
// left out. A session ends after 100 requests, so that all have about that length.
func BenchmarkAddedTime(b *testing.B) {
	s := benchSetup(b, 1_000_000)
	c, h := loadClient(), newLoadHistory(128_000)
	var added, direct []time.Duration
	for i := 0; b.Loop(); i++ {
		session, n := fmt.Sprint("number ", i/100), i%100
		body, size := h.body(session, n)
		alone, err := sendLoad(c, s.upstream.URL, body, size)
		if err != nil {
			b.Fatal(err)
		}
		body, size = h.body(session, n)
		took, err := sendLoad(c, s.Server.URL, body, size)
		if err != nil {
			b.Fatal(err)
		}
		if n > 0 {
			added, direct = append(added, took-alone), append(direct, alone)
		}
	}
	if len(added) > 0 {
		b.ReportMetric(share(direct, 0.5), "direct-p50-ms")
		b.ReportMetric(share(added, 0.5), "added-p50-ms")
		b.ReportMetric(share(added, 0.99), "added-p99-ms")
	}
}

func benchSetup(b *testing.B, window int) *setup {
	b.Helper()
	s := &setup{upstream: &upstream{Server: httptest.NewServer(http.HandlerFunc(drain))}, events: new(events)}
	b.Cleanup(s.upstream.Close)
	s.restart(b, b.TempDir(), window, nil)
	return s
}

// BenchmarkSessionsAtOnce sends two requests of 200,000 tokens in each of 500 sessions
// at once, and reports memory and goroutines: those at most while they run, and what
// is left.
func BenchmarkSessionsAtOnce(b *testing.B) {
	const sessions = 500
	h := newLoadHistory(200_000)
	for round := 0; b.Loop(); round++ {
		before := runtime.NumGoroutine()
		s := benchSetup(b, 1_000_000)
		c := loadClient()
		watch := watchMemory()
		var mu sync.Mutex
		var times []time.Duration
		var all sync.WaitGroup
		for i := range sessions {
			all.Go(func() {
				for n := range 2 {
					body, size := h.body(fmt.Sprintf("session %d of %d", i, round), n)
					took, err := sendLoad(c, s.Server.URL, body, size)
					if err != nil {
						b.Error(err)
						return
					}
					mu.Lock()
					times = append(times, took)
					mu.Unlock()
				}
			})
		}
		all.Wait()
		most := watch()
		c.CloseIdleConnections()
		s.stop() // with its connections to the upstream, of which it keeps 64
		s.upstream.Close()
		runtime.GC()
		var left runtime.MemStats
		runtime.ReadMemStats(&left)
		b.ReportMetric(share(times, 0.5), "p50-ms")
		b.ReportMetric(share(times, 0.99), "p99-ms")
		b.ReportMetric(float64(most)/1e6, "max-heap-MB")
		b.ReportMetric(float64(left.HeapAlloc)/1e6, "left-heap-MB")
		b.ReportMetric(float64(goroutinesLeft(before)), "left-goroutines")
	}
}

// goroutinesLeft returns how many goroutines more than before there are, once those of
// closed connections have ended.
func goroutinesLeft(before int) int {
	for range 100 {
		if runtime.NumGoroutine() <= before {
			return 0
		}
		time.Sleep(20 * time.Millisecond)
	}
	return runtime.NumGoroutine() - before
}

// watchMemory samples the heap until the function that it returns is called, which
// returns the maximum.
func watchMemory() func() uint64 {
	stop, most := make(chan struct{}), make(chan uint64)
	go func() {
		var m runtime.MemStats
		top := uint64(0)
		for {
			runtime.ReadMemStats(&m)
			top = max(top, m.HeapAlloc)
			select {
			case <-stop:
				most <- top
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	return func() uint64 { close(stop); return <-most }
}

// TestSoak lets 20 clients (SOAK_CLIENTS) begin session after session, each of which grows
// past its window again and again, for the time SOAK (10m, say). It reports the heap that
// is left in between, and checks that nothing fails and no goroutine is left.
func TestSoak(t *testing.T) {
	long, err := time.ParseDuration(os.Getenv("SOAK"))
	if err != nil {
		t.Skip("SOAK names no time")
	}
	clients := 20
	if n, err := strconv.Atoi(os.Getenv("SOAK_CLIENTS")); err == nil {
		clients = n
	}
	store, err := archive.OpenDir(t.TempDir(), archive.DirOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	s := newSetup(t, 8000, func(c *proxy.Config) {
		c.RecallTool = true
		c.Trace = nil // the test would keep the events
		open := c.Open
		c.Open = func(ctx context.Context, model string) (tiercompact.Config, error) {
			cfg, err := open(ctx, model)
			cfg.Archive = store // in memory, it would grow
			return cfg, err
		}
	})
	s.keepNothing = true
	k := soak{s: s, c: loadClient()}
	goroutines := 0
	for part := range 4 {
		until := time.Now().Add(long / 4)
		var all sync.WaitGroup
		for i := range clients {
			all.Go(func() {
				for n := 0; time.Now().Before(until); n++ {
					if err := k.session(fmt.Sprintf("I am client %d, and this is session %d of part %d.", i, n, part), until); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
		s.proxy.Wait()
		k.c.CloseIdleConnections()
		goroutinesLeft(8)
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		now := runtime.NumGoroutine()
		t.Logf("after %d of 4 parts of %v: %d sessions, %d requests, %d rounds; heap %.1f MB, %d goroutines, bodies held %d bytes", part+1, long, k.sessions.Load(), k.requests.Load(), k.rounds.Load(), float64(m.HeapAlloc)/1e6, now, s.gauge(t, "held_bytes"))
		if part == 0 {
			goroutines = now
		} else if now > goroutines+5 {
			t.Error("goroutines are left")
		}
	}
}

type soak struct {
	s                          *setup
	c                          *http.Client
	sessions, requests, rounds atomic.Int64
}

// session sends the requests of one session.
func (k *soak) session(name string, until time.Time) error {
	k.sessions.Add(1)
	var d dialogue
	d.add("user", name)
	d.add("assistant", "Yes.")
	for range 60 {
		d.turn()
		answer, err := k.c.Post(k.s.Server.URL+"/api/chat", "application/json", strings.NewReader(d.body()))
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
		if err != nil || answer.StatusCode != http.StatusOK || answer.Header.Get("X-Tiercompact-Passed") != "" {
			return fmt.Errorf("%w, %d, %v", err, answer.StatusCode, answer.Header)
		}
		k.requests.Add(1)
		if answer.Header.Get("X-Tiercompact-Level") != "none" {
			k.rounds.Add(1)
		}
		if time.Now().After(until) {
			return nil
		}
	}
	return nil
}
