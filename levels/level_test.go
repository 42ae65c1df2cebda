package levels_test

import (
	"regexp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/embed"
	"github.com/tiercompact/tiercompact/internal/edit"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/summarize"
)

// TestTheListIsWhole holds what other packages rely on: names that can be keys and
// flags, thresholds that rise with each preset, and something to show.
func TestTheListIsWhole(t *testing.T) {
	for _, preset := range []string{"default", "eager", "steady"} {
		if err := (levels.Thresholds{}).WithDefaults(preset).Validate(); err != nil {
			t.Errorf("preset %s: %v", preset, err)
		}
	}
	var seen []levels.Name
	for _, l := range levels.Reported() {
		if !regexp.MustCompile(`^[a-z]+$`).MatchString(string(l.Name)) || l.Name == levels.None || slices.Contains(seen, l.Name) {
			t.Errorf("level %q needs a name of its own, in small letters", l.Name)
		}
		if l.Work == "" || l.Color == "" || len(l.Steps) == 0 {
			t.Errorf("level %s lacks work, colour or steps", l.Name)
		}
		seen = append(seen, l.Name)
	}
}

// drawSettings draws what planners plan with, for a view of drawView.
func drawSettings(t *rapid.T, v levels.View) levels.Settings {
	window := rapid.SampledFrom([]int{700, 4096, 16384}).Draw(t, "window")
	return levels.Settings{
		Budget: window * 7 / 8, Share: func(of float64) int { return int(of * float64(window)) }, Worth: func(freed int) bool { return freed > 0 },
		Before: v.Total(), Forced: rapid.Bool().Draw(t, "forced"), SummaryDue: rapid.Bool().Draw(t, "summary due"),
		Refill: rapid.Bool().Draw(t, "refill"), Fill: rapid.SampledFrom([]float64{0, 0.45}).Draw(t, "fill"), StaleAfter: 3,
		HardTarget: rapid.SampledFrom([]int{0, 500}).Draw(t, "target"), KeepLast: rapid.SampledFrom([]int{0, 1, 4}).Draw(t, "keep"),
		KeepTurns: rapid.IntRange(1, 6).Draw(t, "turns"), KeepPairs: rapid.IntRange(1, 4).Draw(t, "pairs"),
		Ranker: levels.Ranker{Ranking: levels.Fused},
		Writer: levels.Writer{
			Summarizer: summarize.Extractive{}, Name: "extractive", Strategy: summarize.TaskState, Number: 1, Max: window / 8,
			Role:     rapid.SampledFrom([]chat.Role{chat.Assistant, chat.System}).Draw(t, "role"),
			Fallback: rapid.SampledFrom([]string{levels.FallbackExtractive, levels.FallbackPruning}).Draw(t, "fallback"),
		},
	}
}

// TestWhatEachLevelPlansIsAccepted holds that no level, whatever the conversation,
// proposes what edit.Apply refuses, and that the same view gives the same plan.
func TestWhatEachLevelPlansIsAccepted(t *testing.T) {
	for _, level := range levels.Reported() {
		t.Run(string(level.Name), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				v := drawView(t)
				v.Settings = drawSettings(t, v)
				for _, m := range v.Messages {
					v.Terms = append(v.Terms, embed.TermsOf(m))
				}
				for _, plan := range level.Steps {
					p := must(plan(t.Context(), v))
					if again := must(plan(t.Context(), v)); showPlan(p.Edits) != showPlan(again.Edits) {
						t.Fatalf("two plans of one view\n%s\n%s", showPlan(p.Edits), showPlan(again.Edits))
					}
					rules := edit.Rules{NoUser: p.NoUser, Moved: func(i int) bool { return p.Front != nil && p.Front[i] }}
					accepted(t, v, level.Name, p.Edits, allHolds&^p.Releases, rules)
				}
			})
		})
	}
}
