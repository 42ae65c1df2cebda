// Package ariadne sends events to an Ariadne server, where a session is a
// trace and each event a span of it.
//
// A [Sink] never makes a session wait and never fails: events go through a
// bounded queue, are sent in batches within 200 ms, and what cannot be sent is
// dropped, counted, and told on stderr in lines that begin with [Ariadne].
//
// The spans of a session stand in a tree: each check is a root, its
// compact.token_estimate; the decision is a child of it, and what a round did
// are children of the decision. A session that goes on in another process is a
// new trace in the same group.
package ariadne

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/tiercompact/tiercompact/trace"
	"github.com/tiercompact/tiercompact/trace/internal/loss"
)

// Config says where events go, and under which names.
type Config struct {
	URL      string            // of the server, to which /ingest is added; required
	Name     string            // of each trace; "": "compaction of" and the session
	GroupID  string            // of each trace; "": the session
	Kind     string            // of each span; "": "compaction"
	Metadata map[string]string // of each trace, beside "session"
	Client   *http.Client      // nil: one of its own; redirects are never followed
	Stderr   io.Writer         // where failures are told; nil: os.Stderr
	Size     int               // events that wait at most; 0: 1,024
}

const (
	timeout = 2 * time.Second       // of one request
	gather  = 50 * time.Millisecond // that a batch waits for more events
	most    = 64                    // events in a batch
)

// A Sink sends events to an Ariadne server. It must be closed.
type Sink struct {
	queue   *trace.Queue
	closing chan struct{}      // closed when pauses are over
	cancel  context.CancelFunc // ends requests
	sender  *sender
}

// New returns a sink for the server at cfg.URL, which need not be there. The
// error is of a URL that is none.
func New(cfg Config) (*Sink, error) {
	target, err := url.Parse(cfg.URL)
	if err != nil || target.Host == "" || target.Scheme != "http" && target.Scheme != "https" {
		return nil, fmt.Errorf("open Ariadne: URL must be like http://localhost:8080, is %q", shown(cfg.URL))
	}
	cfg.Metadata = maps.Clone(cfg.Metadata)
	cfg.Kind = cmp.Or(cfg.Kind, "compaction")
	if cfg.Stderr == nil {
		cfg.Stderr = os.Stderr
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &Sink{closing: make(chan struct{}), cancel: cancel}
	s.sender = &sender{
		ctx: ctx, closing: s.closing, client: client(cfg.Client), url: target.JoinPath("ingest").String(),
		tree: tree{cfg: cfg, sessions: make(map[string]*session)}, says: loss.NewReport(cfg.Stderr, "Ariadne"),
	}
	s.queue = trace.NewBatchQueue(s.sender.send, trace.QueueOptions{Size: cfg.Size, Batch: most, Wait: gather})
	return s, nil
}

// shown returns a URL without what may be secret in it; one that is no URL may
// hold anything.
func shown(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return "no URL"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

// client returns a copy of c that does not follow redirects: they would turn
// what is posted into a question.
func client(c *http.Client) *http.Client {
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

// Flush sends what waits, or returns when ctx ends.
func (s *Sink) Flush(ctx context.Context) error { return s.queue.Flush(ctx) }

// Lost returns how many events did not get to the server so far.
func (s *Sink) Lost() int { return s.queue.Dropped() + s.sender.says.Events() }

// Close sends what waits, says how much was lost, and ends the sink. A server
// that has failed, or does now, is tried once. When ctx ends first, what is left is dropped.
func (s *Sink) Close(ctx context.Context) error {
	s.sender.end(s.closing)
	err := s.queue.Close(ctx)
	s.cancel()
	s.sender.says.End(s.queue.Dropped())
	s.sender.client.CloseIdleConnections()
	return err
}
