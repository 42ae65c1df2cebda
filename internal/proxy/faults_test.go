package proxy_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/internal/proxy"
)

const smallBody = `{"messages":[{"role":"user","content":"a"}]}`

// TestASlowUpstreamIsAnErrorInTheClientsForm has an upstream that does not begin to
// answer.
func TestASlowUpstreamIsAnErrorInTheClientsForm(t *testing.T) {
	s := newSetup(t, 100_000, func(c *proxy.Config) { c.AnswerWithin = 100 * time.Millisecond })
	s.answer = func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	for path, want := range map[string]string{"/api/chat": `{"error":"the upstream`, "/v1/chat/completions": `{"error":{"code":null,"message":"the upstream`, "/v1/messages": `{"error":{"message":"the upstream`} {
		answer, text := s.post(t, path, smallBody)
		if answer.StatusCode != http.StatusGatewayTimeout || !strings.HasPrefix(text, want) {
			t.Errorf("%s: %d %s", path, answer.StatusCode, text)
		}
	}
}

// TestAStreamThatBreaksIsNoEnd has an upstream that stops in the middle of a stream, or
// closes its connection there: the client gets what came, and then an error, which it
// cannot take for the end of the answer. The next request is answered.
func TestAStreamThatBreaksIsNoEnd(t *testing.T) {
	const part = "data: {\"choices\":[{\"delta\":{\"content\":\"Ye"
	for name, end := range map[string]func(w http.ResponseWriter, r *http.Request){
		"stops":  func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"closes": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"resets": func(w http.ResponseWriter, _ *http.Request) {
			if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
				c.Close()
			}
		},
	} {
		for _, body := range []string{smallBody, history("", 60)} {
			// A machine that stops for longer than the limit looks like an upstream that does.
			idle, err := 200*time.Millisecond, errors.New("not tried")
			for ; err != nil && idle <= time.Minute; idle *= 10 {
				err = breakStream(t, idle, part, body, end)
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// breakStream has an upstream send a part of an answer and then end in a way, and
// returns what is wrong with the client's answer, or with the next one.
func breakStream(t *testing.T, idle time.Duration, part, body string, end http.HandlerFunc) error {
	t.Helper()
	s := newSetup(t, 3000, func(c *proxy.Config) { c.IdleWithin = idle })
	s.answer = func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, part)
		w.(http.Flusher).Flush()
		end(w, r)
	}
	post := func() (int, string, error) {
		answer, err := http.Post(s.Server.URL+"/v1/chat/completions", "application/json", strings.NewReader(body))
		if err != nil {
			return 0, "", err
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		return answer.StatusCode, string(text), err
	}
	_, text, err := post()
	if err == nil {
		t.Errorf("a stream that was cut looks complete: %q", text)
	}
	if text != part {
		return fmt.Errorf("%q, and then %w", text, err)
	}
	s.upstream.mu.Lock()
	s.answer = nil
	s.upstream.mu.Unlock()
	if status, text, err := post(); err != nil || status != 200 || text != ollamaAnswer {
		return fmt.Errorf("the next request: %d %s, %w", status, text, err)
	}
	return nil
}

// TestAnAnswerThatIsReadAndBreaksIsNoEnd has an upstream close its connection at each line
// of a stream that the proxy translates or watches for calls, and in the middle of it.
func TestAnAnswerThatIsReadAndBreaksIsNoEnd(t *testing.T) {
	for _, c := range []struct {
		path, recorded  string
		native, recalls bool
	}{
		{"/v1/chat/completions", "chat", true, false}, {"/v1/messages", "chat", true, false}, {"/v1/messages", "chat-call", true, true},
		{"/v1/chat/completions", "openai", false, true}, {"/v1/chat/completions", "openai-call", false, true}, {"/api/chat", "chat-call", false, true},
	} {
		s := newSetup(t, 100_000, func(cfg *proxy.Config) { cfg.Native, cfg.RecallTool = c.native, c.recalls })
		a := recorded(t, c.recorded+"-stream")
		body := `{"model":"m","stream":true,"max_tokens":9,"messages":[{"role":"user","content":"a"}],"tools":[{"type":"function","name":"read_file","input_schema":{},"function":{"name":"read_file","parameters":{"type":"object"}}}]}`
		for at := 0; at < len(a.Body); at++ {
			if at%7 != 0 && a.Body[at] != '\n' {
				continue
			}
			s.answer = func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", a.Kind)
				_, _ = io.WriteString(w, a.Body[:at])
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			}
			answer, err := http.Post(s.Server.URL+c.path, "application/json", strings.NewReader(body))
			if err != nil {
				continue
			}
			text, err := io.ReadAll(answer.Body)
			answer.Body.Close()
			if err == nil && answer.StatusCode == http.StatusOK {
				t.Errorf("%+v, cut off at %d of %d: it looks complete: %s", c, at, len(a.Body), text)
			}
		}
		s.answer = func(w http.ResponseWriter, _ *http.Request) { a.write(w) }
		if answer, text := s.post(t, c.path, body); answer.StatusCode != http.StatusOK || text == "" {
			t.Errorf("%+v: the next request: %d %s", c, answer.StatusCode, text)
		}
	}
}

// TestErrorsOfTheUpstreamReachTheClient has errors of servers that are not about the
// length: overloaded, no such model, a wrong key, a template that fails.
func TestErrorsOfTheUpstreamReachTheClient(t *testing.T) {
	for _, e := range []struct {
		path   string
		status int
		body   string
	}{
		{"/api/chat", 404, `{"error":"model \"m\" not found, try pulling it first"}`},
		{"/api/chat", 400, `{"error":"m does not support tools"}`},
		{"/api/chat", 500, `{"error":"llama runner process has terminated: exit status 2"}`},
		{"/api/chat", 503, `{"error":"server busy, please try again.  maximum pending requests exceeded"}`},
		{"/v1/chat/completions", 401, `{"error":{"message":"Incorrect API key provided","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`},
		{"/v1/chat/completions", 429, `{"error":{"message":"Rate limit reached","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`},
		{"/v1/chat/completions", 500, `{"error":{"code":500,"message":"Failed to parse messages","type":"server_error"}}`},
		{"/v1/chat/completions", 503, `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`},
		{"/v1/responses", 400, `{"error":{"message":"Unknown parameter: 'inputs'.","type":"invalid_request_error","param":"inputs","code":"unknown_parameter"}}`},
		{"/v1/messages", 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`},
		{"/v1/messages", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"messages: roles must alternate"}}`},
		{"/v1/messages", 502, "<html><h1>502 Bad Gateway</h1></html>"},
		{"/v1/messages", 500, ""},
	} {
		s := newSetup(t, 3000, nil)
		s.answer = func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(e.status)
			_, _ = io.WriteString(w, e.body)
		}
		answer, text := s.post(t, e.path, history(e.path, 60))
		if answer.StatusCode != e.status || text != e.body || answer.Header.Get("Retry-After") != "7" || len(s.received()) != 1 {
			t.Errorf("%s, %d %s: %d %s, %d requests", e.path, e.status, e.body, answer.StatusCode, text, len(s.received()))
		}
	}
}

// failingState is a state whose disk is full, or whose server is gone.
type failingState struct {
	proxy.State
	find, touch, rounds, set, lease error
}

func (f failingState) Find(ctx context.Context, space string, chain []proxy.Link) (proxy.Tip, int, error) {
	tip, n, err := f.State.Find(ctx, space, chain)
	return tip, n, errors.Join(err, f.find)
}

func (f failingState) Touch(ctx context.Context, tip proxy.Tip) error {
	return errors.Join(f.State.Touch(ctx, tip), f.touch)
}

func (f failingState) Rounds(ctx context.Context, id string) ([]byte, uint64, error) {
	data, version, err := f.State.Rounds(ctx, id)
	return data, version, errors.Join(err, f.rounds)
}

func (f failingState) SetRounds(ctx context.Context, id string, data []byte, version uint64) error {
	if f.set != nil {
		return f.set
	}
	return f.State.SetRounds(ctx, id, data, version)
}

func (f failingState) Lease(ctx context.Context, id string) (func(), error) {
	if f.lease != nil {
		return nil, f.lease
	}
	return f.State.Lease(ctx, id)
}

// TestAStateThatFailsLetsRequestsPass has each operation fail as if the disk were full.
func TestAStateThatFailsLetsRequestsPass(t *testing.T) {
	full := &os.PathError{Op: "write", Path: "conversations.db", Err: syscall.ENOSPC}
	for name, f := range map[string]failingState{"find": {find: full}, "touch": {touch: full}, "rounds": {rounds: full}, "set": {set: full}, "lease": {lease: full}} {
		s := newSetup(t, 3000, func(c *proxy.Config) { f.State = c.State; c.State = f })
		body := history("", 60)
		for range 2 {
			answer, text := s.post(t, "/api/chat", body)
			if answer.StatusCode != 200 || text != ollamaAnswer {
				t.Errorf("%s: %d %s", name, answer.StatusCode, text)
			}
			h := answer.Header
			if said := h.Get("X-Tiercompact-Passed") + h.Get("X-Tiercompact-Warning"); !strings.Contains(said, "no space left") {
				t.Errorf("%s: headers %v", name, h)
			}
			if h.Get("X-Tiercompact-Passed") != "" && string(s.last(t)) != body {
				t.Errorf("%s: what passes is not as it came", name)
			}
		}
	}
}

// The places at which a proxy is killed in a compaction.
const (
	beforeArchive = "before the archive"
	afterArchive  = "after the archive"
	afterState    = "after the state"
)

type killedStore struct {
	archive.Store
	at string
}

func (k killedStore) Put(ctx context.Context, step archive.Step) error {
	if k.at == beforeArchive {
		waitForDeath()
	}
	err := k.Store.Put(ctx, step)
	if err == nil && k.at == afterArchive {
		waitForDeath()
	}
	return err
}

type killedState struct {
	proxy.State
	at string
}

func (k killedState) SetRounds(ctx context.Context, id string, data []byte, version uint64) error {
	err := k.State.SetRounds(ctx, id, data, version)
	if err == nil && k.at == afterState {
		waitForDeath()
	}
	return err
}

func waitForDeath() {
	fmt.Println("in a round")
	select {}
}

// onDisk returns a proxy with state and archive in dir.
func onDisk(t *testing.T, dir, upstream, at string) (*httptest.Server, archive.Store, func()) {
	t.Helper()
	store, err := archive.OpenDir(filepath.Join(dir, "archive"), archive.DirOptions{})
	if err != nil {
		t.Fatal(err)
	}
	state, err := proxy.OpenDisk(filepath.Join(dir, "conversations"), proxy.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	to, err := url.Parse(upstream)
	if err != nil {
		t.Fatal(err)
	}
	p, err := proxy.New(proxy.Config{Upstream: to, State: killedState{state, at}, Open: func(ctx context.Context, m string) (tiercompact.Config, error) {
		cfg, err := steady(3000)(ctx, m)
		cfg.Archive, cfg.Deadlines.Archive = killedStore{store, at}, time.Hour
		return cfg, err
	}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(p)
	return server, store, func() { p.Close(); server.Close(); _ = state.Close(); _ = store.Close() }
}

// TestKilledChild is the proxy that TestAProxyIsKilledInACompaction kills.
func TestKilledChild(t *testing.T) {
	dir := os.Getenv("KILLED_DIR")
	if dir == "" {
		t.Skip("this is the other process of TestAProxyIsKilledInACompaction")
	}
	server, _, _ := onDisk(t, dir, "http://127.0.0.1:1", os.Getenv("KILLED_AT"))
	fmt.Println(server.URL)
	select {}
}

// TestAProxyIsKilledInACompaction kills a proxy with state and archive on disk at each
// place of a round. Another one opens both, and goes on: the conversation is compacted,
// the same way from request to request, and the archive has no damage.
func TestAProxyIsKilledInACompaction(t *testing.T) {
	for _, at := range []string{beforeArchive, afterArchive, afterState} {
		dir, body := t.TempDir(), history("", 60)
		child := exec.Command(os.Args[0], "-test.run=^TestKilledChild$")
		child.Env = append(os.Environ(), "KILLED_DIR="+dir, "KILLED_AT="+at)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		lines.Scan()
		address := lines.Text()
		go func() {
			if answer, err := http.Post(address+"/api/chat", "application/json", strings.NewReader(body)); err == nil {
				answer.Body.Close()
			}
		}()
		lines.Scan()
		says := lines.Text()
		_ = child.Process.Kill()
		_ = child.Wait()
		if says != "in a round" {
			t.Fatalf("%s: the proxy says %q", at, says)
		}
		u := newUpstream(t)
		server, store, stop := onDisk(t, dir, u.URL, "")
		var first []byte
		session := ""
		for i := range 2 {
			answer, err := http.Post(server.URL+"/api/chat", "application/json", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			session = answer.Header.Get("X-Tiercompact-Session")
			if i == 0 {
				first = u.last(t)
			}
			if len(u.last(t)) >= len(body) || string(first) != string(u.last(t)) || answer.Header.Get("X-Tiercompact-Passed") != "" {
				t.Errorf("%s: %d of %d bytes, headers %v", at, len(u.last(t)), len(body), answer.Header)
			}
		}
		if found, err := archive.Verify(t.Context(), store, session); err != nil || len(found.Damages) > 0 {
			t.Errorf("%s: the archive has damages: %v, %v", at, found.Damages, err)
		}
		stop()
	}
}
