// Package ariadnetest is an Ariadne server for tests: it takes what keeps to
// the contract of /ingest to the letter, and answers 400 to all else.
package ariadnetest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"time"
)

// An Arrival is one event, a trace or a span, as the server took it.
type Arrival struct {
	At    time.Time
	Type  string // "trace" or "span"
	Trace string // id
	Span  string // id, of a span
	// Parent is the span that it belongs to, "" of a root.
	Parent string
	Name   string
	Kind   string
	Group  string // of a trace
	Start  time.Time
	End    time.Time // of a span
	Status string    // of a span
	Data   json.RawMessage
	// Metadata is of a trace.
	Metadata map[string]string
}

// A Server takes events. It is an [http.Handler] for any path that ends with
// /ingest, and may be used concurrently.
type Server struct {
	mu       sync.Mutex // guards what follows
	arrivals []Arrival
	traces   map[string]string // event of each trace, by id
	spans    map[string]bool   // trace and span
	problems []Problem
	posts    int
}

// A Problem is why a request was answered with 400.
type Problem struct {
	Field string `json:"field"` // in the body: batch[2].ended_at
	Text  string `json:"error"`
}

// Error returns the field and what is wrong with it.
func (p Problem) Error() string { return p.Field + ": " + p.Text }

// New returns a server that has seen nothing.
func New() *Server {
	return &Server{traces: make(map[string]string), spans: make(map[string]bool)}
}

// ServeHTTP takes one request: all of its events, or none.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the other side left
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.posts++
	if err := s.take(r, body, at); err != nil {
		s.problems = append(s.problems, *err)
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(err)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

// Arrivals returns what was taken, in its order.
func (s *Server) Arrivals() []Arrival {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.arrivals)
}

// Spans returns the spans among what was taken.
func (s *Server) Spans() []Arrival {
	return slices.DeleteFunc(s.Arrivals(), func(a Arrival) bool { return a.Type != "span" })
}

// Problems returns why requests were refused.
func (s *Server) Problems() []Problem {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.problems)
}

// Posts returns how many requests came.
func (s *Server) Posts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.posts
}

// Client returns a client whose requests go straight to the server, with no
// network in between, whatever their host.
func (s *Server) Client() *http.Client { return Client(s) }

// Client returns a client whose requests h answers, with no network in between.
// Requests wait for their answer or the end of their context.
func Client(h http.Handler) *http.Client { return &http.Client{Transport: direct{h}} }

type direct struct{ http.Handler }

// RoundTrip has the handler answer.
func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := make(chan *http.Response, 1)
	go func() {
		w := httptest.NewRecorder()
		got := r.Clone(r.Context())
		if got.Body == nil {
			got.Body = http.NoBody
		}
		d.ServeHTTP(w, got)
		answer <- w.Result()
	}()
	select {
	case resp := <-answer:
		resp.Request = r
		return resp, nil
	case <-r.Context().Done():
		return nil, fmt.Errorf("post: %w", r.Context().Err())
	}
}
