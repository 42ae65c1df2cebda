package config_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/model"
	"github.com/tiercompact/tiercompact/internal/ollama"
	"github.com/tiercompact/tiercompact/internal/ollamatest"
	"github.com/tiercompact/tiercompact/levels"
)

// A requestLog has the requests that passed a proxy.
type requestLog struct {
	mu    sync.Mutex
	lines []string       // path and model
	loads map[string]int // requests by model and the options for which a server loads it again
	open  int            // requests that the server has not answered
}

// loggingProxy starts a proxy for a server that logs requests.
func loggingProxy(t *testing.T, upstream string) (address string, log *requestLog) {
	t.Helper()
	target, err := url.Parse(upstream)
	if err != nil {
		t.Fatal(err)
	}
	log = &requestLog{loads: make(map[string]int)}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.FlushInterval = -1
	proxy.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) } // the client may have left
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client has left
		}
		log.add(r.URL.Path, body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		log.addOpen(1)
		defer log.addOpen(-1) // also if the client leaves
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, log
}

// add logs a request. The options that a runner is loaded with are those of api.Runner
// (Ollama 0.17.4, api/types.go): num_ctx, num_batch, num_gpu, main_gpu, use_mmap,
// num_thread.
func (l *requestLog) add(path string, body []byte) {
	var r struct {
		Model   string
		Keep    any `json:"keep_alive"`
		Options map[string]any
	}
	_ = json.Unmarshal(body, &r) // others have no model
	l.mu.Lock()
	defer l.mu.Unlock()
	name := strings.TrimSuffix(r.Model, ":latest")
	l.lines = append(l.lines, path+" "+name)
	if path == "/api/chat" || path == "/api/generate" {
		l.loads[fmt.Sprintf("%s num_ctx=%v num_thread=%v num_batch=%v unload=%v", name, r.Options["num_ctx"], r.Options["num_thread"], r.Options["num_batch"], r.Keep == "0s")]++
	}
}

func (l *requestLog) addOpen(n int) (open int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open += n
	return l.open
}

func (l *requestLog) count(line string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, have := range l.lines {
		if have == line {
			n++
		}
	}
	return n
}

// until waits for a condition.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s does not come", what)
		}
	}
}

// A session whose model also summarises loads it once, with one window, and it stays
// loaded when the user gives a summary up; then no request is left on the server.
func TestRealSessionKeepsItsModelLoaded(t *testing.T) {
	address, log := loggingProxy(t, ollamatest.URL(t))
	c := loadText(t, "compact.yaml", fmt.Sprintf("ollama_url: %s\nmodel: %s\nwindow: 3072\nnum_thread: %d\nexact_tokens: true\nembed: {model: lexical}\ndeadlines: {summary: 0s, round: 0s}\nsummary: {model: '%s:latest', max_tokens: 96}\n",
		address, ollamatest.Tiny, ollamatest.Threads, ollamatest.Tiny)).Config
	o, err := c.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close(t.Context())
	client, err := ollama.New(address)
	if err != nil {
		t.Fatal(err)
	}
	client.Threads = c.Engine.Threads
	o.Config.NoAuto = true // rounds come when they are asked for
	compactor, err := tiercompact.New(o.Config)
	if err != nil {
		t.Fatal(err)
	}
	s := compactor.Session("real")
	summaries := 0
	for turn := range 20 {
		add := func(m chat.Message) {
			t.Helper()
			if _, err := s.AddMessage(t.Context(), m); err != nil {
				t.Fatal(err)
			}
		}
		add(chat.NewText(chat.User, fmt.Sprintf("Question %d: what does step_%d do, and why is it before step_%d? %s", turn, turn, turn+1, strings.Repeat("It reads the file. ", 12))))
		a, err := client.Chat(t.Context(), model.Request{Model: ollamatest.Tiny, Window: o.Config.Window, Messages: s.Messages(), MaxTokens: 8, Sampling: &model.Sampling{Seed: 1}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		add(chat.NewText(chat.Assistant, fmt.Sprintf("Answer %d. %s", turn, a.Message.Text())))
		if turn == 14 {
			before := log.count("/api/chat " + ollamatest.Tiny)
			asked := func() bool { return log.count("/api/chat "+ollamatest.Tiny) > before }
			ctx, giveUp := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() {
				_, err := s.CompactLevel(ctx, levels.Emergency)
				done <- err
			}()
			until(t, "the request for a summary", asked)
			giveUp()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("the summary that is given up: %v", err)
			}
			until(t, "the end of its request", func() bool { return log.addOpen(0) == 0 })
			if window, loaded, err := client.Loaded(t.Context(), ollamatest.Tiny); err != nil || !loaded || window != o.Config.Window {
				t.Errorf("then the model is loaded: %v, with %d tokens, %v", loaded, window, err)
			}
		}
		if turn == 9 || turn == 18 {
			before := log.count("/api/chat " + ollamatest.Tiny)
			if _, err := s.CompactLevel(t.Context(), levels.Emergency); err != nil {
				t.Fatal(err)
			}
			if log.count("/api/chat "+ollamatest.Tiny) > before {
				summaries++
			}
		}
	}
	if summaries != 2 {
		t.Errorf("%d rounds asked the model for a summary, want 2", summaries)
	}
	if kinds := slices.Sorted(maps.Keys(log.loads)); len(kinds) != 1 || !strings.Contains(kinds[0], "num_ctx=3072 ") || !strings.Contains(kinds[0], "unload=false") {
		t.Errorf("the server loads the model for %q", kinds)
	}
	if n := log.count("/api/show " + ollamatest.Tiny); n != 1 {
		t.Errorf("the model is shown %d times, want once", n)
	}
}
