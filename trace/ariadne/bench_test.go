package ariadne_test

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/trace"
	"github.com/tiercompact/tiercompact/trace/ariadne"
)

// BenchmarkAddMessage adds the messages of one session, counting and compaction
// included, in pairs: once without a trace, once with an endpoint. An operation is
// such a pair. It reports the median time of a message without and with the
// endpoint, the median of the ratios of the pairs, on which other load has the
// least influence, and the ratio of the two fastest sessions.
func BenchmarkAddMessage(b *testing.B) {
	slow := httptest.NewServer(http.HandlerFunc(slow))
	defer slow.Close()
	refusing := httptest.NewServer(answer(400, "", "no"))
	defer refusing.Close()
	healthy := httptest.NewServer(answer(202, "", ""))
	defer healthy.Close()
	for _, end := range []struct{ name, url string }{
		{"none", ""}, {"dead", closedPort}, {"slow", slow.URL}, {"refusing", refusing.URL}, {"healthy", healthy.URL},
	} {
		b.Run("endpoint="+end.name, func(b *testing.B) {
			var sink trace.Sink
			if end.url != "" {
				s, err := ariadne.New(ariadne.Config{URL: end.url, Stderr: io.Discard})
				if err != nil {
					b.Fatal(err)
				}
				defer closeNow(s)
				sink = s.Emit
			}
			pairs(b, sink)
		})
	}
}

func closeNow(sink *ariadne.Sink) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = sink.Close(ctx)
}

func pairs(b *testing.B, sink trace.Sink) {
	messages := turns(120)
	var without, with []time.Duration
	for i := 0; b.Loop(); i++ {
		if i%2 == 0 { // neither is always first
			without = append(without, session(b, messages, nil))
		}
		with = append(with, session(b, messages, sink))
		if i%2 == 1 {
			without = append(without, session(b, messages, nil))
		}
	}
	ratios := make([]float64, len(with))
	for i := range with {
		ratios[i] = float64(with[i]) / float64(without[i])
	}
	n := float64(len(messages))
	b.ReportMetric(float64(median(without))/n, "none-ns/message")
	b.ReportMetric(float64(median(with))/n, "ns/message")
	b.ReportMetric(median(ratios), "ratio")
	b.ReportMetric(float64(with[0])/float64(without[0]), "best-ratio")
}

// session returns the time to add messages to a new session.
func session(b *testing.B, messages []chat.Message, sink trace.Sink) time.Duration {
	c, err := tiercompact.New(tiercompact.Config{Window: 16000, Trace: sink})
	if err != nil {
		b.Fatal(err)
	}
	s := c.Session("s")
	begin := time.Now()
	for _, m := range messages {
		if _, err := s.AddMessage(b.Context(), m); err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(begin)
}

// median sorts d.
func median[T cmp.Ordered](d []T) T {
	slices.Sort(d)
	return d[len(d)/2]
}
