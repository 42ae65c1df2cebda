package tiercompact

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/summarize"
)

// A FieldError reports an invalid field of a [Config].
type FieldError struct {
	Field   string // its path, as in Policy.TriggerPct
	Problem string // what it must be, and its value
}

func (e *FieldError) Error() string { return e.Field + " " + e.Problem }

// Validate returns the error of [New] about the fields: a [FieldError], or nil.
func (cfg Config) Validate() error {
	_, err := cfg.complete()
	return err
}

// complete returns a checked Config with all defaults filled in.
func (cfg Config) complete() (Config, error) {
	if err := cfg.checkPreset(); err != nil {
		return cfg, err
	}
	if cfg.defaultsOf == "" {
		fillZeros(reflect.ValueOf(&cfg).Elem(), reflect.ValueOf(Defaults(cfg.Preset)))
		cfg.Thresholds = cfg.Thresholds.WithDefaults(string(cfg.Preset))
	}
	cfg.Thresholds = maps.Clone(cfg.Thresholds)
	return cfg, cfg.validate()
}

// checkPreset rejects unknown presets, and a preset other than that of the values beside
// it.
func (cfg Config) checkPreset() error {
	if p := cmp.Or(cfg.Preset, Default); cfg.defaultsOf != "" && p != cfg.defaultsOf {
		return &FieldError{"Preset", fmt.Sprintf("must be %q, of which the other values are, is %q; take what Defaults returns for it", cfg.defaultsOf, p)}
	}
	return checkOneOf("Preset", cmp.Or(cfg.Preset, Default), Default, Eager, Steady)
}

// validate returns the first error of a Config with all defaults filled in: a
// [FieldError].
func (cfg Config) validate() error {
	p, d := cfg.Policy, cfg.Deadlines
	buffer, _ := p.HardCapBuffer.Get()
	summary := 1
	if n, set := cfg.Summary.MaxTokens.Get(); set {
		summary = n
	}
	checks := []error{
		checkWindow(cfg.Window),
		checkThresholds(cfg.Thresholds),
		checkOneOf("Level", string(cfg.Level), append([]string{""}, levels.Names()...)...),
		checkOneOf("Trigger", cfg.Trigger, EveryMessage, AssistantOnly, Manual),
		checkOneOf("Escalation", cfg.Escalation, Direct, Cascade),
		checkOneOf("Ranking", cfg.Ranking, levels.Cosine, levels.Fused),
		checkShare("MinGain", cfg.MinGain), checkShare("Fill", cfg.Fill),
		checkOneOf("SummaryRole", cfg.SummaryRole, chat.Assistant, chat.System),
		checkShare("Policy.TriggerPct", p.TriggerPct), checkShare("Policy.ContextThreshold", p.ContextThreshold),
		checkMin("Policy.HardCapBuffer", buffer, 0), checkMin("Policy.Reserve", p.Reserve, 0),
		checkMin("Policy.KeepRecentTurns", p.KeepRecentTurns, 1), checkMin("Policy.KeepToolIOPairs", p.KeepToolIOPairs, 1),
		checkMin("Policy.MessageThreshold", p.MessageThreshold, 0),
		checkStrategy(p.Strategy),
		checkMin("Soft.StaleAfter", cfg.Soft.StaleAfter, 1),
		checkOneOf("Hard.Until", cfg.Hard.Until, Half, UntilSoft),
		checkMin("Emergency.KeepLast", cfg.Emergency.KeepLast, 0), checkShare("Emergency.KeepShare", cfg.Emergency.KeepShare),
		checkMin("Summary.MaxTokens", summary, 1),
		checkOneOf("Summary.Fallback", cfg.Summary.Fallback, levels.FallbackExtractive, levels.FallbackPruning),
		checkDeadline("Ranking", d.Ranking), checkDeadline("Summary", d.Summary), checkDeadline("Round", d.Round),
		checkDeadline("Archive", d.Archive), checkDeadline("Callback", d.Callback),
	}
	for _, role := range p.RolesNeverPrune {
		checks = append(checks, checkOneOf("Policy.RolesNeverPrune", role, chat.System, chat.Developer, chat.User, chat.Assistant, chat.Tool))
	}
	for _, err := range append(checks, cfg.checkRoom()) {
		if err != nil {
			return err
		}
	}
	return nil
}

// checkRoom rejects settings that leave no usable window.
func (cfg Config) checkRoom() error {
	b := cfg.budgetOf(cfg.Window)
	if b.Buffer >= b.Window {
		return &FieldError{"Policy.HardCapBuffer", fmt.Sprintf("must be below the window, %d tokens, is %d", b.Window, b.Buffer)}
	}
	if left := b.Window - b.Buffer; b.Reserve >= left {
		return &FieldError{"Policy.Reserve", fmt.Sprintf("must be below what window and buffer leave, %d tokens, is %d", left, b.Reserve)}
	}
	return nil
}

func checkWindow(tokens int) error {
	if tokens <= 0 {
		return &FieldError{"Window", fmt.Sprintf("must be the tokens that the model takes, is %d", tokens)}
	}
	return nil
}

func checkThresholds(t levels.Thresholds) error {
	if err := t.Validate(); err != nil {
		field, problem, _ := strings.Cut(err.Error(), " ")
		return &FieldError{field, problem}
	}
	return nil
}

func checkStrategy(s summarize.Strategy) error {
	if _, err := summarize.ParseStrategy(string(s)); err != nil {
		_, problem, _ := strings.Cut(err.Error(), " ")
		return &FieldError{"Policy.Strategy", problem}
	}
	return nil
}

func checkOneOf[T ~string](field string, value T, allowed ...T) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	var names []string
	for _, a := range allowed {
		if a != "" {
			names = append(names, string(a))
		}
	}
	return &FieldError{field, fmt.Sprintf("must be one of %s, is %q", strings.Join(names, ", "), value)}
}

func checkShare(field string, value float64) error {
	if !(value >= 0 && value <= 1) {
		return &FieldError{field, fmt.Sprintf("must be 0.0-1.0, is %g", value)}
	}
	return nil
}

func checkMin(field string, value, smallest int) error {
	if value < smallest {
		return &FieldError{field, fmt.Sprintf("must be at least %d, is %d", smallest, value)}
	}
	return nil
}

func checkDeadline(field string, value time.Duration) error {
	if value < 0 {
		return &FieldError{"Deadlines." + field, fmt.Sprintf("must be at least 0, is %s", value)}
	}
	return nil
}
