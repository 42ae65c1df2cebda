package config_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/tiercompact/tiercompact/config"
	"github.com/tiercompact/tiercompact/levels"
)

// A wrong is a source with one error in it, and the expected parts of the message.
type wrong struct {
	name, file, text string   // file "": none
	environ, args    []string // variables and flags
	path, want       string
	value            string // "": none is shown
	origin           string // "": the file and line
	line             int
}

func wrongs() []wrong {
	names := levels.Names()
	var defaults []string
	for _, l := range levels.All() {
		defaults = append(defaults, fmt.Sprintf("%.2f", l.Threshold.Default))
	}
	yaml := func(name, text, path, want, value string, line int) wrong {
		return wrong{name: name, file: "compact.yaml", text: text, path: path, want: want, value: value, line: line}
	}
	json := func(name, text, path, want, value string, line int) wrong {
		return wrong{name: name, file: "compact.json", text: text, path: path, want: want, value: value, line: line}
	}
	variable := func(name, environ, path, want, value string) wrong {
		at, _, _ := strings.Cut(environ, "=")
		return wrong{name: name, environ: []string{environ}, path: path, want: want, value: value, origin: at}
	}
	flag := func(name string, args []string, path, want, value string) wrong {
		at, _, _ := strings.Cut(args[0], "=")
		return wrong{name: name, args: args, path: path, want: want, value: value, origin: at}
	}
	deep := strings.Repeat("{a: ", 30) + "1" + strings.Repeat("}", 30)
	return []wrong{
		yaml("word that is a number", "preset: 3\n", "preset", "one of default, eager, steady", "3", 1),
		yaml("share too large", "preset: steady\n\npolicy:\n  trigger_pct: 1.7\n", "policy.trigger_pct", "0.0-1.0", "1.7", 4),
		yaml("share below 0", "fill: -0.1\n", "fill", "0.0-1.0", "-0.1", 1),
		yaml("share not a number", "min_gain: .nan\n", "min_gain", "0.0-1.0", ".nan", 1),
		yaml("share as text", "min_gain: \"0.5\"\n", "min_gain", "a number 0.0-1.0", `"0.5"`, 1),
		yaml("share of nothing", "thresholds:\n  soft: 0\n", "thresholds.soft", "above 0.0", "0", 2),
		yaml("share of nothing in percent", "thresholds: {soft: 0%}\n", "thresholds.soft", "above 0.0", `"0%"`, 1),
		yaml("share above all", "fill: 150%\n", "fill", "0.0-1.0", `"150%"`, 1),
		yaml("share below nothing in percent", "fill: -5%\n", "fill", "a number 0.0-1.0, or one like 75%", `"-5%"`, 1),
		yaml("percent without a number", "fill: \"%\"\n", "fill", "one like 75%", `"%"`, 1),
		yaml("size of an unknown unit", "window: 32kb\n", "window", "a whole number like 8192 or 32k, or auto", `"32kb"`, 1),
		yaml("size that is no whole number", "window: 1.0001k\n", "window", "a whole number like 8192 or 32k", `"1.0001k"`, 1),
		yaml("size of nothing", "window: 0k\n", "window", "above 0", `"0k"`, 1),
		yaml("size below 0", "window: -8k\n", "window", "a whole number like 8192 or 32k", `"-8k"`, 1),
		yaml("size beyond all", "window: 99999999999999m\n", "window", "a whole number like 8192 or 32k", `"99999999999999m"`, 1),
		yaml("reserve beyond the window", "window: 8k\npolicy:\n  reserve: 9000\n", "policy.reserve", "below what window and buffer leave, 7168 tokens, is 9000", "", 3),
		yaml("buffer of all the window", "window: 8k\npolicy:\n  hard_cap_buffer: 8k\n", "policy.hard_cap_buffer", "below the window, 8192 tokens, is 8192", "", 3),
		yaml("size of what are no tokens", "policy: {keep_recent_turns: 1k}\n", "policy.keep_recent_turns", "a whole number", `"1k"`, 1),
		yaml("one setting by two names", "window: 32k\nmax_context_tokens: 8192\n", "window", "given once", "", 2),
		yaml("share for a number of messages", "compactThreshold: 0.75\n", "policy.message_threshold", "a whole number", "0.75", 1),
		yaml("pattern as text that is none", "redact: {patterns: ['ok', 'T-[0-9']}\n", "redact.patterns[1]", "a regular expression of Go", `"T-[0-9"`, 1),
		yaml("pattern that is neither", "redact: {patterns: [7]}\n", "redact.patterns[0]", "a regular expression, or a mapping of name and regexp", "7", 1),
		yaml("number as text", "window: many\n", "window", "a whole number like 8192 or 32k, or auto", `"many"`, 1),
		yaml("number with a fraction", "policy:\n  keep_recent_turns: 2.5\n", "policy.keep_recent_turns", "a whole number", "2.5", 2),
		yaml("number too small", "window: 0\n", "window", "above 0", "0", 1),
		yaml("number below 0", "policy: {reserve: -1}\n", "policy.reserve", "at least 0", "-1", 1),
		yaml("number too large", "window: 99999999999999999999\n", "window", "a whole number like 8192 or 32k, or auto", "99999999999999999999", 1),
		yaml("truth that is none", "auto: no\n", "auto", "true or false", `"no"`, 1),
		yaml("word that is none", "\npreset: fast\n", "preset", "one of default, eager, steady", `"fast"`, 2),
		yaml("word of another case", "trigger: Manual\n", "trigger", "one of every_message, assistant_only, manual", `"Manual"`, 1),
		yaml("role that is none", "policy:\n  roles_never_prune:\n    - system\n    - boss\n", "policy.roles_never_prune[1]", "one of system, developer, user, assistant, tool", `"boss"`, 4),
		yaml("time without a unit", "deadlines:\n  ranking: 20\n", "deadlines.ranking", "a time like 20s or 2m, or 0 for none", "20", 2),
		yaml("time below 0", "deadlines:\n  round: -5s\n", "deadlines.round", "at least 0", `"-5s"`, 2),
		yaml("expression that is none", "policy:\n  protect: [\"m1\", \"/(/\"]\n", "policy.protect[1]", "an id, role:NAME or /regexp/", `"/(/"`, 2),
		yaml("pattern that is none", "redact:\n  patterns:\n  - name: ticket\n    regexp: \"T-[0-9\"\n", "redact.patterns[0].regexp", "a regular expression of Go", `"T-[0-9"`, 4),
		yaml("pattern of nothing", "redact: {patterns: [{regexp: x*}]}\n", "redact.patterns[0].regexp", "one that does not match the empty text", `"x*"`, 1),
		yaml("pattern with more", "redact:\n  patterns:\n  - name: ticket\n    regex: T-1\n", "redact.patterns[0].regex", "name or regexp", "", 4),
		yaml("list that is none", "policy:\n  protect: role:tool\n", "policy.protect", "a list", `"role:tool"`, 2),
		yaml("section in place of a value", "model:\n  name: x\n", "model", "text", "a section of 1", 2),
		yaml("value in place of a section", "policy: strict\n", "policy", "a section with trigger_pct", `"strict"`, 1),
		yaml("null", "policy:\n  reserve:\n", "policy.reserve", "a whole number", "null", 2),
		yaml("address that is none", "ollama_url: ftp://host\n", "ollama_url", "an address like http://127.0.0.1:8080", `"ftp://host"`, 1),
		yaml("port that is none", "trace: {prometheus: {listen: \"127.0.0.1:http\"}}\n", "trace.prometheus.listen", "host:port", `"127.0.0.1:http"`, 1),
		yaml("trace to stdout", "trace:\n  jsonl: \"-\"\n", "trace.jsonl", "the name of a file", `"-"`, 2),
		yaml("path with an escape", "trace:\n  jsonl: \"C:\\t.jsonl\"\n", "trace.jsonl", "one line of text, without control characters", `"C:\t.jsonl"`, 2),
		yaml("path with a wrong escape", "model: x\narchive: {adapter: dir, dir: \"C:\\Users\\x\"}\n", "", "plain YAML", "", 2),
		yaml("name that is mistyped", "policy:\n  triger_pct: 0.8\n", "policy.triger_pct", "a known setting", "", 2),
		yaml("name without its section", "trigger_pct: 0.8\n", "trigger_pct", "a known setting", "", 1),
		yaml("credentials", "archive:\n  s3:\n    secret_key: x\n", "archive.s3.secret_key", "left out", "", 3),
		yaml("twice", "model: a\nmodel: b\n", "model", "given once", "", 2),
		yaml("a section twice", "soft:\n  stale_after: 2\nsoft:\n  stale_after: 3\n", "soft", "given once", "", 3),
		yaml("thresholds that fall", "thresholds:\n  soft: 0.8\n  "+names[1]+": 0.7\n", "thresholds."+names[1], "above thresholds.soft, 0.8", "0.7", 3),
		yaml("a bucket for no s3", "archive:\n  s3:\n    bucket: b\n", "archive.s3.bucket", "left out", "", 3),
		yaml("s3 without a bucket", "archive:\n  adapter: s3\n", "archive.s3.bucket", "given", "", 2),
		yaml("a tab", "policy:\n\ttrigger_pct: 0.8\n", "", "plain YAML", "", 2),
		yaml("broken YAML", "model: \"x\nwindow: 3\n", "", "plain YAML", "", 3),
		yaml("a list at the top", "- model\n", "", "settings, each a name and a value", "a list of 1", 1),
		yaml("an alias", "model: &m x\nsummary:\n  model: *m\n", "", "plain YAML", "", 3),
		yaml("a merge", "a: &a {x: 1}\nb:\n  <<: *a\n", "", "plain YAML", "", 3),
		yaml("two documents", "model: a\n---\nmodel: b\n", "", "plain YAML", "", 2),
		yaml("a tag", "model: !!binary eA==\n", "", "plain YAML", "", 1),
		yaml("a file that nests", deep, "", "plain YAML", "", 1),
		yaml("no UTF-8", "model: a\nquery: \xff\n", "", "plain YAML", "", 2),
		json("in JSON", "{\n  \"policy\": {\n    \"trigger_pct\": 1.7\n  }\n}", "policy.trigger_pct", "0.0-1.0", "1.7", 3),
		json("twice in JSON", "{\"window\": 1,\n\"window\": 2}", "window", "given once", "", 2),
		json("broken JSON", "{\"window\": 1,\n}", "", "plain JSON", "", 2),
		json("JSON that ends", "{\"window\": 1,\n\"model\"", "", "plain JSON", "", 2),
		json("JSON with more", "{}\n{}", "", "plain JSON", "", 2),
		json("YAML in JSON", "window: 1", "", "plain JSON", "", 1),
		json("number of no size", "{\"fill\": 1e999}", "fill", "0.0-1.0", "1e999", 1),
		variable("variable out of bounds", "COMPACT_TRIGGER_PCT=1.7", "policy.trigger_pct", "0.0-1.0", "1.7"),
		variable("variable of a wrong type", "COMPACT_WINDOW=many", "window", "a whole number", `"many"`),
		variable("variable with nothing", "COMPACT_MODEL=", "model", "given", ""),
		variable("list in a variable", "COMPACT_PROTECT=m1,role:boss", "policy.protect[1]", "an id, role:NAME or /regexp/", `"role:boss"`),
		flag("flag out of bounds", []string{"--trigger-pct=1.7"}, "policy.trigger_pct", "0.0-1.0", "1.7"),
		flag("flag of an unknown word", []string{"--preset=fast"}, "preset", "one of default, eager, steady", `"fast"`),
		flag("thresholds that fall in a flag", []string{flagOfThresholds(1, "0.6")}, "thresholds."+names[1], "above thresholds."+names[0]+", 0.7", "0.6"),
		flag("number that is none in a flag", []string{"--window=8q"}, "window", "a whole number like 8192 or 32k, or auto", `"8q"`),
		flag("bucket with credentials in a flag", []string{"--archive=s3://key:word@bucket"}, "archive.s3.bucket", "like s3://BUCKET/PREFIX, without credentials", "one with a user or a password"),
		flag("nothing in a flag", []string{"--roles-never-prune="}, "policy.roles_never_prune", "given", ""),
		flag("two thresholds in a flag", []string{"--thresholds=0.7,0.8"}, "thresholds", fmt.Sprintf("%d shares like %s", len(names), strings.Join(defaults, ",")), "[0.7 0.8]"),
		flag("threshold that is none in a flag", []string{flagOfThresholds(len(names)-1, "all")}, "thresholds."+names[len(names)-1], "a number 0.0-1.0", `"all"`),
	}
}

// load loads the sources of a case, and returns the name of its file.
func (w wrong) load(t *testing.T) (path string, err error) {
	t.Helper()
	o := config.Options{Dir: t.TempDir(), Environ: append([]string{}, w.environ...), Flags: flagSet(t, w.args...)}
	if w.file != "" {
		path = filepath.Join(o.Dir, w.file)
		write(t, path, w.text)
	}
	_, err = config.Load(o)
	return path, err
}

func flagSet(t *testing.T, args ...string) *pflag.FlagSet {
	t.Helper()
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	config.Register(fs, config.Paths()...)
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	return fs
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestEveryErrorSaysPathValueExpectationAndPlace(t *testing.T) {
	for _, w := range wrongs() {
		t.Run(w.name, func(t *testing.T) {
			path, err := w.load(t)
			var all config.Errors
			if !errors.As(err, &all) || len(all) != 1 {
				t.Fatalf("error is %v, want one", err)
			}
			e := all[0]
			if e.Path != w.path || !strings.Contains(e.Want, w.want) || e.Value != w.value {
				t.Errorf("path %q, want %q, value %q: should be %q, %q, %q", e.Path, e.Want, e.Value, w.path, w.want, w.value)
			}
			at := config.Origin{Kind: config.File, Name: path, Line: w.line}.String()
			if w.origin != "" {
				at = w.origin
			}
			if e.Origin.String() != at {
				t.Errorf("it is at %q, want %q", e.Origin, at)
			}
			text := err.Error()
			for _, part := range []string{w.path, w.want, w.value, "(" + at + ")"} {
				if !strings.Contains(text, part) {
					t.Errorf("%q does not say %q", text, part)
				}
			}
			if strings.Contains(text, "\n") {
				t.Errorf("%q is more than a line", text)
			}
		})
	}
	if n := len(wrongs()); n < 40 {
		t.Errorf("%d errors, want 40", n)
	}
}

func TestErrorOfTheDesignReadsAsItSays(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "compact.yaml", "preset: steady\n# a comment\npolicy:\n  trigger_pct: 1.7\n")
	_, err := config.Load(config.Options{Environ: []string{}})
	if want := "policy.trigger_pct must be 0.0-1.0, is 1.7 (compact.yaml:4)"; err == nil || err.Error() != want {
		t.Errorf("error is %q, want %q", err, want)
	}
}

func TestAllErrorsAreToldInTheOrderOfTheFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "compact.yml")
	write(t, path, "policy:\n  reserve: x\n  nothing: 1\nwindow: 0\nauto: maybe\n")
	_, err := config.Load(config.Options{Dir: dir, Environ: []string{"COMPACT_FILL=9", "COMPACT_AUTO=5"}})
	var all config.Errors
	if !errors.As(err, &all) {
		t.Fatalf("error is %v", err)
	}
	var got []string
	for _, e := range all {
		got = append(got, strings.TrimPrefix(e.Origin.String(), path))
	}
	if want := ":2 :3 :4 :5 COMPACT_AUTO COMPACT_FILL"; strings.Join(got, " ") != want {
		t.Errorf("errors at %v, want %s", got, want)
	}
	if lines := strings.Split(err.Error(), "\n"); len(lines) != len(all) {
		t.Errorf("%d lines for %d errors", len(lines), len(all))
	}
	var one *config.Error
	if !errors.As(err, &one) || one.Path != "policy.reserve" {
		t.Errorf("the first is %v", one)
	}
}

func TestNoErrorShowsWhatMayBeASecret(t *testing.T) {
	secret := strings.Repeat("hunter", 2)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "compact.yaml"), "ollama_url: http://me:"+secret+"@host\napi_token: "+secret+"\nunknown: "+secret+"\narchive:\n  s3:\n    access_key: "+secret+"\n")
	_, err := config.Load(config.Options{Dir: dir, Environ: []string{"COMPACT_SUMMARY_URL=https://u:" + secret + "@h"}})
	if err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("error is %v", err)
	}
	for _, remedy := range []string{"standard chain", "COMPACT_API_KEY", "without user and password"} {
		if !strings.Contains(err.Error(), remedy) {
			t.Errorf("error does not say %q: %v", remedy, err)
		}
	}
}

func TestFilesThatCannotBeReadAreErrors(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "large.yaml"), strings.Repeat("# nothing\n", 1<<20/10+10))
	for name, want := range map[string]string{"none.yaml": "no such file", ".": "is a folder", "large.yaml": "larger than 1 MB"} {
		path := filepath.Join(dir, name)
		_, err := config.Load(config.Options{File: path, Environ: []string{}})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), filepath.Base(path)) {
			t.Errorf("%s: error is %v, want %q", name, err, want)
		}
	}
	write(t, filepath.Join(dir, "compact.yaml"), "")
	write(t, filepath.Join(dir, "compact.json"), "")
	if _, err := config.Load(config.Options{Dir: dir, Environ: []string{}}); err == nil || !strings.Contains(err.Error(), "keep one") {
		t.Errorf("two files: error is %v", err)
	}
}

func TestALinkThatLeadsNowhereIsNotPassedOver(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("none", filepath.Join(dir, "compact.yaml")); err != nil {
		t.Skipf("no links here: %v", err)
	}
	if _, err := config.Load(config.Options{Dir: dir, Environ: []string{}}); err == nil || !strings.Contains(err.Error(), "compact.yaml is a link that leads nowhere") {
		t.Errorf("error is %v", err)
	}
}

func TestManyErrorsAreCutOff(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "compact.yaml"), strings.Repeat("abcdefghijklmnopqrst: 1\n", 30000))
	_, err := config.Load(config.Options{Dir: dir, Environ: []string{}})
	var all config.Errors
	if !errors.As(err, &all) || len(all) > 100 {
		t.Errorf("%d errors", len(all))
	}
}

func FuzzFile(f *testing.F) {
	for _, w := range wrongs() {
		f.Add(w.text, w.file == "compact.json")
	}
	f.Fuzz(func(t *testing.T, text string, json bool) {
		path := filepath.Join(t.TempDir(), "compact.yaml")
		if json {
			path = strings.TrimSuffix(path, "yaml") + "json"
		}
		write(t, path, text)
		l, err := config.Load(config.Options{File: path, Environ: []string{}})
		if err != nil {
			return
		}
		again := filepath.Join(t.TempDir(), "again.yaml")
		write(t, again, string(l.YAML(false)))
		if back, err := config.Load(config.Options{File: again, Environ: []string{}}); err != nil || !same(back.Config, l.Config) {
			t.Errorf("%q is shown as what is another: %v", text, err)
		}
	})
}
