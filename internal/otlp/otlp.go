// Package otlp sends events as spans to an OpenTelemetry collector, by OTLP
// over HTTP. Package trace/otel says how they look.
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

	"github.com/tiercompact/tiercompact/internal/loss"
	"github.com/tiercompact/tiercompact/trace"
	"github.com/tiercompact/tiercompact/trace/otel"
)

// Config says where spans go. What it leaves open is taken from the standard
// variables OTEL_EXPORTER_OTLP_*, OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES
// and OTEL_TRACES_SAMPLER, and then from the defaults of OpenTelemetry.
type Config struct {
	Endpoint    string            // host:port, or a URL; a URL without a path gets /v1/traces; "": http://localhost:4318
	Headers     map[string]string // of each request
	Insecure    bool              // http, where Endpoint is host:port
	ServiceName string            // "": tiercompact
	Stderr      io.Writer         // where failures are told; nil: os.Stderr
	Size        int               // events that wait at most; 0: 1,024
}

// A Sink sends events to a collector. It never makes a session wait: events go
// through a bounded queue, spans through another one behind it, and what finds
// no room or no collector is dropped, counted, and told on stderr in lines that
// begin with [OTLP]. It must be closed.
type Sink struct {
	queue    *trace.Queue
	provider *sdktrace.TracerProvider
	client   *otlptrace.Exporter
	exporter *exporter
	says     *loss.Report
}

// New returns a sink for the collector of cfg, which need not be there. The
// error is of settings that are none.
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
		// It blocks the goroutine of the queue, which drops and counts: what the
		// library drops by itself is not told.
		sdktrace.WithBatcher(s.exporter, sdktrace.WithBlocking(),
			sdktrace.WithBatchTimeout(200*time.Millisecond), sdktrace.WithExportTimeout(retry+10*time.Second)),
	)
	s.queue = trace.NewQueue(otel.New(s.provider), cfg.Size)
	return s, nil
}

// retry is how long a batch is sent again while a collector cannot take it.
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

// serviceResource says who makes the spans: the name that was given, else that of the
// environment, else our own.
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

// exporter tells of spans that were not exported, and ends the matter there:
// the library would tell a handler that all of the program shares.
type exporter struct {
	sdktrace.SpanExporter
	says    *loss.Report
	closing atomic.Bool
	failed  atomic.Bool // since closing began
}

// ExportSpans sends spans, or counts them as lost. At the end, a collector that
// does not take one batch is not asked to take the next.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if e.failed.Load() {
		e.says.Add(len(spans), "the collector did not take what came before")
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

// Lost returns how many events and spans did not get to the collector so far.
func (s *Sink) Lost() int { return s.queue.Dropped() + s.says.Events() }

// Flush sends what waits, or returns when ctx ends.
func (s *Sink) Flush(ctx context.Context) error {
	return errors.Join(s.queue.Flush(ctx), s.provider.ForceFlush(ctx))
}

// Close sends what waits, says how much was lost, and ends the sink. When ctx
// ends first, or a batch is not taken, what is left is dropped.
func (s *Sink) Close(ctx context.Context) error {
	s.exporter.closing.Store(true)
	err := errors.Join(s.queue.Close(ctx), s.provider.Shutdown(ctx))
	if err != nil {
		_ = s.client.Shutdown(ctx) // ends the request that is under way
	}
	s.says.End(s.queue.Dropped())
	return err
}
