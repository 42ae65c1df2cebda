// Package otel makes an OpenTelemetry span of each event, with the event's own
// start and end, through the program's tracer provider. A session is a trace. Its
// root is a span of no length, compact.session, made and ended at the first event:
// a span that stays open until the end of its session would be lost with its
// process. Each check is a child of it, its compact.token_estimate; below that are
// the decision and the events of a round, as in [trace.Parents]. After 2,000 spans
// a session continues in a new trace, whose root is linked to the root before,
// because backends refuse endless traces. Each property is an attribute:
// tiercompact. and its name in [trace.Properties]. If the conventions for
// generative AI have a name for it, that attribute exists too.
package otel

import (
	"context"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/tiercompact/tiercompact/trace"
)

// Scope is the name of the instrumentation scope.
const Scope = "github.com/tiercompact/tiercompact"

const (
	maxSpans    = 2000 // in a trace
	maxSessions = 4096 // beyond, all are forgotten; those that continue begin another trace
)

// New returns a sink that makes spans through provider. It is safe for concurrent
// use, and takes some microseconds an event: use a [trace.Queue] to keep them from
// sessions. The provider decides when and where spans are sent.
func New(provider oteltrace.TracerProvider) trace.Sink {
	s := &spans{
		tracer:   provider.Tracer(Scope, oteltrace.WithSchemaURL(semconv.SchemaURL)),
		sessions: make(map[string]*session),
	}
	return s.emitSpan
}

type spans struct {
	tracer oteltrace.Tracer

	mu       sync.Mutex // guards the fields below
	sessions map[string]*session
}

type session struct {
	root    oteltrace.SpanContext
	made    int // spans below root
	parents trace.Parents[oteltrace.SpanContext]
}

func (s *spans) emitSpan(e trace.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in := s.sessionSpan(e)
	parent := in.root
	if p := in.parents.Of(e.Data); p != nil {
		parent = *p
	}
	start, end := e.Span()
	span := s.startSpan(parent, e.Name, start, oteltrace.WithAttributes(attributes(e)...))
	if e.Status == trace.Failed {
		span.SetStatus(codes.Error, statusMessage(e.Data))
	}
	span.End(oteltrace.WithTimestamp(end))
	in.parents.Add(e.Data, span.SpanContext())
	in.made++
}

// sessionSpan returns the session of e, with a root for its span.
func (s *spans) sessionSpan(e trace.Event) *session {
	in := s.sessions[e.Session]
	if in != nil && (in.made < maxSpans || !beginsCheck(e)) {
		return in
	}
	if in == nil && len(s.sessions) >= maxSessions {
		clear(s.sessions)
	}
	opts := []oteltrace.SpanStartOption{oteltrace.WithNewRoot(), oteltrace.WithAttributes(conversation(e)...)}
	if in != nil {
		opts = append(opts, oteltrace.WithLinks(oteltrace.Link{SpanContext: in.root}))
	}
	start, _ := e.Span()
	root := s.startSpan(oteltrace.SpanContext{}, "compact.session", start, opts...)
	root.End(oteltrace.WithTimestamp(start))
	in = &session{root: root.SpanContext()}
	s.sessions[e.Session] = in
	return in
}

// beginsCheck reports whether e begins a check, whose spans stay in one trace.
func beginsCheck(e trace.Event) bool {
	_, is := e.Data.(trace.TokenEstimate)
	return is
}

func (s *spans) startSpan(parent oteltrace.SpanContext, name string, at time.Time, opts ...oteltrace.SpanStartOption) oteltrace.Span {
	ctx := oteltrace.ContextWithSpanContext(context.Background(), parent)
	_, span := s.tracer.Start(ctx, name, append(opts, oteltrace.WithTimestamp(at))...)
	return span
}

func statusMessage(p trace.Payload) string {
	if e, is := p.(trace.Error); is {
		return toValidUTF8(e.Message)
	}
	return ""
}

func conversation(e trace.Event) []attribute.KeyValue {
	return []attribute.KeyValue{semconv.GenAIConversationID(toValidUTF8(e.Session)), semconv.GenAIOperationNameKey.String("compact")}
}

// toValidUTF8 makes text valid UTF-8: exporters reject whole batches otherwise.
func toValidUTF8(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// attributes returns all attributes of e.
func attributes(e trace.Event) []attribute.KeyValue {
	out := conversation(e)
	switch p := e.Data.(type) {
	case trace.TokenEstimate:
		out = append(out, semconv.GenAIUsageInputTokens(p.TEst))
		if p.Model != "" {
			out = append(out, semconv.GenAIRequestModel(toValidUTF8(p.Model)))
		}
	case trace.Error:
		out = append(out, semconv.ErrorTypeKey.String(toValidUTF8(p.ErrorType)))
	}
	for name, value := range trace.Properties(e.Data) {
		out = append(out, property("tiercompact."+name, value))
	}
	return out
}

func property(key string, value any) attribute.KeyValue {
	switch v := value.(type) {
	case string:
		return attribute.String(key, toValidUTF8(v))
	case bool:
		return attribute.Bool(key, v)
	case int:
		return attribute.Int(key, v)
	case float64:
		return attribute.Float64(key, v)
	}
	return attribute.String(key, "") // trace.Properties has no other types
}
