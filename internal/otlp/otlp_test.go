package otlp_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	spans "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/otlp"
	"github.com/tiercompact/tiercompact/trace"
)

var at = time.Date(2026, 3, 4, 5, 6, 7, 8e6, time.UTC)

// receiver is a collector.
type receiver struct {
	mu       sync.Mutex
	spans    []*spans.Span
	services []string
	paths    []string
	headers  []http.Header
	problems []error
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.paths, r.headers = append(r.paths, req.URL.Path), append(r.headers, req.Header)
	if err := r.take(req); err != nil {
		r.problems = append(r.problems, err)
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func (r *receiver) take(req *http.Request) error {
	if kind := req.Header.Get("Content-Type"); kind != "application/x-protobuf" {
		return errors.New("content type " + kind)
	}
	body := io.Reader(req.Body)
	if req.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(body)
		if err != nil {
			return err
		}
		body = z
	}
	raw, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	var in collector.ExportTraceServiceRequest
	if err := proto.Unmarshal(raw, &in); err != nil {
		return err
	}
	for _, rs := range in.ResourceSpans {
		for _, a := range rs.Resource.Attributes {
			if a.Key == "service.name" {
				r.services = append(r.services, a.Value.GetStringValue())
			}
		}
		for _, ss := range rs.ScopeSpans {
			r.spans = append(r.spans, ss.Spans...)
		}
	}
	return nil
}

// lines is a log that several goroutines may write to.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func open(t *testing.T, cfg otlp.Config) (*otlp.Sink, *lines) {
	t.Helper()
	log := new(lines)
	cfg.Stderr = log
	sink, err := otlp.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return sink, log
}

func TestSpansOfASessionReachACollector(t *testing.T) {
	r := new(receiver)
	server := httptest.NewServer(r)
	defer server.Close()
	sink, log := open(t, otlp.Config{Endpoint: server.URL, Headers: map[string]string{"X-Tenant": "t"}})
	var sent []string
	c, err := tiercompact.New(tiercompact.Config{Window: 2000, Trace: func(e trace.Event) {
		sent = append(sent, e.Name)
		sink.Emit(e)
	}})
	if err != nil {
		t.Fatal(err)
	}
	s := c.Session("s")
	for range 30 {
		for _, role := range []chat.Role{chat.User, chat.Assistant} {
			if _, err := s.AddMessage(t.Context(), chat.NewText(role, strings.Repeat("one two three four ", 20))); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := errors.Join(sink.Flush(t.Context()), sink.Close(t.Context())); err != nil || log.String() != "" || sink.Lost() > 0 {
		t.Fatalf("%v, %s", err, log)
	}
	var got []string
	for _, span := range r.spans {
		if span.Name != "compact.session" {
			got = append(got, span.Name)
		}
		if span.EndTimeUnixNano < span.StartTimeUnixNano || len(span.Attributes) < 2 {
			t.Errorf("%v", span)
		}
	}
	if !slices.Equal(got, sent) || !slices.Contains(got, "compact.level_applied") || len(r.problems) > 0 {
		t.Errorf("%d spans, %d events, %v", len(got), len(sent), r.problems)
	}
	if r.services[0] != "tiercompact" || r.paths[0] != "/v1/traces" || r.headers[0].Get("X-Tenant") != "t" {
		t.Errorf("%v %v %v", r.services, r.paths, r.headers)
	}
}

func TestEndpointHasManyForms(t *testing.T) {
	r := new(receiver)
	server := httptest.NewServer(r)
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	tests := []struct {
		name string
		cfg  otlp.Config
		env  map[string]string
		path string
		as   string
	}{
		{"URL with a path", otlp.Config{Endpoint: server.URL + "/own/v1/traces"}, nil, "/own/v1/traces", "tiercompact"},
		{"URL with a slash", otlp.Config{Endpoint: server.URL + "/"}, nil, "/v1/traces", "tiercompact"},
		{"host and port", otlp.Config{Endpoint: host, Insecure: true, ServiceName: "mine"}, map[string]string{"OTEL_SERVICE_NAME": "theirs"}, "/v1/traces", "mine"},
		{"environment", otlp.Config{}, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": server.URL, "OTEL_SERVICE_NAME": "theirs"}, "/v1/traces", "theirs"},
		{"environment, http", otlp.Config{Insecure: true}, map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": server.URL + "/t"}, "/t", "tiercompact"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for name, value := range test.env {
				t.Setenv(name, value)
			}
			*r = receiver{}
			sink, log := open(t, test.cfg)
			sink.Emit(trace.New("s", at, at, trace.Warning{Severity: "low", Message: "\xff"}))
			if err := sink.Close(t.Context()); err != nil || log.String() != "" {
				t.Errorf("%v, %s", err, log)
			}
			if len(r.spans) != 2 || r.paths[0] != test.path || r.services[0] != test.as {
				t.Errorf("%d spans, %v, %v, %v", len(r.spans), r.paths, r.services, r.problems)
			}
		})
	}
	const word = "w0rd" // replaces a secret
	for _, endpoint := range []string{"ftp://x", "http://", "http://u:" + word + "@x:port", "http://u:" + word + "@x"} {
		if _, err := otlp.New(t.Context(), otlp.Config{Endpoint: endpoint}); err == nil || strings.Contains(err.Error(), word) {
			t.Errorf("%s: %v", endpoint, err)
		}
	}
}

func TestDeadCollectorIsReported(t *testing.T) {
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) }))
	defer refusing.Close()
	hanging := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	defer hanging.Close()
	for name, cfg := range map[string]otlp.Config{
		"dead": {Endpoint: "127.0.0.1:1", Insecure: true, Size: 4}, "refusing": {Endpoint: refusing.URL, Size: 4}, "hanging": {Endpoint: hanging.URL, Size: 4},
	} {
		t.Run(name, func(t *testing.T) {
			sink, log := open(t, cfg)
			for range 5000 {
				sink.Emit(trace.New("s", at, at, trace.Warning{Severity: "low", Message: "m"}))
			}
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			_ = sink.Close(ctx)
			if sink.Lost() == 0 || !strings.HasPrefix(log.String(), "[OTLP] ") || strings.Count(log.String(), "\n") > 2 {
				t.Errorf("%d lost, %s", sink.Lost(), log)
			}
		})
	}
}

// awaited is a context that calls begun when somebody waits for its end.
type awaited struct {
	context.Context
	begun func()
}

func (a awaited) Done() <-chan struct{} {
	a.begun()
	return a.Context.Done()
}

func TestCloseDoesNotTryAgainAndAgain(t *testing.T) {
	var requests atomic.Int32
	closing := make(chan struct{})
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		<-closing
		w.WriteHeader(http.StatusBadRequest)
	}))
	defer refusing.Close()
	sink, _ := open(t, otlp.Config{Endpoint: refusing.URL, Size: 8192})
	const events = 6000
	for range events {
		sink.Emit(trace.New("s", at, at, trace.Warning{Severity: "low", Message: "m"}))
	}
	if err := sink.Close(awaited{t.Context(), sync.OnceFunc(func() { close(closing) })}); err != nil {
		t.Error(err)
	}
	if n := requests.Load(); n > 3 || sink.Lost() < events {
		t.Errorf("%d requests, %d lost", n, sink.Lost())
	}
}
