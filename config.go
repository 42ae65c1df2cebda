package tiercompact

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/embed"
	"github.com/tiercompact/tiercompact/internal/cooldown"
	"github.com/tiercompact/tiercompact/internal/protection"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/redact"
	"github.com/tiercompact/tiercompact/summarize"
	"github.com/tiercompact/tiercompact/tokens"
	"github.com/tiercompact/tiercompact/trace"
)

// A Preset is a bundle of settings that go together.
type Preset string

// The presets. Default is the contract to the letter; Eager begins earlier;
// Steady keeps the server's prompt cache and the most of what is needed next.
const (
	Default Preset = "default"
	Eager   Preset = "eager"
	Steady  Preset = "steady"
)

// A Trigger says after which messages a check runs.
type Trigger string

// The triggers.
const (
	EveryMessage  Trigger = "every_message"
	AssistantOnly Trigger = "assistant_only" // after an assistant message without open calls
	Manual        Trigger = "manual"         // never by itself
)

// An Escalation says what happens when a level above soft is due.
type Escalation string

// The escalations.
const (
	Direct  Escalation = "direct"  // the picked level alone
	Cascade Escalation = "cascade" // soft first; the picked level only where that was not enough
)

// An Until says how far hard goes.
type Until string

// The ends of hard.
const (
	Half      Until = "half" // floor(n/2) of the old messages stay
	UntilSoft Until = "soft" // half, then on, lowest first, until usage is below the soft threshold
)

// None is the value of a setting whose zero means its default and that is to
// be zero: [Config.MinGain], [Config.HardCapBuffer], [Config.TriggerPct],
// [Config.KeepLast], [Config.KeepShare], [Config.Fill].
const None = -1

// Config is how conversations are kept small. Only Window is required; the zero
// value of every other field is a working default. Where a preset has a value
// for a field, zero means the preset's.
//
// No callback hangs or ends a session: one that passes its deadline, panics or
// returns what cannot be is an error or a warning that names it, a
// [CallbackError], and something stands in for it as its field says.
type Config struct {
	Window int    // tokens that the model takes; required
	Model  string // whose tokens are counted; "": cl100k_base
	Preset Preset // "": Default

	Thresholds levels.Thresholds // usage from which each level is due
	Escalation Escalation
	Ranking    string  // levels.Cosine or levels.Fused
	HardUntil  Until   // how far hard goes
	Query      string  // hard ranks by it; "": the last user message
	MinGain    float64 // share of the window that a round within the budget must free; None: any gain

	Level            levels.Name // this level whenever usage is at the soft threshold; "": by usage
	Trigger          Trigger     // "": EveryMessage
	MessageThreshold int         // so many messages not yet summarised lead to a summary; 0: off
	ContextThreshold float64     // usage that leads to a summary; 0: off
	NoAuto           bool        // no automatic compaction at all, Preflight included

	HardCapBuffer   int     // budget = Window - HardCapBuffer - Reserve; 0: 1,500, at most an eighth of Window; None: 0
	Reserve         int     // tokens kept for the answer
	TriggerPct      float64 // usage from which a preflight compacts; 0: 0.85; None: every one does
	KeepRecentTurns int     // of a preflight or manual compaction; 0: 6
	KeepToolIOPairs int     // the same; 0: 4
	KeepLast        int     // newest messages that emergency keeps; 0: 4, 2 of steady; None: only the latest user message
	KeepShare       float64 // emergency keeps more of the newest messages, while they fill less than this share of the window; None: KeepLast alone
	Fill            float64 // usage up to which a summary holds parts of files that the work is at; under Steady outlines grow up to it, too; None: none
	StaleAfter      int     // messages without a reference that make a file stale; 0: 3

	RolesNeverPrune []chat.Role             // nil: system, developer
	Protect         func(chat.Message) bool // further messages to protect, those included at which it fails; nil: none
	NoPinFirstUser  bool                    // do not pin the first user message

	Strategy         summarize.Strategy // "": TaskState
	SummaryMaxTokens int                // of the whole message, without parts of files (Fill); 0: an eighth of Window, at most 1,024 of them what a model writes
	SummaryRole      chat.Role          // chat.Assistant or chat.System; "": Assistant
	SummaryFallback  string             // levels.FallbackExtractive or levels.FallbackPruning; "": extractive

	Embedder       levels.Embedder      // ranks for hard; nil, or where it fails: the built-in lexical scorer
	EmbedderName   string               // for reports
	EmbedderWhy    string               // for reports: why it is this one
	Summarizer     summarize.Summarizer // writes for emergency; nil, or where it fails: the built-in extractive one
	SummarizerName string               // for reports
	SummarizerWhy  string               // for reports: why it is this one

	Progress func(summarize.Progress) // is told how a summarizer gets on, unless it fails; nil: nobody is

	// Deadlines hold also where a callback ignores its context: its late answer is
	// dropped, and it is not called again while a late call has not returned.
	RankDeadline     time.Duration // 0: 20 s; None: none
	SummaryDeadline  time.Duration // of one call; 0: 120 s; None: none
	RoundDeadline    time.Duration // 0: 300 s; None: none
	ArchiveDeadline  time.Duration // of one call of Archive or of a Recorder; 0: 60 s; None: none
	CallbackDeadline time.Duration // of one call of any other callback; 0: 10 s; None: none

	Count           func(text string) int // overrides Model, which stands in where it fails, or returns less than 0 or over 4*len(text)+256; must be safe for concurrent use
	Calibration     tokens.Calibration    // of earlier sessions with the same model and server
	Archive         archive.Store         // nil: what is removed stays in memory
	ArchiveOptional bool                  // where the archive cannot be written, go on without compacting instead of returning the error
	Trace           trace.Sink            // nil: silence; an event at which it fails is dropped
	Redact          *redact.Redactor      // of what Archive, Trace, errors and reports are given; nil: redact.Default. Where it fails, nothing is given
	NoRedact        bool                  // they are given texts as they are
	RedactPrompts   bool                  // Summarizer and Embedder, too, are given redacted texts
	Now             func() time.Time      // nil, or where it fails: time.Now

	// ReadBack returns what readers get of the file that the caller writes the
	// conversation to that a round left. Archive is told, so that archive.Undo
	// knows the conversation by the file. Nil: it goes into no file.
	ReadBack func(left chat.Transcript) []archive.Reading
}

// settings are a Config with nothing left open.
type settings struct {
	Config
	counters
	gate       cooldown.Gate
	policy     protection.Policy
	budget     tokens.Budget
	weights    embed.Weights
	outside    bool // the archive is the caller's; else nothing leaves the process with it
	summarySet bool // SummaryMaxTokens is the caller's
	ownNow     bool // Now is the caller's
	ownRedact  bool // Redact is the caller's
	guards     *guards
	faults     *faults             // of one session
	redact     func(string) string // of known, guarded; nil where nothing is redacted
	builtIn    *tokens.Counter     // stands in for Count
	known      *redact.Known       // what a session has seen to be secret; nil where nothing is redacted
}

// presetConfig returns what a preset sets.
func (p Preset) presetConfig() (Config, error) {
	c := Config{
		Thresholds: levels.Thresholds{Soft: 0.60, Hard: 0.75, Emergency: 0.90},
		Escalation: Direct, Ranking: levels.Cosine, HardUntil: Half, MinGain: None, KeepShare: None, Fill: 0.45,
	}
	switch p {
	case "", Default:
	case Eager:
		c.Thresholds = levels.Thresholds{Soft: 0.50, Hard: 0.65, Emergency: 0.80}
		c.Fill = 0.40
	case Steady:
		c.Thresholds = levels.Thresholds{Soft: 0.70, Hard: 0.80, Emergency: 0.90}
		c.Escalation, c.Ranking, c.HardUntil = Cascade, levels.Fused, UntilSoft
		c.MinGain, c.Fill, c.KeepLast, c.KeepShare = 0.45, 0.48, 2, 0.05
	default:
		return c, fmt.Errorf("preset must be default, eager or steady, is %q", p)
	}
	return c, nil
}

func (cfg Config) resolveSettings() (settings, error) {
	if cfg.Window <= 0 {
		return settings{}, errors.New("config needs Window, the tokens that the model takes")
	}
	preset, err := cfg.Preset.presetConfig()
	if err != nil {
		return settings{}, err
	}
	outside, summarySet := cfg.Archive != nil, cfg.SummaryMaxTokens != 0
	ownNow, ownRedact := cfg.Now != nil, cfg.Redact != nil
	cfg = cfg.withDefaults(preset)
	if err := cfg.validate(); err != nil {
		return settings{}, err
	}
	s := settings{Config: cfg, outside: outside, summarySet: summarySet, gate: cooldown.Default(), weights: embed.DefaultWeights()}
	s.ownNow, s.ownRedact, s.guards, s.faults = ownNow, ownRedact, newGuards(cfg), new(faults)
	if outside {
		s.Archive = guardedStore{cfg.Archive, s.guards}
	}
	if s.builtIn, err = tokens.ForModel(cfg.Model); err != nil {
		return settings{}, fmt.Errorf("model: %w", err)
	}
	s.countText, s.countMessage, s.countTools = s.builtIn.Text, s.builtIn.Message, s.builtIn.Tools
	s.policy = protection.Policy{Roles: cfg.RolesNeverPrune, Match: cfg.Protect, NoPinFirst: cfg.NoPinFirstUser}
	s.budget = cfg.budgetOf(cfg.Window)
	return s, nil
}

func (cfg Config) budgetOf(window int) tokens.Budget {
	return tokens.NewBudget(window, max(0, cfg.HardCapBuffer), cfg.Reserve, cfg.HardCapBuffer != 0)
}

// withDefaults sets the fields that are zero, from the preset and the defaults in
// docs/CONFIG.md. None becomes zero only here, except for HardCapBuffer.
func (cfg Config) withDefaults(preset Config) Config {
	t := &cfg.Thresholds
	t.Soft, t.Hard, t.Emergency = cmp.Or(t.Soft, preset.Thresholds.Soft), cmp.Or(t.Hard, preset.Thresholds.Hard), cmp.Or(t.Emergency, preset.Thresholds.Emergency)
	cfg.Escalation = cmp.Or(cfg.Escalation, preset.Escalation)
	cfg.Ranking = cmp.Or(cfg.Ranking, preset.Ranking)
	cfg.HardUntil = cmp.Or(cfg.HardUntil, preset.HardUntil)
	cfg.MinGain = max(0, cmp.Or(cfg.MinGain, preset.MinGain))
	cfg.KeepShare = max(0, cmp.Or(cfg.KeepShare, preset.KeepShare))
	cfg.Fill = max(0, cmp.Or(cfg.Fill, preset.Fill))
	cfg.Trigger = cmp.Or(cfg.Trigger, EveryMessage)
	cfg.TriggerPct = max(0, cmp.Or(cfg.TriggerPct, 0.85))
	cfg.KeepRecentTurns = cmp.Or(cfg.KeepRecentTurns, 6)
	cfg.KeepToolIOPairs = cmp.Or(cfg.KeepToolIOPairs, 4)
	cfg.KeepLast = max(0, cmp.Or(cfg.KeepLast, preset.KeepLast, 4))
	cfg.StaleAfter = cmp.Or(cfg.StaleAfter, 3)
	if cfg.RolesNeverPrune == nil {
		cfg.RolesNeverPrune = []chat.Role{chat.System, chat.Developer}
	}
	cfg.Strategy = cmp.Or(cfg.Strategy, summarize.TaskState)
	cfg.SummaryMaxTokens = cmp.Or(cfg.SummaryMaxTokens, defaultSummaryMax(cfg.Window))
	cfg.SummaryRole = cmp.Or(cfg.SummaryRole, chat.Assistant)
	cfg.SummaryFallback = cmp.Or(cfg.SummaryFallback, levels.FallbackExtractive)
	if cfg.Summarizer == nil {
		cfg.Summarizer, cfg.SummarizerName = summarize.Extractive{}, levels.FallbackExtractive
	}
	cfg.RankDeadline = max(0, cmp.Or(cfg.RankDeadline, 20*time.Second))
	cfg.SummaryDeadline = max(0, cmp.Or(cfg.SummaryDeadline, 120*time.Second))
	cfg.RoundDeadline = max(0, cmp.Or(cfg.RoundDeadline, 300*time.Second))
	cfg.ArchiveDeadline = max(0, cmp.Or(cfg.ArchiveDeadline, 60*time.Second))
	cfg.CallbackDeadline = max(0, cmp.Or(cfg.CallbackDeadline, 10*time.Second))
	if cfg.Archive == nil {
		cfg.Archive = archive.NewMemory()
	}
	if cfg.Redact == nil {
		cfg.Redact = redact.Default()
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return cfg
}

// defaultSummaryMax is the default limit of a summary, in tokens. It has no ceiling: a
// large window holds more rules, todos and names that must not be lost.
func defaultSummaryMax(window int) int { return max(1, window/8) }

// defaultTextMax is the default limit of what a model writes for a summary.
func defaultTextMax(window int) int { return min(1024, defaultSummaryMax(window)) }

func (cfg Config) validate() error {
	if err := cfg.Thresholds.Validate(); err != nil {
		return err
	}
	if cfg.Level != "" {
		if _, err := levels.Parse(string(cfg.Level)); err != nil {
			return err
		}
	}
	if _, err := summarize.ParseStrategy(string(cfg.Strategy)); err != nil {
		return err
	}
	for _, c := range []error{
		checkOneOf("trigger", cfg.Trigger, EveryMessage, AssistantOnly, Manual),
		checkOneOf("escalation", cfg.Escalation, Direct, Cascade),
		checkOneOf("ranking", cfg.Ranking, levels.Cosine, levels.Fused),
		checkOneOf("hard.until", cfg.HardUntil, Half, UntilSoft),
		checkOneOf("summary_role", cfg.SummaryRole, chat.Assistant, chat.System),
		checkOneOf("summary.fallback", cfg.SummaryFallback, levels.FallbackExtractive, levels.FallbackPruning),
		checkShare("min_gain", cfg.MinGain), checkShare("emergency.keep_share", cfg.KeepShare), checkShare("fill", cfg.Fill), checkShare("trigger_pct", cfg.TriggerPct), checkShare("context_threshold", cfg.ContextThreshold),
		checkAtLeast("keep_recent_turns", cfg.KeepRecentTurns, 1), checkAtLeast("keep_tool_io_pairs", cfg.KeepToolIOPairs, 1),
		checkAtLeast("message_threshold", cfg.MessageThreshold, 0), checkAtLeast("reserve", cfg.Reserve, 0),
		checkAtLeast("hard_cap_buffer", cfg.HardCapBuffer, None), checkAtLeast("summary_max_tokens", cfg.SummaryMaxTokens, 1),
	} {
		if c != nil {
			return c
		}
	}
	for _, part := range []struct {
		name   string
		tokens int
	}{{"hard_cap_buffer", cfg.HardCapBuffer}, {"reserve", cfg.Reserve}} {
		if part.tokens > cfg.Window {
			return fmt.Errorf("%s must be at most the window, %d tokens, is %d", part.name, cfg.Window, part.tokens)
		}
	}
	return nil
}

func checkOneOf[T ~string](name string, value T, allowed ...T) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	names := make([]string, len(allowed))
	for i, a := range allowed {
		names[i] = string(a)
	}
	return fmt.Errorf("%s must be one of %s, is %q", name, strings.Join(names, ", "), value)
}

func checkShare(name string, value float64) error {
	if !(value >= 0 && value <= 1) {
		return fmt.Errorf("%s must be 0.0-1.0, is %g", name, value)
	}
	return nil
}

func checkAtLeast(name string, value, least int) error {
	if value < least {
		return fmt.Errorf("%s must be at least %d, is %d", name, least, value)
	}
	return nil
}
