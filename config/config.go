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
	"github.com/tiercompact/tiercompact/archive/s3"
	"github.com/tiercompact/tiercompact/engine"
	"github.com/tiercompact/tiercompact/internal/otlp"
	"github.com/tiercompact/tiercompact/redact"
	"github.com/tiercompact/tiercompact/trace/ariadne"
)

// Config has the value of every setting. [Defaults] returns the defaults, and
// docs/CONFIG.md explains each setting.
//
// The settings of a compactor are the fields of the embedded Config, in which Window is 0
// if the model determines it. [Config.Open] opens what Engine, Archive, Redaction and Trace
// name for the compactor.
type Config struct {
	tiercompact.Config

	Protect     []string // further protected messages, in the form of ParseRule
	Engine      engine.Options
	ExactTokens bool // count with the model's tokenizer
	Archive     Archive
	Redaction   Redaction
	Trace       Trace

	Measured *Window // source of Window; nil: Open measures it
}

// Defaults returns the settings of a preset.
func Defaults(preset tiercompact.Preset) Config {
	return Config{
		Config: tiercompact.Defaults(preset), Protect: []string{},
		Engine:    engine.Options{Kind: engine.Auto, Seed: 42, Cache: CacheAuto},
		Archive:   Archive{Adapter: Memory, Dir: ".compact/archive"},
		Redaction: Redaction{Options: redact.Options{Patterns: []Pattern{}}},
	}
}

// Compaction returns the settings of a compactor, without those that must be opened:
// archive, sinks, models, redaction.
func (c Config) Compaction() tiercompact.Config {
	cfg := c.Config
	cfg.Policy.RolesNeverPrune, cfg.Policy.Protect = c.protection()
	return cfg
}

// Special values of the cache of Engine, which is a folder otherwise.
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
	S3      s3.Config // credentials come from the standard chain
}

// Redaction has the rules of redaction.
type Redaction struct {
	redact.Options
	Gitleaks bool // use the rules of gitleaks too
}

// A Pattern is a user's redaction rule.
type Pattern = redact.Pattern

// Trace sets the destinations of events.
type Trace struct {
	Console    bool
	JSONL      string // a file; "": none
	Truncate   bool   // replace the contents of the file; otherwise events are added to it
	Ariadne    ariadne.Config
	OTLP       otlp.Config
	Prometheus Prometheus
}

// Prometheus serves metrics.
type Prometheus struct {
	Listen string // host:port; "": none
}
