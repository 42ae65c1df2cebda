package proxy_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tiercompact/tiercompact/internal/proxy"
)

// Streams in the form of the servers: Ollama's NDJSON, OpenAI's chunks with
// include_usage, its Responses events, Anthropic's events.
var streams = map[string]struct{ path, kind, text string }{
	"ollama": {"/api/chat", "application/x-ndjson", strings.ReplaceAll(ollamaAnswer, `"prompt_eval_count":26`, `"prompt_eval_count":700`)},
	"openai": {"/v1/chat/completions", "text/event-stream", "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Héllo\"},\"finish_reason\":null}]}\n\n" +
		"data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":[],\"usage\":{\"prompt_tokens\":700,\"completion_tokens\":2,\"total_tokens\":702}}\n\ndata: [DONE]\n\n"},
	"responses": {"/v1/responses", "text/event-stream", "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\"Hi\"}\n\n" +
		"event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"id\":\"r\",\"usage\":{\"input_tokens\":700,\"output_tokens\":2}}}\n\n"},
	"anthropic": {"/v1/messages", "text/event-stream", "event: message_start\r\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"role\":\"assistant\",\"content\":[],\"usage\":{\"input_tokens\":100,\"cache_read_input_tokens\":600,\"output_tokens\":1}}}\r\n\r\n" +
		"event: message_stop\r\ndata: {\"type\":\"message_stop\"}\r\n\r\n"},
}

// longRequest returns a body of about 5,000 tokens, of which a server that cuts the
// prompt reads 700.
func longRequest(path string) string {
	list := "messages"
	if path == "/v1/responses" {
		list = "input"
	}
	return fmt.Sprintf(`{"model":"m","stream":true,"%s":[{"role":"user","content":"%s"}]}`, list, strings.Repeat("several words of a long question ", 900))
}

func TestAStreamSplitAnywhereArrivesAsItWasAndIsCounted(t *testing.T) {
	for name, stream := range streams {
		t.Run(name, func(t *testing.T) {
			s := newSetup(t, 100_000, nil)
			for cut := 0; cut <= len(stream.text); cut++ {
				s.upstream.mu.Lock()
				s.answer = func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", stream.kind)
					_, _ = io.WriteString(w, stream.text[:cut])
					w.(http.Flusher).Flush()
					_, _ = io.WriteString(w, stream.text[cut:])
				}
				s.upstream.mu.Unlock()
				answer, text := s.post(t, stream.path, longRequest(stream.path))
				if text != stream.text || answer.Header.Get("Content-Type") != stream.kind {
					t.Fatalf("split at %d: %q", cut, text)
				}
				if cut > 0 && !strings.Contains(answer.Header.Get("X-Tiercompact-Warning"), "read 700 of about") {
					t.Fatalf("split at %d: the count of the request before was not read: %q", cut, answer.Header.Get("X-Tiercompact-Warning"))
				}
			}
			if !s.events.warned("seems to cut the prompt silently") {
				t.Error("no event reports the truncation")
			}
		})
	}
}

func TestACountInADocumentOfManyLinesIsRead(t *testing.T) {
	s := newSetup(t, 100_000, nil)
	s.answer = func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "{\n  \"id\": \"c\",\n  \"choices\": [],\n  \"usage\": {\n    \"prompt_tokens\": 700\n  }\n}\n")
	}
	s.post(t, "/v1/chat/completions", longRequest(""))
	if answer, _ := s.post(t, "/v1/chat/completions", longRequest("")); !strings.Contains(answer.Header.Get("X-Tiercompact-Warning"), "700") {
		t.Errorf("headers %v", answer.Header)
	}
}

func TestAStreamGoesOnAsItComes(t *testing.T) {
	s := newSetup(t, 100_000, nil)
	next := make(chan struct{})
	s.answer = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 3 {
			fmt.Fprintf(w, "data: %d\n\n", i)
			w.(http.Flusher).Flush()
			<-next
		}
	}
	answer, err := http.Post(s.Server.URL+"/v1/chat/completions", "application/json", strings.NewReader(longRequest("")))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	for i := range 3 {
		// The upstream waits for this line to arrive: if the proxy held it back, the
		// test would end by its deadline.
		if !lines.Scan() || lines.Text() != fmt.Sprintf("data: %d", i) {
			t.Fatalf("line %q", lines.Text())
		}
		lines.Scan()
		next <- struct{}{}
	}
}

func TestAClientThatGoesEndsTheUpstreamsWork(t *testing.T) {
	s := newSetup(t, 100_000, nil)
	began, ended := make(chan struct{}), make(chan struct{})
	s.answer = func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "{}\n")
		w.(http.Flusher).Flush()
		close(began)
		<-r.Context().Done()
		close(ended)
	}
	ctx, stop := context.WithCancel(t.Context())
	r, _ := http.NewRequestWithContext(ctx, http.MethodPost, s.Server.URL+"/api/chat", strings.NewReader(longRequest("")))
	go func() {
		if answer, err := http.DefaultClient.Do(r); err == nil {
			answer.Body.Close()
		}
	}()
	<-began
	stop()
	<-ended
}

func TestAnUpstreamThatStallsIsLeft(t *testing.T) {
	s := newSetup(t, 100_000, func(c *proxy.Config) { c.IdleWithin = 50 * time.Millisecond })
	s.answer = func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "{}\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
	answer, err := http.Post(s.Server.URL+"/api/chat", "application/json", strings.NewReader(longRequest("")))
	if err == nil { // else it stalled even before the first line
		_, err = io.ReadAll(answer.Body)
		answer.Body.Close()
	}
	if err == nil {
		t.Error("a stream that was cut looks complete")
	}
}

func TestARoundThatIsDueIsPlannedWhileTheAnswerStreams(t *testing.T) {
	s := newSetup(t, 3000, nil)
	var d dialogue
	for range 3 {
		d.turn()
	}
	s.post(t, "/api/chat", d.body()) // warm, and below the threshold
	planned := ""
	for planned == "" {
		d.turn()
		answer, _ := s.post(t, "/api/chat", d.body())
		if planned = answer.Header.Get("X-Tiercompact-Planned"); planned != "" {
			if string(s.last(t)) != d.body() || answer.Header.Get("X-Tiercompact-Level") != "none" {
				t.Error("a round that was not needed was made in the way of the answer")
			}
		} else if len(s.last(t)) < len(d.body()) {
			t.Fatal("a round was made before one was planned")
		}
		s.proxy.Wait()
	}
	for range 12 { // the round is made if it frees enough
		d.turn()
		s.post(t, "/api/chat", d.body())
		s.proxy.Wait()
		if len(s.last(t)) < len(d.body()) {
			return
		}
	}
	t.Error("no round was made")
}

func TestAColdCacheIsCompactedAtOnce(t *testing.T) {
	s := newSetup(t, 3000, nil)
	var d dialogue
	for range 16 {
		d.turn()
	}
	if answer, _ := s.post(t, "/api/chat", d.body()); answer.Header.Get("X-Tiercompact-Level") == "none" {
		t.Errorf("headers %v", answer.Header)
	}
}

func TestACutIsCertainOnlyIfAShorterRequestHadMoreTokens(t *testing.T) {
	s := newSetup(t, 100_000, nil)
	count := 1400
	s.answer = func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.Replace(recorded(t, "openai").Body, `"prompt_tokens":12`, fmt.Sprintf(`"prompt_tokens":%d`, count), 1))
	}
	var d dialogue
	for range 6 {
		d.turn()
	}
	s.post(t, "/v1/chat/completions", d.body())
	count = 700
	for range 6 {
		d.turn()
	}
	s.post(t, "/v1/chat/completions", d.body())
	d.turn()
	if answer, _ := s.post(t, "/v1/chat/completions", d.body()); !strings.Contains(answer.Header.Get("X-Tiercompact-Warning"), "and 1400 of a shorter one") {
		t.Errorf("headers %v", answer.Header)
	}
	if s.events.warned("seems") || !s.events.warned("the upstream cut the prompt silently: it read 700 of about") {
		t.Error("the event is not certain")
	}
}
