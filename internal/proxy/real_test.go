package proxy_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/internal/ollamatest"
	"github.com/tiercompact/tiercompact/internal/proxy"
)

// A realClient grows a history in the form of one API, and asks a real server through
// the proxy.
type realClient struct {
	path   string
	native bool
	window int
	preset tiercompact.Preset // "": steady
	report func(proxy.RequestReport)
	items  []string
	turns  int
}

const realTools = `[{"type":"function","function":{"name":"read_file","description":"Read a file","parameters":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}}}]`

// add adds a turn: a question, a call, its result and an answer.
func (c *realClient) add() {
	c.turns++
	id, path := fmt.Sprintf("call_%d", c.turns), fmt.Sprintf("file_%d.go", c.turns%3)
	question := fmt.Sprintf("Step %d: what does function_%d in %s do, and why?", c.turns, c.turns, path)
	text := fmt.Sprintf("package p\n\n// function_%d is version %d.\n%s", c.turns, c.turns, strings.Repeat(fmt.Sprintf("func helper_%d(a int) int { return a + %d }\n", c.turns, c.turns), 12))
	q, args, answer := jsonOf(question), jsonOf(map[string]string{"path": path}), jsonOf("It adds a number; helper functions call it.")
	switch c.path {
	case "/api/chat":
		c.items = append(c.items, `{"role":"user","content":`+q+`}`,
			`{"role":"assistant","content":"","tool_calls":[{"function":{"name":"read_file","arguments":`+args+`}}]}`,
			`{"role":"tool","tool_name":"read_file","content":`+jsonOf(text)+`}`, `{"role":"assistant","content":`+answer+`}`)
	case "/v1/chat/completions":
		c.items = append(c.items, `{"role":"user","content":`+q+`}`,
			`{"role":"assistant","content":null,"tool_calls":[{"id":"`+id+`","type":"function","function":{"name":"read_file","arguments":`+jsonOf(args)+`}}]}`,
			`{"role":"tool","tool_call_id":"`+id+`","content":`+jsonOf(text)+`}`, `{"role":"assistant","content":`+answer+`}`)
	case "/v1/responses":
		c.items = append(c.items, `{"role":"user","content":`+q+`}`,
			`{"type":"function_call","call_id":"`+id+`","name":"read_file","arguments":`+jsonOf(args)+`}`,
			`{"type":"function_call_output","call_id":"`+id+`","output":`+jsonOf(text)+`}`, `{"role":"assistant","content":`+answer+`}`)
	case "/v1/messages":
		c.items = append(c.items, `{"role":"user","content":`+q+`}`,
			`{"role":"assistant","content":[{"type":"tool_use","id":"`+id+`","name":"read_file","input":`+args+`}]}`,
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"`+id+`","content":`+jsonOf(text)+`}]}`, `{"role":"assistant","content":`+answer+`}`)
	}
}

// body returns a request with the newest question.
func (c *realClient) body(stream bool) string {
	list := strings.Join(append(c.items[:len(c.items):len(c.items)], `{"role":"user","content":"Go on with the next step, please."}`), ",")
	head := fmt.Sprintf(`{"model":"tinyllama","stream":%v,`, stream)
	switch c.path {
	case "/api/chat":
		return head + fmt.Sprintf(`"truncate":false,"options":{"num_ctx":%d,"num_predict":8,"temperature":0},"tools":%s,"messages":[{"role":"system","content":"You help."},%s]}`, c.window, realTools, list)
	case "/v1/chat/completions":
		return head + `"stream_options":{"include_usage":true},"max_tokens":8,"tools":` + realTools + `,"messages":[{"role":"system","content":"You help."},` + list + `]}`
	case "/v1/responses":
		return head + `"max_output_tokens":8,"instructions":"You help.","tools":[{"type":"function","name":"read_file","parameters":{"type":"object","properties":{"path":{"type":"string"}}}}],"input":[` + list + `]}`
	}
	return head + `"max_tokens":8,"system":"You help.","tools":[{"name":"read_file","input_schema":{"type":"object","properties":{"path":{"type":"string"}}}}],"messages":[` + list + `]}`
}

func jsonOf(v any) string {
	raw, _ := json.Marshal(v)
	return string(raw)
}

// ends are the last lines of complete streams.
var ends = map[string]string{
	"/api/chat": `"done":true`, "/v1/chat/completions": "data: [DONE]", "/v1/responses": "event: response.completed", "/v1/messages": "event: message_stop",
}

// TestRealSessionsGoOnPastTheWindow carries a session past the window of a real Ollama
// several times, by each API, streamed and not, with a compaction of each level. The
// server must never cut the prompt: the proxy compares its counts.
func TestRealSessionsGoOnPastTheWindow(t *testing.T) {
	server := ollamatest.URL(t)
	for _, c := range []*realClient{
		{path: "/api/chat", window: 2048},
		{path: "/v1/chat/completions", window: 4096}, // of a server without a GPU; /v1 can set none
		{path: "/v1/responses", window: 4096},
		{path: "/v1/messages", window: 4096},
	} {
		t.Run(strings.Trim(strings.ReplaceAll(c.path, "/", "_"), "_"), func(t *testing.T) { c.goOn(t, server) })
	}
}

func (c *realClient) goOn(t *testing.T, server string) {
	s := realSetup(t, server, c)
	level := map[int]string{6: "soft", 14: "hard", 22: "emergency"}
	seen, passed, total := make(map[string]int), 0, 0
	for n := range 48 {
		c.add()
		stream := n%2 == 0
		var headers []string
		if level[n] != "" {
			headers = []string{"X-Tiercompact-Mode", level[n]}
		}
		answer, text := s.post(t, c.path, c.body(stream), headers...)
		if answer.StatusCode != http.StatusOK {
			t.Fatalf("request %d: %d %s", n, answer.StatusCode, text)
		}
		if stream && !strings.Contains(text, ends[c.path]) || !stream && !json.Valid([]byte(text)) {
			t.Fatalf("request %d: the answer is not whole: %s", n, text)
		}
		if reason := answer.Header.Get("X-Tiercompact-Passed"); reason != "" {
			t.Fatalf("request %d passed: %s", n, reason)
		}
		got := answer.Header.Get("X-Tiercompact-Level")
		seen[got]++
		if want := level[n]; want != "" && got != want {
			t.Errorf("request %d: level %s, asked for %s", n, got, want)
		}
		_, _ = fmt.Sscan(answer.Header.Get("X-Tiercompact-Tokens-After"), &passed)
		total = len(c.body(stream)) / 4
		s.proxy.Wait()
	}
	if total < 2*c.window || seen["soft"] == 0 || seen["hard"] == 0 || seen["emergency"] == 0 {
		t.Errorf("about %d tokens in a window of %d; levels %v", total, c.window, seen)
	}
	if s.events.warned("cut the prompt") {
		t.Error("the server cut a prompt")
	}
	t.Logf("about %d tokens in a window of %d; levels %v; the last request has %d", total, c.window, seen, passed)
}

// realSetup is a proxy before a real server.
func realSetup(t *testing.T, server string, c *realClient) *setup {
	t.Helper()
	state, err := proxy.OpenDisk(t.TempDir(), proxy.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	to, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	s := &setup{upstream: &upstream{Server: httptest.NewUnstartedServer(nil)}, events: new(events), state: state}
	s.proxy, err = proxy.New(proxy.Config{Upstream: to, Open: preset(cmp.Or(c.preset, tiercompact.Steady), c.window), State: state, Trace: s.events.add, Native: c.native, Report: c.report})
	if err != nil {
		t.Fatal(err)
	}
	s.Server = httptest.NewServer(s.proxy)
	t.Cleanup(s.stop)
	return s
}

func TestACountThatFollowsAnEstimateIsTheOneThatCounts(t *testing.T) {
	s := newSetup(t, 100_000, nil)
	estimate := bytes.Replace([]byte(recorded(t, "anthropic-stream").Body), []byte(`"input_tokens":3,`), []byte(`"input_tokens":5600,`), 1)
	estimate = bytes.Replace(estimate, []byte(`"input_tokens":12,`), []byte(`"input_tokens":700,`), 1)
	s.answer = func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(estimate) }
	s.post(t, "/v1/messages", longRequest(""))
	if answer, _ := s.post(t, "/v1/messages", longRequest("")); !strings.Contains(answer.Header.Get("X-Tiercompact-Warning"), "read 700 of about") {
		t.Errorf("headers %v", answer.Header)
	}
}
