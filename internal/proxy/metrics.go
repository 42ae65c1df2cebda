package proxy

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"time"
)

// metrics are the proxy's counters. They have no labels: their number is limited,
// whatever clients send.
type metrics struct {
	requests, refused, compacted, failures, overflows, retries, truncated, upstream, recalls atomic.Int64

	added seconds
}

// seconds are a number of times and their sum.
type seconds struct{ n, nanos atomic.Int64 }

func (s *seconds) observe(d time.Duration) {
	s.n.Add(1)
	s.nanos.Add(int64(d))
}

// serveMetrics writes the counters in the text format of Prometheus. Those of
// sessions are at the address of --prometheus-listen.
func (p *Proxy) serveMetrics(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	m := &p.metrics
	for _, c := range []struct {
		name, help string
		value      int64
	}{
		{"requests_total", "Requests that were forwarded.", m.requests.Load()},
		{"refused_total", "Requests that the proxy refused.", m.refused.Load()},
		{"compacted_total", "Requests that went upstream compacted.", m.compacted.Load()},
		{"failures_total", "Compactions that failed.", m.failures.Load()},
		{"overflows_total", "Requests that the upstream refused as too long.", m.overflows.Load()},
		{"recalls_total", "Calls of the tool recall that the proxy answered.", m.recalls.Load()},
		{"retries_total", "Requests that were compacted harder and sent once more.", m.retries.Load()},
		{"truncated_total", "Prompts that the upstream seems to have cut silently.", m.truncated.Load()},
		{"upstream_errors_total", "Requests that the upstream did not answer.", m.upstream.Load()},
	} {
		fmt.Fprintf(w, "# HELP tiercompact_proxy_%s %s\n# TYPE tiercompact_proxy_%s counter\ntiercompact_proxy_%s %d\n", c.name, c.help, c.name, c.name, c.value)
	}
	for _, g := range []struct {
		name, help string
		value      int64
	}{
		{"waiting_requests", "Requests that wait for room.", p.gate.waiting.Load()},
		{"held_bytes", "Bytes of request bodies in memory.", p.gate.held.Load()},
	} {
		fmt.Fprintf(w, "# HELP tiercompact_proxy_%s %s\n# TYPE tiercompact_proxy_%s gauge\ntiercompact_proxy_%s %d\n", g.name, g.help, g.name, g.name, g.value)
	}
	const name = "tiercompact_proxy_answer_seconds"
	fmt.Fprintf(w, "# HELP %s Time until the upstream's first byte.\n# TYPE %s summary\n%s_sum %g\n%s_count %d\n", name, name, name, float64(m.added.nanos.Load())/1e9, name, m.added.n.Load())
}
