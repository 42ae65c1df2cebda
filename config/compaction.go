package config

import "github.com/tiercompact/tiercompact"

// Compaction returns the settings of a compactor, without those that must be opened:
// archive, sinks, models, redaction. Window is 0 if it is Auto.
func (c Config) Compaction() tiercompact.Config {
	cfg := tiercompact.Defaults(c.Preset)
	cfg.Window, cfg.Model, cfg.Thresholds, cfg.Escalation, cfg.Ranking = max(0, c.Window), c.Model, c.Thresholds, c.Escalation, c.Ranking
	cfg.MinGain, cfg.Fill, cfg.Level, cfg.Trigger, cfg.NoAuto = c.MinGain, c.Fill, c.Level, c.Trigger, !c.Auto
	cfg.SummaryRole, cfg.ArchiveOptional = c.SummaryRole, !c.ArchiveRequired
	roles, protect := c.Policy.protection()
	cfg.Policy = tiercompact.PolicyConfig{
		TriggerPct: c.Policy.TriggerPct, HardCapBuffer: sizeOf(c.Policy.HardCapBuffer), Reserve: c.Policy.Reserve,
		KeepRecentTurns: c.Policy.KeepRecentTurns, KeepToolIOPairs: c.Policy.KeepToolIOPairs,
		RolesNeverPrune: roles, Protect: protect, NoPinFirstUser: !c.Policy.PinFirstUser, Strategy: c.Policy.Strategy,
		MessageThreshold: c.Policy.MessageThreshold, ContextThreshold: c.Policy.ContextThreshold,
	}
	cfg.Soft, cfg.Hard, cfg.Emergency = c.Soft, c.Hard, c.Emergency
	cfg.Summary.MaxTokens, cfg.Summary.Fallback = sizeOf(c.Summary.MaxTokens), c.Summary.Fallback
	cfg.Deadlines.Ranking, cfg.Deadlines.Summary, cfg.Deadlines.Round = c.Deadlines.Ranking, c.Deadlines.Summary, c.Deadlines.Round
	cfg.Redact.Off, cfg.Redact.Prompts = !c.Redact.Enabled, c.Redact.Prompts
	return cfg
}

// sizeOf converts a number that may be Auto.
func sizeOf(n int) (s tiercompact.Size) {
	if n == Auto {
		return s
	}
	return tiercompact.Tokens(n)
}
