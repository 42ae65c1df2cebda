package proxy_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/internal/proxy"
)

const token = "correct-horse-battery-staple-0123"

// raw sends bytes as they are, and returns the status of the first answer.
func (s *setup) raw(t *testing.T, text string) int {
	t.Helper()
	c, err := net.Dial("tcp", s.Server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(5 * time.Minute))
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode
}

func TestAForeignHostIsRefused(t *testing.T) {
	s := newSetup(t, 100_000, func(c *proxy.Config) { c.Hosts = []string{"box.lan"} })
	for host, want := range map[string]int{
		"localhost:11435": 200, "127.0.0.1": 200, "[::1]:80": 200, "LOCALHOST.": 200, "box.lan": 200, "127.0.0.2:1": 200, "[::ffff:127.0.0.1]": 200,
		"evil.example": 403, "localhost.evil.example": 403, "127.0.0.1.evil.example": 403, "192.168.0.7": 403, "xlocalhost": 403, "box.lan.evil.example:80": 403, "[::2]": 403, "localhost@evil.example": 400,
	} {
		for _, path := range []string{"/healthz", "/metrics", "/v1/compact", "/api/chat", "/api/tags"} {
			method := "GET"
			if path == "/v1/compact" {
				method = "POST"
			}
			got := s.raw(t, fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", method, path, host))
			if path == "/v1/compact" && want == 200 {
				continue // see TestCompactIsForPrograms
			}
			if got != want {
				t.Errorf("Host: %s, %s: %d, want %d", host, path, got, want)
			}
		}
	}
}

func TestCompactIsForPrograms(t *testing.T) {
	s := newSetup(t, 3000, nil)
	body := history("", 60)
	for _, test := range []struct {
		name    string
		headers []string
		want    int
	}{
		{"a program", nil, 200},
		{"its own page", []string{"Origin", s.Server.URL, "Sec-Fetch-Site", "same-origin"}, 200},
		{"another site", []string{"Origin", "https://evil.example"}, 403},
		{"another port", []string{"Origin", "http://127.0.0.1:1"}, 403},
		{"a file", []string{"Origin", "null"}, 403},
		{"another site, by its fetch metadata", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"a subdomain", []string{"Sec-Fetch-Site", "same-site"}, 403},
		{"a form", []string{"Content-Type", "text/plain"}, 415},
		{"a form of another kind", []string{"Content-Type", "application/x-www-form-urlencoded"}, 415},
	} {
		answer, text := s.post(t, "/v1/compact", body, test.headers...)
		if answer.StatusCode != test.want {
			t.Errorf("%s: %d, want %d: %s", test.name, answer.StatusCode, test.want, text)
		}
		if answer.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: the answer is readable by other sites", test.name)
		}
	}
	for _, bad := range []string{"", "{", "[1]", `{"messages":1}`} {
		if answer, text := s.post(t, "/v1/compact", bad); answer.StatusCode != 400 {
			t.Errorf("%q: %d %s", bad, answer.StatusCode, text)
		}
	}
	if len(s.received()) != 0 {
		t.Error("a request for the proxy itself went upstream")
	}
}

func TestATokenIsDemandedAndGoesNoFurther(t *testing.T) {
	s := newSetup(t, 100_000, func(c *proxy.Config) { c.Token = token })
	for _, test := range []struct {
		name    string
		headers []string
		want    int
	}{
		{"none", nil, 401},
		{"empty", []string{"Authorization", "Bearer "}, 401},
		{"nearly right", []string{"Authorization", "Bearer " + token[:len(token)-1]}, 401},
		{"one character more", []string{"Authorization", "Bearer " + token + "x"}, 401},
		{"other case", []string{"Authorization", "Bearer " + strings.ToUpper(token)}, 401},
		{"as basic", []string{"Authorization", "Basic " + token}, 401},
		{"as bearer", []string{"Authorization", "Bearer " + token}, 200},
		{"as key", []string{"X-Api-Key", token}, 200},
		{"beside the upstream's key", []string{"X-Tiercompact-Token", token, "Authorization", "Bearer upstream-key"}, 200},
	} {
		for _, path := range []string{"/api/chat", "/metrics", "/healthz", "/v1/compact", "/api/delete"} {
			before := len(s.received())
			answer, _ := s.post(t, path, `{"messages":[]}`, test.headers...)
			if denied := answer.StatusCode == 401; denied != (test.want == 401) {
				t.Errorf("%s, %s: %d", test.name, path, answer.StatusCode)
			}
			if test.want == 401 && len(s.received()) != before {
				t.Errorf("%s, %s: it went upstream", test.name, path)
			}
		}
	}
	for _, h := range s.heads {
		if text := fmt.Sprint(h); strings.Contains(text, token) {
			t.Errorf("the token went upstream: %s", text)
		}
	}
	last := s.heads[len(s.heads)-1]
	if last.Get("Authorization") != "Bearer upstream-key" {
		t.Errorf("the upstream's key is %q", last.Get("Authorization"))
	}
}

// TestAKeyGoesUpstreamAlone looks for a client's key wherever the proxy writes.
func TestAKeyGoesUpstreamAlone(t *testing.T) {
	store := archive.NewMemory()
	s := newSetup(t, 3000, func(c *proxy.Config) {
		c.Open = func(ctx context.Context, m string) (tiercompact.Config, error) {
			cfg, err := steady(3000)(ctx, m)
			cfg.Archive, cfg.Trace = store, c.Trace
			return cfg, err
		}
	})
	const key = "opaque0key0of0a0client"
	answer, _ := s.post(t, "/api/chat", history("", 60), "Authorization", "Bearer "+key)
	if s.heads[0].Get("Authorization") != "Bearer "+key {
		t.Error("the key did not go upstream")
	}
	s.events.mu.Lock()
	defer s.events.mu.Unlock()
	for _, e := range s.events.all {
		if line, err := e.MarshalJSON(); err != nil || strings.Contains(string(line), key) {
			t.Errorf("an event has the key: %s, %v", line, err)
		}
	}
	if strings.Contains(fmt.Sprint(answer.Header), key) {
		t.Error("the answer's headers have the key")
	}
}

func TestPathTricksAreRefused(t *testing.T) {
	s := newSetup(t, 100_000, nil)
	for path, want := range map[string]int{
		"/api/../v1/compact": 400, "/..": 400, "/api/%2e%2e/tags": 400, "/api/%2E./tags": 400, "/api/..%2ftags": 400, "/a%5c..%5cb": 400,
		"/api/%252e%252e/tags": 400, "/api/%25252e%25252e/tags": 400, "/api/tags%0d%0aX:%20y": 400, "/api/%7f": 400, "/api/..": 400, "/api/...": 200, "/api/tags/.": 400, "\\..\\api": 400, "/./api/tags": 400, "/a/%00": 400, "http://evil.example/api/tags": 400, "//evil.example/api/tags": 200,
		"/v1/models/org%2Fname": 200, "/api/tags?x=../..": 200, "/v1/models/a..b": 200, "/_tiercompact/x": 404, "/_tiercompact": 308,
	} {
		before := len(s.received())
		got := s.raw(t, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
		if got != want {
			t.Errorf("%s: %d, want %d", path, got, want)
		}
		if sent := len(s.received()) - before; sent > 0 != (want == 200) {
			t.Errorf("%s: %d requests went upstream", path, sent)
		} else if sent > 0 && s.uris[len(s.uris)-1] != path {
			t.Errorf("%s went upstream as %s", path, s.uris[len(s.uris)-1])
		}
	}
	for _, line := range []string{"CONNECT evil.example:443 HTTP/1.1", "TRACE / HTTP/1.1"} {
		if got := s.raw(t, line+"\r\nHost: localhost\r\nConnection: close\r\n\r\n"); got != 405 && got != 400 {
			t.Errorf("%s: %d", line, got)
		}
	}
}

func TestHeadersOfTheConnectionStay(t *testing.T) {
	s := newSetup(t, 100_000, nil)
	s.answer = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Tiercompact-Level", "forged")
		w.Header().Set("Keep-Alive", "timeout=5")
		w.Header().Set("X-Kept", "1")
	}
	r, _ := http.NewRequest(http.MethodPost, s.Server.URL+"/api/chat", strings.NewReader(`{"messages":[{"role":"user","content":"a"}]}`))
	for name, value := range map[string]string{
		"Connection": "X-Drop, close", "X-Drop": "1", "Proxy-Authorization": "Basic eA==", "Te": "trailers", "Upgrade-Insecure-Requests": "1",
		"X-Tiercompact-Session": "s", "X-Tiercompact-Anything": "1", "X-Keep": "1", "Forwarded": "for=1.2.3.4", "X-Forwarded-For": "1.2.3.4", "User-Agent": "client/1",
	} {
		r.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	got := s.heads[0]
	for _, name := range []string{"X-Drop", "Proxy-Authorization", "X-Tiercompact-Session", "X-Tiercompact-Anything", "X-Forwarded-For", "Forwarded"} {
		if got.Get(name) != "" {
			t.Errorf("%s went upstream", name)
		}
	}
	if got.Get("X-Keep") != "1" || got.Get("User-Agent") != "client/1" || got.Get("Upgrade-Insecure-Requests") != "1" {
		t.Errorf("headers upstream: %v", got)
	}
	if answer.Header.Get("X-Tiercompact-Level") == "forged" || answer.Header.Get("Keep-Alive") != "" || answer.Header.Get("X-Kept") != "1" {
		t.Errorf("headers of the answer: %v", answer.Header)
	}
}

func TestARedirectIsTheClientsToFollow(t *testing.T) {
	s := newSetup(t, 100_000, nil)
	s.answer = func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://127.0.0.1:1/elsewhere", http.StatusTemporaryRedirect)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Post(s.Server.URL+"/api/chat", "application/json", strings.NewReader(`{"messages":[{"role":"user","content":"a"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != 307 || len(s.received()) != 1 {
		t.Errorf("%d, %d requests", answer.StatusCode, len(s.received()))
	}
}

func TestABodyThatIsTooLargeOrTooSlowIsRefused(t *testing.T) {
	s := newSetup(t, 100_000, func(c *proxy.Config) { c.MaxBody = 1000 })
	if answer, _ := s.post(t, "/api/chat", strings.Repeat("a", 1001)); answer.StatusCode != 413 {
		t.Errorf("with a length: %d", answer.StatusCode)
	}
	chunk := fmt.Sprintf("%x\r\n%s\r\n", 2000, strings.Repeat("a", 2000))
	if got := s.raw(t, "POST /api/chat HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"+chunk+"0\r\n\r\n"); got != 413 {
		t.Errorf("in chunks: %d", got)
	}
	hasty := newSetup(t, 100_000, func(c *proxy.Config) { c.ReadWithin = 200 * time.Millisecond })
	if got := hasty.raw(t, "POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 500\r\n\r\n{"); got != 408 {
		t.Errorf("slow: %d", got)
	}
	if len(s.received())+len(hasty.received()) != 0 {
		t.Error("a refused body went upstream")
	}
	// What the proxy does not read has no limit: a model is pushed through it.
	if answer, _ := s.post(t, "/api/blobs/sha256:0", strings.Repeat("a", 5000)); answer.StatusCode != 200 || len(s.last(t)) != 5000 {
		t.Errorf("a blob: %d", answer.StatusCode)
	}
}

// serve starts the proxy on a port of loopback, until stop is called; then done has its
// error.
func (s *setup) serve(t *testing.T, grace time.Duration) (l net.Listener, stop context.CancelFunc, done chan error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done = make(chan error, 1)
	go func() { done <- s.proxy.Serve(ctx, l, grace) }()
	return l, stop, done
}

func TestHeadersThatAreTooLargeAreRefused(t *testing.T) {
	s := newSetup(t, 100_000, nil)
	l, stop, done := s.serve(t, 5*time.Minute)
	r, _ := http.NewRequest(http.MethodGet, "http://"+l.Addr().String()+"/healthz", nil)
	r.Header.Set("X-Large", strings.Repeat("a", 1<<20))
	if answer, err := http.DefaultClient.Do(r); err == nil {
		answer.Body.Close()
		if answer.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("%d", answer.StatusCode)
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestAnInterruptLetsAStreamEnd(t *testing.T) {
	s := newSetup(t, 100_000, nil)
	l, stop, done := s.serve(t, time.Minute)
	s.answer = func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "first\n")
		w.(http.Flusher).Flush()
		stop()
		for { // until the proxy takes no more requests
			c, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				break
			}
			c.Close()
		}
		_, _ = io.WriteString(w, "last\n")
	}
	answer, err := http.Post("http://"+l.Addr().String()+"/api/chat", "application/json", strings.NewReader(`{"messages":[{"role":"user","content":"a"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if text, err := io.ReadAll(answer.Body); err != nil || string(text) != "first\nlast\n" {
		t.Errorf("%q, %v", text, err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestAProxyNeedsAnUpstreamWithoutSecrets(t *testing.T) {
	s := newSetup(t, 1000, nil)
	for _, bad := range []string{"", "ftp://a", "http://", "http://user:secret@a", "http://a?key=1", "/path"} {
		cfg := proxy.Config{Open: steady(1000), State: s.state}
		if bad != "" {
			cfg.Upstream = mustURL(t, bad)
		}
		if _, err := proxy.New(cfg); err == nil {
			t.Errorf("%q is accepted", bad)
		} else if strings.Contains(err.Error(), "secret") {
			t.Error(err)
		}
	}
}
