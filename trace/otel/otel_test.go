package otel_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/tiercompact/tiercompact/trace"
	"github.com/tiercompact/tiercompact/trace/otel"
)

var at = time.Date(2026, 3, 4, 5, 6, 7, 8e6, time.UTC)

// payloads are one of each kind, and a check without a round.
func payloads() []trace.Payload {
	return []trace.Payload{
		trace.Warning{Severity: "low", Message: "m", Remedy: "r"},
		trace.TokenEstimate{Model: "llama3.2:3b", TEst: 20, MaxTokens: 32, UsagePct: 1, Breakdown: trace.Breakdown{System: 5, Messages: 15}},
		trace.TriggerDecision{Triggered: true, Reason: "usage", Level: "hard", Kept: &trace.Kept{Pinned: 1}, PrunedCount: new(7), Note: "n"},
		trace.LevelApplied{Level: "hard", Before: 20, After: 10, Freed: 10, FirstChanged: 4, PrefillTokens: 8, Engine: "lexical", Why: "w"},
		trace.SummaryCreated{Strategy: "task_state", InputMessages: 4, SummaryTokens: 9, CompressionRatio: .5, Fallback: "brief", Payload: []byte(`{"a":1}`)},
		trace.PrunedMessages{Layers: trace.Layers{Pinned: trace.Layer{Messages: 1, Tokens: 2}}},
		trace.Archival{SessionID: "s", Step: 1, StorageAdapter: "dir", FilePath: "f"},
		trace.Error{ErrorType: "summary", Message: "no answer", Fallback: "brief"},
		trace.TokenEstimate{TEst: 10, MaxTokens: 32, UsagePct: .3125},
		trace.TriggerDecision{Reason: "cooldown", Level: "none"},
	}
}

func spans(events ...trace.Event) []sdktrace.ReadOnlySpan {
	rec := tracetest.NewSpanRecorder()
	sink := otel.New(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(rec)))
	for _, e := range events {
		sink.Emit(e)
	}
	return rec.Ended()
}

func events() []trace.Event {
	var out []trace.Event
	for i, p := range payloads() {
		from := at.Add(time.Duration(i) * time.Second)
		out = append(out, trace.New("s", from, from.Add(time.Duration(i)*time.Millisecond), p))
	}
	return out
}

func TestEveryEventAndPropertyArrives(t *testing.T) {
	got := spans(events()...)
	if len(got) != len(events())+1 || got[0].Name() != "compact.session" {
		t.Fatalf("%d spans", len(got))
	}
	kinds := make(map[string]bool)
	for i, e := range events() {
		s := got[i+1]
		kinds[s.Name()] = true
		if s.Name() != e.Name || !s.StartTime().Equal(e.Start) || !s.EndTime().Equal(e.End) || s.InstrumentationScope().Name != otel.Scope {
			t.Errorf("%s from %v to %v, want %s from %v to %v", s.Name(), s.StartTime(), s.EndTime(), e.Name, e.Start, e.End)
		}
		has := attribute.NewSet(s.Attributes()...)
		for name, value := range trace.Properties(e.Data) {
			v, there := has.Value(attribute.Key("tiercompact." + name))
			if !there || fmt.Sprint(v.AsInterface()) != fmt.Sprint(value) {
				t.Errorf("%s: %s is %v, want %v", e.Name, name, v.AsInterface(), value)
			}
		}
		if v, _ := has.Value("gen_ai.conversation.id"); v.AsString() != "s" {
			t.Errorf("%s: conversation %q", e.Name, v.AsString())
		}
	}
	if len(kinds) != len(trace.Names()) {
		t.Errorf("%d kinds of event, want %d", len(kinds), len(trace.Names()))
	}
}

func TestConventionsHaveTheirNames(t *testing.T) {
	got := spans(events()...)
	estimate, failed := attribute.NewSet(got[2].Attributes()...), attribute.NewSet(got[8].Attributes()...)
	model, _ := estimate.Value("gen_ai.request.model")
	tokens, _ := estimate.Value("gen_ai.usage.input_tokens")
	operation, _ := estimate.Value("gen_ai.operation.name")
	share, _ := estimate.Value("tiercompact.usage_pct")
	kind, _ := failed.Value("error.type")
	if model.AsString() != "llama3.2:3b" || tokens.AsInt64() != 20 || operation.AsString() != "compact" || share.Type() != attribute.FLOAT64 || kind.AsString() != "summary" {
		t.Errorf("%v %v", got[2].Attributes(), got[8].Attributes())
	}
	if s := got[8].Status(); s.Code != codes.Error || s.Description != "no answer" {
		t.Errorf("%+v", s)
	}
	if s := got[7].Status(); s.Code != codes.Unset {
		t.Errorf("%+v", s)
	}
}

func TestASessionIsOneTraceAndACheckOneTree(t *testing.T) {
	got := spans(append(events(), trace.New("other", at, at, trace.TokenEstimate{}))...)
	names := map[oteltrace.SpanID]int{{}: -1}
	var parents []string
	for i, s := range got {
		names[s.SpanContext().SpanID()] = i
		parents = append(parents, fmt.Sprint(names[s.Parent().SpanID()]))
	}
	// session, warning, check, decision, the events of the round, check, decision;
	// session, check
	if want := "-1 0 0 2 3 3 3 3 3 0 9 -1 11"; strings.Join(parents, " ") != want {
		t.Errorf("%v, want %s", parents, want)
	}
	for i, s := range got {
		if same := s.SpanContext().TraceID() == got[0].SpanContext().TraceID(); same != (i < 11) {
			t.Errorf("span %d: same trace %v", i, same)
		}
	}
}

func TestTracesDoNotGrowWithoutEnd(t *testing.T) {
	var many []trace.Event
	for range 1500 {
		many = append(many, trace.New("s", at, at, trace.TokenEstimate{}), trace.New("s", at, at, trace.TriggerDecision{}))
	}
	var roots []sdktrace.ReadOnlySpan
	for _, s := range spans(many...) {
		if s.Name() == "compact.session" {
			roots = append(roots, s)
		}
	}
	if len(roots) != 2 {
		t.Fatalf("%d traces of 3,000 spans", len(roots))
	}
	linked := func(l sdktrace.Link) bool { return l.SpanContext.TraceID() == roots[0].SpanContext().TraceID() }
	if !slices.ContainsFunc(roots[1].Links(), linked) {
		t.Error("the second is not linked to the first")
	}
}

func TestSessionsInMemoryAreLimited(t *testing.T) {
	var many []trace.Event
	for i := range 5000 {
		many = append(many, trace.New(fmt.Sprint(i), at, at, trace.Warning{}))
	}
	if n := len(spans(append(many, many[0])...)); n != 2*5001 {
		t.Errorf("%d spans", n)
	}
}

func BenchmarkEmit(b *testing.B) {
	sink := otel.New(sdktrace.NewTracerProvider())
	e := events()[2]
	b.ReportAllocs()
	for b.Loop() {
		sink.Emit(e)
	}
}
