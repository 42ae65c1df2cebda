package tiercompact

import (
	"cmp"
	"fmt"
	"reflect"
	"time"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/embed"
	"github.com/tiercompact/tiercompact/internal/cooldown"
	"github.com/tiercompact/tiercompact/internal/guard"
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

// A Size is a number of tokens that may be left to follow from the window. The
// zero value follows from it; [Tokens] makes one that does not.
type Size struct {
	tokens int
	set    bool
}

// Tokens returns the size of n tokens; 0 is none.
func Tokens(n int) Size { return Size{n, true} }

// Get returns the tokens of a size; ok is false if it follows from the window.
func (s Size) Get() (n int, ok bool) { return s.tokens, s.set }

// Config is how conversations are kept small. Its sections are those of
// compact.yaml. Only Window is required.
//
// There are two ways to make one. [Defaults] returns every value as it is by
// default; change what is to be different. Each value is taken as it is, 0
// included:
//
//	cfg := tiercompact.Defaults(tiercompact.Steady)
//	cfg.Window = 8192
//	cfg.Emergency.KeepLast = 0 // only the latest user message
//
// In a literal, Config{Window: 8192}, a field that is zero has the default of its
// preset. A setting that is to be 0 beside another default needs [Defaults].
//
// No callback hangs or ends a session: one that passes its deadline, panics or
// returns what cannot be is an error or a warning that names it, a
// [CallbackError], and something stands in for it as its field says.
type Config struct {
	Window int    // tokens that the model takes; required
	Model  string // whose tokens are counted; "": cl100k_base
	Preset Preset // that the defaults are of; "": Default

	Thresholds levels.Thresholds // usage from which each level is due
	Escalation Escalation
	Ranking    string  // levels.Cosine or levels.Fused
	MinGain    float64 // share of the window that a round within the budget must free; 0: any gain
	Fill       float64 // usage up to which a summary holds parts of files that the work is at; under Steady outlines grow up to it, too; 0: none

	Level       levels.Name // this level whenever usage is at the soft threshold; "": by usage
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

	Archive         archive.Store // nil: what is removed stays in memory
	ArchiveOptional bool          // if the archive cannot be written, go on without compacting instead of returning the error
	Trace           trace.Sink    // nil: silence; an event at which it fails is dropped

	Count       func(text string) int    // overrides Model, which stands in if it fails, or returns less than 0 or over 4*len(text)+256; must be safe for concurrent use
	Calibration tokens.Calibration       // of earlier sessions with the same model and server
	Progress    func(summarize.Progress) // reports how a summarizer gets on, unless it fails; nil: nobody is
	Now         func() time.Time         // nil, or if it fails: time.Now

	// ReadBack returns what readers get of the file that the caller writes the
	// conversation to that a round left. Archive is told, so that archive.Undo
	// knows the conversation by the file. Nil: it goes into no file.
	ReadBack func(left chat.Transcript) []archive.Reading

	defaultsOf Preset // of [Defaults], which left nothing open; "": zero fields have defaults
}

// A PolicyConfig is the budget, what a preflight keeps, and what no level touches.
type PolicyConfig struct {
	TriggerPct       float64 // usage from which a preflight compacts; 0: every one does
	HardCapBuffer    Size    // budget = Window - HardCapBuffer - Reserve; by the window: 1,500, at most an eighth
	Reserve          int     // tokens kept for the answer
	KeepRecentTurns  int     // of a preflight or manual compaction
	KeepToolIOPairs  int     // the same
	RolesNeverPrune  []chat.Role
	Protect          func(chat.Message) bool // further messages to protect, those included at which it fails; nil: none
	NoPinFirstUser   bool                    // do not pin the first user message
	Strategy         summarize.Strategy
	MessageThreshold int     // so many messages not yet summarised lead to a summary; 0: off
	ContextThreshold float64 // usage that leads to a summary; 0: off
}

// A SoftConfig is about the level that outlines files.
type SoftConfig struct {
	StaleAfter int // messages without a reference that make a file stale
}

// A HardConfig is about the level that ranks.
type HardConfig struct {
	Until Until  // how far it goes
	Query string // it ranks by this; "": the last user message
}

// An EmergencyConfig is about the level that summarises.
type EmergencyConfig struct {
	KeepLast  int     // newest messages that stay; 0: only the latest user message
	KeepShare float64 // more of the newest stay, while they fill less than this share of the window; 0: KeepLast alone
}

// A SummaryConfig says who writes summaries, and how long they are.
type SummaryConfig struct {
	Summarizer summarize.Summarizer // nil, or if it fails: the built-in extractive one
	Name, Why  string               // of Summarizer, for reports: what it is, and why it is this one
	MaxTokens  Size                 // of the whole message, without parts of files (Fill); by the window: an eighth, at most 1,024 of them what a model writes
	Fallback   string               // levels.FallbackExtractive or levels.FallbackPruning
}

// An EmbedConfig says who ranks for hard.
type EmbedConfig struct {
	Embedder  levels.Embedder // nil, or if it fails: the built-in lexical scorer
	Name, Why string          // of Embedder, for reports: what it is, and why it is this one
}

// A DeadlineConfig is the most time for callbacks; 0: none. Deadlines hold also if
// a callback ignores its context: its late answer is dropped, and it is not called
// again while a late call has not returned.
type DeadlineConfig struct {
	Ranking  time.Duration
	Summary  time.Duration // of one call
	Round    time.Duration
	Archive  time.Duration // of one call of Archive or of a Recorder
	Callback time.Duration // of one call of any other callback
}

// A RedactConfig says what of a conversation others are given.
type RedactConfig struct {
	Redactor *redact.Redactor // of what Archive, Trace, errors and reports are given; nil: redact.Default. If it fails, nothing is given
	Off      bool             // they are given texts as they are
	Prompts  bool             // Summarizer and Embedder, too, are given redacted texts
}

// Defaults returns every setting as a preset has it, but Window, which is required.
// "" is Default. [New] refuses a preset that does not exist, or that was changed in
// what Defaults returned.
func Defaults(preset Preset) Config {
	preset = cmp.Or(preset, Default)
	c := Config{
		Preset: preset, defaultsOf: preset, Trigger: EveryMessage, SummaryRole: chat.Assistant,
		Thresholds: levels.Thresholds(nil).WithDefaults(string(preset)),
		Escalation: Direct, Ranking: levels.Cosine, Fill: 0.45,
		Policy: PolicyConfig{
			TriggerPct: 0.85, KeepRecentTurns: 6, KeepToolIOPairs: 4,
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
		c.MinGain, c.Fill, c.Emergency = 0.45, 0.48, EmergencyConfig{KeepLast: 2, KeepShare: 0.05}
	}
	return c
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
	summarySet bool // Summary.MaxTokens is the caller's
	ownNow     bool // Now is the caller's
	ownRedact  bool // Redact is the caller's
	guards     *guards
	faults     *guard.Faults       // of one session
	redact     func(string) string // of known, guarded; nil where nothing is redacted
	builtIn    *tokens.Counter     // stands in for Count
	known      *redact.Known       // what a session has seen to be secret; nil where nothing is redacted
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

// fillZeros sets the fields of a struct that are zero as those of defaults are.
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

// withBuiltIn puts what is built in where the caller has nothing of its own.
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

// summaryMax is the limit of a summary, in tokens.
func (cfg Config) summaryMax() int {
	if n, set := cfg.Summary.MaxTokens.Get(); set {
		return n
	}
	return defaultSummaryMax(cfg.Window)
}

// defaultSummaryMax is the default limit of a summary, in tokens. It has no ceiling: a
// large window holds more rules, todos and names that must not be lost.
func defaultSummaryMax(window int) int { return max(1, window/8) }

// defaultTextMax is the default limit of what a model writes for a summary.
func defaultTextMax(window int) int { return min(1024, defaultSummaryMax(window)) }
