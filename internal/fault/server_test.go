package fault_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/internal/fault"
)

// ask posts body, or gets if it is empty, and returns status and answer.
func ask(t *testing.T, url, body string) (int, string) {
	t.Helper()
	method := http.MethodPost
	if body == "" {
		method = http.MethodGet
	}
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		return answer.StatusCode, string(b) + "<" + err.Error() + ">"
	}
	return answer.StatusCode, string(b)
}

func lastLine(t *testing.T, text string) (line struct {
	Done     bool
	Reason   string `json:"done_reason"`
	Prompt   int    `json:"prompt_eval_count"`
	Tokens   int    `json:"eval_count"`
	Contents string
}) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &line); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return line
}

func TestFakeAnswersAsOllamaDoes(t *testing.T) {
	s := fault.Fake(t,
		fault.Model{Name: "chat:latest", Capabilities: []string{fault.Completion}, Window: 1000, NumCtx: 600},
		fault.Model{Name: "bert:latest", Capabilities: []string{fault.Embedding}, Window: 100})
	s.Pullable = []fault.Model{{Name: "more:1b", Capabilities: []string{fault.Completion}}}
	s.Answer = func(string) string { return "one two three" }
	long := strings.Repeat("word ", 1000)
	chat := func(model, content, more string) string {
		return `{"model":"` + model + `","messages":[{"role":"user","content":"` + content + `"}]` + more + `}`
	}
	for _, test := range []struct {
		path, body string
		status     int
		want       string
	}{
		{"/api/version", "", 200, `{"version":"0.17.4"}`},
		{"/api/tags", "", 200, `"name":"chat:latest"`},
		{"/api/ps", "", 200, `{"models":[]}`},
		{"/v1/models", "", 200, `"id":"bert:latest"`},
		{"/props", "", 404, `404 page not found`},
		{"/api/show", `{"model":"chat"}`, 200, `"llama.context_length":1000`},
		{"/api/show", `{"model":"chat"}`, 200, `"parameters":"num_ctx                        600\n`},
		{"/api/show", `{"model":"nope"}`, 404, `{"error":"model 'nope' not found"}`},
		{"/api/chat", chat("nope", "x", ""), 404, `{"error":"model 'nope' not found"}`},
		{"/v1/chat/completions", chat("nope", "x", ""), 404, `{"error":{"code":null,"message":"model 'nope' not found","param":null,"type":"api_error"}}`},
		{"/api/chat", chat("bert", "x", ""), 400, `{"error":"\"bert\" does not support chat"}`},
		{"/api/chat", chat("chat", "x", `,"think":true`), 400, `{"error":"\"chat\" does not support thinking"}`},
		{"/api/chat", chat("chat", "x", `,"tools":[{}]`), 400, `does not support tools"}`},
		{"/api/chat", "no JSON", 400, `{"error":"`},
		{"/api/chat", chat("chat", "x", ""), 200, `"message":{"content":" three","role":"assistant"}`},
		{"/api/chat", chat("chat", "x", `,"stream":false`), 200, `"content":"one two three"`},
		{"/v1/chat/completions", chat("chat", "x", ``), 200, `"finish_reason":"stop"`},
		{"/v1/chat/completions", chat("chat", "x", `,"stream":true`), 200, "\n\ndata: [DONE]\n\n"},
		{"/v1/chat/completions", chat("chat", "x", `,"stream":true,"stream_options":{"include_usage":true},"max_tokens":2`), 200, `"usage":{"completion_tokens":2,`},
		{"/api/chat", chat("chat", long, `,"truncate":false`), 400, `{"error":"the input length exceeds the context length"}`},
		{"/api/embed", `{"model":"nope","input":"x"}`, 404, `{"error":"model \"nope\" not found, try pulling it first"}`},
		{"/api/embed", `{"model":"chat","input":"x"}`, 501, `{"error":"this model does not support embeddings"}`},
		{"/api/embed", `{"model":"bert","input":3}`, 400, `{"error":"invalid input type"}`},
		{"/api/embed", `{"model":"bert","input":[]}`, 200, `"embeddings":[]`},
		{"/api/embed", `{"model":"bert","input":["` + long + `"],"truncate":false}`, 400, `exceeds the context length`},
		{"/api/embed", `{"model":"bert","input":["` + long + `"]}`, 200, `"prompt_eval_count":100`},
		{"/v1/embeddings", `{"model":"bert","input":"x"}`, 200, `"object":"embedding"`},
		{"/api/pull", `{"model":"absent"}`, 200, `{"error":"pull model manifest: file does not exist"}`},
		{"/api/pull", `{"model":"more:1b"}`, 200, `{"status":"success"}`},
		{"/api/show", `{"model":"more:1b"}`, 200, `"capabilities":["completion"]`},
		{"/api/ps", "", 200, `"context_length":600`},
	} {
		if status, got := ask(t, s.URL+test.path, test.body); status != test.status || !strings.Contains(got, test.want) {
			t.Errorf("%s %.80s: status %d, %.300s; want %d with %s", test.path, test.body, status, got, test.status, test.want)
		}
	}
}

func TestFakeKeepsToTheWindow(t *testing.T) {
	s := fault.Fake(t, fault.Model{Name: "m", Capabilities: []string{fault.Completion}, Window: 512})
	s.Answer = func(string) string { return strings.Repeat(" word", 300) }
	message := func(role string, bytes int) string {
		return `{"role":"` + role + `","content":"` + strings.Repeat("x", bytes) + `"}`
	}
	for name, test := range map[string]struct {
		messages       []string
		more           string
		prompt, tokens int
		reason         string
	}{
		"a short prompt is counted whole":      {[]string{message("user", 398)}, ``, 106, 300, "stop"},
		"old messages go first":                {[]string{message("system", 398), message("user", 398), message("user", 1198)}, ``, 411, 300, "stop"},
		"a long last message is cut":           {[]string{message("user", 9000)}, ``, 512, 300, "stop"},
		"num_predict ends the answer":          {[]string{message("user", 398)}, `,"options":{"num_predict":7}`, 106, 7, "length"},
		"without shift the window ends it":     {[]string{message("user", 1598)}, `,"shift":false`, 406, 106, "length"},
		"num_ctx is capped to the trained one": {[]string{message("user", 9000)}, `,"options":{"num_ctx":4096}`, 512, 300, "stop"},
	} {
		_, text := ask(t, s.URL+"/api/chat", `{"model":"m","messages":[`+strings.Join(test.messages, ",")+`]`+test.more+`}`)
		got := lastLine(t, text)
		if !got.Done || got.Prompt != test.prompt || got.Tokens != test.tokens || got.Reason != test.reason {
			t.Errorf("%s: prompt %d, answer %d, %s; want %d, %d, %s", name, got.Prompt, got.Tokens, got.Reason, test.prompt, test.tokens, test.reason)
		}
	}
}

func TestFakeCanBeLlamaServer(t *testing.T) {
	s := fault.Fake(t)
	s.Props = 100
	if _, got := ask(t, s.URL+"/props", ""); !strings.Contains(got, `"n_ctx":100`) {
		t.Errorf("/props: %s", got)
	}
	long := strings.Repeat("word ", 100)
	status, got := ask(t, s.URL+"/v1/chat/completions", `{"model":"llama3.2:3b","messages":[{"role":"user","content":"`+long+`"}]}`)
	if status != 400 || !strings.Contains(got, `"type":"exceed_context_size_error"`) {
		t.Errorf("too long: %d %s", status, got)
	}
}
