package config

import (
	"time"

	"github.com/tiercompact/tiercompact"
)

// Compaction returns the settings of a compactor, without what must be opened:
// archive, sinks, models, redaction. Window is 0 where it is Auto.
func (c Config) Compaction() tiercompact.Config {
	roles, protect := c.Policy.protection()
	return tiercompact.Config{
		Window: orDefault(c.Window), Model: c.Model, Preset: c.Preset,
		Thresholds: c.Thresholds, Escalation: c.Escalation, Ranking: c.Ranking, HardUntil: c.Hard.Until, Query: c.Hard.Query,
		MinGain: zeroAsNone(c.MinGain), Fill: zeroAsNone(c.Fill),
		Level: c.Level, Trigger: c.Trigger, NoAuto: !c.Auto,
		MessageThreshold: c.Policy.MessageThreshold, ContextThreshold: c.Policy.ContextThreshold,
		HardCapBuffer: orDefault(c.Policy.HardCapBuffer), Reserve: c.Policy.Reserve, TriggerPct: zeroAsNone(c.Policy.TriggerPct),
		KeepRecentTurns: c.Policy.KeepRecentTurns, KeepToolIOPairs: c.Policy.KeepToolIOPairs,
		KeepLast: zeroAsNone(c.Emergency.KeepLast), KeepShare: zeroAsNone(c.Emergency.KeepShare), StaleAfter: c.Soft.StaleAfter,
		RolesNeverPrune: roles, Protect: protect, NoPinFirstUser: !c.Policy.PinFirstUser,
		Strategy: c.Policy.Strategy, SummaryMaxTokens: orDefault(c.Summary.MaxTokens),
		SummaryRole: c.SummaryRole, SummaryFallback: c.Summary.Fallback,
		RankDeadline: zeroAsNone(c.Deadlines.Ranking), SummaryDeadline: zeroAsNone(c.Deadlines.Summary), RoundDeadline: zeroAsNone(c.Deadlines.Round),
		ArchiveOptional: !c.ArchiveRequired, NoRedact: !c.Redact.Enabled, RedactPrompts: c.Redact.Prompts,
	}
}

// zeroAsNone is a value in the form in which zero is not the default.
func zeroAsNone[T int | float64 | time.Duration](v T) T {
	if v == 0 {
		return tiercompact.None
	}
	return v
}

// orDefault is a number that may be Auto, which is the default.
func orDefault(v int) int {
	if v == Auto {
		return 0
	}
	return zeroAsNone(v)
}
