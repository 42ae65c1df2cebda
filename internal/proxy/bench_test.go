package proxy_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/internal/proxy"
)

// BenchmarkUnderTheThreshold measures what the proxy adds to a request that fits: a
// body of about 128,000 tokens, of which the newest two messages are new.
func BenchmarkUnderTheThreshold(b *testing.B) {
	state, err := proxy.OpenDisk(b.TempDir(), proxy.Limits{})
	if err != nil {
		b.Fatal(err)
	}
	defer state.Close()
	to, _ := url.Parse("http://127.0.0.1:1")
	p, err := proxy.New(proxy.Config{Upstream: to, Open: steady(1_000_000), State: state, Transport: new(wirecut)})
	if err != nil {
		b.Fatal(err)
	}
	defer p.Close()
	var items []string
	add := func(i int) {
		items = append(items, fmt.Sprintf(`{"role":"user","content":"Question %d?"}`, i), fmt.Sprintf(`{"role":"assistant","content":"%s"}`, strings.Repeat(fmt.Sprintf("func part%d(a int) { return a + %d }\\n", i, i), 60)))
	}
	for i := range 160 {
		add(i)
	}
	n := 0
	for b.Loop() {
		b.StopTimer()
		add(1000 + n)
		body := `{"model":"m","messages":[` + strings.Join(append(items[:len(items):len(items)], `{"role":"user","content":"And now?"}`), ",") + `]}`
		r := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(body))
		r.Host = "localhost"
		w := httptest.NewRecorder()
		n++
		b.StartTimer()
		p.ServeHTTP(w, r)
		if id := w.Header().Get("X-Tiercompact-Passed"); id != "" {
			b.Fatal(id)
		}
		b.SetBytes(int64(len(body)))
	}
	b.ReportMetric(float64(len(items)), "messages")
}
