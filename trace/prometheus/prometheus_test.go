package prometheus_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	client "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"

	"github.com/tiercompact/tiercompact/trace"
	"github.com/tiercompact/tiercompact/trace/prometheus"
)

var update = flag.Bool("update", false, "rewrite the golden file")

var at = time.Date(2026, 3, 4, 5, 6, 7, 8e6, time.UTC)

func emit(t *testing.T, reg client.Registerer, payloads ...trace.Payload) {
	t.Helper()
	sink, err := prometheus.New(reg)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range payloads {
		sink.Emit(trace.New("s", at, at.Add(250*time.Millisecond), p))
	}
}

func TestMetricsOfASession(t *testing.T) {
	reg := client.NewPedanticRegistry()
	emit(t, reg,
		trace.TokenEstimate{Model: "m", TEst: 20000, MaxTokens: 32000, UsagePct: 0.625},
		trace.TriggerDecision{Triggered: true, PrunedCount: new(7)},
		trace.TriggerDecision{Reason: "cooldown"},
		trace.TriggerDecision{Triggered: true, PrunedCount: new(-1)}, // markers can outnumber the removed messages
		trace.LevelApplied{Level: "soft", Freed: 300, PrefillTokens: 800},
		trace.LevelApplied{Level: "hard", Freed: 200, PrefillTokens: 8000},
		trace.LevelApplied{Level: "soft", Freed: 50, PrefillTokens: 80},
		trace.SummaryCreated{Fallback: "brief", CompressionRatio: .04},
		trace.SummaryCreated{CompressionRatio: .3},
		trace.PrunedMessages{},
		trace.Archival{StorageAdapter: "s3"},
		trace.Error{ErrorType: "insufficient_budget"},
		trace.Warning{Severity: "high"},
	)
	const golden = "testdata/metrics.txt"
	if *update {
		if err := os.WriteFile(golden, gather(t, reg), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got := gather(t, reg); string(got) != string(want) {
		t.Errorf("got\n%s", got)
	}
	problems, err := testutil.GatherAndLint(reg)
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}

func gather(t *testing.T, reg client.Gatherer) []byte {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(&out, f); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

func TestLabelsAreBoundedForAnyEvents(t *testing.T) {
	reg := client.NewRegistry()
	for i := range 1000 {
		odd := fmt.Sprint("odd", i)
		emit(t, reg, trace.LevelApplied{Level: odd}, trace.SummaryCreated{Fallback: odd}, trace.Archival{StorageAdapter: odd}, trace.Error{ErrorType: odd}, trace.Warning{Severity: odd})
	}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if n := len(f.GetMetric()); n > 1 {
			t.Errorf("%s has %d series", f.GetName(), n)
		}
	}
}

func TestOneRegistryHasOneOfEach(t *testing.T) {
	reg := client.NewRegistry()
	emit(t, reg, trace.Warning{Severity: "low"})
	emit(t, reg, trace.Warning{Severity: "low"})
	want := "# HELP tiercompact_warnings_total Warnings.\n# TYPE tiercompact_warnings_total counter\ntiercompact_warnings_total{severity=\"low\"} 2\n"
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want), "tiercompact_warnings_total"); err != nil {
		t.Error(err)
	}
	reg = client.NewRegistry()
	reg.MustRegister(client.NewGauge(client.GaugeOpts{Name: "tiercompact_warnings_total"}))
	if _, err := prometheus.New(reg); err == nil || !strings.HasPrefix(err.Error(), "register metrics: ") {
		t.Errorf("%v", err)
	}
}
