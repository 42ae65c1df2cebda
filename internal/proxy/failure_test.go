package proxy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/internal/proxy"
)

// overflows are errors of servers for a request that does not fit, as recorded from
// them or written in their source: Ollama (server/routes.go, and newer ones),
// llama.cpp (tools/server), vLLM, LM Studio, OpenAI, Anthropic.
var overflows = []struct {
	name, path string
	status     int
	body       string
}{
	{"ollama", "/api/chat", 400, `{"error":"the input length exceeds the context length"}`},
	{"ollama, a template without its user turn", "/api/chat", 500, `{"error":"no user query found in messages"}`},
	{"llama.cpp", "/v1/chat/completions", 400, `{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":7000,"n_ctx":2048}}`},
	{"vllm", "/v1/chat/completions", 400, `{"error":{"message":"This model's maximum context length is 2048 tokens. However, you requested 7000 tokens in the messages, Please reduce the length of the messages.","type":"BadRequestError","param":null,"code":400}}`},
	{"lm studio", "/v1/chat/completions", 400, `{"error":"Trying to keep the first 7000 tokens when context the overflows. However, the model is loaded with context length of only 2048 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input"}`},
	{"openai", "/v1/responses", 400, `{"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again.","type":"invalid_request_error","param":"input","code":"context_length_exceeded"}}`},
	{"anthropic", "/v1/messages", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 7000 tokens > 2048 maximum"}}`},
	{"a proxy's limit", "/v1/chat/completions", 413, `request entity too large`},
}

// history returns a body of about n messages.
func history(path string, n int) string {
	var d dialogue
	for range n / 2 {
		d.turn()
	}
	body := d.body()
	if path == "/v1/responses" {
		body = strings.Replace(body, `"messages":`, `"input":`, 1)
	}
	return body
}

func TestARequestThatTheUpstreamRefusesAsTooLongIsCompactedAndSentAgain(t *testing.T) {
	for _, o := range overflows {
		t.Run(o.name, func(t *testing.T) {
			s := newSetup(t, 100_000, nil)
			s.answer = func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if len(body) > 9000 {
					w.WriteHeader(o.status)
					_, _ = io.WriteString(w, o.body)
					return
				}
				_, _ = io.WriteString(w, `{"ok":true}`)
			}
			body := history(o.path, 40)
			answer, text := s.post(t, o.path, body)
			sent := s.received()
			if len(sent) != 2 || string(sent[0]) != body || len(sent[1]) >= len(body) || !json.Valid(sent[1]) {
				t.Fatalf("%d requests went upstream", len(sent))
			}
			if answer.Header.Get("X-Tiercompact-Retried") != "1" {
				t.Errorf("headers %v", answer.Header)
			}
			if strings.Contains(o.body, "2048") && (answer.StatusCode != 200 || text != `{"ok":true}`) {
				t.Errorf("the window is known, and the answer is %d %s", answer.StatusCode, text)
			}
			// The next request begins with what was accepted.
			s.post(t, o.path, body)
			if again := s.last(t); !bytes.Equal(again, sent[1]) && strings.Contains(o.body, "2048") {
				t.Errorf("the next request is\n%s\nnot\n%s", again, sent[1])
			}
		})
	}
}

func TestAnErrorThatIsNotOfLengthReachesTheClient(t *testing.T) {
	s := newSetup(t, 100_000, nil)
	s.answer = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Request-Id", "r1")
		w.WriteHeader(400)
		_, _ = io.WriteString(w, `{"error":"invalid format"}`)
	}
	answer, text := s.post(t, "/api/chat", history("", 8))
	if answer.StatusCode != 400 || text != `{"error":"invalid format"}` || answer.Header.Get("X-Request-Id") != "r1" || len(s.received()) != 1 {
		t.Errorf("%d %s, %d requests", answer.StatusCode, text, len(s.received()))
	}
}

func TestARefusedRetryGivesTheClientTheFirstError(t *testing.T) {
	s := newSetup(t, 100_000, nil)
	s.answer = func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(400)
		_, _ = io.WriteString(w, `{"error":"the input length exceeds the context length"}`)
	}
	answer, text := s.post(t, "/api/chat", history("", 40))
	if answer.StatusCode != 400 || !strings.Contains(text, "context length") || len(s.received()) != 2 {
		t.Errorf("%d %s, %d requests", answer.StatusCode, text, len(s.received()))
	}
}

func TestAnUpstreamThatIsDownIsAnErrorInTheClientsForm(t *testing.T) {
	s := newSetup(t, 100_000, func(c *proxy.Config) { c.Upstream, _ = url.Parse("http://127.0.0.1:1") })
	for path, want := range map[string]string{
		"/api/chat": `{"error":"the upstream`, "/v1/chat/completions": `{"error":{"code":null,"message":"the upstream`,
		"/v1/messages": `{"error":{"message":"the upstream`, "/api/tags": `{"error":{`,
	} {
		answer, text := s.post(t, path, history("", 4))
		if answer.StatusCode != http.StatusBadGateway || !strings.HasPrefix(text, want) {
			t.Errorf("%s: %d %s", path, answer.StatusCode, text)
		}
	}
}

// badStore is an archive whose disk is full.
type badStore struct{ archive.Store }

func (badStore) Put(context.Context, archive.Step) error {
	return errors.New("no space left on device")
}

func fullDisk() archive.Store { return badStore{archive.NewMemory()} }

func TestACompactionThatFailsLetsTheRequestPass(t *testing.T) {
	for name, open := range map[string]func(context.Context, string) (tiercompact.Config, error){
		"the window is unknown": func(context.Context, string) (tiercompact.Config, error) {
			return tiercompact.Config{}, errors.New("the window is not known")
		},
		"the archive's disk is full": func(ctx context.Context, m string) (tiercompact.Config, error) {
			cfg, err := steady(3000)(ctx, m)
			cfg.Archive = fullDisk()
			return cfg, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSetup(t, 3000, func(c *proxy.Config) { c.Open = open })
			body := history("", 60)
			answer, _ := s.post(t, "/api/chat", body)
			if answer.StatusCode != 200 || string(s.last(t)) != body || answer.Header.Get("X-Tiercompact-Passed") == "" {
				t.Errorf("%d, headers %v", answer.StatusCode, answer.Header)
			}
			if !s.events.warned("a request passes as it came") {
				t.Error("no event reports it")
			}
			closed := newSetup(t, 3000, func(c *proxy.Config) { c.Open, c.FailClosed = open, true })
			answer, text := closed.post(t, "/api/chat", body)
			if answer.StatusCode != http.StatusUnprocessableEntity || len(closed.received()) != 0 {
				t.Errorf("closed: %d %s", answer.StatusCode, text)
			}
		})
	}
}

func TestHostileBodiesAreAnsweredAndSurvived(t *testing.T) {
	s := newSetup(t, 3000, func(c *proxy.Config) { c.MaxBody = 2 << 20 })
	var tools []string
	for i := range 10_000 {
		tools = append(tools, fmt.Sprintf(`{"type":"function","function":{"name":"f%d","parameters":{"type":"object"}}}`, i))
	}
	for name, body := range map[string]string{
		"empty":              "",
		"broken":             `{"messages":[{"role":"user","content":"a"`,
		"not an object":      `[1,2]`,
		"deep":               strings.Repeat(`{"messages":[`, 100_000),
		"deep and closed":    `{"messages":` + strings.Repeat("[", 500_000) + strings.Repeat("]", 500_000) + `}`,
		"twice":              `{"messages":[{"role":"user","content":"a"}],"messages":[]}`,
		"other case":         `{"Messages":[{"role":"user","content":"a"}],"messages":[]}`,
		"wrong types":        `{"messages":{"role":1},"tools":"x","model":7,"options":[]}`,
		"invalid UTF-8":      "{\"messages\":[{\"role\":\"user\",\"content\":\"\xff\xfe\"}]}",
		"10,000 tools":       `{"messages":[{"role":"user","content":"a"}],"tools":[` + strings.Join(tools, ",") + `]}`,
		"huge numbers":       `{"messages":[{"role":"user","content":"a"}],"max_tokens":1e999,"options":{"num_ctx":-5,"num_predict":99999999999999999999}}`,
		"a lone surrogate":   `{"messages":[{"role":"user","content":"\ud800"}]}`,
		"an unknown role":    `{"messages":[{"role":"wizard","content":"a"}]}`,
		"an orphan result":   `{"messages":[{"role":"user","content":"a"},{"role":"tool","tool_call_id":"x","content":"` + strings.Repeat("long words ", 5000) + `"}]}`,
		"one endless string": `{"messages":[{"role":"user","content":"` + strings.Repeat("a", 1<<20) + `"}]}`,
	} {
		for _, path := range []string{"/api/chat", "/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/messages/count_tokens"} {
			answer, text := s.post(t, path, body)
			if answer.StatusCode != 200 || text != ollamaAnswer {
				t.Errorf("%s, %s: %d %.200s", name, path, answer.StatusCode, text)
			}
			if got := s.last(t); string(got) != body && !json.Valid(got) {
				t.Errorf("%s, %s: went upstream as %.200s", name, path, got)
			}
		}
	}
}

func TestCountTokensIsAnsweredIfTheUpstreamCannot(t *testing.T) {
	s := newSetup(t, 100_000, nil)
	s.answer = func(w http.ResponseWriter, _ *http.Request) { http.NotFound(w, nil) }
	answer, text := s.post(t, "/v1/messages/count_tokens", `{"model":"m","system":"Be brief.","messages":[{"role":"user","content":"`+strings.Repeat("word ", 1000)+`"}]}`)
	var c struct {
		InputTokens int `json:"input_tokens"`
	}
	if err := json.Unmarshal([]byte(text), &c); err != nil || answer.StatusCode != 200 || c.InputTokens < 1000 || c.InputTokens > 1200 {
		t.Errorf("%d %s", answer.StatusCode, text)
	}
}

func TestALevelIsForcedPinnedOrSwitchedOffByAHeader(t *testing.T) {
	s := newSetup(t, 100_000, nil)
	body := history("", 40)
	answer, _ := s.post(t, "/api/chat", body, "X-Tiercompact-Mode", "emergency", "X-Tiercompact-Pin", "8, 9")
	if answer.Header.Get("X-Tiercompact-Level") != "emergency" || len(s.last(t)) >= len(body) {
		t.Errorf("headers %v", answer.Header)
	}
	if !strings.Contains(string(s.last(t)), "Question 5:") {
		t.Error("a pinned message is gone")
	}
	for name := range s.heads[0] {
		if strings.HasPrefix(name, "X-Tiercompact") {
			t.Errorf("%s went upstream", name)
		}
	}
	if s.post(t, "/api/chat", body, "X-Tiercompact-Mode", "off"); string(s.last(t)) != body {
		t.Error("off changed the body")
	}
	for _, bad := range [][]string{{"X-Tiercompact-Mode", "gentle"}, {"X-Tiercompact-Pin", "99"}, {"X-Tiercompact-Pin", "x"}, {"X-Tiercompact-Session", strings.Repeat("s", 300)}} {
		if answer, _ := s.post(t, "/api/chat", body, bad...); answer.Header.Get("X-Tiercompact-Passed") == "" || string(s.last(t)) != body {
			t.Errorf("%v: headers %v", bad, answer.Header)
		}
	}
}

// TestNothingStaysAfterRequests has clients come and go, and counts what is left.
func TestNothingStaysAfterRequests(t *testing.T) {
	s := newSetup(t, 3000, nil)
	s.answer = func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "{}\n")
		w.(http.Flusher).Flush()
		if strings.Contains(r.URL.RawQuery, "wait") {
			<-r.Context().Done()
		}
	}
	run := func(n int) {
		for i := range n {
			ctx, stop := context.WithCancel(t.Context())
			query := map[bool]string{true: "?wait", false: ""}[i%2 == 0]
			r, _ := http.NewRequestWithContext(ctx, http.MethodPost, s.Server.URL+"/api/chat"+query, strings.NewReader(history("", 2*(1+i%20))))
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = answer.Body.Read(make([]byte, 1))
			stop()
			answer.Body.Close()
		}
		s.proxy.Wait()
	}
	run(20) // connections that stay
	before := runtime.NumGoroutine()
	run(200)
	for runtime.NumGoroutine() > before+20 { // the test's deadline ends it if they stay
		runtime.Gosched()
	}
}
