// Package config reads the settings of tiercompact from a file, the environment and
// flags, reports the source of each value, and opens the archive, the sinks of events,
// the models and the redaction rules.
//
// One table, in keys.go, has every setting: its path, its field in a [Config], its bounds
// and its documentation. The default is the value of the field in [Defaults]. Parsing,
// flags, variables, output and documents are made from the table.
//
// A [Config] holds no credentials: those of S3 come from the standard chain, those of
// model servers from the environment.
package config

import (
	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/engine"
)

// Config has the value of every setting. [Defaults] returns the defaults, and
// docs/CONFIG.md explains each setting.
//
// The settings of a compactor are the fields of the embedded Config, in which Window is 0
// if the model determines it. Archive, Trace, Embed and Summarizer name what [Config.Open]
// opens for the compactor.
type Config struct {
	tiercompact.Config

	Protect     []string // further protected messages, in the form of ParseRule
	Engine      string   // as engine.Kind
	OllamaURL   string
	NumThread   int // 0: the server chooses
	ExactTokens bool
	Seed        int

	Summarizer Summarizer
	Embed      Embed
	Archive    Archive
	Redaction  Redaction
	Trace      Trace

	Measured *Window // source of Window; nil: Open measures it
}

// Defaults returns the settings of a preset.
func Defaults(preset tiercompact.Preset) Config {
	return Config{
		Config: tiercompact.Defaults(preset), Protect: []string{}, Engine: string(engine.Auto), Seed: 42,
		Embed: Embed{Cache: CacheAuto}, Archive: Archive{Adapter: Memory, Dir: ".compact/archive"},
		Redaction: Redaction{PII: true, Patterns: []Pattern{}},
	}
}

// Compaction returns the settings of a compactor, without those that must be opened:
// archive, sinks, models, redaction.
func (c Config) Compaction() tiercompact.Config {
	cfg := c.Config
	cfg.Policy.RolesNeverPrune, cfg.Policy.Protect = c.protection()
	return cfg
}

// A Summarizer is the model that writes summaries.
type Summarizer struct {
	Model string // "": engine.DefaultSummarizer
	URL   string // "": Ollama
}

// Embed sets the embedder of the ranking.
type Embed struct {
	Model    string             // "": engine.DefaultEmbedder
	URL      string             // "": Ollama
	Cache    string             // a folder, or CacheAuto, or CacheNone
	Progress func(done, of int) // reports the progress of embedding; nil: no reports
}

// Special values of [Embed.Cache], which is a folder otherwise.
const (
	CacheAuto = "auto" // tiercompact in the user's cache folder
	CacheNone = "none" // vectors are in memory only
)

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

// Redaction has the rules of redaction.
type Redaction struct {
	PII      bool
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
	Truncate   bool   // replace the contents of the file; otherwise events are added to it
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
