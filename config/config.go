// Package config takes the settings of tiercompact from a file, the
// environment and flags, says where each value comes from, and opens what they
// name: the archive, the sinks of events, the models, the rules of redaction.
//
// One table, in keys.go, has every setting with its default, its bounds and
// what it means. What is read, checked, shown, written by init and documented
// follows from it.
//
// A [Config] holds no credentials: those of S3 come from the standard chain,
// those of model servers from the environment.
package config

import (
	"time"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/summarize"
)

// Auto is the value of a number that follows from something else: the window
// from the model, buffer and summary from the window. Files say auto.
const Auto = -1

// Config is every setting, with nothing left open: what nobody set has its
// default, or what its preset says. docs/CONFIG.md says what each means.
type Config struct {
	Preset     tiercompact.Preset     `koanf:"preset"`
	Model      string                 `koanf:"model"`
	Window     int                    `koanf:"window"` // tokens, or Auto
	Auto       bool                   `koanf:"auto"`
	Trigger    tiercompact.Trigger    `koanf:"trigger"`
	Level      levels.Name            `koanf:"level"` // "": by usage
	Escalation tiercompact.Escalation `koanf:"escalation"`
	Ranking    string                 `koanf:"ranking"`
	MinGain    float64                `koanf:"min_gain"` // 0: any gain
	Fill       float64                `koanf:"fill"`     // 0: no parts of files

	SummaryRole     chat.Role `koanf:"summary_role"`
	ArchiveRequired bool      `koanf:"archive_required"`
	Engine          string    `koanf:"engine"` // as engine.Kind
	OllamaURL       string    `koanf:"ollama_url"`
	NumThread       int       `koanf:"num_thread"` // 0: the server chooses
	ExactTokens     bool      `koanf:"exact_tokens"`
	Seed            int       `koanf:"seed"`

	Thresholds levels.Thresholds `koanf:"thresholds"`
	Policy     Policy            `koanf:"policy"`
	Soft       Soft              `koanf:"soft"`
	Hard       Hard              `koanf:"hard"`
	Emergency  Emergency         `koanf:"emergency"`
	Summary    Summary           `koanf:"summary"`
	Embed      Embed             `koanf:"embed"`
	Deadlines  Deadlines         `koanf:"deadlines"`
	Archive    Archive           `koanf:"archive"`
	Redact     Redact            `koanf:"redact"`
	Trace      Trace             `koanf:"trace"`
}

// Policy is the budget, and what is kept whatever happens.
type Policy struct {
	TriggerPct       float64            `koanf:"trigger_pct"`
	HardCapBuffer    int                `koanf:"hard_cap_buffer"` // tokens, or Auto
	Reserve          int                `koanf:"reserve"`         // tokens
	KeepRecentTurns  int                `koanf:"keep_recent_turns"`
	KeepToolIOPairs  int                `koanf:"keep_tool_io_pairs"`
	RolesNeverPrune  []chat.Role        `koanf:"roles_never_prune"`
	PinFirstUser     bool               `koanf:"pin_first_user"`
	Protect          []string           `koanf:"protect"` // as ParseRule takes them
	Strategy         summarize.Strategy `koanf:"strategy"`
	MessageThreshold int                `koanf:"message_threshold"` // 0: off
	ContextThreshold float64            `koanf:"context_threshold"` // 0: off
}

// Soft is the level that outlines files.
type Soft struct {
	StaleAfter int `koanf:"stale_after"` // messages
}

// Hard is the level that ranks.
type Hard struct {
	Until tiercompact.Until `koanf:"until"`
	Query string            `koanf:"query"` // "": the last user message
}

// Emergency is the level that summarises.
type Emergency struct {
	KeepLast  int     `koanf:"keep_last"`  // messages
	KeepShare float64 `koanf:"keep_share"` // of the window; 0: off
}

// Summary says who writes summaries, and how long they are.
type Summary struct {
	Model     string `koanf:"model"` // "": engine.DefaultSummarizer
	URL       string `koanf:"url"`   // "": Ollama
	MaxTokens int    `koanf:"max_tokens"`
	Fallback  string `koanf:"fallback"`
}

// Embed says who ranks.
type Embed struct {
	Model string `koanf:"model"` // "": engine.DefaultEmbedder
	URL   string `koanf:"url"`   // "": Ollama
	Cache string `koanf:"cache"` // a folder, or CacheAuto, or CacheNone
}

// What [Embed.Cache] may be beside a folder.
const (
	CacheAuto = "auto" // tiercompact in the user's cache folder
	CacheNone = "none" // vectors live in memory
)

// Deadlines are the most time that models get; 0 is none.
type Deadlines struct {
	Ranking time.Duration `koanf:"ranking"`
	Summary time.Duration `koanf:"summary"` // of one call
	Round   time.Duration `koanf:"round"`
}

// The adapters of archives.
const (
	Memory = "memory"
	Dir    = "dir"
	S3     = "s3"
)

// Archive says where removed messages go.
type Archive struct {
	Adapter string   `koanf:"adapter"` // Memory, Dir or S3
	Dir     string   `koanf:"dir"`
	S3      S3Bucket `koanf:"s3"`
}

// S3Bucket is an archive on S3. Credentials come from the standard chain.
type S3Bucket struct {
	Bucket   string `koanf:"bucket"`
	Prefix   string `koanf:"prefix"`
	Region   string `koanf:"region"`
	Endpoint string `koanf:"endpoint"` // "": AWS
	KMSKey   string `koanf:"kms_key"`
}

// Redact says what is taken out of all that leaves the conversation.
type Redact struct {
	Enabled  bool      `koanf:"enabled"`
	PII      bool      `koanf:"pii"`
	Prompts  bool      `koanf:"prompts"`
	Gitleaks bool      `koanf:"gitleaks"`
	Patterns []Pattern `koanf:"patterns"`
}

// A Pattern is a rule of the user's.
type Pattern struct {
	Name   string `koanf:"name" yaml:"name" json:"name"`
	Regexp string `koanf:"regexp" yaml:"regexp" json:"regexp"`
}

// Trace says who is told of events.
type Trace struct {
	Console    bool       `koanf:"console"`
	JSONL      string     `koanf:"jsonl"` // a file; "": none
	Ariadne    Ariadne    `koanf:"ariadne"`
	OTLP       OTLP       `koanf:"otlp"`
	Prometheus Prometheus `koanf:"prometheus"`
}

// Ariadne is a server of Ariadne.
type Ariadne struct {
	URL   string `koanf:"url"`   // "": none
	Name  string `koanf:"name"`  // "": as package ariadne has it
	Group string `koanf:"group"` // "": the session
}

// OTLP is a collector that speaks OTLP over HTTP.
type OTLP struct {
	Endpoint string `koanf:"endpoint"` // an address; "": none
	Insecure bool   `koanf:"insecure"`
	Service  string `koanf:"service"`
}

// Prometheus serves metrics.
type Prometheus struct {
	Listen string `koanf:"listen"` // host:port; "": none
}
