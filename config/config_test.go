package config_test

import (
	"bytes"
	"encoding/json"
	"flag"
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
	dir := t.TempDir()
	write(t, filepath.Join(dir, name), text)
	return load(t, config.Options{Dir: dir})
}

func TestLaterSourcesWin(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "compact.yaml")
	write(t, file, "preset: steady\npolicy:\n  trigger_pct: 0.7\n  reserve: 10\nfill: 0.1\n")
	o := config.Options{Dir: dir, Environ: []string{"COMPACT_TRIGGER_PCT=0.9", "COMPACT_RESERVE=20", "OTHER=1"}, Flags: flagSet(t, "--reserve", "30", "--no-pin-first-user")}
	l := load(t, o)
	c := l.Config
	if c.Policy.TriggerPct != 0.9 || c.Policy.Reserve != 30 || c.Fill != 0.1 || c.MinGain != 0.45 || c.Policy.KeepRecentTurns != 6 || c.Policy.PinFirstUser {
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

func TestShownAsJSONHasValueAndSource(t *testing.T) {
	l := load(t, config.Options{Environ: []string{"COMPACT_TRIGGER_PCT=0.9"}})
	for changed, least := range map[bool]int{true: 1, false: len(config.Paths())} {
		data, err := l.JSON(changed)
		var out map[string]struct {
			Value  any
			Source string
		}
		if err != nil || json.Unmarshal(data, &out) != nil || len(out) != least {
			t.Fatalf("changed %v: %s, %v", changed, data, err)
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
		if got := l.Config.Policy.Protect; !slices.Equal(got, want) {
			t.Errorf("%s: %q", text, got)
		}
	}
	l := load(t, config.Options{Environ: []string{`COMPACT_REDACT_PATTERNS=[{name: a, regexp: 'x+'}]`}})
	if got := l.Config.Redact.Patterns; !slices.Equal(got, []config.Pattern{{Name: "a", Regexp: "x+"}}) {
		t.Errorf("patterns are %v", got)
	}
}

// settled is the Config that a compactor works with, by field.
func settled(t *testing.T, cfg tiercompact.Config) reflect.Value {
	t.Helper()
	c, err := tiercompact.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return reflect.ValueOf(c).Elem().FieldByName("cfg").FieldByName("Config")
}

func TestDefaultsAndPresetsAreThoseOfTheLibrary(t *testing.T) {
	for _, preset := range []string{"default", "eager", "steady"} {
		mine := load(t, config.Options{Preset: preset}).Config.Compaction()
		mine.Window = 8192
		got, want := settled(t, mine), settled(t, tiercompact.Config{Window: 8192, Preset: tiercompact.Preset(preset)})
		for i := range want.NumField() {
			if name := want.Type().Field(i).Name; plain(want.Field(i)) != plain(got.Field(i)) {
				t.Errorf("preset %s: %s is %s, the library has %s", preset, name, plain(got.Field(i)), plain(want.Field(i)))
			}
		}
	}
}

// plain is a field as text; functions and stores, which cannot be compared, are
// there or not.
func plain(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Func, reflect.Interface, reflect.Pointer:
		return map[bool]string{true: "none", false: "some"}[v.IsNil()]
	}
	return reflect.Indirect(v).String() + reflectText(v)
}

func reflectText(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Struct:
		var b strings.Builder
		for i := range v.NumField() {
			b.WriteString(reflectText(v.Field(i)) + " ")
		}
		return b.String()
	case reflect.Slice:
		var b strings.Builder
		for i := range v.Len() {
			b.WriteString(reflectText(v.Index(i)) + " ")
		}
		return b.String()
	case reflect.Float64:
		return strings.TrimSpace(jsonText(v.Float()))
	case reflect.Int, reflect.Int64:
		return jsonText(v.Int())
	case reflect.Bool:
		return jsonText(v.Bool())
	}
	return v.String()
}

func jsonText(v any) string { b, _ := json.Marshal(v); return string(b) }

// notInFiles are the fields of tiercompact.Config that no file can set, and why.
func notInFiles() map[string]string {
	return map[string]string{
		"Embedder":       "Open finds it, by engine and embed",
		"EmbedderName":   "Open tells it",
		"EmbedderWhy":    "Open tells it",
		"Summarizer":     "Open finds it, by engine and summary",
		"SummarizerName": "Open tells it",
		"SummarizerWhy":  "Open tells it",
		"Progress":       "a function of the program",
		"Count":          "Open finds it, by exact_tokens",
		"Calibration":    "what earlier sessions learnt",
		"Archive":        "Open opens it, by archive",
		"Trace":          "Open opens it, by trace",
		"Redact":         "Open makes it, by redact",
		"Now":            "a function of the program",
	}
}

// others sets each path to something that is not its default.
const others = `
preset: eager
model: m
window: 4096
auto: false
trigger: manual
level: hard
escalation: cascade
ranking: fused
min_gain: 0.2
fill: 0.3
summary_role: system
archive_required: false
engine: built-in
ollama_url: http://h:1
exact_tokens: true
seed: 7
thresholds: {soft: 0.1, hard: 0.2, emergency: 0.3}
policy: {trigger_pct: 0.4, hard_cap_buffer: 5, reserve: 6, keep_recent_turns: 7, keep_tool_io_pairs: 8, roles_never_prune: [tool], pin_first_user: false,
  protect: [m1], strategy: brief, message_threshold: 9, context_threshold: 0.6}
soft: {stale_after: 10}
hard: {until: soft, query: q}
emergency: {keep_last: 11, keep_share: 0.7}
summary: {model: m, url: http://h, max_tokens: 12, fallback: pruning-only}
embed: {model: m, url: http://h, cache: none}
deadlines: {ranking: 1s, summary: 2s, round: 3s}
archive: {adapter: s3, dir: d, s3: {bucket: b, prefix: p, region: r, endpoint: http://h, kms_key: k}}
redact: {enabled: false, pii: true, prompts: true, gitleaks: true, patterns: [{name: n, regexp: r}]}
trace: {console: true, jsonl: f, ariadne: {url: http://h, name: n, group: g}, otlp: {endpoint: http://h, insecure: true, service: s}, prometheus: {listen: "127.0.0.1:1"}}
`

func TestEveryFieldOfTheLibraryHasASettingOrAReason(t *testing.T) {
	set := loadText(t, "compact.yaml", others)
	for _, path := range config.Paths() {
		if set.Origin(path).Kind != config.File {
			t.Errorf("this test does not set %s", path)
		}
	}
	before, after := reflect.ValueOf(load(t, config.Options{}).Config.Compaction()), reflect.ValueOf(set.Config.Compaction())
	for i := range before.NumField() {
		name := before.Type().Field(i).Name
		_, reason := notInFiles()[name]
		if changed := plain(before.Field(i)) != plain(after.Field(i)); changed == reason {
			t.Errorf("field %s: set by a file %v, a reason that it cannot be %v", name, changed, reason)
		}
	}
	for name := range notInFiles() {
		if _, ok := before.Type().FieldByName(name); !ok {
			t.Errorf("there is no field %s any more", name)
		}
	}
}

func TestEveryPathSetsAFieldOfConfig(t *testing.T) {
	before, after := reflect.ValueOf(load(t, config.Options{}).Config), reflect.ValueOf(loadText(t, "compact.yaml", others).Config)
	unchanged(t, "", before, after)
}

func unchanged(t *testing.T, path string, a, b reflect.Value) {
	t.Helper()
	for i := range a.NumField() {
		name := path + a.Type().Field(i).Name
		switch {
		case a.Field(i).Kind() == reflect.Struct:
			unchanged(t, name+".", a.Field(i), b.Field(i))
		case reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()):
			t.Errorf("no setting changes %s", name)
		}
	}
}

func TestZeroIsNotTheDefault(t *testing.T) {
	c := loadText(t, "compact.yaml", "preset: steady\nmin_gain: 0\nfill: 0\npolicy: {hard_cap_buffer: 0}\nemergency: {keep_last: 0, keep_share: 0}\ndeadlines: {ranking: 0, summary: 0s, round: 0}\n").Config.Compaction()
	if c.MinGain != tiercompact.None || c.Fill != tiercompact.None || c.HardCapBuffer != tiercompact.None || c.KeepLast != tiercompact.None || c.KeepShare != tiercompact.None {
		t.Errorf("zero is %+v", c)
	}
	for _, d := range []time.Duration{c.RankDeadline, c.SummaryDeadline, c.RoundDeadline} {
		if d != tiercompact.None {
			t.Errorf("no deadline is %v", d)
		}
	}
	if c := load(t, config.Options{}).Config.Compaction(); c.HardCapBuffer != 0 || c.Window != 0 || c.SummaryMaxTokens != 0 {
		t.Errorf("auto is %+v", c)
	}
}

func TestProtectionByIDRoleAndText(t *testing.T) {
	c := loadText(t, "compact.yaml", `policy: {protect: [m7, role:tool, role:system, /keep.*this/]}`).Config.Compaction()
	if want := []chat.Role{chat.System, chat.Developer, chat.Tool}; !slices.Equal(c.RolesNeverPrune, want) {
		t.Errorf("roles are %v", c.RolesNeverPrune)
	}
	text := func(s string) chat.Message {
		return chat.Message{ID: "x", Role: chat.User, Parts: []chat.Part{{Kind: chat.Text, Text: s}}}
	}
	for _, c2 := range []struct {
		m    chat.Message
		want bool
	}{{chat.Message{ID: "m7"}, true}, {text("keep all this"), true}, {text("keep"), false}} {
		if got := c.Protect(c2.m); got != c2.want {
			t.Errorf("%+v: protected %v", c2.m, got)
		}
	}
	if none := load(t, config.Options{}).Config.Compaction(); none.Protect != nil {
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
