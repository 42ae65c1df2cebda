package ollama_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tiercompact/tiercompact/internal/model"
	"github.com/tiercompact/tiercompact/internal/ollama"
	"github.com/tiercompact/tiercompact/internal/ollamatest"
)

// far is longer than any step takes here, on any machine.
const far = 10 * time.Minute

// A slow server begins an answer as Ollama 0.17.4 does, stops there, and reports
// when its client left and which model it had to unload.
type slow struct {
	*httptest.Server
	reached, gone chan struct{}
	unloaded      chan string
}

// slowly returns a server whose /api/chat sends begin, and then stops.
func slowly(t *testing.T, begin func(w http.ResponseWriter, r *http.Request) bool) *slow {
	s := &slow{reached: make(chan struct{}, 9), gone: make(chan struct{}, 9), unloaded: make(chan string, 9)}
	mux := http.NewServeMux()
	mux.HandleFunc("/api/chat", func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // otherwise net/http does not notice that the client leaves
		if begin(w, r) {
			return
		}
		w.(http.Flusher).Flush()
		s.reached <- struct{}{}
		<-r.Context().Done()
		s.gone <- struct{}{}
	})
	mux.HandleFunc("/api/generate", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.unloaded <- string(body)
		fmt.Fprintln(w, `{"model":"m","created_at":"2026-11-28T20:45:14.915030469Z","response":"","done":true,"done_reason":"unload"}`) // as 0.17.4 does
	})
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// came waits for an event.
func came[T any](t *testing.T, what string, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(far):
		t.Fatalf("%s does not come", what)
	}
	return v
}

func TestTheConnectionIsClosedWhenTheContextEnds(t *testing.T) {
	const line = `{"model":"m","created_at":"2026-11-28T20:45:14Z","message":{"role":"assistant","content":"a"},"done":false}` + "\n"
	for name, begin := range map[string]func(w http.ResponseWriter, r *http.Request) bool{
		"before the answer":   func(http.ResponseWriter, *http.Request) bool { return false },
		"in the answer":       func(w http.ResponseWriter, _ *http.Request) bool { io.WriteString(w, line); return false },
		"in a line of it":     func(w http.ResponseWriter, _ *http.Request) bool { io.WriteString(w, line+`{"mod`); return false },
		"in a refusal":        func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(500); return false },
		"after a redirection": redirected,
	} {
		for _, mayUnload := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", may unload ", mayUnload), func(t *testing.T) {
				s := slowly(t, begin)
				c, err := ollama.New(s.URL)
				if err != nil {
					t.Fatal(err)
				}
				if err := c.Unload(t.Context(), "m"); err != nil { // leaves an idle connection
					t.Fatal(err)
				}
				came(t, "the first request", s.unloaded)
				ctx, end := context.WithCancel(t.Context())
				defer end()
				done, heard := make(chan error, 1), make(chan model.Delta, 9)
				go func() {
					_, err := c.Chat(ctx, model.Request{Model: "m", Messages: user("hi"), MayUnload: mayUnload}, func(d model.Delta) error { heard <- d; return nil })
					done <- err
				}()
				came(t, "the request", s.reached)
				writes := strings.HasPrefix(name, "in the answer") || strings.HasPrefix(name, "in a line")
				if writes {
					came(t, "the beginning of the answer", heard)
				}
				end()
				if err := came(t, "the end of the call", done); !errors.Is(err, context.Canceled) {
					t.Errorf("error is %v", err)
				}
				came(t, "the end of the connection", s.gone)
				if told := len(s.unloaded) > 0; told != (mayUnload && !writes) {
					t.Errorf("unload requests: %v", told)
				}
			})
		}
	}
}

// redirected sends the first request to another path of the same host.
func redirected(w http.ResponseWriter, r *http.Request) bool {
	if r.URL.RawQuery != "" {
		return false
	}
	w.Header().Set("Location", "/api/chat?again")
	w.WriteHeader(http.StatusTemporaryRedirect)
	return true
}

// The server continues to read an abandoned prompt, which takes minutes; the model
// is unloaded instead.
func TestRealServerStopsReadingAnAbandonedPrompt(t *testing.T) {
	direct := realClient(t)
	counter := ollamatest.Count(t, ollamatest.URL(t))
	c, err := ollama.New(counter.URL)
	if err != nil {
		t.Fatal(err)
	}
	c.Threads = ollamatest.Threads
	const window = 8192
	if _, err := direct.Chat(t.Context(), model.Request{Model: ollamatest.Chat, Window: window, Messages: user("hi"), MaxTokens: 1}, nil); err != nil {
		t.Fatal(err)
	}
	for _, mayUnload := range []bool{false, true} {
		asked := counter.Requests("/api/chat")
		ctx, end := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := c.Chat(ctx, model.Request{Model: ollamatest.Chat, Window: window, Messages: user(lines(t, 0, 500)), MayUnload: mayUnload, MaxTokens: 1}, nil)
			done <- err
		}()
		until(t, "the request", func() bool { return counter.Requests("/api/chat") > asked })
		end()
		if err := came(t, "the end of the call", done); !errors.Is(err, context.Canceled) {
			t.Errorf("error is %v", err)
		}
		loaded := func() bool {
			_, loaded, err := direct.Loaded(t.Context(), ollamatest.Chat)
			if err != nil {
				t.Fatal(err)
			}
			return loaded
		}
		if !mayUnload {
			if !loaded() {
				t.Error("the model is unloaded, though later requests may go on from this one")
			}
			continue
		}
		until(t, "the end of the model", func() bool { return !loaded() })
	}
	if a, err := direct.Chat(t.Context(), model.Request{Model: ollamatest.Chat, Window: window, Messages: user("hi"), MaxTokens: 1}, nil); err != nil || a.PromptTokens == 0 {
		t.Errorf("then: %+v, %v", a, err)
	}
}

// until waits for a condition.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(far); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s does not come", what)
		}
	}
}
