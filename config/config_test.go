package config_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/config"
	"github.com/tiercompact/tiercompact/levels"
)

var update = flag.Bool("update", false, "rewrite docs/CONFIG.md")

func same(a, b config.Config) bool { return reflect.DeepEqual(a, b) }

func load(t *testing.T, o config.Options) *config.Loaded {
	t.Helper()
	if o.Environ == nil {
		o.Environ = []string{}
	}
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	l, err := config.Load(o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func loadText(t *testing.T, name, text string) *config.Loaded {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	write(t, path, text)
	return load(t, config.Options{File: path})
}

func TestLaterSourcesWin(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "compact.yaml")
	write(t, file, "preset: steady\npolicy:\n  trigger_pct: 0.7\n  reserve: 10\nfill: 0.1\n")
	o := config.Options{Dir: dir, Environ: []string{"COMPACT_TRIGGER_PCT=0.9", "COMPACT_RESERVE=20", "OTHER=1"}, Flags: flagSet(t, "--reserve", "30", "--no-pin-first-user")}
	l := load(t, o)
	c := l.Config
	if c.Policy.TriggerPct != 0.9 || c.Policy.Reserve != 30 || c.Fill != 0.1 || c.MinGain != 0.45 || c.Policy.KeepRecentTurns != 6 || !c.Policy.NoPinFirstUser {
		t.Errorf("settings are %+v", c)
	}
	for path, want := range map[string]string{
		"preset": file + ":1", "policy.trigger_pct": "COMPACT_TRIGGER_PCT", "policy.reserve": "--reserve", "fill": file + ":5",
		"min_gain": "preset steady", "policy.keep_recent_turns": "default", "policy.pin_first_user": "--no-pin-first-user",
	} {
		if got := l.Origin(path).String(); got != want {
			t.Errorf("%s is from %q, want %q", path, got, want)
		}
	}
	if l.File != file || !l.Found {
		t.Errorf("file is %q, found %v", l.File, l.Found)
	}
}

func TestFilesAreNamedInOrder(t *testing.T) {
	dir := t.TempDir()
	for name, model := range map[string]string{"a.yaml": "flag", "b.json": "variable", "compact.yml": "found"} {
		write(t, filepath.Join(dir, name), `{"model": "`+model+`"}`)
	}
	o := config.Options{Dir: dir, File: filepath.Join(dir, "a.yaml"), Environ: []string{"COMPACT_CONFIG=" + filepath.Join(dir, "b.json")}}
	for _, want := range []string{"flag", "variable", "found"} {
		l := load(t, o)
		if l.Config.Model != want || l.Found != (want == "found") {
			t.Errorf("model is %q, found %v, want %q", l.Config.Model, l.Found, want)
		}
		if o.File == "" {
			o.Environ = []string{}
		}
		o.File = ""
	}
}

func TestSettingsThatSayNothingAreTheDefaults(t *testing.T) {
	plain := load(t, config.Options{}).Config
	for name, text := range map[string]string{
		"empty": "", "blank": "\n\n", "comments": "# nothing\n", "mark": "\ufeff", "object": "{}", "sections": "policy:\ntrace:\n  ariadne:\n", "null": "~\n",
	} {
		if got := loadText(t, "compact.yaml", text).Config; !same(got, plain) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for _, text := range []string{"", " \n", "{}", "\ufeff{}"} {
		if got := loadText(t, "compact.json", text).Config; !same(got, plain) {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

func TestSampleIsTheDefaultsAndSoAreItsLines(t *testing.T) {
	plain := load(t, config.Options{})
	sample := string(config.Sample())
	if got := loadText(t, "compact.yaml", sample); !same(got.Config, plain.Config) || !bytes.Equal(got.YAML(true), nil) {
		t.Errorf("the sample sets %s", got.YAML(true))
	}
	lines := strings.Split(sample, "\n")
	for i, line := range lines {
		if name := strings.TrimLeft(line, " "); strings.HasPrefix(name, "#") && !strings.HasPrefix(name, "# ") {
			lines[i] = strings.Replace(line, "#", "", 1)
		}
	}
	got := loadText(t, "compact.yaml", strings.ReplaceAll(strings.Join(lines, "\n"), `dir: ".compact/archive"`, ""))
	if !same(got.Config, plain.Config) {
		t.Errorf("with its lines: %+v\nwant %+v", got.Config, plain.Config)
	}
	for _, path := range config.Paths() {
		if path != "archive.dir" && got.Origin(path).Kind != config.File {
			t.Errorf("%s is not in the sample", path)
		}
	}
}

func TestSampleHasCommonSettingsFirstAndShortComments(t *testing.T) {
	sample := string(config.Sample())
	for _, order := range []string{"#window: < thresholds: < archive: < # Rare settings < #seed: < deadlines:", "#adapter: < #bucket:", "#protect: < #trigger_pct:"} {
		at := 0
		for text := range strings.SplitSeq(order, " < ") {
			i := strings.Index(sample[at:], text)
			if i < 0 {
				t.Fatalf("%s is not in the order %s", text, order)
			}
			at += i
		}
	}
	for line := range strings.Lines(sample) {
		if len(line) > 110 {
			t.Errorf("%d characters: %s", len(line), line)
		}
	}
}

func TestWhatIsShownCanBeReadBack(t *testing.T) {
	all := `
preset: eager
model: "llama: 3 # b"
window: 4096
auto: false
min_gain: 0
ollama_url: 127.0.0.1:11434
policy:
  hard_cap_buffer: 0
  protect: ["m1", "role:tool", "/\\d+, \"x\"/"]
  roles_never_prune: []
hard: {query: "two\nlines"}
deadlines: {ranking: 0, summary: 1h, round: 90s}
archive: {adapter: s3, s3: {bucket: b, prefix: "a b"}}
redact: {patterns: [{name: a, regexp: 'T-\d+'}, {regexp: x+}]}
trace: {prometheus: {listen: "9464"}}
`
	l := loadText(t, "compact.yaml", all)
	if back := loadText(t, "compact.yaml", string(l.YAML(false))); !same(back.Config, l.Config) {
		t.Errorf("shown and read back: %+v\nwant %+v", back.Config, l.Config)
	}
	changed := loadText(t, "compact.yml", string(l.YAML(true)))
	if !same(changed.Config, l.Config) {
		t.Errorf("what changed, read back: %+v\nwant %+v", changed.Config, l.Config)
	}
	if l.Config.Trace.Prometheus.Listen != "127.0.0.1:9464" {
		t.Errorf("a port alone is at %q", l.Config.Trace.Prometheus.Listen)
	}
	if strings.Contains(string(l.YAML(true)), "strategy") {
		t.Error("what is by default is shown as changed")
	}
}

func TestValuesHaveTheirSource(t *testing.T) {
	l := load(t, config.Options{Environ: []string{"COMPACT_TRIGGER_PCT=0.9"}})
	for changed, least := range map[bool]int{true: 1, false: len(config.Paths())} {
		out := l.Values(changed)
		if len(out) != least {
			t.Fatalf("changed %v: %v", changed, out)
		}
		if got := out["policy.trigger_pct"]; got.Value != 0.9 || got.Source != "COMPACT_TRIGGER_PCT" {
			t.Errorf("trigger_pct is %+v", got)
		}
		if got := out["deadlines.ranking"]; !changed && got.Value != "20s" || !changed && out["window"].Value != "auto" {
			t.Errorf("deadline is %+v, window %+v", got, out["window"])
		}
	}
}

func TestVariablesAreNamedAsTheDesignSays(t *testing.T) {
	for path, want := range map[string]string{
		"policy.trigger_pct": "COMPACT_TRIGGER_PCT COMPACT_POLICY_TRIGGER_PCT", "summary.max_tokens": "COMPACT_MAX_TOKENS COMPACT_SUMMARY_MAX_TOKENS",
		"summary.model": "COMPACT_SUMMARY_MODEL", "model": "COMPACT_MODEL", "trace.ariadne.url": "COMPACT_ARIADNE_URL COMPACT_TRACE_ARIADNE_URL",
		"summary_role": "COMPACT_SUMMARY_ROLE", "deadlines.ranking": "COMPACT_DEADLINES_RANKING",
		"deadlines.summary": "COMPACT_DEADLINES_SUMMARY", "thresholds.soft": "COMPACT_THRESHOLDS_SOFT", "redact.enabled": "COMPACT_REDACT_ENABLED",
	} {
		if got := strings.Join(config.Variables(path), " "); got != want {
			t.Errorf("%s is set by %s, want %s", path, got, want)
		}
	}
	owner := make(map[string]string)
	for _, path := range config.Paths() {
		names := config.Variables(path)
		if !slices.Contains(names, "COMPACT_"+strings.ToUpper(strings.ReplaceAll(path, ".", "_"))) {
			t.Errorf("%s has no variable with its full path", path)
		}
		for _, name := range names {
			if other := owner[name]; other != "" {
				t.Errorf("%s stands for %s and %s", name, other, path)
			}
			owner[name] = path
		}
	}
	both := []string{"COMPACT_TRIGGER_PCT=0.8", "COMPACT_POLICY_TRIGGER_PCT=0.9", "COMPACT_API_KEY=x"}
	if _, err := config.Load(config.Options{Dir: t.TempDir(), Environ: both}); err == nil || !strings.Contains(err.Error(), "given once") {
		t.Errorf("two variables for one setting: error is %v", err)
	}
}

func TestListsInVariables(t *testing.T) {
	for text, want := range map[string][]string{
		"m1,role:tool": {"m1", "role:tool"}, "m1": {"m1"}, `["/a, b/", m2]`: {"/a, b/", "m2"}, "[]": {},
	} {
		l := load(t, config.Options{Environ: []string{"COMPACT_PROTECT=" + text}})
		if got := l.Config.Protect; !slices.Equal(got, want) {
			t.Errorf("%s: %q", text, got)
		}
	}
	l := load(t, config.Options{Environ: []string{`COMPACT_REDACT_PATTERNS=[{name: a, regexp: 'x+'}]`}})
	if got := l.Config.Redaction.Patterns; !slices.Equal(got, []config.Pattern{{Name: "a", Regexp: "x+"}}) {
		t.Errorf("patterns are %v", got)
	}
}

func TestZeroIsNotTheDefault(t *testing.T) {
	c := loadText(t, "compact.yaml", "preset: steady\nmin_gain: 0\nfill: 0\npolicy: {hard_cap_buffer: 0}\nemergency: {keep_last: 0, keep_share: 0}\ndeadlines: {ranking: 0, summary: 0s, round: 0}\n").Config.Compaction()
	if c.MinGain != 0 || c.Fill != 0 || c.Policy.HardCapBuffer != tiercompact.Tokens(0) || c.Emergency != (tiercompact.EmergencyConfig{}) {
		t.Errorf("zero is %+v", c)
	}
	for _, d := range []time.Duration{c.Deadlines.Ranking, c.Deadlines.Summary, c.Deadlines.Round} {
		if d != 0 {
			t.Errorf("no deadline is %v", d)
		}
	}
	if c := load(t, config.Options{}).Config.Compaction(); c.Policy.HardCapBuffer != (tiercompact.Size{}) || c.Window != 0 || c.Summary.MaxTokens != (tiercompact.Size{}) {
		t.Errorf("auto is %+v", c)
	}
}

func TestProtectionByIDRoleAndText(t *testing.T) {
	c := loadText(t, "compact.yaml", `policy: {protect: [m7, role:tool, role:system, /keep.*this/]}`).Config.Compaction()
	if want := []chat.Role{chat.System, chat.Developer, chat.Tool}; !slices.Equal(c.Policy.RolesNeverPrune, want) {
		t.Errorf("roles are %v", c.Policy.RolesNeverPrune)
	}
	text := func(s string) chat.Message {
		return chat.Message{ID: "x", Role: chat.User, Parts: []chat.Part{{Kind: chat.Text, Text: s}}}
	}
	for _, c2 := range []struct {
		m    chat.Message
		want bool
	}{{chat.Message{ID: "m7"}, true}, {text("keep all this"), true}, {text("keep"), false}} {
		if got := c.Policy.Protect(c2.m); got != c2.want {
			t.Errorf("%+v: protected %v", c2.m, got)
		}
	}
	if none := load(t, config.Options{}).Config.Compaction(); none.Policy.Protect != nil {
		t.Error("a matcher without rules")
	}
}

func TestReferenceIsUpToDate(t *testing.T) {
	const path = "../docs/CONFIG.md"
	want := config.Reference()
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(bytes.ReplaceAll(got, []byte("\r\n"), []byte("\n")), want) {
		t.Errorf("%s is not what go test ./config -update writes (%v)", path, err)
	}
}

func TestReferenceHasEveryLevel(t *testing.T) {
	for _, l := range levels.All() {
		t.Run(string(l.Name), func(t *testing.T) {
			name := string(l.Name)
			for _, want := range []string{fmt.Sprintf("| `%s` | `%g` |", name, l.Threshold.Default), "usage from which " + name + " is due"} {
				if !strings.Contains(string(config.Reference()), want) {
					t.Errorf("the reference lacks %s", want)
				}
			}
		})
	}
}
