package proxy_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// sdkAnswer answers with what the real Ollama sent: see recorded_test.go.
func sdkAnswer(t *testing.T) http.HandlerFunc {
	names := map[string]string{"/api/chat": "chat", "/v1/chat/completions": "openai", "/v1/responses": "responses", "/v1/messages": "anthropic"}
	answers := make(map[string]recordedAnswer)
	for _, name := range names {
		answers[name], answers[name+"-stream"] = recorded(t, name), recorded(t, name+"-stream")
	}
	return func(w http.ResponseWriter, r *http.Request) {
		var q struct{ Stream *bool }
		body, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(body, &q)
		name := names[r.URL.Path]
		if q.Stream != nil && *q.Stream || q.Stream == nil && name == "chat" {
			name += "-stream"
		}
		if a, ok := answers[name]; ok {
			a.write(w)
			return
		}
		http.NotFound(w, r)
	}
}

// TestTheSDKsNeedNoChangeButTheURL runs the JavaScript SDKs of OpenAI, Anthropic and
// Ollama: set SDK_MODULES to the folder in which npm installed openai,
// @anthropic-ai/sdk and ollama.
func TestTheSDKsNeedNoChangeButTheURL(t *testing.T) {
	if os.Getenv("SDK_MODULES") == "" {
		t.Skip("SDK_MODULES names no folder with the SDKs")
	}
	s := newSetup(t, 4000, nil)
	s.answer = sdkAnswer(t)
	out, err := exec.Command("node", "testdata/clients.mjs", s.Server.URL).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
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
