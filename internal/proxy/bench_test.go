package proxy_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/tiercompact/tiercompact/internal/proxy"
)

// discardUpstream reads requests as a connection does, and answers nothing.
type discardUpstream struct{}

func (discardUpstream) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusOK, Header: make(http.Header), Body: http.NoBody, Request: r}, nil
}

// BenchmarkUnderTheThreshold measures what the proxy does for a request that fits: a
// body of about 128,000 tokens, of which the newest messages are new. cpu-ms/op has the
// garbage collection too.
func BenchmarkUnderTheThreshold(b *testing.B) {
	state, err := proxy.OpenDisk(b.TempDir(), proxy.Limits{})
	if err != nil {
		b.Fatal(err)
	}
	defer state.Close()
	to, _ := url.Parse("http://127.0.0.1:1")
	p, err := proxy.New(proxy.Config{Upstream: to, Open: steady(1_000_000), State: state, Transport: discardUpstream{}})
	if err != nil {
		b.Fatal(err)
	}
	defer p.Close()
	h := newLoadHistory(128_000)
	send := func(n int) {
		body, size := h.body("one", n%50)
		r := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", body)
		r.Host, r.ContentLength = "localhost", size
		w := httptest.NewRecorder()
		p.ServeHTTP(w, r)
		if why := w.Header().Get("X-Tiercompact-Passed"); why != "" {
			b.Fatal(why)
		}
		b.SetBytes(size)
	}
	send(0) // counts the history
	n, began := 0, cpuTime()
	for b.Loop() {
		n++
		send(n)
	}
	b.ReportMetric(float64(cpuTime()-began)/float64(n)/float64(time.Millisecond), "cpu-ms/op")
}
