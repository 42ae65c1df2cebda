package suite

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	tiercompact "github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/engine"
	"github.com/tiercompact/tiercompact/internal/fault"
	"github.com/tiercompact/tiercompact/internal/ollamatest"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/trace"
)

// A wrong is a fault of the model server, with the expected outcome.
type wrong struct {
	fault   fault.Fault
	once    bool     // only the first answer of a chat
	slow    bool     // it takes until the deadline
	summary []string // fallbacks in the trace, in order; extractive means the configured fallback
	ranking bool     // the lexical scorer takes over
	written bool     // the model's own text may come through
}

func (w wrong) String() string {
	if w.once {
		return w.fault.Name + " once"
	}
	return w.fault.Name
}

func wrongs() []wrong {
	last := []string{levels.FallbackExtractive}
	halved := []string{levels.FallbackRetry, levels.FallbackRetry, levels.FallbackExtractive}
	return []wrong{
		{fault: fault.Refused(), summary: last, ranking: true},
		{fault: fault.Status(http.StatusNotFound), summary: last, ranking: true},
		{fault: fault.Status(http.StatusInternalServerError), summary: last, ranking: true},
		{fault: fault.Status(http.StatusServiceUnavailable), summary: last, ranking: true},
		{fault: fault.Hang(), slow: true, summary: last, ranking: true},
		{fault: fault.Drip(20 * time.Millisecond), slow: true, summary: last, ranking: true},
		{fault: fault.Garbage(), summary: last, ranking: true},
		{fault: fault.CutMidLine(), summary: last, ranking: true},
		{fault: fault.ErrorLine(), summary: last, ranking: true},
		{fault: fault.EmptyAnswer(), summary: last, ranking: true},
		{fault: fault.CutAtNumPredict(), summary: halved},
		{fault: fault.CutAtNumPredict(), once: true, summary: halved[:1], written: true},
		{fault: fault.ToolCall(), summary: last},
		{fault: fault.ThinkingOnly(), summary: last},
		{fault: fault.Refusal(), summary: []string{levels.FallbackBrief, levels.FallbackExtractive}},
		{fault: fault.Refusal(), once: true, summary: []string{levels.FallbackBrief}, written: true},
		{fault: fault.ContextExceeded(), summary: last, ranking: true},
		{fault: fault.ContextNamed(), summary: last, ranking: true},
		{fault: fault.NoUserQuery(), summary: last, ranking: true},
		{fault: fault.CutToMessages(512), written: true},
		{fault: fault.CutToWindow(512), written: true},
		{fault: fault.CutToHalf(512), written: true},
	}
}

// A staged is a conversation that triggers a level.
type staged struct {
	level    levels.Name
	usage    int    // percent
	archived string // the archive's name for the session
	run      func(*testing.T, tiercompact.Config, chat.Transcript) (chat.Transcript, tiercompact.Report, error)
}

func stages() []staged {
	return []staged{
		{levels.SoftName, 62, "x", addLast},
		{levels.HardName, 78, "x", addLast},
		{levels.Emergency, 94, "x", addLast},
		{levels.LayerName, 90, "x", func(t *testing.T, cfg tiercompact.Config, in chat.Transcript) (chat.Transcript, tiercompact.Report, error) {
			c, err := tiercompact.New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			return c.Preflight(t.Context(), "x", in)
		}},
	}
}

// addLast adds the last message to a session that holds the others.
func addLast(t *testing.T, cfg tiercompact.Config, in chat.Transcript) (chat.Transcript, tiercompact.Report, error) {
	s := newSession(t, cfg)
	if err := s.Load(in[:len(in)-1]); err != nil {
		t.Fatal(err)
	}
	r, err := s.AddMessage(t.Context(), in[len(in)-1])
	return s.Messages(), r, err
}

// faulty is a server with configurable faults.
type faulty struct {
	upstream             string
	embedder, summarizer string // "": the default ones
	threads              int
	deadline             time.Duration
	exact                bool // the model's text is always usable
}

func TestFaultsOfModelServers(t *testing.T) {
	f := faulty{upstream: fault.Fake(t).URL, deadline: time.Minute, exact: true}
	for _, w := range wrongs() {
		for _, s := range stages() {
			for _, fallback := range []string{levels.FallbackExtractive, levels.FallbackPruning} {
				t.Run(fmt.Sprintf("%s/%s/%s", w, s.level, fallback), func(t *testing.T) { f.check(t, w, s, fallback) })
			}
		}
	}
}

// With a real server, its own answers are passed on, cut and dripped. The models
// have random weights: what they write is one more fault.
func TestRealServerBehindFaults(t *testing.T) {
	f := faulty{upstream: ollamatest.URL(t), embedder: ollamatest.TinyEmbedder, summarizer: ollamatest.Tiny, threads: ollamatest.Threads, deadline: time.Hour}
	for _, w := range wrongs() {
		for _, s := range stages()[1:] { // soft asks no model
			t.Run(fmt.Sprintf("%s/%s", w, s.level), func(t *testing.T) { f.check(t, w, s, levels.FallbackExtractive) })
		}
	}
}

// check has a level work while the server is at fault, and holds that the
// conversation comes out valid and within the budget, that nothing is lost, and
// that report and trace name what was done instead.
func (f faulty) check(t *testing.T, w wrong, s staged, fallback string) {
	proxy := fault.New(t, f.upstream)
	e, err := engine.Open(t.Context(), engine.Options{Kind: engine.Ollama, URL: proxy.URL, Embedder: f.embedder, Summarizer: f.summarizer, SummaryWindow: 8192, Threads: f.threads, Wait: f.deadline})
	if err != nil {
		t.Fatal(err)
	}
	if w.once {
		proxy.Nth("/api/chat", 1, w.fault)
	} else {
		proxy.Set(w.fault)
	}
	in := working(5, 300)
	store := archive.NewMemory()
	var events []trace.Event
	cfg := tiercompact.Config{
		// Half of MaxTokens has room for what the scripted model says.
		Window: sizeOf(t, in) * 100 / s.usage, Count: quarter, Summary: tiercompact.SummaryConfig{Fallback: fallback, MaxTokens: tiercompact.Tokens(400)}, Archive: store,
		Deadlines: tiercompact.DeadlineConfig{Ranking: f.deadline, Summary: f.deadline, Round: time.Hour}, Trace: func(e trace.Event) { events = append(events, e) },
	}
	if w.slow {
		cfg.Deadlines.Ranking, cfg.Deadlines.Summary = 200*time.Millisecond, 200*time.Millisecond
	}
	e.Into(&cfg)
	asked := len(proxy.Requests())
	out, report, err := s.run(t, cfg, in)
	if err != nil || !report.Compacted() || report.Applied[len(report.Applied)-1].Level != s.level {
		t.Fatalf("%v: %s, %v", err, report.Reason, report.Applied)
	}
	if report.After >= report.Before || report.After > report.Usage.Budget {
		t.Errorf("%d tokens became %d, the budget is %d", report.Before, report.After, report.Usage.Budget)
	}
	strictly(t, "afterwards", in, out)
	if problems := chat.Check(out); len(problems) > 0 {
		t.Errorf("%v\n%s", problems, show(out))
	}
	was, err := store.Get(t.Context(), s.archived, report.Step)
	if err != nil || !slices.Equal(texts(was.Before, everything), texts(in, everything)) {
		t.Errorf("the archive does not have the conversation as it was: %v", err)
	}
	if w.written && !f.exact && s.level != levels.HardName {
		return
	}
	fell := w.fallbacks(s.level, fallback)
	checkFallbacks(t, fell, report, events)
	if s.level == levels.SoftName && len(proxy.Requests()) > asked {
		t.Error("soft asks a model")
	}
	checkSummaries(t, s.level, fell, e, report, out)
}

// fallbacks returns what is done instead at a level, in order.
func (w wrong) fallbacks(level levels.Name, set string) []string {
	switch {
	case level == levels.HardName && w.ranking:
		return []string{engine.Lexical}
	case level == levels.HardName || level == levels.SoftName:
		return nil
	}
	fell := slices.Clone(w.summary)
	if i := slices.Index(fell, levels.FallbackExtractive); i >= 0 {
		fell[i] = set
	}
	return fell
}

// checkFallbacks holds that report and trace name exactly these.
func checkFallbacks(t *testing.T, want []string, report tiercompact.Report, events []trace.Event) {
	t.Helper()
	var reported, traced, ended []string
	for _, a := range report.Applied {
		for _, attempt := range a.Attempts {
			reported = append(reported, attempt.Then)
			if attempt.Reason == "" || attempt.Engine == "" {
				t.Errorf("an attempt that does not say what failed: %+v", attempt)
			}
		}
		if a.Fallback != "" {
			ended = append(ended, a.Fallback)
		}
	}
	for _, e := range events {
		if failed, ok := e.Data.(trace.Error); ok {
			traced = append(traced, failed.Fallback)
		}
	}
	if !slices.Equal(reported, want) || !slices.Equal(traced, want) || !slices.Equal(ended, want[max(0, len(want)-1):]) {
		t.Errorf("fallbacks: report %q, in the end %q, trace %q; want %q\n%+v", reported, ended, traced, want, report.Applied)
	}
}

// checkSummaries holds that the summary is there, by whom it should be, unless
// none should be there.
func checkSummaries(t *testing.T, level levels.Name, fell []string, e *engine.Engine, report tiercompact.Report, out chat.Transcript) {
	t.Helper()
	n := 0
	for _, m := range out {
		if m.IsSummary() {
			n++
		}
	}
	want, by := 1, e.Summary.Engine
	switch {
	case level == levels.SoftName:
		want, by = 0, ""
	case level == levels.HardName && len(fell) > 0:
		want, by = 0, engine.Lexical
	case level == levels.HardName:
		want, by = 0, e.Ranking.Engine
	case slices.Contains(fell, levels.FallbackPruning):
		want, by = 0, ""
	case slices.Contains(fell, levels.FallbackExtractive):
		by = engine.Extractive
	}
	var engines []string
	for _, a := range report.Applied {
		if a.Engine != "" {
			engines = append(engines, a.Engine)
		}
	}
	if n != want || strings.Join(engines, " ") != by {
		t.Errorf("%d summaries by %q, want %d by %q\n%s", n, engines, want, by, show(out))
	}
}
