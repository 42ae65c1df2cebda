package config_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/archive/s3"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/config"
	"github.com/tiercompact/tiercompact/engine"
	"github.com/tiercompact/tiercompact/internal/fault"
)

// open loads a text, and opens everything that it names.
func open(t *testing.T, stderr io.Writer, text string) (*config.Opened, error) {
	t.Helper()
	return loadText(t, "compact.yaml", "engine: built-in\n"+text).Config.Open(t.Context(), stderr)
}

// compacted runs a session until a message is removed.
func compacted(t *testing.T, o *config.Opened, said string) {
	t.Helper()
	c, err := tiercompact.New(o.Config)
	if err != nil {
		t.Fatal(err)
	}
	s := c.Session("s")
	for i := range 30 {
		role := []chat.Role{chat.User, chat.Assistant}[i%2]
		if _, err := s.AddMessage(t.Context(), chat.NewText(role, fmt.Sprintf("%s %d: we look at the lexer, and at what calls it", said, i))); err != nil {
			t.Fatal(err)
		}
	}
}

// ariadneServer collects the events that it receives.
func ariadneServer(t *testing.T) (address string, got func() string) {
	t.Helper()
	var mu sync.Mutex
	var all strings.Builder
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = io.Copy(&all, r.Body)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() string {
		mu.Lock()
		defer mu.Unlock()
		return all.String()
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func get(t *testing.T, address string) string {
	t.Helper()
	r, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestWhatSettingsNameIsOpenedAndTold(t *testing.T) {
	dir, listen := t.TempDir(), freeAddress(t)
	events, kept := filepath.Join(dir, "events.jsonl"), filepath.Join(dir, "kept")
	address, got := ariadneServer(t)
	secret := "horse" + "battery"
	var console bytes.Buffer
	o, err := open(t, &console, fmt.Sprintf(`
window: 300
archive: {adapter: dir, dir: %q}
redact: {patterns: [{name: ticket, regexp: 'T-\d+'}]}
trace: {console: true, jsonl: %q, ariadne: {url: %q}, otlp: {endpoint: "http://127.0.0.1:1"}, prometheus: {listen: %q}}
`, kept, events, address, listen))
	if err != nil {
		t.Fatal(err)
	}
	compacted(t, o, "T-77 password="+secret)
	metrics := get(t, "http://"+listen+"/metrics")
	if err := o.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	step := archivedText(t, kept)
	lines, err := os.ReadFile(events)
	if err != nil {
		t.Fatal(err)
	}
	for where, text := range map[string]string{"console": console.String(), "file": string(lines), "Ariadne": got(), "metrics": metrics} {
		if !strings.Contains(text, "level_applied") && !strings.Contains(text, "tiercompact_") {
			t.Errorf("%s was told %q", where, text)
		}
	}
	for where, text := range map[string]string{"archive": step, "console": console.String(), "file": string(lines), "Ariadne": got()} {
		if strings.Contains(text, secret) || strings.Contains(text, "T-77") {
			t.Errorf("%s holds what is to be redacted", where)
		}
	}
	if _, err := net.Dial("tcp", listen); err == nil {
		t.Error("metrics are served after Close")
	}
	if o.Engine == nil || o.Config.Embed.Name != "lexical" {
		t.Errorf("engine is %+v, embedder %q", o.Engine, o.Config.Embed.Name)
	}
}

// archivedText returns the text that an archive has for the first step of session s.
func archivedText(t *testing.T, folder string) string {
	t.Helper()
	d, err := archive.OpenDir(folder, archive.DirOptions{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	step, err := d.Get(t.Context(), "s", 1)
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("%+v", step)
	if !strings.Contains(text, "REDACTED") {
		t.Errorf("the step holds %s", text)
	}
	return text
}

func TestAnAddressThatIsTakenIsAWarning(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	o, err := open(t, io.Discard, fmt.Sprintf("trace: {prometheus: {listen: %q}}", l.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close(t.Context())
	if len(o.Warnings) != 1 || !strings.Contains(o.Warnings[0], "trace.prometheus.listen") {
		t.Errorf("warnings are %q", o.Warnings)
	}
	if o.Window.Source != "" || o.Config.Window != config.DefaultWindow {
		t.Errorf("window is %d from %q", o.Config.Window, o.Window.Source)
	}
}

func TestWhatFailsToOpenLeavesNothingOpen(t *testing.T) {
	kept := filepath.Join(t.TempDir(), "kept")
	text := fmt.Sprintf("archive: {adapter: dir, dir: %q}\n", kept)
	if _, err := open(t, io.Discard, text+"trace: {console: true, jsonl: none/at/all}"); err == nil || !strings.Contains(err.Error(), "write trace") {
		t.Fatalf("error is %v", err)
	}
	o, err := open(t, io.Discard, text) // returns an error if the archive is locked
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(o.Close(t.Context()), o.Close(t.Context())); err != nil {
		t.Errorf("closed twice: %v", err)
	}
}

func TestNoBucketIsAnError(t *testing.T) {
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		t.Setenv(name, strings.Repeat("x", 20))
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	c := loadText(t, "compact.yaml", "engine: built-in\narchive: {adapter: s3, s3: {bucket: b, endpoint: \"http://127.0.0.1:1\"}}").Config
	if store, err := c.Archive.Open(ctx, false); err == nil || store != nil {
		t.Errorf("store is %v, error is %v", store, err)
	}
	if got := c.Archive.Place(); got != "s3://b" {
		t.Errorf("its place is %s", got)
	}
}

func TestArchivesAreNamedByPlaces(t *testing.T) {
	for place, want := range map[string]config.Archive{
		"kept":     {Adapter: config.Dir, Dir: "kept"},
		"s3://b":   {Adapter: config.S3, S3: s3.Config{Bucket: "b"}},
		"s3://b/p": {Adapter: config.S3, S3: s3.Config{Bucket: "b", Prefix: "p"}},
	} {
		got, err := config.ParseArchive(place)
		if err != nil || got != want || got.Place() != place {
			t.Errorf("%s: %+v, %q, %v", place, got, got.Place(), err)
		}
		l := load(t, config.Options{Flags: flagSet(t, "--archive", place)})
		if a := l.Config.Archive; a.Place() != place {
			t.Errorf("--archive %s: %+v", place, a)
		}
	}
	if got := (config.Archive{Adapter: config.Memory, Dir: "kept"}).Place(); got != "" {
		t.Errorf("memory is at %q", got)
	}
	if _, err := config.Load(config.Options{Dir: t.TempDir(), Environ: []string{}, Flags: flagSet(t, "--archive", "s3://")}); err == nil || !strings.Contains(err.Error(), "s3://BUCKET/PREFIX") {
		t.Errorf("no bucket: error is %v", err)
	}
}

func TestRedactionIsAsTheSettingsSay(t *testing.T) {
	mail, key := "someone@"+"example.org", "api_key="+strings.Repeat("k3", 10)
	for text, want := range map[string][2]bool{ // whether mail and key stay
		"":                     {false, false},
		"redact: {pii: true}":  {false, false},
		"redact: {pii: false}": {true, false},
		"redact: {pii: false, patterns: [{regexp: someone.*}]}": {false, false},
	} {
		r, err := loadText(t, "compact.yaml", text).Config.Redactor()
		if err != nil {
			t.Fatal(err)
		}
		got := r.String(mail + "\n" + key)
		if strings.Contains(got, mail) != want[0] || strings.Contains(got, key) != want[1] {
			t.Errorf("%s: %q", text, got)
		}
	}
	c := loadText(t, "compact.yaml", "redact: {enabled: false}").Config
	if r, err := c.Redactor(); r != nil || err != nil || !c.Compaction().Redact.Off {
		t.Errorf("turned off: some rules %v, %v", r != nil, err)
	}
}

func TestGitleaksIsRefusedByABuildWithoutIt(t *testing.T) {
	rules := loadText(t, "compact.yaml", "redact: {gitleaks: true}").Config
	if _, err := rules.Redactor(); err == nil || !strings.Contains(err.Error(), "redact.gitleaks") || !strings.Contains(err.Error(), "go -C gitleaks install ./cmd/tiercompact") {
		t.Errorf("error is %v", err)
	}
	t.Cleanup(func() { config.GitleaksRules = nil })
	config.GitleaksRules = func() (func(string) string, error) {
		return func(s string) string { return strings.ReplaceAll(s, "found", "gone") }, nil
	}
	if r, err := rules.Redactor(); err != nil || r.String("found") != "gone" {
		t.Errorf("with rules: %v", err)
	}
}

func TestModelsAreLookedForAsTheSettingsSay(t *testing.T) {
	t.Setenv(config.KeyVariable, "k")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	c := loadText(t, "compact.yaml", "model: m\nwindow: 999\nseed: 7\nsummary: {model: session}\nembed: {model: e, url: 'http://h', cache: none}\nollama_url: h:1\n").Config
	o, err := c.EngineOptions()
	if err != nil || o.Summarizer != "m" || o.SummaryWindow != 999 || o.Seed != 7 || o.Embedder != "e" || o.EmbedURL != "http://h" || o.Cache != "" || o.Key != "k" || o.URL != "h:1" {
		t.Errorf("options are %+v, %v", o, err)
	}
	c.Model = ""
	var e *config.Error
	if _, err := c.EngineOptions(); !errors.As(err, &e) || e.Path != "summary.model" || strings.Contains(err.Error(), "(") {
		t.Errorf("session's model without one: %v", err)
	}
	for cache, want := range map[string]bool{"auto": true, "none": false, "folder": false} {
		o, err := loadText(t, "compact.yaml", "embed: {cache: "+cache+"}").Config.EngineOptions()
		if err != nil || o.CacheIfPossible != want || (o.Cache == "") != (cache == "none") {
			t.Errorf("cache %s: %+v, %v", cache, o, err)
		}
	}
}

// A summarizer with another window would have the server load the model again.
func TestTheSessionsModelSummarisesInItsWindow(t *testing.T) {
	server := fault.Fake(t)
	server.Models = []fault.Model{{Name: "talk:latest", Capabilities: []string{fault.Completion}, Window: 8192}, {Name: engine.DefaultSummarizer, Capabilities: []string{fault.Completion}, Window: 131072}}
	for text, want := range map[string]int{
		"model: talk\nwindow: 3000\nsummary: {model: 'talk:latest'}":                      3000,
		"model: 'talk:latest'\nwindow: 3000\nsummary: {model: talk}":                      3000,
		"model: talk\nsummary: {model: session}":                                          4096,
		"model: talk\nsummary: {model: talk}":                                             4096,
		"model: '" + engine.DefaultSummarizer + "'\nwindow: 5000":                         5000,
		"model: talk\nwindow: 3000\nsummary: {model: '" + engine.DefaultSummarizer + "'}": 8192,
		"summary: {model: talk}":                                                          8192,
	} {
		o, err := loadText(t, "compact.yaml", "ollama_url: "+server.URL+"\n"+text).Config.Open(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := o.Engine.Summary.Window; got != want {
			t.Errorf("%q: the summarizer has a window of %d, want %d", text, got, want)
		}
		if err := o.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestTheWindowIsThatOfTheModel(t *testing.T) {
	server := fault.Fake(t)
	server.Models = []fault.Model{{Name: "talk:latest", Capabilities: []string{fault.Completion}, Window: 8192}}
	measure := func(text string) (int, config.Window, error) {
		c := loadText(t, "compact.yaml", "ollama_url: "+server.URL+"\n"+text).Config
		err := c.Measure(t.Context())
		return c.Window, *cmp.Or(c.Measured, new(config.Window)), err
	}
	if n, w, err := measure("model: talk"); n != 4096 || w.Source == "" || err != nil {
		t.Errorf("window of a model is %d from %q, %v", n, w.Source, err)
	}
	if n, w, err := measure("model: talk\nwindow: 2000"); n != 2000 || err != nil {
		t.Errorf("window that is set is %d from %q, %v", n, w.Source, err)
	}
	if n, w, err := measure("model: other"); n != config.DefaultWindow || w.Source != "" || err != nil {
		t.Errorf("window of another is %d from %q, %v", n, w.Source, err)
	}
	for _, text := range []string{"exact_tokens: true", "exact_tokens: true\nmodel: other", "exact_tokens: true\nmodel: talk\nengine: built-in"} {
		if _, _, err := measure(text); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}
