package suite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	tiercompact "github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/protection"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/summarize"
	"github.com/tiercompact/tiercompact/trace"
)

// busyWork is a conversation with many files, names and rules, of about so many tokens.
func busyWork(prefix string, tokens int) (out chat.Transcript) {
	for i := 0; tokens > 0; i++ {
		out = append(out, user(fmt.Sprintf("Please fix bug %s-%d in src/%s_file_%d.go. Never drop port %d.", prefix, i, prefix, i, 8000+i)))
		out = append(out, readOf(fmt.Sprint(prefix, i), fmt.Sprintf("src/%s_file_%d.go", prefix, i), 300)...)
		out = append(out, reply(fmt.Sprintf("Bug %s-%d is fixed: parse%sThing%d returns an error, as handle_%s_%d expects.", prefix, i, prefix, i, prefix, i)))
		tokens -= 400
	}
	return out
}

// withoutFiles returns a summary without the parts of files that it holds.
func withoutFiles(m chat.Message) chat.Message {
	text, _, _ := strings.Cut(m.Text(), "\n\n## Files at hand\n")
	return m.With(m.State, chat.Part{Kind: chat.Summary, Text: text})
}

func TestTheLimitOfASummaryBoundsTheWholeMessage(t *testing.T) {
	verbose := summarizer(func(_ context.Context, r summarize.Request) (string, error) {
		var b strings.Builder // as long as it may be
		for i := 0; r.Count(b.String()) < r.MaxTokens-20; i++ {
			fmt.Fprintf(&b, "- port %d must stay\n", 8000+i)
		}
		return b.String(), nil
	})
	for _, preset := range []tiercompact.Preset{tiercompact.Default, tiercompact.Steady} {
		for _, window := range []int{2000, 8000, 32000, 128000} {
			for _, limit := range []int{0, 5, 50, 200, 1024, 8000} {
				for name, s := range map[string]summarize.Summarizer{"built-in": nil, "a model": verbose} {
					for _, role := range []chat.Role{chat.Assistant, chat.System} {
						cfg := tiercompact.Config{Window: window, Preset: preset, Summary: tiercompact.SummaryConfig{MaxTokens: limitOf(limit), Summarizer: s}, SummaryRole: role}
						if role == chat.System && window != 8000 || window == 128000 && limit != 0 && limit != 200 {
							continue
						}
						checkLimit(t, fmt.Sprintf("%s, window %d, limit %d, %s, %s", preset, window, limit, name, role), cfg)
					}
				}
			}
		}
	}
}

// limitOf is a limit of summaries; 0 is the default.
func limitOf(n int) (limit tiercompact.Size) {
	if n == 0 {
		return limit
	}
	return tiercompact.Tokens(n)
}

// checkLimit makes summaries on top of each other by every way there is.
func checkLimit(t *testing.T, name string, cfg tiercompact.Config) {
	t.Helper()
	limit, set := cfg.Summary.MaxTokens.Get()
	if !set {
		if limit = cfg.Window / 8; cfg.Preset == tiercompact.Steady {
			limit += cfg.Window * 7 / 100 // for lines of names
		}
	}
	s := start(t, cfg)
	for n, compact := range []func() (tiercompact.Report, error){
		func() (tiercompact.Report, error) { return s.CompactLevel(t.Context(), levels.Emergency) },
		func() (tiercompact.Report, error) { return s.Compact(t.Context(), "") },
		func() (tiercompact.Report, error) { return s.CompactLevel(t.Context(), levels.Emergency) },
	} {
		if err := s.Load(busyWork(fmt.Sprint("n", n), cfg.Window*6/10)); err != nil {
			t.Fatal(err)
		}
		if _, err := compact(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all := summaries(s.Messages())
		if len(all) > 1 || len(all) == 0 && limit >= 50 {
			t.Fatalf("%s: round %d leaves %d summaries", name, n+1, len(all))
		}
		for _, m := range all {
			if got := sizeOf(t, chat.Transcript{withoutFiles(m)}); got > limit {
				t.Errorf("%s: round %d: %d tokens\n%.400s", name, n+1, got, m.Text())
			}
			if _, content := protection.SummaryContent(m); strings.TrimSpace(content) == "" {
				t.Errorf("%s: round %d: an empty summary", name, n+1)
			}
		}
	}
}

func TestTheShareOfNamesAndFactsInASummary(t *testing.T) {
	for _, limit := range []int{200, 1024, 8000} {
		s := loaded(t, tiercompact.Config{Window: 32000, Summary: tiercompact.SummaryConfig{MaxTokens: tiercompact.Tokens(limit)}}, busyWork("n", 25000)...)
		compactTo(t, s, levels.Emergency)
		_, content := protection.SummaryContent(summaries(s.Messages())[0])
		text, facts, names := summarize.Split(content)
		list := strings.Join(names, ", ")
		if quarter(facts) > limit/4 || quarter(facts) > 32000*5/100 || quarter(list) > 32000*3/100 {
			t.Errorf("limit %d: %d tokens of facts, %d of names", limit, quarter(facts), quarter(list))
		}
		if text == "" || facts == "" || limit == 1024 && list == "" {
			t.Errorf("limit %d: %d tokens of text, %d of facts, %d of names", limit, quarter(text), quarter(facts), quarter(list))
		}
	}
}

func TestSetWindowLeavesALimitAloneThatWasSet(t *testing.T) {
	for _, test := range []struct{ limit, want int }{{1024, 1024}, {1000, 1000}, {0, 500}} { // 1,024 and 1,000 are the defaults of other windows
		most := 0
		s := loaded(t, tiercompact.Config{Window: 8192, Summary: tiercompact.SummaryConfig{MaxTokens: limitOf(test.limit), Summarizer: summarizer(func(ctx context.Context, r summarize.Request) (string, error) {
			most = max(most, r.MaxTokens)
			return summarize.Extractive{}.Summarize(ctx, r)
		})}}, busyWork("n", 3000)...)
		if err := s.SetWindow(4000); err != nil {
			t.Fatal(err)
		}
		compactTo(t, s, levels.Emergency)
		if most > test.want || most < test.want/4 {
			t.Errorf("limit %d: a text of %d tokens was asked for, of %d", test.limit, most, test.want)
		}
		if got := sizeOf(t, summaries(s.Messages())[:1]); got > test.want {
			t.Errorf("limit %d: the summary has %d tokens, want at most %d", test.limit, got, test.want)
		}
	}
}

func TestTheDecisionSaysWhatWasKeptNotThePolicy(t *testing.T) {
	for _, test := range []struct {
		name         string
		compact      func(*tiercompact.Session) (tiercompact.Report, error)
		turns, pairs int
	}{
		{"layers", func(s *tiercompact.Session) (tiercompact.Report, error) { return s.Compact(t.Context(), "") }, 6, 4},
		{"emergency", func(s *tiercompact.Session) (tiercompact.Report, error) {
			return s.CompactLevel(t.Context(), levels.Emergency)
		}, 1, 1},
		{"soft", func(s *tiercompact.Session) (tiercompact.Report, error) {
			return s.CompactLevel(t.Context(), levels.SoftName)
		}, 20, 20},
	} {
		cfg := tiercompact.Config{Window: 100000}
		heard := hearing(&cfg)
		s := loaded(t, cfg, busyWork("n", 7900)...) // 20 turns of a read each
		if r, err := test.compact(s); err != nil || !r.Compacted() {
			t.Fatalf("%s: %q, %v", test.name, r.Reason, err)
		}
		kept := eventsOf[trace.TriggerDecision](*heard)[0].Kept
		if kept == nil || kept.RecentTurns != test.turns || kept.ToolPairs != test.pairs {
			t.Errorf("%s: kept %+v, want %d turns, %d pairs", test.name, kept, test.turns, test.pairs)
		}
	}
	cfg := tiercompact.Config{Window: 100000, Count: quarter}
	heard := hearing(&cfg)
	s := loaded(t, cfg, join(busyWork("n", 700), chat.Transcript{chat.NewText(chat.Assistant, prose(3000, 1))}, turns("", 1, 900), flow(5, 20), chat.Transcript{reply("done")})...)
	if r, err := s.Compact(t.Context(), ""); err != nil || !r.Compacted() || r.Kept != (tiercompact.Kept{Turns: 6, Pairs: 4}) {
		t.Fatalf("%q, %+v, %v", r.Reason, r.Kept, err)
	}
	if kept := eventsOf[trace.TriggerDecision](*heard)[0].Kept; kept == nil || kept.RecentTurns != 3 || kept.ToolPairs != 4 {
		t.Errorf("of three turns and seven calls are kept %+v", kept)
	}
}

func TestInsufficientBudgetNamesItsFallback(t *testing.T) {
	cfg := tiercompact.Config{Window: 1000, Count: quarter}
	heard := hearing(&cfg)
	c, err := tiercompact.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Session("x").AddMessage(t.Context(), said(chat.System, 3000, 1)); !errors.Is(err, tiercompact.ErrInsufficientBudget) {
		t.Fatal(err)
	}
	got := eventsOf[trace.Error](*heard)
	if len(got) != 1 || got[0].ErrorType != "insufficient_budget" || got[0].Fallback != string(levels.FitName) {
		t.Errorf("told %+v", got)
	}
}
