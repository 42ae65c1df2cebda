package tiercompact

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/embed"
	"github.com/tiercompact/tiercompact/internal/cooldown"
	"github.com/tiercompact/tiercompact/internal/guard"
	"github.com/tiercompact/tiercompact/internal/protection"
	"github.com/tiercompact/tiercompact/internal/recall"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/redact"
	"github.com/tiercompact/tiercompact/summarize"
	"github.com/tiercompact/tiercompact/tokens"
	"github.com/tiercompact/tiercompact/trace"
)

// A Preset is a name for a set of defaults.
type Preset string

// The presets. Default follows the contract; Eager begins earlier; Steady preserves
// the server's prompt cache and most of the text that is needed next.
const (
	Default Preset = "default"
	Eager   Preset = "eager"
	Steady  Preset = "steady"
)

// A Trigger selects the messages after which a check runs.
type Trigger string

// The triggers.
const (
	EveryMessage  Trigger = "every_message"
	AssistantOnly Trigger = "assistant_only" // after an assistant message without open calls
	Manual        Trigger = "manual"         // never automatically
)

// An Escalation selects the levels to run when a level above soft is due.
type Escalation string

// The escalations.
const (
	Direct  Escalation = "direct"  // the picked level alone
	Cascade Escalation = "cascade" // soft first; the picked level only if that was not enough
)

// An Until is the point at which hard ends.
type Until string

// The end points of hard.
const (
	Half      Until = "half" // half: floor(n/2) of the n old messages stay
	UntilSoft Until = "soft" // as half; then further messages go, the least relevant first, until usage is below the soft threshold
)

// A Size is a number of tokens, or a default that follows from the window. The zero
// value is that default; [Tokens] makes a fixed number.
type Size struct {
	tokens int
	set    bool
}

// Tokens returns the size of n tokens; 0 is none.
func Tokens(n int) Size { return Size{n, true} }

// Get returns the tokens of a size; ok is false if it follows from the window.
func (s Size) Get() (n int, ok bool) { return s.tokens, s.set }

// Config holds the settings of conversations. Its sections are those of compact.yaml.
// Only Window is required.
//
// There are two ways to make one. [Defaults] returns every value explicitly; change
// those that must differ. Each value is used as it is, 0 included:
//
//	cfg := tiercompact.Defaults(tiercompact.Steady)
//	cfg.Window = 8192
//	cfg.Emergency.KeepLast = 0 // only the latest user message
//
// In a literal, Config{Window: 8192}, a zero field has the default of its preset. If
// a setting with another default must be 0, use [Defaults].
//
// A callback cannot block or end a session. If one passes its deadline, panics or
// returns an invalid value, a [CallbackError] names it, as an error or a warning, and
// the fallback in its field's comment is used.
type Config struct {
	Window int    // max tokens of the model; required
	Model  string // model for which tokens are counted; "": cl100k_base
	Preset Preset // preset of the defaults; "": Default

	Thresholds levels.Thresholds // usage from which each level is due
	Escalation Escalation
	Ranking    string  // levels.Cosine or levels.Fused
	MinGain    float64 // min share that a round within the budget frees of the tokens that need not stay; 0: any gain
	Fill       float64 // usage up to which a summary adds excerpts of current files, and under Steady outlines grow; 0: none

	Level       levels.Name // level to use if usage is at the soft threshold; "": by usage
	Trigger     Trigger     // when a check runs
	NoAuto      bool        // no automatic compaction at all, Preflight included
	SummaryRole chat.Role   // chat.Assistant or chat.System

	Policy    PolicyConfig
	Soft      SoftConfig
	Hard      HardConfig
	Emergency EmergencyConfig
	Summary   SummaryConfig
	Embed     EmbedConfig
	Deadlines DeadlineConfig
	Redact    RedactConfig

	Archive         archive.Store // nil: removed messages stay in memory
	NoRecall        bool          // the archive ends with the program: a first user message that is cut shows no recall id
	ArchiveOptional bool          // if the archive cannot be written, go on without compacting instead of returning the error
	Trace           trace.Sink    // nil: no trace; events on which it fails are dropped

	Count       func(text string) int    // overrides Model, the fallback if it fails, or returns less than 0 or over 4*len(text)+256; must be safe for concurrent use
	Calibration tokens.Calibration       // from earlier sessions with the same model and server
	Progress    func(summarize.Progress) // reports the progress of a summarizer; nil, or if it fails: no reports
	Now         func() time.Time         // nil, or if it fails: time.Now

	// ReadBack returns the conversation as readers get it from the file to which the
	// caller writes the result of a round. It goes to Archive, so that archive.Undo
	// recognises the file. Nil: there is no file.
	ReadBack func(left chat.Transcript) []archive.Reading

	defaultsOf Preset // preset of [Defaults]; "": zero fields have defaults
}

// defaultTriggerPct is the usage from which a preflight compacts.
const defaultTriggerPct = 0.85

// A PolicyConfig sets the budget, the messages that a preflight keeps, and those that no level changes.
type PolicyConfig struct {
	TriggerPct       float64 // usage from which a preflight compacts; 0: always. Steady begins at 0.95 of the budget, unless this is set
	HardCapBuffer    Size    // budget = Window - HardCapBuffer - Reserve; its zero value: 1,500, at most an eighth of Window
	Reserve          int     // tokens kept for the answer
	KeepRecentTurns  int     // turns that a preflight or manual compaction keeps
	KeepToolIOPairs  int     // pairs of tool calls and results that it keeps
	RolesNeverPrune  []chat.Role
	Protect          func(chat.Message) bool // selects more messages to protect, and protects a message on which it fails; nil: none
	NoPinFirstUser   bool                    // do not pin the first user message
	Strategy         summarize.Strategy
	MessageThreshold int     // number of messages outside of a summary that leads to one; 0: off
	ContextThreshold float64 // usage that leads to a summary; 0: off
}

// A SoftConfig sets the level that outlines files.
type SoftConfig struct {
	StaleAfter int // messages without a reference after which a file is stale
}

// A HardConfig sets the level that ranks messages.
type HardConfig struct {
	Until Until  // the point at which it ends
	Query string // query of the ranking; "": the last user message
}

// An EmergencyConfig sets the level that writes a summary.
type EmergencyConfig struct {
	KeepLast  int     // newest messages that stay; 0: only the latest user message
	KeepShare float64 // more of the newest stay, up to this share of the window, eight in a very small one; 0: KeepLast alone
}

// A SummaryConfig sets the summarizer and the length of summaries.
type SummaryConfig struct {
	Summarizer summarize.Summarizer // nil, or if it fails: the built-in extractive one
	Name, Why  string               // of Summarizer, for reports: its name, and the reason for it
	MaxTokens  Size                 // max tokens of the whole message, without excerpts of files (Fill); default: an eighth of the window, a model's text at most 1,024 of them
	Fallback   string               // levels.FallbackExtractive or levels.FallbackPruning
}

// An EmbedConfig sets the embedder of the level hard.
type EmbedConfig struct {
	Embedder  levels.Embedder // nil, or if it fails: the built-in lexical scorer
	Name, Why string          // of Embedder, for reports: its name, and the reason for it
}

// A DeadlineConfig sets the maximum time of callbacks; 0: none. Deadlines apply even if
// a callback ignores its context: its late answer is dropped, and it is not called
// again until the late call has returned.
type DeadlineConfig struct {
	Ranking  time.Duration
	Summary  time.Duration // of one call
	Round    time.Duration
	Archive  time.Duration // of one call of Archive or of a Recorder
	Callback time.Duration // of one call of any other callback
}

// A RedactConfig sets the redaction of output.
type RedactConfig struct {
	Redactor *redact.Redactor // for Archive, Trace, errors and reports; nil: redact.Default. If it fails, they get nothing
	Off      bool             // they get the original texts
	Prompts  bool             // redact the input of Summarizer and Embedder too
}

// Defaults returns the settings of a preset, except Window, which is required. "" is
// Default. [New] rejects an unknown preset, and a change of Preset in the result of
// Defaults.
func Defaults(preset Preset) Config {
	preset = cmp.Or(preset, Default)
	c := Config{
		Preset: preset, defaultsOf: preset, Trigger: EveryMessage, SummaryRole: chat.Assistant,
		Thresholds: levels.Thresholds(nil).WithDefaults(string(preset)),
		Escalation: Direct, Ranking: levels.Cosine, Fill: 0.45,
		Policy: PolicyConfig{
			TriggerPct: defaultTriggerPct, KeepRecentTurns: 6, KeepToolIOPairs: 4,
			RolesNeverPrune: []chat.Role{chat.System, chat.Developer}, Strategy: summarize.TaskState,
		},
		Soft:      SoftConfig{StaleAfter: 3},
		Hard:      HardConfig{Until: Half},
		Emergency: EmergencyConfig{KeepLast: 4},
		Summary:   SummaryConfig{Fallback: levels.FallbackExtractive},
		Deadlines: DeadlineConfig{20 * time.Second, 120 * time.Second, 300 * time.Second, 60 * time.Second, 10 * time.Second},
	}
	switch preset {
	case Eager:
		c.Fill = 0.40
	case Steady:
		c.Escalation, c.Ranking, c.Hard.Until = Cascade, levels.Fused, UntilSoft
		c.MinGain, c.Fill, c.Emergency = 0.45, 0.42, EmergencyConfig{KeepLast: 2, KeepShare: 0.05}
	}
	return c
}

// settings are a Config with all defaults filled in.
type settings struct {
	Config
	counters
	gate       cooldown.Gate
	policy     protection.Policy
	budget     tokens.Budget
	weights    embed.Weights
	outside    bool // the archive is the caller's; otherwise no data leaves the process with it
	summarySet bool // Summary.MaxTokens is the caller's
	ownNow     bool // Now is the caller's
	ownRedact  bool // Redact is the caller's
	guards     *guards
	faults     *guard.Faults       // of one session
	redact     func(string) string // the method of known, guarded; nil without redaction
	secrets    func(string) string // the same, but e-mail addresses and phone numbers stay
	nameless   func(string) string // of a round: removes secrets before names are extracted; nil without redaction
	builtIn    *tokens.Counter     // the fallback of Count
	known      *redact.Known       // the secrets that a session has seen; nil without redaction
}

func (cfg Config) resolveSettings() (settings, error) {
	outside, ownNow, ownRedact := cfg.Archive != nil, cfg.Now != nil, cfg.Redact.Redactor != nil
	_, summarySet := cfg.Summary.MaxTokens.Get()
	cfg, err := cfg.complete()
	if err != nil {
		return settings{}, err
	}
	cfg = cfg.withBuiltIn()
	s := settings{Config: cfg, outside: outside, summarySet: summarySet, gate: cooldown.Default(), weights: embed.DefaultWeights()}
	s.ownNow, s.ownRedact, s.guards, s.faults = ownNow, ownRedact, newGuards(cfg), new(guard.Faults)
	if outside {
		s.Archive = guard.Store(cfg.Archive, s.guards.archive, s.guards.events)
	}
	s.Archive = recall.Indexed(s.Archive, "")
	if s.builtIn, err = tokens.ForModel(cfg.Model); err != nil {
		return settings{}, fmt.Errorf("model: %w", err)
	}
	s.countText, s.countMessage, s.countTools = s.builtIn.Text, s.builtIn.Message, s.builtIn.Tools
	s.policy = protection.Policy{Roles: cfg.Policy.RolesNeverPrune, Match: cfg.Policy.Protect, NoPinFirst: cfg.Policy.NoPinFirstUser}
	s.budget = cfg.budgetOf(cfg.Window)
	return s, nil
}

func (cfg Config) budgetOf(window int) tokens.Budget {
	buffer, set := cfg.Policy.HardCapBuffer.Get()
	return tokens.NewBudget(window, buffer, cfg.Policy.Reserve, set)
}

// fillZeros sets the zero fields of a struct to those of defaults.
func fillZeros(of, defaults reflect.Value) {
	for i := range of.NumField() {
		switch f := of.Field(i); {
		case !f.CanSet():
		case f.Kind() == reflect.Struct:
			fillZeros(f, defaults.Field(i))
		case f.IsZero():
			f.Set(defaults.Field(i))
		}
	}
}

// withBuiltIn uses the built-in implementations for the callbacks that are nil.
func (cfg Config) withBuiltIn() Config {
	if cfg.Summary.Summarizer == nil {
		cfg.Summary.Summarizer, cfg.Summary.Name = summarize.Extractive{}, levels.FallbackExtractive
	}
	if cfg.Archive == nil {
		cfg.Archive = archive.NewMemory()
	}
	if cfg.Redact.Redactor == nil {
		cfg.Redact.Redactor = redact.Default()
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return cfg
}

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
