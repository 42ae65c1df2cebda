package suite

import (
	"errors"
	"testing"
	"time"

	tiercompact "github.com/tiercompact/tiercompact"
)

func TestALiteralHasDefaultsWhereItIsZero(t *testing.T) {
	for _, preset := range []tiercompact.Preset{"", tiercompact.Default, tiercompact.Eager, tiercompact.Steady} {
		made := tiercompact.Defaults(preset)
		made.Window = 10000
		for _, usage := range []int{4000, 5500, 6500, 7500, 8500} {
			plan := func(cfg tiercompact.Config) string {
				r, err := loaded(t, cfg, pairs(20, usage)...).Plan(t.Context())
				if err != nil {
					t.Error(err)
				}
				return string(r.Picked)
			}
			if a, b := plan(made), plan(tiercompact.Config{Window: 10000, Preset: preset}); a != b {
				t.Errorf("%q at %d: Defaults picks %s, a literal %s", preset, usage, a, b)
			}
		}
	}
}

func TestAZeroIsAZeroInWhatDefaultsReturned(t *testing.T) {
	for name, change := range map[string]func(*tiercompact.Config){
		"Window":                 func(c *tiercompact.Config) { c.Window = 0 },
		"Trigger":                func(c *tiercompact.Config) { c.Trigger = "" },
		"Policy.KeepRecentTurns": func(c *tiercompact.Config) { c.Policy.KeepRecentTurns = 0 },
		"Soft.StaleAfter":        func(c *tiercompact.Config) { c.Soft.StaleAfter = 0 },
		"Summary.MaxTokens":      func(c *tiercompact.Config) { c.Summary.MaxTokens = tiercompact.Tokens(0) },
		"Hard.Until":             func(c *tiercompact.Config) { c.Hard.Until = "" },
		"thresholds.soft":        func(c *tiercompact.Config) { c.Thresholds["soft"] = 0 },
		"Deadlines.Archive":      func(c *tiercompact.Config) { c.Deadlines.Archive = -time.Second },
		"Preset":                 func(c *tiercompact.Config) { c.Preset = tiercompact.Eager }, // its other values are steady's
		"Policy.RolesNeverPrune": func(c *tiercompact.Config) { c.Policy.RolesNeverPrune = append(c.Policy.RolesNeverPrune, "robot") },
		"Policy.HardCapBuffer":   func(c *tiercompact.Config) { c.Policy.HardCapBuffer = tiercompact.Tokens(8192) },
	} {
		cfg := tiercompact.Defaults(tiercompact.Steady)
		cfg.Window = 8192
		change(&cfg)
		var field *tiercompact.FieldError
		if _, err := tiercompact.New(cfg); !errors.As(err, &field) || field.Field != name {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
	if _, err := tiercompact.New(tiercompact.Defaults("steadier")); err == nil {
		t.Error("a preset that does not exist is taken")
	}
	cfg := tiercompact.Defaults(tiercompact.Steady)
	cfg.Window, cfg.Policy.TriggerPct, cfg.Emergency = 8192, 0, tiercompact.EmergencyConfig{}
	r, err := loaded(t, cfg, pairs(20, 500)...).Preflight(t.Context())
	if err != nil || !r.Compacted() && r.Reason == tiercompact.BelowThreshold {
		t.Errorf("a preflight at a trigger of 0 is %s, %v", r.Reason, err)
	}
}
