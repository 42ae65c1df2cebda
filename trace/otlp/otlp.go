// Package otlp sends events as spans to an OpenTelemetry collector, by OTLP over
// HTTP. Package otel describes the spans.
package otlp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/tiercompact/tiercompact/trace"
	"github.com/tiercompact/tiercompact/trace/internal/loss"
	"github.com/tiercompact/tiercompact/trace/otel"
)

// Config gives the destination of spans. Unset fields come from the standard
// variables OTEL_EXPORTER_OTLP_*, OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES and
// OTEL_TRACES_SAMPLER, and then from the defaults of OpenTelemetry.
type Config struct {
	Endpoint    string            // host:port, or a URL; a URL without a path gets /v1/traces; "": http://localhost:4318
	Headers     map[string]string // of each request
	Insecure    bool              // http, if Endpoint is host:port
	ServiceName string            // "": tiercompact
	Stderr      io.Writer         // for reports of failures; nil: os.Stderr
	Size        int               // maximum number of waiting events; 0: 1,024
}

// A Sink sends events to a collector. It never makes a session wait: events go
// through a bounded queue, and spans through another one. Events without room or
// without a collector are dropped, counted, and reported on stderr in lines that
// begin with [OTLP]. It must be closed.
type Sink struct {
	queue    *trace.Queue
	provider *sdktrace.TracerProvider
	client   *otlptrace.Exporter
	exporter *exporter
	says     *loss.Report
}

// New returns a sink for the collector of cfg, which need not be running. The error
// means that the settings are invalid.
func New(ctx context.Context, cfg Config) (*Sink, error) {
	opts, err := exporterOptions(cfg)
	if err != nil {
		return nil, err
	}
	client, err := otlptrace.New(ctx, otlptracehttp.NewClient(opts...))
	if err != nil {
		return nil, fmt.Errorf("open OTLP: %w", err)
	}
	about, err := serviceResource(ctx, cfg.ServiceName)
	if err != nil {
		return nil, err
	}
	if cfg.Stderr == nil {
		cfg.Stderr = os.Stderr
	}
	says := loss.NewReport(cfg.Stderr, "OTLP")
	s := &Sink{client: client, exporter: &exporter{SpanExporter: client, says: says}, says: says}
	s.provider = sdktrace.NewTracerProvider(
		sdktrace.WithResource(about),
		// It blocks the goroutine of the queue, which drops and counts, because the
		// library does not report what it drops.
		sdktrace.WithBatcher(s.exporter, sdktrace.WithBlocking(),
			sdktrace.WithBatchTimeout(200*time.Millisecond), sdktrace.WithExportTimeout(retry+10*time.Second)),
	)
	s.queue = trace.NewQueue(otel.New(s.provider), cfg.Size)
	return s, nil
}

// retry is how long a batch is repeated while a collector cannot accept it.
const retry = 10 * time.Second

func exporterOptions(cfg Config) ([]otlptracehttp.Option, error) {
	opts := []otlptracehttp.Option{otlptracehttp.WithRetry(otlptracehttp.RetryConfig{
		Enabled: true, InitialInterval: time.Second, MaxInterval: 5 * time.Second, MaxElapsedTime: retry,
	})}
	if len(cfg.Headers) > 0 {
		opts = append(opts, otlptracehttp.WithHeaders(cfg.Headers))
	}
	switch {
	case cfg.Endpoint == "":
		if cfg.Insecure {
			opts = append(opts, otlptracehttp.WithInsecure())
		}
	case strings.Contains(cfg.Endpoint, "://"):
		u, err := url.Parse(cfg.Endpoint)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, errors.New("open OTLP: endpoint must be host:port or like http://localhost:4318")
		}
		if u.User != nil {
			return nil, errors.New("open OTLP: endpoint must hold no credentials; they go into headers, OTEL_EXPORTER_OTLP_HEADERS")
		}
		if strings.Trim(u.Path, "/") == "" {
			u.Path = "/v1/traces"
		}
		opts = append(opts, otlptracehttp.WithEndpointURL(u.String()))
	default:
		opts = append(opts, otlptracehttp.WithEndpoint(cfg.Endpoint))
		if cfg.Insecure {
			opts = append(opts, otlptracehttp.WithInsecure())
		}
	}
	return opts, nil
}

// serviceResource identifies the origin of the spans: the given name, else that of
// the environment, else tiercompact.
func serviceResource(ctx context.Context, name string) (*resource.Resource, error) {
	opts := []resource.Option{
		resource.WithTelemetrySDK(),
		resource.WithAttributes(semconv.ServiceName("tiercompact")),
		resource.WithFromEnv(),
	}
	if name != "" {
		opts = append(opts, resource.WithAttributes(semconv.ServiceName(name)))
	}
	r, err := resource.New(ctx, opts...)
	if err != nil && !errors.Is(err, resource.ErrPartialResource) {
		return nil, fmt.Errorf("open OTLP: read OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	return r, nil
}

// exporter reports spans that were not exported, and returns no error: the library
// would pass it to a handler of the whole program.
type exporter struct {
	sdktrace.SpanExporter
	says    *loss.Report
	closing atomic.Bool
	failed  atomic.Bool // since the start of Close
}

// ExportSpans sends spans, or counts them as lost. During Close, a collector that
// does not accept one batch does not receive the next.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if e.failed.Load() {
		e.says.Add(len(spans), "the collector did not accept an earlier batch")
		return nil
	}
	if err := e.SpanExporter.ExportSpans(ctx, spans); err != nil {
		e.failed.Store(e.closing.Load())
		e.says.Add(len(spans), err.Error())
	}
	return nil
}

// Emit queues e. It never waits. It is a [trace.Sink].
func (s *Sink) Emit(e trace.Event) { s.queue.Emit(e) }

// Lost returns the number of events and spans that have not reached the collector.
func (s *Sink) Lost() int { return s.queue.Dropped() + s.says.Events() }

// Flush sends the waiting events, or returns when ctx ends.
func (s *Sink) Flush(ctx context.Context) error {
	return errors.Join(s.queue.Flush(ctx), s.provider.ForceFlush(ctx))
}

// Close sends the waiting events, reports how many were lost, and ends the sink. If
// ctx ends first, or a batch is rejected, the rest is dropped.
func (s *Sink) Close(ctx context.Context) error {
	s.exporter.closing.Store(true)
	err := errors.Join(s.queue.Close(ctx), s.provider.Shutdown(ctx))
	if err != nil {
		_ = s.client.Shutdown(ctx) // ends the current request
	}
	s.says.End(s.queue.Dropped())
	return err
}
