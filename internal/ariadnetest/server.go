// Package ariadnetest is an Ariadne server for tests, and its page.
//
// Both are made from the source of the real ones, ThomasRohde/ariadne at
// 284187b, and not from what this project sends: [Server] takes, cuts and
// refuses what api/src and packages/shared do, and [Server.Page] shows what
// web/src makes of it.
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

// An Arrival is one event, a trace or a span, as the server stored it. A field
// that the event did not have is empty.
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

// A Problem is why a request was refused, in more words than the real server
// has for it.
type Problem struct {
	Status int    // of the answer
	Field  string // in the body: batch[2].ended_at
	Text   string
}

// Error returns the field and what is wrong with it.
func (p Problem) Error() string { return fmt.Sprintf("%d %s: %s", p.Status, p.Field, p.Text) }

// A Server takes events at /ingest. It is an [http.Handler], and may be used
// concurrently.
type Server struct {
	mu       sync.Mutex // guards what follows
	arrivals []Arrival
	problems []Problem
	posts    int
	largest  int
}

// New returns a server that has seen nothing.
func New() *Server { return new(Server) }

// maxBody is the largest Content-Length that is taken.
const maxBody = 256 << 10

// ServeHTTP takes all events of a request, or none.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client left
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

// answers are the bodies of refusals.
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

// Largest returns the bytes of the largest body that came.
func (s *Server) Largest() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.largest
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
