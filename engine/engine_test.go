package engine_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/engine"
	"github.com/tiercompact/tiercompact/internal/fault"
	"github.com/tiercompact/tiercompact/internal/model"
)

// nobody is an address without a server.
func nobody(t *testing.T) string {
	t.Helper()
	return "http://127.0.0.1:1" // a port that no other process of a test takes
}

// hang is longer than any server here takes to answer, on any machine.
const hang = 5 * time.Minute

// silent is a server that takes requests and never answers.
func silent(t *testing.T) string {
	t.Helper()
	over := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-over:
		}
	}))
	t.Cleanup(func() { close(over); s.Close() })
	return s.URL
}

// other is a server that speaks no protocol of ours.
func other(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "<html>not here</html>", http.StatusNotFound)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

var (
	nomic  = fault.Model{Name: "nomic-embed-text:latest", Capabilities: []string{fault.Embedding}, Family: "nomic-bert", Window: 2048}
	llama  = fault.Model{Name: "llama3.2:3b", Capabilities: []string{fault.Completion, fault.Tools}, Window: 131072}
	cloud  = fault.Model{Name: "llama3.2:3b", Capabilities: []string{fault.Completion}, Window: 131072, RemoteHost: "https://models.example:443"}
	medium = fault.Model{Name: "medium:latest", Capabilities: []string{fault.Completion}, Window: 16384}
	small  = fault.Model{Name: "small:latest", Capabilities: []string{fault.Completion}, Window: 2048}
)

func TestAutoTakesWhatIsThere(t *testing.T) {
	for name, c := range map[string]struct {
		url              func(t *testing.T) string
		ranking, summary string
		why, todo        string
	}{
		"all":             {with(nomic, llama), "ollama/nomic-embed-text", "ollama/llama3.2:3b", "has it", ""},
		"no server":       {nobody, engine.Lexical, engine.Extractive, "no Ollama answers", "ollama serve"},
		"silent server":   {silent, engine.Lexical, engine.Extractive, "in time", "log"},
		"another server":  {other, engine.Lexical, engine.Extractive, "is not Ollama", "--ollama-url"},
		"no models":       {with(), engine.Lexical, engine.Extractive, "is not on the server", "ollama pull nomic-embed-text"},
		"embeddings only": {with(nomic), "ollama/nomic-embed-text", engine.Extractive, "has it", ""},
		"elsewhere":       {with(nomic, cloud), "ollama/nomic-embed-text", engine.Extractive, "has it", ""},
		"chat only":       {with(llama), engine.Lexical, "ollama/llama3.2:3b", "is not on the server", "ollama pull nomic-embed-text"},
	} {
		t.Run(name, func(t *testing.T) {
			wait := hang
			if name == "silent server" {
				wait = time.Second
			}
			e, err := engine.Open(t.Context(), engine.Options{URL: c.url(t), Wait: wait})
			if err != nil {
				t.Fatal(err)
			}
			if e.Ranking.Engine != c.ranking || e.Summary.Engine != c.summary {
				t.Errorf("ranks with %s, summarises with %s; want %s, %s", e.Ranking.Engine, e.Summary.Engine, c.ranking, c.summary)
			}
			if !strings.Contains(e.Ranking.Why, c.why) || !strings.Contains(e.Ranking.Missing, c.todo) {
				t.Errorf("why %q, to do %q; want %q, %q in them", e.Ranking.Why, e.Ranking.Missing, c.why, c.todo)
			}
			var cfg tiercompact.Config
			e.Into(&cfg)
			if (cfg.Embed.Embedder == nil) != (c.ranking == engine.Lexical) || (cfg.Summary.Summarizer == nil) != (c.summary == engine.Extractive) {
				t.Errorf("embedder %v, summarizer %v", cfg.Embed.Embedder, cfg.Summary.Summarizer)
			}
			if cfg.Embed.Why == "" || cfg.Summary.Why == "" {
				t.Error("the configuration does not say why")
			}
		})
	}
}

func with(models ...fault.Model) func(*testing.T) string {
	return func(t *testing.T) string { return fake(t, models...).URL }
}

// fake starts a server that has exactly these models.
func fake(t *testing.T, models ...fault.Model) *fault.Server {
	t.Helper()
	s := fault.Fake(t, append([]fault.Model{}, models...)...)
	s.Models = models
	return s
}

func TestWhatIsAskedForByNameIsThereOrAnErrorSaysWhatToDo(t *testing.T) {
	for name, c := range map[string]struct {
		options func(t *testing.T) engine.Options
		is      error
		says    string
	}{
		"kind, no server": {func(t *testing.T) engine.Options { return engine.Options{Kind: engine.Ollama, URL: nobody(t)} }, model.ErrUnreachable, "ollama serve"},
		"kind, no model":  {func(t *testing.T) engine.Options { return engine.Options{Kind: engine.Ollama, URL: fake(t, nomic).URL} }, model.ErrNoModel, "ollama pull llama3.2:3b"},
		"model":           {func(t *testing.T) engine.Options { return engine.Options{URL: fake(t).URL, Embedder: "bge-m3"} }, model.ErrNoModel, "ollama pull bge-m3"},
		"wrong kind": {func(t *testing.T) engine.Options {
			return engine.Options{URL: fake(t, llama).URL, Embedder: "llama3.2:3b"}
		}, model.ErrCannot, "embed"},
		"no chat": {func(t *testing.T) engine.Options {
			return engine.Options{URL: fake(t, nomic).URL, Summarizer: "nomic-embed-text"}
		}, model.ErrCannot, "chat"},
		"address": {func(t *testing.T) engine.Options { return engine.Options{URL: fake(t).URL, EmbedURL: nobody(t)} }, model.ErrUnreachable, ""},
		"several": {func(t *testing.T) engine.Options {
			return engine.Options{URL: nobody(t), SummaryURL: fake(t, small, llama).URL}
		}, nil, "small:latest, llama3.2:3b"},
		"not among": {func(t *testing.T) engine.Options {
			return engine.Options{SummaryURL: fake(t, small, llama).URL, Summarizer: "x"}
		}, model.ErrNoModel, "small:latest"},
		"contradiction": {func(*testing.T) engine.Options { return engine.Options{Kind: engine.BuiltIn, Embedder: "x"} }, nil, "built-in"},
		"unknown kind":  {func(*testing.T) engine.Options { return engine.Options{Kind: "cloud"} }, nil, "auto, ollama or built-in"},
		"bad address":   {func(*testing.T) engine.Options { return engine.Options{Kind: engine.Ollama, URL: "http://[::1"} }, nil, "[::1"},
	} {
		t.Run(name, func(t *testing.T) {
			o := c.options(t)
			o.Wait = hang
			_, err := engine.Open(t.Context(), o)
			if err == nil {
				t.Fatal("no error")
			}
			if c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("%v is not %v", err, c.is)
			}
			if !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %q does not say %q", err, c.says)
			}
		})
	}
}

func TestBuiltInAsksNobody(t *testing.T) {
	e, err := engine.Open(t.Context(), engine.Options{Kind: engine.BuiltIn, URL: silent(t), Wait: time.Hour})
	if err != nil || !e.Ranking.BuiltIn() || !e.Summary.BuiltIn() {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestDiagnosisOfBuiltInAsksNobody(t *testing.T) {
	o := engine.Options{Kind: engine.BuiltIn, URL: silent(t), Wait: time.Hour}
	d, err := engine.Diagnose(t.Context(), o, engine.Patient{Model: "llama3.2:3b"})
	if err != nil || len(d.Problems) > 0 || d.Server != (engine.ServerState{}) || d.Levels[1].Engine != engine.Lexical || d.Levels[2].Engine != engine.Extractive {
		t.Errorf("%+v, %v", d, err)
	}
	if names, err := engine.Wanted(t.Context(), o, "llama3.2:3b"); err != nil || len(names) > 0 {
		t.Errorf("wanted %v, %v", names, err)
	}
}

func TestDiagnosisReportsWhatIsUsedAfterAFailedTrial(t *testing.T) {
	p := fault.New(t, fake(t, nomic, llama).URL)
	p.At("/api/embed", fault.Status(500))
	p.At("/api/chat", fault.Garbage())
	d, err := engine.Diagnose(t.Context(), engine.Options{URL: p.URL}, engine.Patient{})
	if err != nil || len(d.Levels) != 3 {
		t.Fatalf("%+v, %v", d, err)
	}
	for i, want := range []string{string(engine.BuiltIn), engine.Lexical, engine.Extractive} {
		if d.Levels[i].Engine != want || i > 0 && !strings.Contains(d.Levels[i].Why, "fails: ") {
			t.Errorf("level %+v, want %s", d.Levels[i], want)
		}
	}
}

func TestNamesAreTheSameWithAndWithoutTheDefaultTag(t *testing.T) {
	s := fake(t, nomic, small, medium)
	for _, name := range []string{"small", "small:latest"} {
		e, err := engine.Open(t.Context(), engine.Options{URL: s.URL, SummaryURL: s.URL, Summarizer: name})
		if err != nil || e.Summary.Model != "small:latest" {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
}

func TestOpenAIServersAreTakenByAddress(t *testing.T) {
	s := fake(t, small)
	s.Props = 1024
	e, err := engine.Open(t.Context(), engine.Options{URL: nobody(t), SummaryURL: s.URL, Wait: hang})
	if err != nil {
		t.Fatal(err)
	}
	if e.Summary.Engine != "openai/small:latest" || e.Summary.Window != 1024 {
		t.Errorf("%+v", e.Summary)
	}
	if !e.Ranking.BuiltIn() {
		t.Errorf("%+v", e.Ranking)
	}
}

func TestTheSummarizersWindowIsThatOfTheModel(t *testing.T) {
	for name, c := range map[string]struct {
		model fault.Model
		set   int
		want  int
	}{
		"default":            {llama, 0, 8192},
		"set":                {llama, 16384, 16384},
		"trained for less":   {small, 0, 2048},
		"set above training": {small, 16384, 2048},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := engine.Open(t.Context(), engine.Options{URL: fake(t, c.model).URL, Summarizer: c.model.Name, SummaryWindow: c.set, Wait: hang})
			if err != nil || e.Summary.Window != c.want {
				t.Errorf("window %d, %v; want %d", e.Summary.Window, err, c.want)
			}
		})
	}
}

func TestOpenEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := engine.Open(ctx, engine.Options{URL: silent(t), Wait: time.Hour}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// hanging has models that never answer.
func hanging(t *testing.T) string {
	p := fault.New(t, fake(t, nomic, llama).URL)
	p.At("/api/embed", fault.Hang())
	p.At("/api/chat", fault.Hang())
	return p.URL
}

func TestACacheThatCannotBeOpenedIsAnErrorOrAWarning(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	o := engine.Options{URL: fake(t, nomic).URL, Cache: filepath.Join(file, "vectors")}
	if _, err := engine.Open(t.Context(), o); err == nil {
		t.Error("a cache inside a file was opened")
	}
	o.CacheIfPossible = true
	e, err := engine.Open(t.Context(), o)
	if err != nil || e.Ranking.BuiltIn() || !strings.Contains(e.Warning, "--no-embed-cache") {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestDiagnosisFindsWhatIsWrong(t *testing.T) {
	tooLong := errors.New("at least 9000 tokens are left of 3584 allowed")
	for name, c := range map[string]struct {
		url     func(*testing.T) string
		options engine.Options
		patient engine.Patient
		what    string
		remedy  string
		serious bool
	}{
		"no server":              {nobody, engine.Options{}, engine.Patient{}, "no Ollama answers", "ollama serve", false},
		"no server, asked for":   {nobody, engine.Options{Kind: engine.Ollama}, engine.Patient{}, "no Ollama answers", "ollama serve", true},
		"no server for a name":   {nobody, engine.Options{Embedder: "nomic-embed-text"}, engine.Patient{}, "no Ollama answers", "ollama serve", true},
		"models hang":            {hanging, engine.Options{Try: time.Second}, engine.Patient{}, "nomic-embed-text fails: no answer within 1s", "log", true},
		"wrong port":             {other, engine.Options{}, engine.Patient{}, "is not Ollama", "--ollama-url", false},
		"no models":              {with(), engine.Options{}, engine.Patient{}, "llama3.2:3b is not on the server", "ollama pull llama3.2:3b", false},
		"cannot embed":           {with(llama), engine.Options{Embedder: "llama3.2:3b"}, engine.Patient{}, "does not embed", "name another model", true},
		"session's model":        {with(nomic, llama), engine.Options{}, engine.Patient{Model: "qwen3:8b"}, "qwen3:8b is not on the server", "ollama pull qwen3:8b", true},
		"num_ctx below session":  {with(nomic, llama), engine.Options{}, engine.Patient{Model: "llama3.2:3b", Needed: 20000, Fits: func(int) error { return nil }}, "compacted at once", "OLLAMA_CONTEXT_LENGTH=32768", false},
		"num_ctx below floor":    {with(nomic, llama), engine.Options{}, engine.Patient{Model: "llama3.2:3b", Needed: 20000, Fits: func(int) error { return tooLong }}, "cannot be made to fit the window of 4096", "num_ctx", true},
		"window below session":   {with(nomic, llama), engine.Options{}, engine.Patient{Window: 8000, Reserve: 2000, Needed: 6000, Fits: func(int) error { return nil }}, "leaves 5000 for it", "window in compact.yaml", false},
		"session above training": {with(nomic, small), engine.Options{}, engine.Patient{Model: "small", Needed: 20000, Fits: func(int) error { return tooLong }}, "window of 2048", "larger window: this one was trained for 2048", true},
		"training below need":    {with(nomic, medium), engine.Options{}, engine.Patient{Model: "medium", Needed: 20000, Fits: func(int) error { return nil }}, "compacted at once", "OLLAMA_CONTEXT_LENGTH=16384 ", false},
		"set below training":     {with(nomic, medium), engine.Options{}, engine.Patient{Model: "medium", Window: 8192, Needed: 20000, Fits: func(int) error { return nil }}, "compacted at once", "to at most 16384", false},
		"set above training":     {with(nomic, small), engine.Options{}, engine.Patient{Model: "small", Window: 32768}, "32768", "2048", true},
	} {
		t.Run(name, func(t *testing.T) {
			o := c.options
			o.URL, o.Wait = c.url(t), hang
			d, err := engine.Diagnose(t.Context(), o, c.patient)
			if err != nil {
				t.Fatal(err)
			}
			found := slices.ContainsFunc(d.Problems, func(p engine.Problem) bool {
				return strings.Contains(p.What, c.what) && strings.Contains(p.Remedy, c.remedy) && p.Serious == c.serious
			})
			if !found {
				t.Errorf("problems %+v; want %q with remedy %q, serious %t", d.Problems, c.what, c.remedy, c.serious)
			}
			if len(d.Levels) != 3 || d.Levels[0].Engine == "" || d.Levels[1].Why == "" || d.Levels[2].Why == "" {
				t.Errorf("levels %+v", d.Levels)
			}
		})
	}
}

func TestDiagnosisOfAHealthyServerHasNoProblem(t *testing.T) {
	d, err := engine.Diagnose(t.Context(), engine.Options{URL: fault.Fake(t).URL}, engine.Patient{Model: "llama3.2:3b"})
	if err != nil || len(d.Problems) > 0 {
		t.Fatalf("%+v, %v", d.Problems, err)
	}
	if d.Embed == nil || d.Embed.Error != "" || d.Embed.PerSecond <= 0 || d.Summary == nil || d.Summary.Error != "" || d.Summary.Tokens <= 0 {
		t.Errorf("embed %+v, summary %+v", d.Embed, d.Summary)
	}
	if !d.Server.Reachable || d.Server.Version != "0.17.4" || len(d.Models) != 2 || d.Window.Tokens != 4096 {
		t.Errorf("%+v", d)
	}
}

func TestPullBringsWhatIsWanted(t *testing.T) {
	s := fake(t, nomic)
	s.Pullable = []fault.Model{llama}
	o := engine.Options{URL: s.URL}
	want, err := engine.Wanted(t.Context(), o, "llama3.2:3b")
	if err != nil || !slices.Equal(slices.Compact(want), []string{"llama3.2:3b"}) {
		t.Fatalf("wanted %v, %v", want, err)
	}
	var last, of int64
	if err := engine.Pull(t.Context(), o, "llama3.2:3b", func(_ string, d, o int64) { last, of = max(last, d), max(of, o) }); err != nil {
		t.Fatal(err)
	}
	if of == 0 || last != of {
		t.Errorf("%d of %d bytes", last, of)
	}
	if want, err := engine.Wanted(t.Context(), o, ""); err != nil || len(want) > 0 {
		t.Errorf("still wanted %v, %v", want, err)
	}
	if err := engine.Pull(t.Context(), o, "nowhere", func(string, int64, int64) {}); err == nil {
		t.Error("a model that nobody has was pulled")
	}
}
