package suite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	tiercompact "github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/summarize"
)

// compacted loads messages and compacts them by hand.
func compacted(t *testing.T, cfg tiercompact.Config, messages ...chat.Message) (*tiercompact.Session, tiercompact.Report) {
	t.Helper()
	s := loaded(t, cfg, messages...)
	r, err := s.Compact(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	return s, r
}

func TestThreeLayersAreInOrder(t *testing.T) {
	in := join(chat.Transcript{as("sys", said(chat.System, 50, 1)), as("dev", said(chat.Developer, 50, 2))}, turns("old", 3, 100))
	in[3] = guarded(in[3]) // olda0, between messages that go
	in = join(in, chat.Transcript{as("late-sys", said(chat.System, 50, 3))}, turns("", 6, 100))
	in[len(in)-3] = guarded(in[len(in)-3]) // a4, a recent one before the latest user message
	in[len(in)-1] = guarded(in[len(in)-1]) // a5, behind it
	s, _ := compacted(t, tiercompact.Config{Window: 100000}, in...)
	if err := sameIDs(s.Messages(), "sys dev oldu0 olda0 late-sys a4 summary-1 u0 a0 u1 a1 u2 a2 u3 a3 u4 u5 a5"); err != nil {
		t.Error(err)
	}
	if sum := summaries(s.Messages()); len(sum) != 1 || sum[0].Role != chat.Assistant || !strings.HasPrefix(sum[0].Text(), "<COMPACT-SUMMARY v1>") {
		t.Errorf("summaries: %v", sum)
	}
}

func TestCallsAreKeptUnderPairsInsideRecentTurnsToo(t *testing.T) {
	var in chat.Transcript
	for i := range 7 {
		in = append(in, as(fmt.Sprint("u", i), user("go")))
		for k := range 2 {
			a, b := fmt.Sprintf("c%d%d", i, k), fmt.Sprintf("d%d%d", i, k)
			in = append(in, as(a, calling(a, b)), as("r"+a, chat.NewResult(a, prose(60, i))), as("r"+b, chat.NewResult(b, prose(60, i+10))))
		}
		in = append(in, as(fmt.Sprint("a", i), said(chat.Assistant, 50, 30+i)))
	}
	s, _ := compacted(t, tiercompact.Config{Window: 100000, Policy: tiercompact.PolicyConfig{NoPinFirstUser: true}}, in...)
	want := "summary-1 u1 a1 u2 a2 u3 a3 u4 a4 u5 c50 rc50 rd50 c51 rc51 rd51 a5 u6 c60 rc60 rd60 c61 rc61 rd61 a6"
	if err := sameIDs(s.Messages(), want); err != nil {
		t.Error(err)
	}
	s, _ = compacted(t, tiercompact.Config{Window: 100000, Policy: tiercompact.PolicyConfig{NoPinFirstUser: true, KeepRecentTurns: 2, KeepToolIOPairs: 1}}, in...)
	if err := sameIDs(s.Messages(), "summary-1 u5 a5 u6 c61 rc61 rd61 a6"); err != nil {
		t.Error(err)
	}
}

// recentTurns are 12 turns with a pair of calls each, every message of 100 tokens.
func recentTurns() (out chat.Transcript) {
	for i := range 12 {
		id := fmt.Sprint("c", i)
		out = append(out, as(fmt.Sprint("u", i), said(chat.User, 100, i)), as(id, calling(id)), as("r"+id, chat.NewResult(id, prose(95, 20+i))), as(fmt.Sprint("a", i), said(chat.Assistant, 100, 40+i)))
	}
	return out
}

func TestOverTheBudgetTurnsAndPairsAreLoweredByOneInTurn(t *testing.T) {
	var steps []tiercompact.Kept
	for window := 3000; window > 500; window -= 20 {
		_, r := compacted(t, tiercompact.Config{Window: window, Policy: tiercompact.PolicyConfig{HardCapBuffer: tiercompact.Tokens(0), NoPinFirstUser: true}, Summary: tiercompact.SummaryConfig{MaxTokens: tiercompact.Tokens(50)}}, recentTurns()...)
		if len(steps) == 0 || steps[len(steps)-1] != r.Kept {
			steps = append(steps, r.Kept)
		}
		if got := applied(r); r.Kept != (tiercompact.Kept{Turns: 1, Pairs: 1}) && !slices.Equal(got, []levels.Name{levels.LayerName}) {
			t.Errorf("window %d, kept %v: applied %v before the policy was at its floor", window, r.Kept, got)
		}
	}
	want := []tiercompact.Kept{{Turns: 6, Pairs: 4}, {Turns: 5, Pairs: 4}, {Turns: 5, Pairs: 3}, {Turns: 4, Pairs: 3}, {Turns: 4, Pairs: 2}, {Turns: 3, Pairs: 2}, {Turns: 3, Pairs: 1}, {Turns: 2, Pairs: 1}, {Turns: 1, Pairs: 1}}
	if !slices.Equal(steps, want) {
		t.Errorf("kept are\n%v\nwant\n%v", steps, want)
	}
}

func TestReleasedTurnsJoinTheInputOfTheSummary(t *testing.T) {
	for _, window := range []int{100000, 1600} {
		var shown []string
		s, r := compacted(t, tiercompact.Config{Window: window, Policy: tiercompact.PolicyConfig{HardCapBuffer: tiercompact.Tokens(0)}, Summary: tiercompact.SummaryConfig{MaxTokens: tiercompact.Tokens(50), Summarizer: summarizer(func(ctx context.Context, r summarize.Request) (string, error) {
			shown = ids(r.Messages)
			return summarize.Extractive{}.Summarize(ctx, r)
		})}}, recentTurns()...)
		left := ids(s.Messages())
		for _, m := range recentTurns() {
			if slices.Contains(shown, m.ID) == slices.Contains(left, m.ID) {
				t.Errorf("window %d, kept %v: message %s is shown %t and left %t", window, r.Kept, m.ID, slices.Contains(shown, m.ID), slices.Contains(left, m.ID))
			}
		}
	}
}

func TestBelowTheFloorOfThePolicyFitFollowsThenInsufficientBudget(t *testing.T) {
	in := recentTurns()
	_, r := compacted(t, tiercompact.Config{Window: 1000, Policy: tiercompact.PolicyConfig{HardCapBuffer: tiercompact.Tokens(650)}, Summary: tiercompact.SummaryConfig{MaxTokens: tiercompact.Tokens(50)}}, in...)
	if !slices.Equal(applied(r), []levels.Name{levels.LayerName, levels.FitName}) || r.Kept != (tiercompact.Kept{Turns: 1, Pairs: 1}) || r.After > 350 {
		t.Errorf("applied %v, kept %v, %d left of 350", applied(r), r.Kept, r.After)
	}
	in[44] = as("u11", said(chat.User, 600, 1)) // the latest user message alone is over it
	s := loaded(t, tiercompact.Config{Window: 1000, Policy: tiercompact.PolicyConfig{HardCapBuffer: tiercompact.Tokens(500)}}, in...)
	r, err := s.Compact(t.Context(), "")
	if !errors.Is(err, tiercompact.ErrInsufficientBudget) || !strings.Contains(err.Error(), "last turn 600") || r.After > 1000 {
		t.Errorf("%d tokens are left: %v", r.After, err)
	}
}

func TestASecondSummaryReplacesTheFirstInAnyRole(t *testing.T) {
	for _, role := range []chat.Role{chat.Assistant, chat.System} {
		ways := map[string]func(s *tiercompact.Session) (tiercompact.Report, error){
			"compact": func(s *tiercompact.Session) (tiercompact.Report, error) { return s.Compact(t.Context(), "") },
			"emergency": func(s *tiercompact.Session) (tiercompact.Report, error) {
				return s.CompactLevel(t.Context(), levels.Emergency)
			},
		}
		for name, again := range ways {
			var previous string
			cfg := tiercompact.Config{Window: 100000, SummaryRole: role, Summary: tiercompact.SummaryConfig{Summarizer: summarizer(func(ctx context.Context, r summarize.Request) (string, error) {
				previous = r.Previous
				return summarize.Extractive{}.Summarize(ctx, r)
			})}}
			in := turns("", 10, 200)
			in[2] = as("u1", user("The gateway must never drop port 8080. "+prose(150, 1)))
			s, _ := compacted(t, cfg, in...)
			if previous != "" {
				t.Errorf("the first summary has %q before it", previous)
			}
			fill(t, s, 0, turns("n", 10, 200)...)
			if _, err := again(s); err != nil {
				t.Fatal(err)
			}
			sum := summaries(s.Messages())
			if len(sum) != 1 || !strings.Contains(strings.SplitN(sum[0].Text(), "\n", 2)[0], "v2") || sum[0].Role != role {
				t.Fatalf("%s, %s: summaries %v", role, name, sum)
			}
			if !strings.Contains(sum[0].Text(), "never drop port 8080") || previous == "" {
				t.Errorf("%s, %s: what the first one held is gone; the summarizer was given %q\n%s", role, name, previous, sum[0].Text())
			}
		}
	}
}

func TestTheSummaryReplacesTheFirstSummarisedMessage(t *testing.T) {
	for _, test := range []struct {
		name string
		in   chat.Transcript
		want string
	}{
		{"at the beginning", chat.Transcript{as("x", reply("hello")), as("first", user("start"))}, "summary-1 first"},
		{"behind the pinned", chat.Transcript{as("first", user("start")), as("x", reply("hello"))}, "first summary-1"},
		{"behind what is protected", chat.Transcript{as("first", user("start")), guarded(as("p", reply("hello")))}, "first p summary-1"},
	} {
		s := loaded(t, tiercompact.Config{Window: 100000}, join(test.in, turns("t", 6, 200))...)
		compactTo(t, s, levels.Emergency)
		if got := strings.Join(ids(s.Messages()), " "); !strings.HasPrefix(got, test.want+" tu4") {
			t.Errorf("%s: left are %s", test.name, got)
		}
	}
}
