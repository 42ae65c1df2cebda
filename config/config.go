// Package config reads the settings of tiercompact from a file, the environment and
// flags, reports the source of each value, and opens the archive, the sinks of events,
// the models and the redaction rules.
//
// One table, in keys.go, has every setting with its default, bounds and documentation.
// Parsing, validation, output, init and the documents are based on it.
//
// A [Config] holds no credentials: those of S3 come from the standard chain, those of
// model servers from the environment.
package config

import (
	"time"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/summarize"
)

// Auto is the value of a number that is derived: the window from the model, buffer and
// summary from the window. In files it is auto.
const Auto = -1

// Config has the value of every setting: a setting without a source has its default, or
// the value of its preset. docs/CONFIG.md explains each setting.
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
	Fill       float64 // 0: no excerpts of files

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

// Policy is the budget, and the messages that are always kept.
type Policy struct {
	TriggerPct       float64
	HardCapBuffer    int // tokens, or Auto
	Reserve          int // tokens
	KeepRecentTurns  int
	KeepToolIOPairs  int
	RolesNeverPrune  []chat.Role
	PinFirstUser     bool
	Protect          []string // in the form of ParseRule
	Strategy         summarize.Strategy
	MessageThreshold int     // 0: off
	ContextThreshold float64 // 0: off
}

// Summary sets the summarizer and the length of summaries.
type Summary struct {
	Model     string // "": engine.DefaultSummarizer
	URL       string // "": Ollama
	MaxTokens int
	Fallback  string
}

// Embed sets the embedder of the ranking.
type Embed struct {
	Model string // "": engine.DefaultEmbedder
	URL   string // "": Ollama
	Cache string // a folder, or CacheAuto, or CacheNone
}

// Special values of [Embed.Cache], which is a folder otherwise.
const (
	CacheAuto = "auto" // tiercompact in the user's cache folder
	CacheNone = "none" // vectors are in memory only
)

// Deadlines are the maximum times of models; 0 means none.
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

// Archive is the destination of removed messages.
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

// Redact sets the redaction of all output.
type Redact struct {
	Enabled  bool
	PII      bool
	Prompts  bool
	Gitleaks bool
	Patterns []Pattern
}

// A Pattern is a user's redaction rule.
type Pattern struct {
	Name   string `yaml:"name" json:"name"`
	Regexp string `yaml:"regexp" json:"regexp"`
}

// Trace sets the destinations of events.
type Trace struct {
	Console    bool
	JSONL      string // a file; "": none
	Ariadne    Ariadne
	OTLP       OTLP
	Prometheus Prometheus
}

// Ariadne is an Ariadne server.
type Ariadne struct {
	URL   string // "": none
	Name  string // "": the default of package ariadne
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
