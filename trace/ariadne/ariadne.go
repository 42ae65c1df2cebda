// Package ariadne sends events to an Ariadne server, where each check of a session
// is a trace, and each event a span of it. A [Sink] never makes a session wait and
// never fails: events go through a bounded queue and are sent in batches within 200
// ms. Events that cannot be sent are dropped, counted, and reported on stderr in
// lines that begin with [Ariadne]. The spans of a trace form a tree: the root is
// the check's compact.token_estimate, the decision is its child, and the events of
// a round are children of the decision. Traces of one session are in one group.
// Each trace has an end from the beginning, so that the page never shows it as
// unfinished, even if the process is killed. A session that continues in another
// process has new traces in the same group.
package ariadne

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/tiercompact/tiercompact/internal/loss"
	"github.com/tiercompact/tiercompact/trace"
)

// Config gives the destination of events, and their names.
type Config struct {
	// URL is the address of the server, as http://localhost:5175, or the whole
	// address of its /ingest. It is required. The scheme is optional.
	URL      string
	Name     string            // added in brackets to the name of each trace unless empty
	GroupID  string            // of each trace; "": the session
	Kind     string            // of each span; "": a description of the span
	Metadata map[string]string // of each trace, in addition to "session" and "agent_name", the heading of the group
	Client   *http.Client      // nil: a new one; redirects are never followed
	Stderr   io.Writer         // for reports of failures; nil: os.Stderr
	Size     int               // maximum number of waiting events; 0: 1,024
}

const (
	timeout  = 2 * time.Second       // of one request
	gather   = 50 * time.Millisecond // maximum wait of a batch for more events
	maxBatch = 64                    // events in a batch
)

// A Sink sends events to an Ariadne server. It must be closed.
type Sink struct {
	queue   *trace.Queue
	closing chan struct{}      // closed when pauses are over
	cancel  context.CancelFunc // ends requests
	sender  *sender
}

// New returns a sink for the server at cfg.URL, which need not be running. The
// error means that the URL is invalid.
func New(cfg Config) (*Sink, error) {
	target, err := endpoint(cfg.URL)
	if err != nil {
		return nil, err
	}
	cfg.Metadata = maps.Clone(cfg.Metadata)
	if cfg.Stderr == nil {
		cfg.Stderr = os.Stderr
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &Sink{closing: make(chan struct{}), cancel: cancel}
	s.sender = &sender{
		closing: s.closing, client: withoutRedirects(cfg.Client), url: target,
		tree: spanTree{cfg: cfg, sessions: make(map[string]*session)}, says: loss.NewReport(cfg.Stderr, "Ariadne"),
	}
	post := func(events []trace.Event) { s.sender.postEvents(ctx, events) } // no caller waits; ctx ends with the sink
	s.queue = trace.NewBatchQueue(post, trace.QueueOptions{Size: cfg.Size, Batch: maxBatch, Wait: gather})
	return s, nil
}

// endpoint returns the address of /ingest on the server at address, which may
// include it, as in Ariadne's own ARIADNE_ENDPOINT.
func endpoint(address string) (string, error) {
	whole := strings.TrimSpace(address)
	if !strings.Contains(whole, "://") {
		whole = "http://" + whole
	}
	u, err := url.Parse(whole)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("open Ariadne: URL must be like http://localhost:5175, is %q", redactedURL(address))
	}
	u = u.JoinPath() // avoids a double slash
	u.Path = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/ingest")
	u.RawPath, u.Fragment = "", ""
	return u.JoinPath("ingest").String(), nil
}

// redactedURL returns a URL without its possibly secret parts; an invalid URL may
// contain anything.
func redactedURL(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return "no URL"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

// withoutRedirects returns a copy of c that does not follow redirects, which would
// turn a post into a get.
func withoutRedirects(c *http.Client) *http.Client {
	own := http.Client{}
	if c != nil {
		own = *c
	} else if t, ok := http.DefaultTransport.(*http.Transport); ok {
		own.Transport = t.Clone()
	}
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &own
}

// Emit queues e. It never waits. It is a [trace.Sink].
func (s *Sink) Emit(e trace.Event) { s.queue.Emit(e) }

// Flush sends the waiting events, or returns when ctx ends.
func (s *Sink) Flush(ctx context.Context) error { return s.queue.Flush(ctx) }

// Lost returns the number of events that have not reached the server.
func (s *Sink) Lost() int { return s.queue.Dropped() + s.sender.says.Events() }

// Close sends the waiting events, reports how many were lost, and ends the sink. A
// server that has failed, or fails now, is tried once. If ctx ends first, the rest
// is dropped.
func (s *Sink) Close(ctx context.Context) error {
	s.sender.stopWaiting(s.closing)
	err := s.queue.Close(ctx)
	s.cancel()
	s.sender.says.End(s.queue.Dropped())
	s.sender.client.CloseIdleConnections()
	return err
}
