// Package prometheus keeps metrics of sessions. Labels are levels, kinds of error
// and severities, never sessions or texts: their number is limited, whatever the
// events contain.
package prometheus

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tiercompact/tiercompact/trace"
)

// metrics are those of the sessions of one registry.
type metrics struct {
	checks, compactions, freed, pruned, errors, warnings, summaries, archived *prometheus.CounterVec

	usage, levelSeconds, summarySeconds, prefill, ratio *prometheus.HistogramVec

	tokens, window *prometheus.GaugeVec
}

// New registers the metrics with reg, and returns the sink that updates them. It is
// safe for concurrent use. If reg has them already, both sinks use the same ones.
// The error means that reg has other metrics with their names.
func New(reg prometheus.Registerer) (trace.Sink, error) {
	r := registry{reg: reg}
	m := &metrics{
		checks:      r.registerCounter("checks_total", "Checks, by whether a round was made.", "triggered"),
		compactions: r.registerCounter("compactions_total", "Times that a level was applied.", "level"),
		freed:       r.registerCounter("freed_tokens_total", "Tokens freed.", "level"),
		pruned:      r.registerCounter("pruned_messages_total", "Messages that left a conversation."),
		errors:      r.registerCounter("errors_total", "Errors, by kind.", "type"),
		warnings:    r.registerCounter("warnings_total", "Warnings.", "severity"),
		summaries:   r.registerCounter("summaries_total", "Summaries, by the fallback of the summarizer.", "fallback"),
		archived:    r.registerCounter("archived_steps_total", "Rounds put into an archive.", "adapter"),

		tokens: r.registerGauge("conversation_tokens", "Tokens of the conversation that was checked last."),
		window: r.registerGauge("window_tokens", "Window of the conversation that was checked last."),

		usage:          r.histogram("usage_ratio", "Share of the window in use, at each check.", []float64{.1, .2, .3, .4, .5, .6, .7, .75, .8, .85, .9, .95, 1, 1.25}),
		levelSeconds:   r.histogram("level_duration_seconds", "Time that a level took.", prometheus.ExponentialBuckets(.0001, 4, 11), "level"),
		summarySeconds: r.histogram("summary_duration_seconds", "Time that a summary took.", prometheus.ExponentialBuckets(.001, 4, 10)),
		prefill:        r.histogram("prefill_tokens", "Tokens that the server must read again after a round.", prometheus.ExponentialBuckets(256, 2, 11)),
		ratio:          r.histogram("summary_compression_ratio", "Tokens of a summary, as a share of those that it replaces.", []float64{.01, .02, .05, .1, .2, .3, .5, .75, 1}),
	}
	if r.err != nil {
		return nil, fmt.Errorf("register metrics: %w", r.err)
	}
	return m.countEvent, nil
}

func (m *metrics) countEvent(e trace.Event) {
	start, end := e.Span()
	seconds := end.Sub(start).Seconds()
	switch p := e.Data.(type) {
	case trace.TokenEstimate:
		m.tokens.WithLabelValues().Set(float64(p.TEst))
		m.window.WithLabelValues().Set(float64(p.MaxTokens))
		m.usage.WithLabelValues().Observe(p.UsagePct)
	case trace.TriggerDecision:
		m.checks.WithLabelValues(strconv.FormatBool(p.Triggered)).Inc()
		if p.PrunedCount != nil {
			addToCounter(m.pruned, *p.PrunedCount)
		}
	case trace.LevelApplied:
		level := knownOrOther(p.Level, "soft", "hard", "emergency", "layers", "fit")
		m.compactions.WithLabelValues(level).Inc()
		addToCounter(m.freed, p.Freed, level)
		m.levelSeconds.WithLabelValues(level).Observe(seconds)
		m.prefill.WithLabelValues().Observe(float64(p.PrefillTokens))
	case trace.SummaryCreated:
		m.summaries.WithLabelValues(knownOrOther(p.Fallback, "", "retry-half", "brief", "extractive", "pruning-only")).Inc()
		m.summarySeconds.WithLabelValues().Observe(seconds)
		m.ratio.WithLabelValues().Observe(p.CompressionRatio)
	case trace.Archival:
		m.archived.WithLabelValues(knownOrOther(p.StorageAdapter, "memory", "dir", "s3")).Inc()
	case trace.Error:
		m.errors.WithLabelValues(knownOrOther(p.ErrorType, "plan", "ranking", "summary", "archive", "record", "insufficient_budget")).Inc()
	case trace.Warning:
		m.warnings.WithLabelValues(knownOrOther(p.Severity, trace.Low, trace.Medium, trace.High)).Inc()
	}
}

// addToCounter adds n; a counter cannot decrease.
func addToCounter(c *prometheus.CounterVec, n int, labels ...string) {
	c.WithLabelValues(labels...).Add(float64(max(0, n)))
}

// knownOrOther returns s if it is in known, else "other"; "none" for "".
func knownOrOther(s string, known ...string) string {
	switch {
	case !slices.Contains(known, s):
		return "other"
	case s == "":
		return "none"
	}
	return s
}

// registry makes metrics and registers them, and keeps the first error.
type registry struct {
	reg prometheus.Registerer
	err error
}

const namespace = "tiercompact"

func (r *registry) registerCounter(name, help string, labels ...string) *prometheus.CounterVec {
	return registerOrReuse(r, prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels))
}

func (r *registry) registerGauge(name, help string) *prometheus.GaugeVec {
	return registerOrReuse(r, prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, nil))
}

func (r *registry) histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return registerOrReuse(r, prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets}, labels))
}

// registerOrReuse returns c, or the metric that is registered already.
func registerOrReuse[C prometheus.Collector](r *registry, c C) C {
	err := r.reg.Register(c)
	if there, is := errors.AsType[prometheus.AlreadyRegisteredError](err); is {
		if old, same := there.ExistingCollector.(C); same {
			return old
		}
	}
	r.err = errors.Join(r.err, err)
	return c
}
