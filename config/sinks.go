package config

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	promclient "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/tiercompact/tiercompact/internal/otlp"
	"github.com/tiercompact/tiercompact/trace"
	"github.com/tiercompact/tiercompact/trace/ariadne"
	"github.com/tiercompact/tiercompact/trace/prometheus"
)

// Sinks are told of events. None makes a session wait.
type Sinks struct {
	Sink     trace.Sink // nil: nobody is told
	Warnings []string   // of sinks that are not there, and what to do

	closers closers
}

// Close sends what waits, and ends the sinks. When ctx ends first, what is left
// is dropped.
func (s *Sinks) Close(ctx context.Context) error {
	return s.closers.closeAll(ctx)
}

// closers end what was opened, the last first, once.
type closers []func(context.Context) error

func (c *closers) closeAll(ctx context.Context) error {
	var errs []error
	for _, end := range slices.Backward(*c) {
		errs = append(errs, end(ctx))
	}
	*c = nil
	return errors.Join(errs...)
}

// mostQueued is how many events wait for a console or a file: a session that is
// replayed has them all at once.
const mostQueued = 1 << 16

// Open opens the sinks. Failures that come later are told on stderr. A file goes
// on where it ends.
func (t Trace) Open(ctx context.Context, stderr io.Writer) (_ *Sinks, err error) {
	s := new(Sinks)
	stderr = &serial{w: stderr}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close(ctx))
		}
	}()
	if t.Console {
		s.addQueued(trace.Console(stderr))
	}
	for _, open := range []func(context.Context, *Sinks, io.Writer) error{t.openFile, t.openAriadne, t.openOTLP, t.openPrometheus} {
		if err := open(ctx, s, stderr); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// serial has writes of several sinks follow one another.
type serial struct {
	mu sync.Mutex // held while w is written to
	w  io.Writer
}

func (s *serial) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(b)
}

func (s *Sinks) addSink(sink trace.Sink, closer func(context.Context) error) {
	s.Sink = trace.Join(s.Sink, sink)
	s.closers = append(s.closers, closer)
}

func (s *Sinks) addQueued(sink trace.Sink) {
	q := trace.NewQueue(sink, mostQueued)
	s.addSink(q.Emit, q.Close)
}

func (t Trace) openFile(_ context.Context, s *Sinks, _ io.Writer) error {
	if t.JSONL == "" {
		return nil
	}
	f, err := openTraceFile(t.JSONL)
	if err != nil {
		return err
	}
	s.closers = append(s.closers, func(context.Context) error { return f.Close() })
	s.addQueued(trace.JSONL(f))
	return nil
}

func (t Trace) openAriadne(_ context.Context, s *Sinks, stderr io.Writer) error {
	if t.Ariadne.URL == "" {
		return nil
	}
	sink, err := ariadne.New(ariadne.Config{URL: withScheme(t.Ariadne.URL), Name: t.Ariadne.Name, GroupID: t.Ariadne.Group, Stderr: stderr})
	if err != nil {
		return err
	}
	s.addSink(sink.Emit, sink.Close)
	return nil
}

func (t Trace) openOTLP(ctx context.Context, s *Sinks, stderr io.Writer) error {
	if t.OTLP.Endpoint == "" {
		return nil
	}
	sink, err := otlp.New(ctx, otlp.Config{Endpoint: t.OTLP.Endpoint, Insecure: t.OTLP.Insecure, ServiceName: t.OTLP.Service, Stderr: stderr})
	if err != nil {
		return err
	}
	s.addSink(sink.Emit, sink.Close)
	return nil
}

// openPrometheus serves metrics. An address that is taken, by another session
// of the same user as like as not, is no reason to do without the session.
func (t Trace) openPrometheus(ctx context.Context, s *Sinks, _ io.Writer) error {
	if t.Prometheus.Listen == "" {
		return nil
	}
	registry := promclient.NewRegistry()
	sink, err := prometheus.New(registry)
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", t.Prometheus.Listen)
	if err != nil {
		s.Warnings = append(s.Warnings, fmt.Sprintf("metrics are not served: %v; set trace.prometheus.listen to an address that is free", err))
		return nil
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener) // ends when it is closed
	}()
	s.addSink(sink, func(context.Context) error {
		err := server.Close()
		<-done
		return err
	})
	return nil
}
