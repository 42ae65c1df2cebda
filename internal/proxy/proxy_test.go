package proxy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/internal/proxy"
	"github.com/tiercompact/tiercompact/trace"
)

// An upstream records what it gets, and answers like Ollama's /api/chat.
type upstream struct {
	*httptest.Server
	mu          sync.Mutex
	bodies      [][]byte
	heads       []http.Header
	uris        []string
	answer      http.HandlerFunc // nil: a short answer
	keepNothing bool             // of what it gets
}

// ollamaAnswer has the lines of a streamed answer of Ollama 0.17.
const ollamaAnswer = `{"model":"m","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":"Yes"},"done":false}
{"model":"m","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","total_duration":1,"load_duration":1,"prompt_eval_count":26,"prompt_eval_duration":1,"eval_count":2,"eval_duration":1}
`

func newUpstream(t *testing.T) *upstream {
	t.Helper()
	u := &upstream{}
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		u.mu.Lock()
		if !u.keepNothing {
			u.bodies, u.heads, u.uris = append(u.bodies, body), append(u.heads, r.Header.Clone()), append(u.uris, r.RequestURI)
		}
		answer := u.answer
		u.mu.Unlock()
		if answer != nil {
			r.Body = io.NopCloser(bytes.NewReader(body))
			answer(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/x-ndjson")
		_, _ = io.WriteString(w, ollamaAnswer)
	}))
	t.Cleanup(u.Close)
	return u
}

func (u *upstream) received() [][]byte {
	u.mu.Lock()
	defer u.mu.Unlock()
	return append([][]byte(nil), u.bodies...)
}

func (u *upstream) last(t *testing.T) []byte {
	t.Helper()
	all := u.received()
	if len(all) == 0 {
		t.Fatal("nothing went upstream")
	}
	return all[len(all)-1]
}

// A setup is a proxy before an upstream.
type setup struct {
	*upstream
	*httptest.Server
	proxy  *proxy.Proxy
	state  *proxy.Disk
	events *events
}

type events struct {
	mu  sync.Mutex
	all []trace.Event
}

func (e *events) add(ev trace.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, ev)
}

func (e *events) warned(text string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, ev := range e.all {
		if w, ok := ev.Data.(trace.Warning); ok && strings.Contains(w.Message, text) {
			return true
		}
	}
	return false
}

func steady(window int) func(context.Context, string) (tiercompact.Config, error) {
	return preset(tiercompact.Steady, window)
}

func preset(name tiercompact.Preset, window int) func(context.Context, string) (tiercompact.Config, error) {
	return func(context.Context, string) (tiercompact.Config, error) {
		cfg := tiercompact.Defaults(name)
		cfg.Window = window
		return cfg, nil
	}
}

func newSetup(t *testing.T, window int, change func(*proxy.Config)) *setup {
	t.Helper()
	s := &setup{upstream: newUpstream(t), events: new(events)}
	s.restart(t, t.TempDir(), window, change)
	return s
}

// restart opens a proxy on the state in dir.
func (s *setup) restart(t testing.TB, dir string, window int, change func(*proxy.Config)) {
	t.Helper()
	state, err := proxy.OpenDisk(dir, proxy.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	to, _ := url.Parse(s.upstream.URL)
	cfg := proxy.Config{Upstream: to, Open: steady(window), State: state, Trace: s.events.add}
	if change != nil {
		change(&cfg)
	}
	p, err := proxy.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s.proxy, s.state, s.Server = p, state, httptest.NewServer(p)
	t.Cleanup(s.stop)
}

func (s *setup) stop() {
	s.proxy.Close() // an open page has a stream without an end
	s.Server.Close()
	_ = s.state.Close()
}

func (s *setup) post(t *testing.T, path, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, s.Server.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(text)
}

// A dialogue grows as a client's history does.
type dialogue struct {
	items []string
	turns int
}

func (d *dialogue) add(role, text string) {
	raw, _ := json.Marshal(text)
	// An unusual order of keys, an unknown field and an escape must survive.
	d.items = append(d.items, fmt.Sprintf(`{"x_note": 1.50,"content":%s , "role":"%s","y":"\u00e9"}`, raw, role))
}

// turn adds a question and, except for the newest, its answer.
func (d *dialogue) turn() {
	if d.turns > 0 {
		d.add("assistant", fmt.Sprintf("The answer %d: module_%d handles it. %s", d.turns, d.turns, strings.Repeat(fmt.Sprintf("detail %d of part_%d; ", d.turns, d.turns), 40)))
	}
	d.turns++
	d.add("user", fmt.Sprintf("Question %d: how does function_%d work in file_%d.go?", d.turns, d.turns, d.turns))
}

func (d *dialogue) body() string {
	return `{"model":"m", "options":{"temperature":0.10},"messages":[ ` + strings.Join(d.items, ", ") + ` ],"z_unknown":{"b":1,"a":2}}`
}

func TestARequestThatFitsPassesByteForByte(t *testing.T) {
	s := newSetup(t, 100_000, nil)
	for _, path := range []string{"/api/chat", "/v1/chat/completions", "/v1/messages", "/api/generate", "/v1/embeddings"} {
		var d dialogue
		for range 3 {
			d.turn()
		}
		answer, text := s.post(t, path+"?b=%zz;1&a=2", d.body())
		if answer.StatusCode != 200 || text != ollamaAnswer {
			t.Errorf("%s: %d %s", path, answer.StatusCode, text)
		}
		if got := string(s.last(t)); got != d.body() {
			t.Errorf("%s: forwarded\n%s\ninstead of\n%s", path, got, d.body())
		}
		if uri := s.uris[len(s.uris)-1]; uri != path+"?b=%zz;1&a=2" {
			t.Errorf("%s: path upstream %s", path, uri)
		}
	}
}

func TestAGrowingSessionIsCompactedAndKeepsItsBeginning(t *testing.T) {
	s := newSetup(t, 3000, nil)
	var d dialogue
	var before []byte
	rounds, session := 0, ""
	for i := range 60 {
		d.turn()
		answer, _ := s.post(t, "/api/chat", d.body())
		s.proxy.Wait()
		if id := answer.Header.Get("X-Tiercompact-Session"); session != "" && id != session {
			t.Fatalf("request %d is of session %q, not %q", i, id, session)
		} else {
			session = id
		}
		body := s.last(t)
		if !json.Valid(body) {
			t.Fatalf("request %d went upstream as broken JSON: %s", i, body)
		}
		cut := bytes.LastIndex(before, []byte(" ],"))
		if i > 0 && !bytes.HasPrefix(body, before[:max(cut, 0)]) {
			rounds++
		}
		before = body
		for _, own := range []string{`"x_note": 1.50`, `"z_unknown":{"b":1,"a":2}}`, `"options":{"temperature":0.10}`} {
			if !bytes.Contains(body, []byte(own)) {
				t.Fatalf("request %d lost %s: %s", i, own, body)
			}
		}
		if !bytes.Contains(body, []byte(d.items[len(d.items)-1])) {
			t.Fatalf("request %d: the newest message is not as it came", i)
		}
	}
	if full := len(d.body()); rounds == 0 || rounds > 15 || len(before) > full/2 {
		t.Errorf("%d changes of the beginning in 60 requests; %d of %d bytes at the end", rounds, len(before), full)
	}
}

func TestAfterARestartTheSameBytesGoUpstream(t *testing.T) {
	dir := t.TempDir()
	s := &setup{upstream: newUpstream(t), events: new(events)}
	s.restart(t, dir, 3000, nil)
	var d dialogue
	for range 40 {
		d.turn()
		s.post(t, "/api/chat", d.body())
		s.proxy.Wait()
	}
	s.post(t, "/api/chat", d.body())
	want := s.last(t)
	s.stop()
	s.restart(t, dir, 3000, nil)
	if s.post(t, "/api/chat", d.body()); !bytes.Equal(s.last(t), want) {
		t.Errorf("after a restart\n%s\nbefore\n%s", s.last(t), want)
	}
}

func mustURL(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
