package proxy_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/ollama/ollama/openai"

	"github.com/tiercompact/tiercompact/internal/proxy"
)

// sdkAnswer answers with what the real Ollama sent: see recorded_test.go.
func sdkAnswer(t *testing.T) http.HandlerFunc { return sdkAnswers(t, true) }

// sdkTextAnswer is sdkAnswer without calls.
func sdkTextAnswer(t *testing.T) http.HandlerFunc { return sdkAnswers(t, false) }

func sdkAnswers(t *testing.T, calls bool) http.HandlerFunc {
	names := map[string]string{"/api/chat": "chat", "/v1/chat/completions": "openai", "/v1/responses": "responses", "/v1/messages": "anthropic"}
	answers := make(map[string]recordedAnswer)
	for _, name := range names {
		answers[name], answers[name+"-stream"] = recorded(t, name), recorded(t, name+"-stream")
	}
	for _, name := range []string{"chat-call", "chat-call-stream", "openai-call", "openai-call-stream", "chat-no-model", "openai-no-model", "anthropic-no-model"} {
		answers[name] = recorded(t, name)
	}
	thinking := `{"model":"m","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":"","thinking":"Hm."},"done":false}` + "\n" // as api.ChatResponse of Ollama 0.17.4 is written
	return func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Model  string
			Stream *bool
			Tools  json.RawMessage
		}
		body, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(body, &q)
		name, ok := names[r.URL.Path]
		stream := q.Stream != nil && *q.Stream || q.Stream == nil && name == "chat"
		if len(q.Tools) > 0 && calls {
			name += "-call"
		}
		if stream {
			name += "-stream"
		}
		a := answers[name]
		switch {
		case !ok:
			http.NotFound(w, r)
			return
		case q.Model == "absent":
			a = answers[names[r.URL.Path]+"-no-model"]
		case q.Model == "thinks":
			a.Body = thinking + a.Body
		case q.Model == "breaks":
			a.Body = thinking + `{"error":"the model has crashed"}` + "\n"
		}
		a.write(w)
	}
}

// TestTheSDKsNeedNoChangeButTheURL runs the JavaScript SDKs of OpenAI, Anthropic and
// Ollama: set SDK_MODULES to the folder in which npm installed openai,
// @anthropic-ai/sdk and ollama.
func TestTheSDKsNeedNoChangeButTheURL(t *testing.T) {
	if os.Getenv("SDK_MODULES") == "" {
		t.Skip("SDK_MODULES names no folder with the SDKs")
	}
	for name, change := range map[string]func(*proxy.Config){"plain": nil, "native": func(c *proxy.Config) { c.Native = true }, "recall": func(c *proxy.Config) { c.RecallTool = true }} {
		t.Run(name, func(t *testing.T) {
			s := newSetup(t, 4000, change)
			s.answer = sdkAnswer(t)
			if name == "recall" {
				s.answer = recallAnswer(t)
			}
			out, err := exec.Command("node", "testdata/clients.mjs", s.Server.URL, name).CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			t.Logf("%s", out)
			checkSizes(t, s)
		})
	}
}

// recallAnswer answers a request of /v1/responses that has tools with a call of recall,
// and the result of that with a text, in the bytes of the real Ollama.
func recallAnswer(t *testing.T) http.HandlerFunc {
	text := sdkTextAnswer(t)
	call, callStream := asRecall(responsesRecorded(t, "chat-call", false)), asRecall(responsesRecorded(t, "chat-call-stream", true))
	return func(w http.ResponseWriter, r *http.Request) {
		var q openai.ResponsesRequest
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if r.URL.Path != "/v1/responses" || json.Unmarshal(body, &q) != nil || len(q.Tools) == 0 || strings.Contains(string(body), "function_call_output") {
			text(w, r)
			return
		}
		if q.Stream != nil && *q.Stream {
			callStream.write(w)
			return
		}
		call.write(w)
	}
}

// checkSizes checks that the requests fit a window of 4,000 tokens, and that some were
// compacted.
func checkSizes(t *testing.T, s *setup) {
	t.Helper()
	largest, compacted := 0, 0
	for _, body := range s.received() {
		largest = max(largest, len(body))
		if strings.Contains(string(body), "COMPACT-SUMMARY") {
			compacted++
		}
	}
	if largest > 4000*5 || compacted == 0 {
		t.Errorf("the largest of %d requests has %d bytes; %d have a summary", len(s.received()), largest, compacted)
	}
}
