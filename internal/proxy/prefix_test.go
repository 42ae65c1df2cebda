package proxy_test

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/bench"
	"github.com/tiercompact/tiercompact/internal/proxy"
	"github.com/tiercompact/tiercompact/tokens"
	"github.com/tiercompact/tiercompact/wire"
)

// realSessions returns recorded coding sessions, or skips the test: they are not part
// of this repository.
func realSessions(t *testing.T, pattern string) map[string]chat.Transcript {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join("..", "..", "..", "shared", "transcripts", pattern))
	if len(files) == 0 {
		t.Skip("there are no recorded sessions here")
	}
	all := make(map[string]chat.Transcript)
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		c, err := wire.Decode(f, wire.Options{Lenient: true})
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(file)] = c.Messages
	}
	return all
}

// A wirecut stands in for an upstream: it keeps the newest request, and answers.
type wirecut struct{ body []byte }

func (u *wirecut) RoundTrip(r *http.Request) (*http.Response, error) {
	u.body, _ = io.ReadAll(r.Body)
	return &http.Response{
		StatusCode: 200, ProtoMajor: 1, ProtoMinor: 1, Request: r, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader([]byte(`{"choices":[]}`))),
	}, nil
}

// replayed sends a session as a client does, one request before each answer, and
// returns the tokens that a prompt cache must read.
func replayed(t *testing.T, session chat.Transcript, window, restarts int, count func(string) int) (int, int) {
	t.Helper()
	dir, up := t.TempDir(), new(wirecut)
	var p *proxy.Proxy
	var state *proxy.Disk
	start := func() {
		var err error
		if state, err = proxy.OpenDisk(dir, proxy.Limits{}); err != nil {
			t.Fatal(err)
		}
		to, _ := url.Parse("http://127.0.0.1:1")
		if p, err = proxy.New(proxy.Config{Upstream: to, Open: steady(window), State: state, Transport: up}); err != nil {
			t.Fatal(err)
		}
	}
	stop := func() { p.Close(); state.Close() }
	start()
	with := bench.NewPrefill(count)
	var ids []string
	for i, m := range session {
		if i == 0 || m.Role != chat.Assistant {
			continue
		}
		if restarts > 0 && i >= len(session)/2 {
			restarts = 0
			stop()
			start()
		}
		var body bytes.Buffer
		if err := wire.Encode(&body, wire.Conversation{Messages: session[:i], Model: "m"}, "openai"); err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", &body)
		r.Host = "localhost"
		w := httptest.NewRecorder()
		p.ServeHTTP(w, r)
		p.Wait()
		if id := w.Header().Get("X-Tiercompact-Session"); len(ids) == 0 || ids[len(ids)-1] != id {
			ids = append(ids, id)
		}
		if reason := w.Header().Get("X-Tiercompact-Passed"); reason != "" {
			t.Errorf("request %d passed: %s", i, reason)
		}
		c, err := wire.DecodeBytes(up.body, wire.Options{Format: "openai"})
		if err != nil {
			t.Fatal(err)
		}
		with.Request(c.Messages)
	}
	stop()
	return with.Tokens, len(ids)
}

// preflighted sends what replayed sends to a preflight, one for each request, as a program
// does that calls it anew each time.
func preflighted(t *testing.T, session chat.Transcript, window int, count func(string) int) int {
	t.Helper()
	dir := t.TempDir()
	with := bench.NewPrefill(count)
	for i, m := range session {
		if i == 0 || m.Role != chat.Assistant {
			continue
		}
		var body bytes.Buffer
		c := wire.Conversation{Messages: session[:i], Model: "m"}
		if err := wire.Encode(&body, c, "openai"); err != nil {
			t.Fatal(err)
		}
		c, err := wire.DecodeBytes(body.Bytes(), wire.Options{Format: "openai"})
		if err != nil {
			t.Fatal(err)
		}
		state, err := proxy.OpenDisk(dir, proxy.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		out, _, err := proxy.NewPreflight(proxy.Config{Open: steady(window), State: state}).Compact(t.Context(), "one", c, body.Bytes())
		if err = errors.Join(err, state.Close()); err != nil {
			t.Fatal(err)
		}
		if c, err = wire.DecodeBytes(out, wire.Options{Format: "openai"}); err != nil {
			t.Fatal(err)
		}
		with.Request(c.Messages)
	}
	return with.Tokens
}

func TestReplayedSessionsKeepThePromptCacheAsAReplayDoes(t *testing.T) {
	if testing.Short() {
		t.Skip("it replays long sessions")
	}
	counter, err := tokens.ForModel("")
	if err != nil {
		t.Fatal(err)
	}
	count := bench.Counted(counter.Text)
	var replay bench.Refill
	var proxied, restarted, preflights bench.Share
	pattern := cmp.Or(os.Getenv("TIERCOMPACT_SESSIONS"), "go-openai/0*.json") // the mean of few depends on one round
	for name, session := range realSessions(t, pattern) {
		session = bench.Plain(session)
		window := bench.Size(session, count) / 2
		cfg := tiercompact.Config{Preset: tiercompact.Steady}
		if err := replay.Add(session, cfg, 0.5, count); err != nil {
			t.Fatal(err)
		}
		last := 0
		for i, m := range session {
			if i > 0 && m.Role == chat.Assistant {
				last = i
			}
		}
		base := bench.Size(session[:last], count)
		a, ids := replayed(t, session, window, 0, count)
		b, _ := replayed(t, session, window, 1, count)
		if ids != 1 {
			t.Errorf("%s was taken for %d conversations", name, ids)
		}
		proxied.Part, proxied.Whole = proxied.Part+a, proxied.Whole+base
		restarted.Part, restarted.Whole = restarted.Part+b, restarted.Whole+base
		preflights.Part, preflights.Whole = preflights.Part+preflighted(t, session, window, count), preflights.Whole+base
	}
	t.Logf("tokens read, of those without compaction: replay %.3f, proxy %.3f, with a restart %.3f, preflight %.3f", replay.Prefill.Of(), proxied.Of(), restarted.Of(), preflights.Of())
	// A round that is planned while an answer streams reads the newest messages twice.
	if most := max(replay.Prefill.Of(), 1.48) + 0.02; proxied.Of() > most || restarted.Of() > most || preflights.Of() > most {
		t.Errorf("a prompt cache must read %.3f of the session's tokens, %.3f with a restart, %.3f after a preflight; at most %.3f is allowed", proxied.Of(), restarted.Of(), preflights.Of(), most)
	}
}
