// Package ariadnetest is an Ariadne server for tests, and its page.
//
// Both are made from the source of the real ones, ThomasRohde/ariadne at 284187b,
// not from this project's client: [Server] accepts, cuts and rejects events as
// api/src and packages/shared do, and [Server.Page] shows them as web/src does.
package ariadnetest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"
)

// An Arrival is one event, a trace or a span, as the server stored it. A field that
// was missing in the event is empty.
type Arrival struct {
	At       time.Time
	Type     string // "trace" or "span"
	Trace    string // id
	Span     string // id, of a span
	Parent   string // id, of a span
	Name     string
	Kind     string            // of a span
	Group    string            // of a trace
	Start    time.Time         // zero: the event had none
	End      time.Time         // zero: the event had none
	Status   string            // of a span
	Data     json.RawMessage   // of a span
	Metadata map[string]string // of a trace
}

// A Problem is why a request was rejected, in more detail than the real server
// gives.
type Problem struct {
	Status int    // of the answer
	Field  string // in the body: batch[2].ended_at
	Text   string
}

// Error returns the field and the problem with it.
func (p Problem) Error() string { return fmt.Sprintf("%d %s: %s", p.Status, p.Field, p.Text) }

// A Server accepts events at /ingest. It is an [http.Handler], and safe for
// concurrent use.
type Server struct {
	mu       sync.Mutex // guards the fields below
	arrivals []Arrival
	problems []Problem
	posts    int
	largest  int
}

// New returns a server without events.
func New() *Server { return new(Server) }

// maxBody is the maximum Content-Length.
const maxBody = 256 << 10

// ServeHTTP takes all events of a request, or none.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has left
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.posts++
	s.largest = max(s.largest, len(body))
	events, p := s.takeRequest(r, body, at)
	w.Header().Set("Content-Type", "application/json")
	if p == nil {
		s.arrivals = append(s.arrivals, events...)
		_, _ = fmt.Fprintf(w, `{"success":true,"count":%d}`, len(events))
		return
	}
	s.problems = append(s.problems, *p)
	w.WriteHeader(p.Status)
	_, _ = io.WriteString(w, answers[p.Status])
}

// answers are the bodies of rejections.
var answers = map[int]string{
	http.StatusNotFound:              "404 Not Found",
	http.StatusBadRequest:            `{"error":"Validation failed","details":[{"path":[],"message":"Invalid input"}]}`,
	http.StatusRequestEntityTooLarge: `{"error":"Payload too large","message":"Request size exceeds maximum of 262144 bytes"}`,
	http.StatusInternalServerError:   `{"error":"Internal server error","message":"Unexpected token"}`,
}

func (s *Server) takeRequest(r *http.Request, body []byte, at time.Time) ([]Arrival, *Problem) {
	switch {
	case r.Method != http.MethodPost || r.URL.Path != "/ingest":
		return nil, &Problem{http.StatusNotFound, "path", "there is POST /ingest, not " + r.Method + " " + r.URL.Path}
	case r.ContentLength > maxBody: // the body itself is not measured
		return nil, &Problem{http.StatusRequestEntityTooLarge, "Content-Length", fmt.Sprint(r.ContentLength)}
	}
	return decodeBody([]byte(strings.ToValidUTF8(string(body), "\uFFFD")), at)
}

// Arrivals returns the accepted events, in order.
func (s *Server) Arrivals() []Arrival {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.arrivals)
}

// Spans returns the accepted spans.
func (s *Server) Spans() []Arrival {
	return slices.DeleteFunc(s.Arrivals(), func(a Arrival) bool { return a.Type != "span" })
}

// Problems returns why requests were rejected.
func (s *Server) Problems() []Problem {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.problems)
}

// Posts returns the number of requests.
func (s *Server) Posts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.posts
}

// Largest returns the size of the largest body in bytes.
func (s *Server) Largest() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.largest
}

// Client returns a client whose requests go directly to the server, without a
// network, whatever their host.
func (s *Server) Client() *http.Client { return Client(s) }

// Client returns a client whose requests h answers, without a network. Requests
// wait for their answer or the end of their context.
func Client(h http.Handler) *http.Client { return &http.Client{Transport: direct{h}} }

type direct struct{ http.Handler }

// RoundTrip implements [http.RoundTripper].
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
