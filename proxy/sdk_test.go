package proxy_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// sdkAnswer answers as the servers do. The bodies have the members that the APIs
// document and the SDKs check; of streams, each event kind that an answer of text has.
func sdkAnswer(w http.ResponseWriter, r *http.Request) {
	var q struct{ Stream *bool }
	body, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(body, &q)
	stream := q.Stream != nil && *q.Stream
	const text = "It is done."
	events := func(list ...string) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range list {
			var kind struct{ Type string }
			if json.Unmarshal([]byte(e), &kind) == nil && kind.Type != "" {
				fmt.Fprintf(w, "event: %s\n", kind.Type)
			}
			fmt.Fprintf(w, "data: %s\n\n", e)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	switch {
	case r.URL.Path == "/v1/chat/completions" && stream:
		events(`{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"`+text+`"},"finish_reason":null}]}`,
			`{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, `[DONE]`)
	case r.URL.Path == "/v1/chat/completions":
		fmt.Fprint(w, `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"`+text+`"},"finish_reason":"stop"}]}`)
	case r.URL.Path == "/v1/responses":
		fmt.Fprint(w, `{"id":"r","object":"response","created_at":1,"status":"completed","model":"m","output":[{"type":"message","id":"msg","status":"completed","role":"assistant","content":[{"type":"output_text","text":"`+text+`","annotations":[]}]}]}`)
	case r.URL.Path == "/v1/messages" && stream:
		events(`{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"`+text+`"}}`,
			`{"type":"content_block_stop","index":0}`, `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":5}}`, `{"type":"message_stop"}`)
	case r.URL.Path == "/v1/messages":
		fmt.Fprint(w, `{"id":"m","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"`+text+`"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":5}}`)
	case r.URL.Path == "/api/chat" && stream:
		fmt.Fprintln(w, `{"model":"m","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":"`+text+`"},"done":false}`)
		fmt.Fprintln(w, `{"model":"m","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop"}`)
	case r.URL.Path == "/api/chat":
		fmt.Fprint(w, `{"model":"m","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":"`+text+`"},"done":true,"done_reason":"stop"}`)
	default:
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
	s.answer = sdkAnswer
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
