package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/screen"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/summarize"
)

const defaultWindow = 8192

// settings are the flags of every command that compacts. -1 stands for a number
// that was not given where 0 means something.
type settings struct {
	window, reserve, buffer, keepLast, keepTurns, keepPairs, summaryTokens int
	model, level, preset, trigger, escalation, ranking, strategy, query    string
	minGain                                                                float64
	thresholds                                                             []float64
	protect                                                                []string
	noPin                                                                  bool

	models models
}

func (s *settings) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.IntVarP(&s.window, "window", "w", 0, fmt.Sprintf("`tokens` that the model takes (default %d)", defaultWindow))
	f.StringVar(&s.model, "model", "", "count tokens as this model does (default: the transcript's, else cl100k_base)")
	f.StringVarP(&s.level, "level", "l", "", "this level instead of the one by usage: soft, hard, emergency")
	f.StringVar(&s.preset, "preset", "", "bundle of settings: default, eager, steady (default \"default\")")
	f.Float64SliceVar(&s.thresholds, "thresholds", nil, "usage from which soft, hard and emergency are due: `S,H,E` (default 0.60,0.75,0.90)")
	f.StringVar(&s.trigger, "trigger", "", "when a check runs: every_message, assistant_only, manual")
	f.StringVar(&s.escalation, "escalation", "", "direct: the picked level alone; cascade: soft first")
	f.StringVar(&s.ranking, "ranking", "", "how hard ranks: cosine, fused")
	f.StringVar(&s.query, "query", "", "hard ranks by this `text` in place of the last user message")
	f.Float64Var(&s.minGain, "min-gain", -1, "`share` of the window that a round must free")
	f.StringVar(&s.strategy, "strategy", "", "form of the summary: task_state, decision_log, code_delta, brief")
	f.IntVar(&s.summaryTokens, "summary-max-tokens", 0, "length of the summary (default an eighth of the window, at most 1024)")
	f.StringArrayVarP(&s.protect, "protect", "p", nil, "protect messages: an id, role:NAME, or /regexp/ over the text; repeatable")
	f.BoolVar(&s.noPin, "no-pin-first-user", false, "let the first user message go like any other")
	f.IntVar(&s.keepLast, "keep-last", -1, "newest `messages` that emergency keeps (default 4)")
	f.IntVar(&s.keepTurns, "keep-recent-turns", 0, "turns that the three layers keep (default 6)")
	f.IntVar(&s.keepPairs, "keep-tool-io-pairs", 0, "calls with results that the three layers keep (default 4)")
	f.IntVar(&s.buffer, "hard-cap-buffer", -1, "`tokens` of the window that stay free (default 1500, at most an eighth of it)")
	f.IntVar(&s.reserve, "reserve", 0, "`tokens` kept for the answer beside that")
	f.IntVar(&s.models.seed, "seed", 42, "for models; what is built in gives the same bytes with any seed")
	s.models.register(cmd)
	for _, name := range unset() {
		f.Lookup(name).DefValue = "0" // so that help does not tell what stands for "not given"
	}
	f.Lookup("thresholds").DefValue = ""
	f.SortFlags = false
	for _, c := range s.choices() {
		complete(cmd, c.flag, c.words)
	}
}

func (s *settings) choices() []choice {
	return []choice{
		{"level", &s.level, "soft, hard, emergency"},
		{"preset", &s.preset, "default, eager, steady"},
		{"trigger", &s.trigger, "every_message, assistant_only, manual"},
		{"escalation", &s.escalation, "direct, cascade"},
		{"ranking", &s.ranking, "cosine, fused"},
		{"strategy", &s.strategy, "task_state, decision_log, code_delta, brief"},
	}
}

// unset names the flags whose value is -1 where they were not given.
func unset() []string { return []string{"min-gain", "keep-last", "hard-cap-buffer"} }

// config returns what the flags say, for a transcript, and tells what they left
// open.
func (s *settings) config(cmd *cobra.Command, in input) (tiercompact.Config, error) {
	cfg := tiercompact.Config{
		Window: s.window, Model: s.model, Preset: tiercompact.Preset(s.preset),
		Level: levels.Name(s.level), Query: s.query, Trigger: tiercompact.Trigger(s.trigger),
		Escalation: tiercompact.Escalation(s.escalation), Ranking: s.ranking,
		Strategy: summarize.Strategy(s.strategy), SummaryMaxTokens: s.summaryTokens,
		MinGain: orNone(s.minGain), KeepLast: orNone(s.keepLast), HardCapBuffer: orNone(s.buffer),
		KeepRecentTurns: s.keepTurns, KeepToolIOPairs: s.keepPairs, Reserve: s.reserve, NoPinFirstUser: s.noPin,
	}
	if cfg.Model == "" {
		cfg.Model = in.Model
	}
	source, err := s.models.window(cmd, &cfg)
	if err != nil {
		return cfg, err
	}
	if err := s.valid(cmd, cfg.Window); err != nil {
		return cfg, err
	}
	if err := s.thresholdsInto(&cfg); err != nil {
		return cfg, err
	}
	odd, err := s.protection(in.Messages, &cfg)
	if err != nil {
		return cfg, err
	}
	if _, err := tiercompact.New(cfg); err != nil {
		return cfg, asFlag(cmd, errors.Unwrap(err)) // what New says of itself is said by main
	}
	if s.window == 0 {
		note(cmd, "no --window given, so it is %s tokens%s", screen.Grouped(cfg.Window), source)
	}
	for _, spec := range odd {
		note(cmd, "warning: --protect %s fits no message", spec)
	}
	return cfg, s.models.into(cmd, &cfg, newProgress(cmd))
}

// valid refuses what the configuration cannot tell from "not given".
func (s *settings) valid(cmd *cobra.Command, window int) error {
	if err := chosen(s.choices()); err != nil {
		return err
	}
	if s.window < 0 || cmd.Flags().Changed("window") && s.window == 0 {
		return usagef("--window must be above 0, is %d", s.window)
	}
	for _, name := range unset() {
		if f := cmd.Flags().Lookup(name); f.Changed && strings.HasPrefix(f.Value.String(), "-") {
			return usagef("--%s must not be below 0, is %s", name, f.Value)
		}
	}
	if taken := max(0, s.buffer); taken >= window || s.reserve >= window-taken {
		return usagef("--hard-cap-buffer and --reserve leave nothing of the window of %s tokens; lower them", screen.Grouped(window))
	}
	return nil
}

// orNone turns a flag into a field of Config: -1, not given, is the default,
// and 0 is zero.
func orNone[T int | float64](value T) T {
	switch value {
	case -1:
		return 0
	case 0:
		return tiercompact.None
	}
	return value
}

func (s *settings) thresholdsInto(cfg *tiercompact.Config) error {
	switch t := s.thresholds; len(t) {
	case 0:
		return nil
	case 3:
		cfg.Thresholds = levels.Thresholds{Soft: t[0], Hard: t[1], Emergency: t[2]}
		if err := cfg.Thresholds.Validate(); err != nil {
			return usageError{err}
		}
		return nil
	}
	return usagef("--thresholds takes three shares like 0.60,0.75,0.90, got %d", len(s.thresholds))
}

// protection turns --protect into a role list and a matcher. It returns what no
// message fits: a mistyped id would otherwise protect nothing in silence.
func (s *settings) protection(t chat.Transcript, cfg *tiercompact.Config) (odd []string, err error) {
	roles := []chat.Role{chat.System, chat.Developer}
	var matchers []func(chat.Message) bool
	for _, spec := range s.protect {
		match, role, err := parseProtect(spec)
		if err != nil {
			return nil, err
		}
		if role != "" {
			roles = append(roles, role)
			match = func(m chat.Message) bool { return m.Role == role }
		} else {
			matchers = append(matchers, match)
		}
		if !slices.ContainsFunc(t, match) {
			odd = append(odd, spec)
		}
	}
	cfg.RolesNeverPrune = roles
	if len(matchers) > 0 {
		cfg.Protect = func(m chat.Message) bool {
			return slices.ContainsFunc(matchers, func(match func(chat.Message) bool) bool { return match(m) })
		}
	}
	return odd, nil
}

func parseProtect(spec string) (match func(chat.Message) bool, role chat.Role, err error) {
	if name, ok := strings.CutPrefix(spec, "role:"); ok {
		if !slices.Contains([]string{"system", "developer", "user", "assistant", "tool"}, name) {
			return nil, "", usagef("--protect %s: no such role; take system, developer, user, assistant or tool", spec)
		}
		return nil, chat.Role(name), nil
	}
	if len(spec) > 2 && strings.HasPrefix(spec, "/") && strings.HasSuffix(spec, "/") {
		re, err := regexp.Compile(spec[1 : len(spec)-1])
		if err != nil {
			return nil, "", usagef("--protect %s: %w", spec, err)
		}
		return func(m chat.Message) bool { return re.MatchString(m.Text()) }, "", nil
	}
	if spec == "" {
		return nil, "", usagef("--protect is empty; give an id, role:NAME or /regexp/")
	}
	return func(m chat.Message) bool { return m.ID == spec }, "", nil
}
