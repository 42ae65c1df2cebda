package ariadne_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/internal/ariadnetest"
	"github.com/tiercompact/tiercompact/trace"
	"github.com/tiercompact/tiercompact/trace/ariadne"
)

// answer is a server with one answer.
func answer(code int, header, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if header != "" {
			w.Header().Set("Location", header)
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

// gone is a server that does not exist, and stuck one that begins an answer.
type (
	gone  struct{}
	stuck struct{}
)

func (gone) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
}

func (stuck) RoundTrip(r *http.Request) (*http.Response, error) {
	rest, w := io.Pipe()
	context.AfterFunc(r.Context(), func() { _ = w.CloseWithError(r.Context().Err()) })
	return &http.Response{StatusCode: 200, Status: "200 OK", Body: rest, Request: r}, nil
}

func slow(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // so that a server notices a closed connection
	select {
	case <-time.After(10 * time.Second):
	case <-r.Context().Done():
	}
}

func TestFailuresAreReportedAndTheSessionContinues(t *testing.T) {
	tests := []struct {
		name   string
		client *http.Client
		says   string
	}{
		{"dead", &http.Client{Transport: gone{}}, "dial tcp: connection refused; "},
		{"slow", ariadnetest.Client(http.HandlerFunc(slow)), "no whole answer within 2s; "},
		{"hangs in its answer", &http.Client{Transport: stuck{}}, "no whole answer within 2s; "},
		{"refuses", ariadnetest.Client(answer(400, "", "{\"error\":\"batch[1].ended_at\x1b[2J is before started_at\"}")), `answers 400 Bad Request: {"error":"batch[1].ended_at [2J is before started_at"}; `},
		{"fails", ariadnetest.Client(answer(500, "", strings.Repeat("x", 5000))), "answers 500 Internal Server Error: xxx"},
		{"is busy", ariadnetest.Client(answer(503, "", "")), "answers 503 Service Unavailable; "},
		{"redirects", ariadnetest.Client(answer(307, "http://elsewhere/ingest", "")), `answers 307 Temporary Redirect to "http://elsewhere/ingest", and redirects are not followed`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sink, log := open(t, "http://x", test.client)
				if took := talkOn(t, sink); took > 0 {
					t.Errorf("the session waited %v", took)
				}
				got := log.String()
				if !strings.HasPrefix(got, "[Ariadne] http://x/ingest: "+test.says) || !strings.Contains(got, "the session goes on") {
					t.Errorf("%s", got)
				}
				if n := strings.Count(got, "\n"); n > 2 || strings.Count(got, "[Ariadne]") != n {
					t.Errorf("%d lines: %s", n, got)
				}
			})
		})
	}
}

// talkOn makes a session emit events that a sink cannot send, closes the sink, and
// returns the duration of the session.
func talkOn(t *testing.T, sink *ariadne.Sink) (took time.Duration) {
	t.Helper()
	c, err := tiercompact.New(tiercompact.Config{Window: 8000, Trace: sink.Emit})
	if err != nil {
		t.Fatal(err)
	}
	s, events := c.Session("s"), 0
	begin := time.Now()
	for _, m := range turns(20) {
		if _, err := s.AddMessage(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		events += 2
	}
	took = time.Since(begin)
	if err := sink.Close(t.Context()); err != nil || sink.Lost() < events {
		t.Errorf("%v, %d lost of %d or more", err, sink.Lost(), events)
	}
	return took
}

func TestDeadServerOnTheNetworkIsReported(t *testing.T) {
	sink, log := open(t, closedPort, nil)
	talkOn(t, sink)
	if got := log.String(); !strings.HasPrefix(got, "[Ariadne] "+closedPort+"/ingest: ") {
		t.Error(got)
	}
}

func TestServerThatHangsOnTheNetworkIsReported(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "half")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	defer server.Close()
	sink, log := open(t, server.URL, nil)
	talkOn(t, sink)
	if got := log.String(); !strings.Contains(got, "no whole answer within 2s") {
		t.Error(got)
	}
}

// closedPort is the URL of a server that does not exist.
const closedPort = "http://127.0.0.1:1"

// flaky answers with codes in turn, and then like an Ariadne server.
type flaky struct {
	codes []int
	then  *ariadnetest.Server
	at    []time.Time
}

func (f *flaky) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.at = append(f.at, time.Now())
	if len(f.codes) == 0 {
		f.then.ServeHTTP(w, r)
		return
	}
	w.WriteHeader(f.codes[0])
	f.codes = f.codes[1:]
}

func TestServerThatComesBackGetsLaterEventsAndTheirTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		f := &flaky{codes: []int{503, 500, 400}, then: ariadnetest.New()}
		sink, log := open(t, "http://x", ariadnetest.Client(f))
		for i := range 4 {
			sink.Emit(trace.New("s", at, at, trace.TokenEstimate{}))
			sink.Emit(trace.New("s", at, at, trace.TriggerDecision{Reason: "usage", Level: "none"}))
			time.Sleep(2 * time.Second)
			if i == 2 {
				sink.Emit(trace.New("s", at, at, trace.TriggerDecision{Reason: "usage", Level: "none"}))
			}
		}
		if err := sink.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if len(f.then.Problems()) > 0 || len(f.then.Spans()) != 5 || sink.Lost() != 4 {
			t.Errorf("%v, %d spans, %d lost", f.then.Problems(), len(f.then.Spans()), sink.Lost())
		}
		var waits []time.Duration // 503 is tried again; after a failure pauses double
		for _, at := range f.at {
			waits = append(waits, at.Sub(begin))
		}
		if want := "[50ms 300ms 2.05s 4.05s 6.05s]"; fmt.Sprint(waits[:min(5, len(waits))]) != want {
			t.Errorf("%v, want %s", waits, want)
		}
		if want := "[Ariadne] http://x/ingest: answers 500 Internal Server Error; 2 events are lost so far, the session goes on\n[Ariadne] 4 events are lost in all, 0 of them for want of room in the queue\n"; log.String() != want {
			t.Error(log.String())
		}
	})
}

func TestPausesForADeadServerGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		posts := 0
		f := ariadnetest.Client(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			posts++
			w.WriteHeader(http.StatusInternalServerError)
		}))
		sink, log := open(t, "http://x", f)
		for i := range 100000 { // 1,000 seconds
			sink.Emit(warning("s", i))
			time.Sleep(10 * time.Millisecond)
		}
		if posts > 130 || strings.Count(log.String(), "\n") > 17 {
			t.Errorf("%d requests, %s", posts, log.String())
		}
		begin := time.Now()
		if err := sink.Close(t.Context()); err != nil || time.Since(begin) > time.Second || sink.Lost() < 100000 {
			t.Errorf("%v after %v, %d lost", err, time.Since(begin), sink.Lost())
		}
	})
}

func TestCloseEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		never := ariadnetest.Client(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
		sink, log := open(t, "http://x", never)
		for i := range 2000 {
			sink.Emit(warning("s", i))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		err := sink.Close(ctx)
		if took := time.Since(begin); !errors.Is(err, context.DeadlineExceeded) || took > time.Second {
			t.Errorf("%v after %v", err, took)
		}
		synctest.Wait()
		// The warning about dropped events may be lost too.
		if lost := sink.Lost(); lost < 2000 || lost > 2001 || !strings.Contains(log.String(), "[Ariadne]") {
			t.Errorf("%d lost, %s", sink.Lost(), log.String())
		}
	})
}
