package engine_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tiercompact/tiercompact/engine"
	"github.com/tiercompact/tiercompact/internal/fault"
	"github.com/tiercompact/tiercompact/internal/model"
	"github.com/tiercompact/tiercompact/internal/ollama"
	"github.com/tiercompact/tiercompact/internal/ollamatest"
)

// A request is what a server was asked to do with a model.
type request struct {
	Model     string
	KeepAlive string `json:"keep_alive"`
	Options   struct {
		NumCtx int `json:"num_ctx"`
	}
}

// recorded is a proxy in front of a server that records the requested models.
func recorded(t *testing.T, upstream string) (address string, requests func() []request) {
	t.Helper()
	target, err := url.Parse(upstream)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var all []request
	proxy := httputil.NewSingleHostReverseProxy(target)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var q request
		if json.Unmarshal(body, &q) == nil && (r.URL.Path == "/api/chat" || r.URL.Path == "/api/embed") {
			mu.Lock()
			all = append(all, q)
			mu.Unlock()
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() []request {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}
}

func TestATrialLeavesTheServerAsItWas(t *testing.T) {
	s := fake(t, nomic, llama, fault.Model{Name: "talk:latest", Capabilities: []string{fault.Completion}, Window: 131072})
	address, requests := recorded(t, s.URL)
	diagnose := func(o engine.Options, p engine.Patient) engine.Diagnosis {
		t.Helper()
		o.URL = address
		d, err := engine.Diagnose(t.Context(), o, p)
		if err != nil || len(d.Problems) > 0 {
			t.Fatalf("%+v, %v", d.Problems, err)
		}
		return d
	}
	d := diagnose(engine.Options{}, engine.Patient{Model: "talk"})
	if len(requests()) != 5 {
		t.Fatalf("asked %+v", requests())
	}
	for _, q := range requests() {
		if q.KeepAlive != "10s" || q.Options.NumCtx != 0 {
			t.Errorf("a model that was not loaded: %+v", q)
		}
	}
	if d.Window.Tokens != 4096 || d.Window.Source != "default of the server" || d.Window.Unsure != "" {
		t.Errorf("the default window, which was asked: %+v", d.Window)
	}

	s = fake(t, nomic, llama)
	address, requests = recorded(t, s.URL)
	diagnose(engine.Options{Summarizer: "llama3.2:3b", SummaryWindow: 16_384}, engine.Patient{})
	if all := requests(); all[len(all)-2].Options.NumCtx != 16_384 {
		t.Errorf("the window that the user set is not tried: %+v", all)
	}
	seen := len(requests())
	c, err := ollama.New(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	diagnose(engine.Options{}, engine.Patient{Model: "llama3.2:3b"})
	for _, q := range requests()[seen:] {
		window, _, _ := c.Loaded(t.Context(), q.Model)
		if q.KeepAlive != "" || q.Options.NumCtx != window {
			t.Errorf("a model that was loaded, with %d tokens: %+v", window, q)
		}
	}
}

func TestEachThingIsAskedOnce(t *testing.T) {
	for name, look := range map[string]func(o engine.Options) error{
		"open": func(o engine.Options) error { _, err := engine.Open(t.Context(), o); return err },
		"diagnose": func(o engine.Options) error {
			_, err := engine.Diagnose(t.Context(), o, engine.Patient{Model: "llama3.2:3b", Window: 4096})
			return err
		},
	} {
		counter := ollamatest.Count(t, fault.Fake(t).URL)
		if err := look(engine.Options{URL: counter.URL}); err != nil {
			t.Fatal(err)
		}
		for path, most := range map[string]int{"/api/version": 1, "/api/tags": 1, "/api/show": 2, "/api/ps": 1} {
			if name == "diagnose" && path == "/api/ps" {
				most += 2 // before each trial
			}
			if n := counter.Requests(path); n != most {
				t.Errorf("%s: %d requests for %s, want %d", name, n, path, most)
			}
		}
	}
}

func TestASlowServerIsSlowAndNotAbsent(t *testing.T) {
	for _, path := range []string{"/api/version", "/api/tags", "/api/show", "/api/ps"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			slow := fault.New(t, fault.Fake(t).URL)
			slow.At(path, fault.Hang())
			o := engine.Options{URL: slow.URL, Wait: 2 * time.Second}
			e, err := engine.Open(t.Context(), o)
			if err != nil || !e.Summary.BuiltIn() || !strings.Contains(e.Summary.Why, "slow: no answer in time") || strings.Contains(e.String(), "ollama serve") {
				t.Errorf("%v, %v", e, err)
			}
			o.Kind = engine.Ollama
			if _, err := engine.Open(t.Context(), o); !errors.Is(err, model.ErrSlow) || errors.Is(err, model.ErrUnreachable) || !strings.Contains(err.Error(), "; it is there, and busy") {
				t.Errorf("asked for: %v", err)
			}
		})
	}
}

func TestAllTrialsTogetherAreBounded(t *testing.T) {
	s := fault.Fake(t)
	hang := fault.New(t, s.URL)
	for _, path := range []string{"/api/embed", "/api/chat"} {
		hang.At(path, fault.Hang())
	}
	const try = 200 * time.Millisecond
	var tried []string
	d, err := engine.Diagnose(t.Context(), engine.Options{URL: hang.URL, Try: try, Trying: func(model string) { tried = append(tried, model) }}, engine.Patient{Model: "llama3.2:3b"})
	if err != nil || len(tried) != 3 {
		t.Fatalf("tried %v, %v", tried, err)
	}
	// The window and the embedder use up the time of one trial and a half.
	if d.Embed == nil || d.Summary == nil || d.Summary.Error != "no answer within the 300ms for all trials of models" {
		t.Errorf("embed %+v, summary %+v", d.Embed, d.Summary)
	}
}
