package fault_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tiercompact/tiercompact/internal/fault"
)

const (
	nativeChat = `{"model":"llama3.2:3b","messages":[{"role":"user","content":"hello"}],"options":{"num_ctx":100}}`
	openAIChat = `{"model":"llama3.2:3b","messages":[{"role":"user","content":"hello"}],"stream":true,"stream_options":{"include_usage":true}}`
	texts      = `{"model":"nomic-embed-text","input":["one","two"]}`
)

// before starts a proxy for a scripted server, whose answers have four words.
func before(t *testing.T) (*fault.Proxy, *fault.Server) {
	t.Helper()
	s := fault.Fake(t)
	s.Answer = func(string) string { return "one two three four" }
	return fault.New(t, s.URL), s
}

func TestProxyPassesRequestsWithoutAFault(t *testing.T) {
	p, s := before(t)
	for _, r := range [][2]string{{"/api/chat", nativeChat}, {"/v1/chat/completions", openAIChat}, {"/api/embed", texts}, {"/api/tags", ""}, {"/api/show", `{"model":"nope"}`}} {
		wantStatus, want := ask(t, s.URL+r[0], r[1])
		if status, got := ask(t, p.URL+r[0], r[1]); status != wantStatus || got != want {
			t.Errorf("%s: %d %s, straight from the server: %d %s", r[0], status, got, wantStatus, want)
		}
	}
}

func TestFaults(t *testing.T) {
	for _, test := range []struct {
		fault      fault.Fault
		path, body string
		status     int
		want, not  string
	}{
		{fault.Status(404), "/api/chat", nativeChat, 404, `{"error":"model 'llama3.2:3b' not found"}`, "three"},
		{fault.Status(404), "/api/embed", texts, 404, `{"error":"model \"nomic-embed-text\" not found, try pulling it first"}`, "["},
		{fault.Status(500), "/api/chat", nativeChat, 500, `{"error":"model runner has unexpectedly stopped`, "three"},
		{fault.Status(503), "/v1/chat/completions", openAIChat, 503, `{"error":{"code":null,"message":"server busy`, "three"},
		{fault.Garbage(), "/api/chat", nativeChat, 200, `<html>`, "three"},
		{fault.CutMidLine(), "/api/chat", nativeChat, 200, `"content":" two`, `"done":true`},
		{fault.CutMidLine(), "/api/embed", texts, 200, `<unexpected EOF>`, "prompt_eval_count"},
		{fault.ErrorLine(), "/api/chat", nativeChat, 200, "\n{\"error\":\"an error was encountered", "two"},
		{fault.ErrorLine(), "/api/embed", texts, 200, `{"error":"an error`, "["},
		{fault.ErrorLine(), "/v1/chat/completions", openAIChat, 200, "\n\ndata: {\"error\":{\"message\"", "two"},
		{fault.EmptyAnswer(), "/api/chat", nativeChat, 200, `"done":true`, "three"},
		{fault.EmptyAnswer(), "/api/embed", texts, 200, `"embeddings":[]`, "0."},
		{fault.CutAtNumPredict(), "/api/chat", nativeChat, 200, `"done_reason":"length"`, "stop"},
		{fault.CutAtNumPredict(), "/v1/chat/completions", openAIChat, 200, `"finish_reason":"length"`, "stop"},
		{fault.ToolCall(), "/api/chat", nativeChat, 200, `"tool_calls":[{"function":{"arguments":{"path":"main.go"}`, "three"},
		{fault.ToolCall(), "/v1/chat/completions", openAIChat, 200, `"arguments":"{\"path\":\"main.go\"}"`, "three"},
		{fault.ThinkingOnly(), "/api/chat", nativeChat, 200, `"thinking":" user"`, "three"},
		{fault.ThinkingOnly(), "/v1/chat/completions", openAIChat, 200, `"reasoning":" user"`, "three"},
		{fault.Refusal(), "/api/chat", nativeChat, 200, `"content":" sorry,"`, "three"},
		{fault.Refusal(), "/api/embed", texts, 200, `"embeddings":[[`, "sorry"},
		{fault.ContextExceeded(), "/api/chat", nativeChat, 400, `{"error":"the input length exceeds the context length"}`, "three"},
		{fault.ContextExceeded(), "/api/tags", "", 200, `"models"`, "error"},
		{fault.ContextNamed(), "/api/chat", nativeChat, 400, `4096`, "three"},
		{fault.NoUserQuery(), "/api/chat", nativeChat, 500, `no user query found in messages`, "three"},
		{fault.CutToMessages(8), "/api/chat", nativeChat, 200, `"prompt_eval_count":6,`, "error"},
		{fault.CutToWindow(4), "/api/chat", nativeChat, 200, `"prompt_eval_count":4,`, "error"},
		{fault.CutToHalf(8), "/v1/chat/completions", openAIChat, 200, `"prompt_tokens":6,`, "error"},
		{fault.CutToHalf(0), "/api/chat", nativeChat, 200, `"prompt_eval_count":7,`, "error"}, // it fits, so nothing is cut
	} {
		p, _ := before(t)
		p.Set(test.fault)
		status, got := ask(t, p.URL+test.path, test.body)
		if status != test.status || !strings.Contains(got, test.want) || strings.Contains(got, test.not) {
			t.Errorf("%s at %s: status %d, want %d; want %s and no %s in\n%s", test.fault.Name, test.path, status, test.status, test.want, test.not, got)
		}
	}
}

func TestRefusedClosesThePort(t *testing.T) {
	p, _ := before(t)
	p.Set(fault.Refused())
	// A connection that the kernel took before the port was closed is reset.
	if _, err := http.Get(p.URL); !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("error %v, want that nobody listens", err)
	}
	p.Set(fault.Fault{})
	if status, got := ask(t, p.URL+"/api/version", ""); status != 200 {
		t.Errorf("afterwards: %d %s", status, got)
	}
	p.At("/api/chat", fault.Refused())
	if status, got := ask(t, p.URL+"/api/chat", nativeChat); status != 0 {
		t.Errorf("one path is answered: %d %s", status, got)
	}
}

func TestSlowFaultsEndWithTheClient(t *testing.T) {
	for _, f := range []fault.Fault{fault.Hang(), fault.Drip(time.Hour)} {
		p, _ := before(t)
		p.Set(f)
		ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL+"/api/tags", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(r)
		if err == nil {
			_, err = answer.Body.Read(make([]byte, 1000))
			for err == nil {
				_, err = answer.Body.Read(make([]byte, 1000))
			}
			answer.Body.Close()
		}
		if stop(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: error %v, want the deadline's", f.Name, err)
		}
	}
	p, _ := before(t)
	p.Set(fault.Drip(time.Microsecond))
	if _, got := ask(t, p.URL+"/api/version", ""); got != "{\"version\":\"0.17.4\"}\n" {
		t.Errorf("in drips comes %q", got)
	}
}

func TestFaultsForSomeRequests(t *testing.T) {
	p, _ := before(t)
	p.Nth("/api/chat", 2, fault.Status(500))
	p.At("/api/embed", fault.Status(404))
	var got []int
	for _, r := range [][2]string{{"/api/chat", nativeChat}, {"/api/embed", texts}, {"/api/chat", nativeChat}, {"/api/chat", nativeChat}, {"/api/tags", ""}} {
		status, _ := ask(t, p.URL+r[0], r[1])
		got = append(got, status)
	}
	if want := []int{200, 404, 500, 200, 200}; !slices.Equal(got, want) {
		t.Errorf("status %v, want %v", got, want)
	}
	requests := p.Requests()
	if len(requests) != 5 || requests[2].Path != "/api/chat" || requests[2].Fault != "500" || string(requests[2].Body) != nativeChat || requests[3].Fault != "" {
		t.Errorf("requests %+v", requests)
	}
}

func TestEveryFaultHasItsOwnName(t *testing.T) {
	seen := make(map[string]bool)
	for _, f := range fault.All() {
		if f.Name == "" || seen[f.Name] {
			t.Errorf("%q is no name of its own", f.Name)
		}
		seen[f.Name] = true
	}
}
