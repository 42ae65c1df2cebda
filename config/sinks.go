package config

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
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

// Sinks receive events. None makes a session wait.
type Sinks struct {
	Sink     trace.Sink // nil: there are none
	Warnings []string   // about unavailable sinks, with a remedy

	closers closers
}

// Close sends the waiting events, and closes the sinks. If ctx ends first, the remaining
// events are dropped.
func (s *Sinks) Close(ctx context.Context) error {
	return s.closers.closeAll(ctx)
}

// closers close everything that was opened, in reverse order, once.
type closers []func(context.Context) error

func (c *closers) closeAll(ctx context.Context) error {
	var errs []error
	for _, end := range slices.Backward(*c) {
		errs = append(errs, end(ctx))
	}
	*c = nil
	return errors.Join(errs...)
}

// maxQueued is the maximum number of events that wait for a console or a file: a replayed
// session emits all of them at once.
const maxQueued = 1 << 16

// Open opens the sinks. Later errors are written to stderr. Events are added to an
// existing file, unless Truncate is set.
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

// serial serialises the writes of several sinks.
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
	q := trace.NewQueue(sink, maxQueued)
	s.addSink(q.Emit, q.Close)
}

func (t Trace) openFile(_ context.Context, s *Sinks, _ io.Writer) error {
	if t.JSONL == "" {
		return nil
	}
	if info, err := os.Stat(t.JSONL); t.Truncate && err == nil && info.Mode().IsRegular() {
		if err := os.Truncate(t.JSONL, 0); err != nil {
			return fmt.Errorf("write trace: %w", err)
		}
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
	t.Ariadne.Stderr = stderr
	sink, err := ariadne.New(t.Ariadne)
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
	t.OTLP.Stderr = stderr
	sink, err := otlp.New(ctx, t.OTLP)
	if err != nil {
		return err
	}
	s.addSink(sink.Emit, sink.Close)
	return nil
}

// openPrometheus serves metrics. If the address is in use, probably by another session of
// the same user, the session runs without metrics.
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
