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
	Preset     tiercompact.Preset
	Model      string
	Window     int // tokens, or Auto
	Auto       bool
	Trigger    tiercompact.Trigger
	Level      levels.Name // "": by usage
	Escalation tiercompact.Escalation
	Ranking    string
	MinGain    float64 // 0: any gain
	Fill       float64 // 0: no parts of files

	SummaryRole     chat.Role
	ArchiveRequired bool
	Engine          string // as engine.Kind
	OllamaURL       string
	NumThread       int // 0: the server chooses
	ExactTokens     bool
	Seed            int

	Thresholds levels.Thresholds
	Policy     Policy
	Soft       tiercompact.SoftConfig
	Hard       tiercompact.HardConfig
	Emergency  tiercompact.EmergencyConfig
	Summary    Summary
	Embed      Embed
	Deadlines  Deadlines
	Archive    Archive
	Redact     Redact
	Trace      Trace
}

// Policy is the budget, and what is kept whatever happens.
type Policy struct {
	TriggerPct       float64
	HardCapBuffer    int // tokens, or Auto
	Reserve          int // tokens
	KeepRecentTurns  int
	KeepToolIOPairs  int
	RolesNeverPrune  []chat.Role
	PinFirstUser     bool
	Protect          []string // as ParseRule takes them
	Strategy         summarize.Strategy
	MessageThreshold int     // 0: off
	ContextThreshold float64 // 0: off
}

// Summary says who writes summaries, and how long they are.
type Summary struct {
	Model     string // "": engine.DefaultSummarizer
	URL       string // "": Ollama
	MaxTokens int
	Fallback  string
}

// Embed says who ranks.
type Embed struct {
	Model string // "": engine.DefaultEmbedder
	URL   string // "": Ollama
	Cache string // a folder, or CacheAuto, or CacheNone
}

// What [Embed.Cache] may be beside a folder.
const (
	CacheAuto = "auto" // tiercompact in the user's cache folder
	CacheNone = "none" // vectors live in memory
)

// Deadlines are the most time that models get; 0 is none.
type Deadlines struct {
	Ranking time.Duration
	Summary time.Duration // of one call
	Round   time.Duration
}

// The adapters of archives.
const (
	Memory = "memory"
	Dir    = "dir"
	S3     = "s3"
)

// Archive says where removed messages go.
type Archive struct {
	Adapter string // Memory, Dir or S3
	Dir     string
	S3      S3Bucket
}

// S3Bucket is an archive on S3. Credentials come from the standard chain.
type S3Bucket struct {
	Bucket   string
	Prefix   string
	Region   string
	Endpoint string // "": AWS
	KMSKey   string
}

// Redact says what is taken out of all that leaves the conversation.
type Redact struct {
	Enabled  bool
	PII      bool
	Prompts  bool
	Gitleaks bool
	Patterns []Pattern
}

// A Pattern is a rule of the user's.
type Pattern struct {
	Name   string `yaml:"name" json:"name"`
	Regexp string `yaml:"regexp" json:"regexp"`
}

// Trace says who is told of events.
type Trace struct {
	Console    bool
	JSONL      string // a file; "": none
	Ariadne    Ariadne
	OTLP       OTLP
	Prometheus Prometheus
}

// Ariadne is a server of Ariadne.
type Ariadne struct {
	URL   string // "": none
	Name  string // "": as package ariadne has it
	Group string // "": the session
}

// OTLP is a collector that speaks OTLP over HTTP.
type OTLP struct {
	Endpoint string // an address; "": none
	Insecure bool
	Service  string
}

// Prometheus serves metrics.
type Prometheus struct {
	Listen string // host:port; "": none
}
