package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/config"
)

func TestAFileThatNobodyNamedIsNotTrustedInSilence(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "compact.yaml")
	write(t, path, "summary: {url: 'http://far.example/v1'}\nembed: {url: 'http://localhost:1'}\nollama_url: 127.0.0.1:2\nredact: {enabled: false}\ntrace: {ariadne: {url: 'http://[::1]:3'}, otlp: {endpoint: far.example}}\n")
	found := load(t, config.Options{Dir: dir})
	notices := strings.Join(found.Notices(), "\n")
	for text, want := range map[string]int{"http://far.example/v1": 1, "summary.url": 1, "trace.otlp.endpoint": 1, "redact.enabled": 1, "localhost": 0, "::1": 0, "127.0.0.1": 0} {
		if strings.Count(notices, text) != want {
			t.Errorf("%q stands %d times in %q", text, strings.Count(notices, text), notices)
		}
	}
	if named := load(t, config.Options{File: path}); named.Notices() != nil {
		t.Errorf("of a file that was named: %q", named.Notices())
	}

	mail := t.TempDir()
	write(t, filepath.Join(mail, "compact.yaml"), "redact: {pii: false}\n")
	if notices := load(t, config.Options{Dir: mail}).Notices(); len(notices) != 1 || !strings.Contains(notices[0], "e-mail addresses") {
		t.Errorf("of personal data: %q", notices)
	}

	key := []string{config.KeyVariable + "=x"}
	_, err := config.Load(config.Options{Dir: dir, Environ: key})
	if err == nil || !strings.Contains(err.Error(), "summary.url must be left out of a file that was found, not named; COMPACT_API_KEY would be sent there") || strings.Contains(err.Error(), "embed.url") {
		t.Errorf("with a key: %v", err)
	}
	for _, o := range []config.Options{
		{File: path, Environ: key},
		{Dir: dir, Environ: append(key, "COMPACT_SUMMARY_URL=http://mine.example")},
		{Dir: dir, Environ: []string{config.KeyVariable + "="}},
	} {
		if _, err := config.Load(o); err != nil {
			t.Errorf("%v: %v", o, err)
		}
	}
}

func TestAFileThatNobodyNamedWritesInItsFolder(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "compact.yaml")
	write(t, path, "archive: {adapter: dir, dir: ../kept}\ntrace: {jsonl: events.jsonl}\nembed: {cache: none}\n")
	_, err := config.Load(config.Options{Dir: dir, Environ: []string{}})
	if err == nil || !strings.Contains(err.Error(), "archive.dir must be inside this folder, is \"../kept\"") || strings.Contains(err.Error(), "jsonl") {
		t.Errorf("error is %v", err)
	}
	if _, err := config.Load(config.Options{File: path, Environ: []string{}}); err != nil {
		t.Errorf("of a file that was named: %v", err)
	}
}

func TestAFileThatNobodyNamedWritesThroughNoLink(t *testing.T) {
	dir, far := t.TempDir(), t.TempDir()
	for name, to := range map[string]string{"out": far, "gone": filepath.Join(far, "gone"), "up": filepath.Join("..", filepath.Base(far)), ".compact": far, "in": "kept"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Skipf("no links here: %v", err)
		}
	}
	for text, wrong := range map[string]string{
		"trace: {jsonl: out/events.jsonl}": "trace.jsonl", "trace: {jsonl: gone}": "trace.jsonl", "embed: {cache: up/vectors}": "embed.cache",
		"archive: {adapter: dir, dir: out}": "archive.dir", "archive: {adapter: dir}": "archive.dir",
		"archive: {adapter: dir, dir: in/archive}": "", "trace: {jsonl: events.jsonl}": "", "preset: eager": "",
	} {
		write(t, filepath.Join(dir, "compact.yaml"), text)
		_, err := config.Load(config.Options{Dir: dir, Environ: []string{}})
		if wrong == "" && err != nil || wrong != "" && (err == nil || !strings.HasPrefix(err.Error(), wrong+" must be inside this folder")) {
			t.Errorf("%s: error is %v, want one of %q", text, err, wrong)
		}
	}
}

func TestAFileThatNobodyNamedSendsNoHeadersOfTheUsers(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "compact.yaml"), "trace: {otlp: {endpoint: far.example}}")
	for _, name := range []string{"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"} {
		_, err := config.Load(config.Options{Dir: dir, Environ: []string{name + "=a=b"}})
		if err == nil || !strings.Contains(err.Error(), "trace.otlp.endpoint must be left out of a file that was found, not named; "+name+" would be sent there") {
			t.Errorf("%s: error is %v", name, err)
		}
	}
	load(t, config.Options{Dir: dir, Environ: []string{"OTEL_EXPORTER_OTLP_HEADERS="}})
	load(t, config.Options{Dir: dir, Environ: []string{"OTEL_EXPORTER_OTLP_HEADERS=a=b", "COMPACT_OTLP_ENDPOINT=mine.example"}})
}

func TestAFileThatNobodyNamedSaysWhichBucketItFills(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "compact.yaml"), "archive: {adapter: s3, s3: {bucket: theirs}}\ntrace: {prometheus: {listen: '0.0.0.0:1'}}")
	notices := load(t, config.Options{Dir: dir}).Notices()
	if len(notices) != 2 || !strings.Contains(notices[0], "goes to the bucket theirs") || !strings.Contains(notices[1], "at 0.0.0.0:1") {
		t.Errorf("notices are %q", notices)
	}
	if mine := load(t, config.Options{Dir: dir, Environ: []string{"COMPACT_BUCKET=mine", "COMPACT_LISTEN=1"}}).Notices(); mine != nil {
		t.Errorf("of what the environment says: %q", mine)
	}
}

// A cloned project must not empty the user's archive.
func TestAPatternOfAFileThatNobodyNamedDoesNotTakeEverything(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "compact.yaml")
	for pattern, greedy := range map[string]bool{
		`(?s).+`: true, `.+`: true, `\w+`: true, `[a-z]+`: true, `\S`: true, `(?i)[a-z0-9_]{2,}`: true, `[^\n]{3,}`: true, `(\w)\w*`: true,
		`PROJ-\d{4}`: false, `(?i)ticket-(\d+)`: false, `\b\d{16}\b`: false, `cust_[0-9a-z]{8}`: false,
	} {
		write(t, path, "redact: {patterns: [{name: mine, regexp: 'corp-\\d+'}, '"+pattern+"']}\n")
		l := load(t, config.Options{Dir: dir})
		notices, n := strings.Join(l.Notices(), "\n"), len(l.Config.Redaction.Patterns)
		if greedy && (n != 1 || !strings.Contains(notices, path) || !strings.Contains(notices, "redact.patterns")) || !greedy && (n != 2 || notices != "") {
			t.Errorf("%s: %d patterns hold, notices %q", pattern, n, notices)
		}
		if named := load(t, config.Options{File: path}); len(named.Config.Redaction.Patterns) != 2 || named.Notices() != nil {
			t.Errorf("%s: of a file that was named %v hold, %q", pattern, named.Config.Redaction.Patterns, named.Notices())
		}
	}
	var letters []string
	for c := 'a'; c <= 'z'; c++ {
		letters = append(letters, "'"+string(c)+"'")
	}
	write(t, path, "redact: {patterns: ["+strings.Join(letters, ", ")+"]}\n")
	if l := load(t, config.Options{Dir: dir}); len(l.Config.Redaction.Patterns) != 0 || len(l.Notices()) != 1 {
		t.Errorf("together %v hold, %q", l.Config.Redaction.Patterns, l.Notices())
	}
}

func TestAListOfPatternsThatWouldHangIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "many.yaml")
	var many, slow strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&many, "    - 'project%d-[a-z]+'\n", i)
		fmt.Fprintf(&slow, "    - '[a-z]{3}\\d{%d}'\n", i%50+1)
	}
	write(t, path, "redact:\n  patterns:\n"+many.String())
	if l := load(t, config.Options{File: path}); len(l.Config.Redaction.Patterns) != 3000 {
		t.Errorf("%d patterns hold", len(l.Config.Redaction.Patterns))
	}
	write(t, path, "redact:\n  patterns:\n"+slow.String())
	_, err := config.Load(config.Options{File: path, Environ: []string{}})
	if err == nil || !strings.Contains(err.Error(), "redact.patterns") || !strings.Contains(err.Error(), "many.yaml:3") || !strings.Contains(err.Error(), "at most 100") {
		t.Errorf("error is %v", err)
	}
}
