package config_test

import (
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

	key := []string{config.KeyVariable + "=x"}
	_, err := config.Load(config.Options{Dir: dir, Environ: key})
	if err == nil || !strings.Contains(err.Error(), "summary.url must be left out of a file that nobody named; COMPACT_API_KEY would be sent there") || strings.Contains(err.Error(), "embed.url") {
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
