package config_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/config"
	"github.com/tiercompact/tiercompact/levels"
)

// everywhere loads a setting from a file in YAML and in JSON, a variable and a flag, and
// returns the results.
func everywhere(t *testing.T, path, value string) map[string]config.Config {
	t.Helper()
	leaf, section := path, ""
	if i := strings.LastIndexByte(path, '.'); i >= 0 {
		section, leaf = path[:i], path[i+1:]
	}
	quoted := value
	if _, err := strconv.ParseFloat(value, 64); err != nil { // a number in quotes is text
		quoted = strconv.Quote(value)
	}
	yaml, json := leaf+": "+value+"\n", `{"`+leaf+`": `+quoted+`}`
	if section != "" {
		yaml, json = section+": {"+leaf+": "+value+"}\n", `{"`+section+`": `+json+`}`
	}
	flag := "--" + strings.ReplaceAll(leaf, "_", "-") + "=" + value
	if path == "summary.max_tokens" {
		flag = "--summary-max-tokens=" + value
	}
	return map[string]config.Config{
		"YAML": loadText(t, "compact.yaml", yaml).Config, "JSON": loadText(t, "compact.json", json).Config,
		"variable": load(t, config.Options{Environ: []string{config.Variables(path)[0] + "=" + value}}).Config,
		"flag":     load(t, config.Options{Flags: flagSet(t, flag)}).Config,
	}
}

// set returns the tokens of a size that was set, or -1.
func set(s tiercompact.Size) int {
	if n, ok := s.Get(); ok {
		return n
	}
	return -1
}

func TestSizesMayHaveAUnit(t *testing.T) {
	for _, test := range []struct {
		path, value string
		of          func(config.Config) int
		want        int
	}{
		{"window", "32k", func(c config.Config) int { return c.Window }, 32768},
		{"window", "8K", func(c config.Config) int { return c.Window }, 8192},
		{"window", "128k", func(c config.Config) int { return c.Window }, 131072},
		{"window", "1m", func(c config.Config) int { return c.Window }, 1 << 20},
		{"window", "1.5k", func(c config.Config) int { return c.Window }, 1536},
		{"window", "32 k", func(c config.Config) int { return c.Window }, 32768},
		{"policy.reserve", "2k", func(c config.Config) int { return c.Policy.Reserve }, 2048},
		{"policy.hard_cap_buffer", "0k", func(c config.Config) int { return set(c.Policy.HardCapBuffer) }, 0},
		{"summary.max_tokens", "1k", func(c config.Config) int { return set(c.Summary.MaxTokens) }, 1024},
	} {
		for source, c := range everywhere(t, test.path, test.value) {
			if got := test.of(c); got != test.want {
				t.Errorf("%s %s in a %s is %d, want %d", test.path, test.value, source, got, test.want)
			}
		}
	}
}

func TestSharesMayBePercentages(t *testing.T) {
	for value, want := range map[string]float64{"75%": 0.75, "100%": 1, "0%": 0, "12.5%": 0.125, "85 %": 0.85, "0.3": 0.3, "0.0": 0} {
		for source, c := range everywhere(t, "policy.trigger_pct", value) {
			if got := c.Policy.TriggerPct; got != want {
				t.Errorf("%s in a %s is %v, want %v", value, source, got, want)
			}
		}
	}
	c := load(t, config.Options{Flags: flagSet(t, flagOfThresholds(0, "50%"))}).Config
	if got := c.Thresholds; got[levels.All()[0].Name] != 0.5 || got[levels.All()[1].Name] != 0.75 {
		t.Errorf("thresholds are %+v", got)
	}
}

func TestEveryPreflightCompactsAtATriggerOfNothing(t *testing.T) {
	c := loadText(t, "compact.yaml", "policy: {trigger_pct: 0.0}\n").Config.Compaction()
	if c.Policy.TriggerPct != 0 {
		t.Errorf("trigger_pct 0.0 is %v", c.Policy.TriggerPct)
	}
	byDefault := load(t, config.Options{}).Config.Compaction()
	if byDefault.Policy.TriggerPct != 0.85 {
		t.Errorf("by default it is %v", byDefault.Policy.TriggerPct)
	}
	for want, cfg := range map[bool]tiercompact.Config{true: c, false: byDefault} {
		cfg.Window = 8192
		compactor, err := tiercompact.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		s := compactor.Session("s")
		for range 10 {
			s.Load([]chat.Message{chat.NewText(chat.User, "why does it fail?"), chat.NewText(chat.Assistant, strings.Repeat("it is not known yet. ", 20))})
		}
		report, err := s.Preflight(t.Context())
		if err != nil || report.Compacted() != want {
			t.Errorf("trigger_pct %v at usage %.2f: compacted %v, want %v (%s, %v)", cfg.Policy.TriggerPct, report.Usage.Share, report.Compacted(), want, report.Reason, err)
		}
	}
}

func TestOtherNamesOfSettings(t *testing.T) {
	for text, ok := range map[string]func(config.Config) bool{
		"max_context_tokens: 32k":            func(c config.Config) bool { return c.Window == 32768 },
		"maxContextTokens: 32768":            func(c config.Config) bool { return c.Window == 32768 },
		"policy: {max_context_tokens: 9000}": func(c config.Config) bool { return c.Window == 9000 },
		"autoCompact: false":                 func(c config.Config) bool { return c.NoAuto },
		"compactThreshold: 120":              func(c config.Config) bool { return c.Policy.MessageThreshold == 120 },
		"contextThreshold: 75%":              func(c config.Config) bool { return c.Policy.ContextThreshold == 0.75 },
		"policy: {contextThreshold: 0.75}":   func(c config.Config) bool { return c.Policy.ContextThreshold == 0.75 },
		"policy: {triggerPct: 0.8}":          func(c config.Config) bool { return c.Policy.TriggerPct == 0.8 },
		"archive: {adapter: fs, dir: kept}":  func(c config.Config) bool { return c.Archive.Adapter == config.Dir && c.Archive.Dir == "kept" },
		"archiveRequired: false":             func(c config.Config) bool { return c.ArchiveOptional },
		"redact: {patterns: ['foo\\d+', 'a{1,2}']}": func(c config.Config) bool {
			return slices.Equal(c.Redaction.Patterns, []config.Pattern{{Name: "pattern 1", Regexp: `foo\d+`}, {Name: "pattern 2", Regexp: `a{1,2}`}})
		},
		"redact: {patterns: [foo, {name: n, regexp: bar}]}": func(c config.Config) bool {
			return slices.Equal(c.Redaction.Patterns, []config.Pattern{{Name: "pattern 1", Regexp: "foo"}, {Name: "n", Regexp: "bar"}})
		},
	} {
		if c := loadText(t, "compact.yaml", text+"\n").Config; !ok(c) {
			t.Errorf("%s: settings are %+v", text, c)
		}
	}
	for variable, ok := range map[string]func(config.Config) bool{
		"COMPACT_MAX_CONTEXT_TOKENS=32k":     func(c config.Config) bool { return c.Window == 32768 },
		"COMPACT_AUTO_COMPACT=false":         func(c config.Config) bool { return c.NoAuto },
		"COMPACT_ADAPTER=fs":                 func(c config.Config) bool { return c.Archive.Adapter == config.Dir },
		`COMPACT_PATTERNS=foo\d{1,2}`:        func(c config.Config) bool { return c.Redaction.Patterns[0].Regexp == `foo\d{1,2}` },
		`COMPACT_PATTERNS=['foo\d+', "b,c"]`: func(c config.Config) bool { return len(c.Redaction.Patterns) == 2 },
	} {
		if c := load(t, config.Options{Environ: []string{variable}}).Config; !ok(c) {
			t.Errorf("%s: settings are %+v", variable, c)
		}
	}
	if c := load(t, config.Options{Flags: flagSet(t, "--max-context-tokens=32k")}).Config; c.Window != 32768 {
		t.Errorf("--max-context-tokens: the window is %d", c.Window)
	}
}

// Names that count tokens, or that concern secrets, are not credentials: they are unknown
// settings, with the nearest name.
func TestOnlyCredentialsAreCalledCredentials(t *testing.T) {
	for name, want := range map[string]bool{
		"api_key": true, "apiKey": true, "openai_api_key": true, "access_key_id": true, "secret_access_key": true, "token": true, "apiToken": true,
		"hf_token": true, "session_token": true, "bearer": true, "password": true, "db_password": true, "passphrase": true, "client_secret": true,
		"private_key": true, "credentials": true, "credentials_file": true, "auth_token": true, "password_file": true,
		"max_tokens": false, "max_token": false, "token_limit": false, "tokens": false, "num_tokens": false, "context_tokens": false, "maxOutputTokens": false,
		"tokenizer": false, "token_count": false, "secret_patterns": false, "redact_secrets": false, "cache_key": false, "keys": false, "tokens_per_message": false,
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "compact.yaml"), name+": 1\n")
		_, err := config.Load(config.Options{Dir: dir, Environ: []string{}})
		if err == nil || strings.Contains(err.Error(), "credentials do not belong") != want || strings.Contains(err.Error(), "a known setting") == want {
			t.Errorf("%s: error is %v, a credential: %v", name, err, want)
		}
	}
}

// flagOfThresholds is the flag with rising shares, except that of one level.
func flagOfThresholds(level int, value string) string {
	var shares []string
	for i := range levels.All() {
		shares = append(shares, fmt.Sprintf("%.2f", 0.7+0.05*float64(i)))
	}
	shares[level] = value
	return "--thresholds=" + strings.Join(shares, ", ")
}
