package suite

import (
	"context"
	"slices"
	"strings"
	"testing"

	tiercompact "github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/summarize"
	"github.com/tiercompact/tiercompact/trace"
)

// asking counts the calls of an embedder.
type asking struct{ n *int }

func (a asking) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	*a.n++
	return scored{}.Embed(ctx, texts)
}

// littleToDrop is at 77.9 % of 10,000, and hard can drop no more than 600 of
// it. Of the newest three, of 10 tokens each, little goes stale.
var littleToDrop = []int{300, 300, 300, 3430, 3430, 10, 10}

// putOff adds messages of these sizes, and one of 10 tokens that has a check.
func putOff(t *testing.T, cfg tiercompact.Config, sizes []int) (*tiercompact.Session, tiercompact.Report) {
	t.Helper()
	cfg.Window, cfg.Policy.HardCapBuffer = 10000, tiercompact.Tokens(0)
	s := start(t, cfg)
	for i, size := range sizes {
		fill(t, s, 0, said([]chat.Role{chat.User, chat.Assistant}[i%2], size, i))
	}
	return s, add(t, s, said(chat.Assistant, 10, 8))
}

func TestARoundThatFreesTooLittleStartsNoCooldownAndItsLevelWaits(t *testing.T) {
	asked := 0
	s, r := putOff(t, tiercompact.Config{MinGain: 0.08, Embed: tiercompact.EmbedConfig{Embedder: asking{&asked}}}, littleToDrop)
	if r.Picked != levels.HardName || r.Reason != tiercompact.ByMinGain || asked != 1 {
		t.Fatalf("picked %s, %q, asked %d times", r.Picked, r.Reason, asked)
	}
	for i, step := range []struct {
		size   int
		reason string
		asked  int
	}{
		{10, tiercompact.ByMinGain, 1}, // it waits: no round is planned
		{10, tiercompact.ByMinGain, 1},
		{10, tiercompact.ByMinGain, 1},
		{700, tiercompact.ByMinGain, 1}, // 730 of 800 have come
		{80, "", 2},                     // it is tried again
	} {
		if r = add(t, s, said([]chat.Role{chat.User, chat.Assistant}[i%2], step.size, 20+i)); r.Reason != step.reason || asked != step.asked {
			t.Errorf("message %d: %q, asked %d times; want %q, %d", i+1, r.Reason, asked, step.reason, step.asked)
		}
	}
}

func TestALevelThatWaitsIsTriedAgainIfEnoughIsStale(t *testing.T) {
	asked := 0
	s, _ := putOff(t, tiercompact.Config{MinGain: 0.08, Embed: tiercompact.EmbedConfig{Embedder: asking{&asked}}}, []int{300, 300, 300, 10, 10, 3430, 3430})
	for i, want := range []int{2, 3, 3} { // behind the first, one of 3,430 is stale; behind the second the other
		if add(t, s, said([]chat.Role{chat.User, chat.Assistant}[i%2], 10, 30+i)); asked != want {
			t.Errorf("message %d: the ranking was asked %d times, want %d", i+1, asked, want)
		}
	}
}

func TestALevelThatFreedNothingWaitsForTwoPercentOfTheWindow(t *testing.T) {
	asked := 0
	s, r := putOff(t, tiercompact.Config{Embed: tiercompact.EmbedConfig{Embedder: asking{&asked}}}, []int{3880, 3880, 10, 10}) // of five nothing is old
	if r.Picked != levels.HardName || r.Reason != tiercompact.NothingToDo || asked != 1 {
		t.Fatalf("picked %s, %q, asked %d times", r.Picked, r.Reason, asked)
	}
	for i, step := range []struct{ size, asked int }{{10, 1}, {10, 1}, {10, 1}, {100, 1}, {70, 2}} {
		if add(t, s, said([]chat.Role{chat.User, chat.Assistant}[i%2], step.size, 40+i)); asked != step.asked {
			t.Errorf("message %d: asked %d times, want %d", i+1, asked, step.asked)
		}
	}
}

func TestAStrongerLevelDoesNotWait(t *testing.T) {
	s, r := putOff(t, tiercompact.Config{MinGain: 0.30}, littleToDrop)
	for i, size := range []int{10, 1210} { // below the 3,000 that hard waits for
		r = add(t, s, said([]chat.Role{chat.User, chat.Assistant}[i%2], size, 50+i))
	}
	if r.Picked != levels.Emergency || !slices.Equal(applied(r), []levels.Name{levels.Emergency}) {
		t.Errorf("at %d picked %s, applied %v (%s)", r.Before, r.Picked, applied(r), r.Reason)
	}
}

// At 61 % soft finds nothing. Hard at 78 % is due with the next message, and had
// it found nothing, emergency at 92 % with the one behind it.
func TestARoundThatChangedNothingDoesNotHoldAStrongerLevelBack(t *testing.T) {
	for _, hard := range []bool{true, false} { // there is something to rank, or all of it is among the newest five
		cfg := tiercompact.Config{Policy: tiercompact.PolicyConfig{HardCapBuffer: tiercompact.Tokens(0)}, Window: 10000}
		heard := hearing(&cfg)
		first := turns("", 2, 1400)
		if hard {
			first = turns("", 7, 400)
		}
		s := loaded(t, cfg, first...)
		for i, step := range []struct {
			share  float64
			picked levels.Name
			reason string
		}{
			{0.61, levels.SoftName, tiercompact.NothingToDo}, {0.62, levels.SoftName, tiercompact.NothingToDo},
			{0.78, levels.HardName, map[bool]string{true: "", false: tiercompact.NothingToDo}[hard]},
			{0.92, levels.Emergency, map[bool]string{true: tiercompact.InCooldown, false: ""}[hard]},
		} {
			r := add(t, s, said([]chat.Role{chat.User, chat.Assistant}[i%2], int(step.share*10000)-s.Usage().Tokens, 60+i))
			if r.Picked != step.picked || r.Reason != step.reason {
				t.Errorf("hard has work %t, at %.0f %%: picked %s, %q; want %s, %q", hard, 100*step.share, r.Picked, r.Reason, step.picked, step.reason)
			}
		}
		if got := eventsOf[trace.TriggerDecision](*heard); len(got) != 4 || got[0].Reason != tiercompact.NothingToDo {
			t.Errorf("the trace says %+v", got)
		}
	}
}

func TestASummaryByMessageThresholdThatChangedNothingWaitsToo(t *testing.T) {
	asked := 0
	cfg := counted(&asked)
	cfg.Window, cfg.Policy.MessageThreshold, cfg.MinGain = 100000, 4, 0.5
	cfg.Summary.Summarizer = summarizer(func(context.Context, summarize.Request) (string, error) {
		asked++
		return "", nil
	})
	cfg.Summary.Fallback, cfg.Policy.Protect = levels.FallbackPruning, func(chat.Message) bool { return true }
	s := loaded(t, cfg, turns("", 3, 300)...)
	for i := range 4 {
		if r := add(t, s, said(chat.User, 10, 70+i)); r.Reason != tiercompact.NothingToDo || r.Picked != levels.Emergency {
			t.Errorf("message %d: picked %s, %q", i, r.Picked, r.Reason)
		}
	}
	if asked != 0 {
		t.Errorf("the model was asked %d times", asked)
	}
}

func TestTheGainOfEmergencyIsJudgedBeforeAModelIsAsked(t *testing.T) {
	for _, test := range []struct {
		gain   float64
		asked  int
		reason string
	}{{0.80, 0, tiercompact.ByMinGain}, {0.30, 1, ""}} { // 9,300, at most about 2,300 of them the summary
		asked := 0
		cfg := counted(&asked)
		cfg.Window, cfg.MinGain, cfg.Policy.HardCapBuffer = 10000, test.gain, tiercompact.Tokens(0)
		s := loaded(t, cfg, turns("", 10, 450)...)
		r := add(t, s, said(chat.User, 300, 1))
		if r.Picked != levels.Emergency || asked != test.asked || r.Compacted() != (test.asked > 0) {
			t.Errorf("least gain %.2f: picked %s, applied %v, asked %d times", test.gain, r.Picked, applied(r), asked)
		}
		if r.Reason != test.reason {
			t.Errorf("least gain %.2f: %q, want %q", test.gain, r.Reason, test.reason)
		}
	}
}

func TestMinGainDoesNotHoldOverTheBudget(t *testing.T) {
	s := start(t, tiercompact.Config{Window: 10000, MinGain: 0.99, Policy: tiercompact.PolicyConfig{HardCapBuffer: tiercompact.Tokens(1250)}})
	fill(t, s, 0, turns("", 10, 400)...)
	if r := add(t, s, said(chat.User, 800, 1)); !r.Compacted() || r.After > r.Usage.Budget {
		t.Errorf("at %d of %d: %q", r.Before, r.Usage.Budget, r.Reason)
	}
}

func TestARoundInsideTheCooldownAsksTheModelAsAnyOther(t *testing.T) {
	asked := 0
	cfg := counted(&asked)
	cfg.Window = 10000
	heard := hearing(&cfg)
	s := loaded(t, cfg, turns("", 10, 400)...)
	if _, err := s.Compact(t.Context(), ""); err != nil || asked != 1 {
		t.Fatalf("asked %d times, %v", asked, err)
	}
	r := add(t, s, said(chat.User, 9000-s.Usage().Tokens, 1))
	if !r.Compacted() || asked != 2 || r.After > r.Usage.Budget {
		t.Errorf("over the budget in the cooldown: %v (%s), asked %d times", applied(r), r.Reason, asked)
	}
	var reasons []string
	for _, d := range eventsOf[trace.TriggerDecision](*heard) {
		reasons = append(reasons, d.Reason)
	}
	if want := []string{"by hand", "over the budget, in the cooldown"}; !slices.Equal(reasons, want) {
		t.Errorf("the trace says %q, want %q", reasons, want)
	}
}

func TestTheCooldownCountsEachToolResult(t *testing.T) {
	s := loaded(t, tiercompact.Config{Window: 10000}, turns("", 12, 300)...)
	if _, err := s.Compact(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	fill(t, s, 6000) // loaded, not added
	for i, step := range []struct {
		m      chat.Message
		reason string
	}{
		{calling("p", "q"), tiercompact.InCooldown}, {chat.NewResult("p", "one"), tiercompact.InCooldown}, {chat.NewResult("q", "two"), ""},
	} {
		if r := add(t, s, step.m); (r.Reason == tiercompact.InCooldown) != (step.reason != "") {
			t.Errorf("message %d: %q", i+1, r.Reason)
		}
	}
}

func TestOverHalfFixedTheThresholdsApplyToTheRestAndOneWarningSaysSo(t *testing.T) {
	cfg := tiercompact.Config{Window: 10000, Policy: tiercompact.PolicyConfig{HardCapBuffer: tiercompact.Tokens(0)}}
	heard := hearing(&cfg)
	s := start(t, cfg)
	s.SetTools([]byte(prose(2000, 1)))
	fill(t, s, 0, guarded(said(chat.System, 3000, 2)), said(chat.User, 1000, 3)) // 6,000 fixed, 4,000 the rest
	warnings := 0
	for i, step := range []struct {
		total int
		want  levels.Name
	}{{8399, levels.None}, {8500, levels.SoftName}, {9000, levels.HardName}, {9600, levels.Emergency}} {
		r := add(t, s, said([]chat.Role{chat.Assistant, chat.User}[i%2], step.total-s.Usage().Tokens, 10+i))
		warnings += len(r.Warnings)
		if r.Before != step.total || r.Picked != step.want {
			t.Errorf("at %d: picked %s, want %s", r.Before, r.Picked, step.want)
		}
	}
	events := eventsOf[trace.Warning](*heard)
	if warnings != 1 || len(events) != 1 || !strings.Contains(events[0].Message, "6000 of 10000") || events[0].Remedy == "" {
		t.Errorf("%d warnings in reports, events %v", warnings, events)
	}
}
