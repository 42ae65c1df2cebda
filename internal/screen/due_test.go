package screen

import (
	"testing"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/levels"
)

func report(before int, picked levels.Name, applied ...levels.Name) tiercompact.Report {
	r := tiercompact.Report{Before: before, Picked: picked, Usage: tiercompact.Usage{Window: 24000, Budget: 22500}}
	for _, level := range applied {
		r.Applied = append(r.Applied, tiercompact.Applied{Level: level})
	}
	return r
}

func TestDueSaysWhyARoundIsMade(t *testing.T) {
	below := report(8000, levels.None)
	below.Reason = tiercompact.BelowThreshold
	for _, c := range []struct {
		cfg  tiercompact.Config
		r    tiercompact.Report
		want string
	}{
		{tiercompact.Config{}, report(16080, levels.SoftName), "67 % of 24,000 tokens: soft is due from 60 %"},
		{tiercompact.Config{Preset: tiercompact.Eager}, report(16080, levels.HardName), "67 % of 24,000 tokens: hard is due from 65 %"},
		{tiercompact.Config{}, below, "33 % of 24,000 tokens: soft is due from 60 %"},
		{tiercompact.Config{}, report(23000, levels.Emergency), "96 % of 24,000 tokens: over the budget of 22,500; emergency is due from 90 %"},
		{tiercompact.Config{Level: levels.HardName}, report(8000, levels.HardName), "33 % of 24,000 tokens: hard was asked for"},
		{tiercompact.Config{}, report(8000, levels.LayerName), "33 % of 24,000 tokens: the three layers were asked for"},
		{tiercompact.Config{Policy: tiercompact.PolicyConfig{ContextThreshold: 0.3}}, report(8000, levels.Emergency), "33 % of 24,000 tokens: a summary is due from 30 %"},
		{tiercompact.Config{Policy: tiercompact.PolicyConfig{MessageThreshold: 40}}, report(8000, levels.Emergency), "33 % of 24,000 tokens: a summary is due from 40 messages without one"},
		{tiercompact.Config{}, report(8000, levels.SoftName), "33 % of 24,000 tokens: soft is due from 60 % of what is not protected"},
	} {
		if got := Due(c.cfg, c.r); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestOtherLevelSaysWhyAnotherLevelThanTheDueOneWasApplied(t *testing.T) {
	for _, c := range []struct {
		r    tiercompact.Report
		want string
	}{
		{report(16080, levels.SoftName, levels.SoftName), ""},
		{report(16080, levels.HardName), ""},
		{report(23000, levels.Emergency, levels.Emergency, levels.FitName), ""},
		{report(23000, levels.HardName, levels.Emergency), "hard was due; one summary freed more"},
		{report(23000, levels.HardName, levels.HardName, levels.Emergency), "hard alone does not fit the budget of 22,500 tokens: emergency followed"},
		{report(19000, levels.HardName, levels.SoftName), "hard was due; soft alone was enough"},
		{report(23000, levels.None, levels.Emergency), "no level was due; the conversation was over the budget of 22,500 tokens"},
	} {
		if got := OtherLevel(c.r); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}
