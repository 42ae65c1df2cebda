package levels_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/chattest"
	"github.com/tiercompact/tiercompact/internal/edit"
	"github.com/tiercompact/tiercompact/internal/protection"
	"github.com/tiercompact/tiercompact/levels"
)

// drawView draws a conversation, counted by fours.
func drawView(t *rapid.T) levels.View {
	in := chattest.Transcript(t, 40)
	for i := range in {
		in[i].ID = fmt.Sprintf("m%d", i)
	}
	v := viewOf(in)
	v.Protections = protection.Policy{Roles: []chat.Role{chat.System, chat.Developer}, NoPinFirst: rapid.Bool().Draw(t, "no pin")}.Protections(in)
	v.Count, v.Size = four, sizeOfFour
	for i, m := range in {
		v.Sizes[i] = sizeOfFour(m)
	}
	return v
}

// accepted applies edits as a round does.
func accepted(t *rapid.T, v levels.View, level levels.Name, edits []edit.Edit, mask protection.Protection, rules edit.Rules) chat.Transcript {
	t.Helper()
	edits, err := edit.Separate(v.Messages, edits, v.Separator(level))
	if err != nil {
		t.Fatal(err)
	}
	rules.Locked = func(i int) bool { return v.Protections[i]&mask != 0 }
	after, err := edit.Apply(v.Messages, edits, rules)
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, showPlan(edits), show(v.Messages))
	}
	return after
}

func TestHardIsAcceptedAndItsMarkersCostLessThanTheyStandFor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawView(t)
		scores := make([]float64, len(v.Messages))
		for i := range scores {
			scores[i] = rapid.Float64Range(0, 1).Draw(t, "score")
		}
		h := levels.Hard{Target: rapid.SampledFrom([]int{0, 0, 1, 500}).Draw(t, "target"), Ledger: rapid.SampledFrom([]int{0, 50, 500}).Draw(t, "ledger")}
		edits := h.Plan(v, scores)
		accepted(t, v, levels.HardName, edits, allHolds, edit.Rules{})
		freed := 0
		for _, e := range edits {
			for _, n := range v.Sizes[e.Start:e.End] {
				freed += n
			}
			for _, m := range e.New {
				freed -= sizeOfFour(m)
			}
		}
		if freed < 0 {
			t.Fatalf("the plan adds %d tokens\n%s", -freed, showPlan(edits))
		}
	})
}

func TestSummaryCutsAreAccepted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawView(t)
		role := rapid.SampledFrom([]chat.Role{chat.Assistant, chat.System}).Draw(t, "role")
		keep := rapid.SampledFrom([]int{0, 1, 4}).Draw(t, "keep")
		mask, rules := allHolds&^protection.Session, edit.Rules{}
		cut := levels.EmergencyCut(v, keep, role)
		switch {
		case rapid.Bool().Draw(t, "layers"):
			cut = levels.LayersCut(v, rapid.IntRange(1, 6).Draw(t, "turns"), rapid.IntRange(1, 4).Draw(t, "pairs"))
			rules.Moved = func(i int) bool { return cut.Front[i] }
		case keep == 0:
			mask &^= protection.First | protection.Correction
			if role == chat.System {
				mask &^= protection.Latest
				rules.NoUser = true
			}
		}
		if cut.Empty(v.Messages) {
			return
		}
		summary := protection.NewSummary(1, role, "so far", "")
		with := &summary
		if rapid.Bool().Draw(t, "pruning only") {
			with = nil
		}
		after := accepted(t, v, levels.Emergency, levels.SummaryEdits(v, cut, with, "summarised"), mask, rules)
		summaries := 0
		for _, m := range after {
			if m.IsSummary() {
				summaries++
			}
		}
		if want := map[bool]int{true: 1}[with != nil]; summaries != want {
			t.Fatalf("%d summaries", summaries)
		}
	})
}

func TestFitIsAcceptedAndReachesItsFloor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawView(t)
		limit := rapid.IntRange(10, 4000).Draw(t, "limit")
		floor := levels.Floor(v, limit)
		left := v.Fixed
		for _, m := range accepted(t, v, levels.FitName, levels.Truncate(v, limit), protection.Protected, edit.Rules{}) {
			left += sizeOfFour(m)
		}
		if left > max(limit, floor) {
			t.Fatalf("%d tokens are left, limit %d, floor %d", left, limit, floor)
		}
	})
}
