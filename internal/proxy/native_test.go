package proxy_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ollama/ollama/anthropic"
	"github.com/ollama/ollama/api"
	"github.com/ollama/ollama/openai"

	"github.com/tiercompact/tiercompact/internal/ollamatest"
	"github.com/tiercompact/tiercompact/internal/proxy"
)

func nativeSetup(t *testing.T, window int) *setup {
	return newSetup(t, window, func(c *proxy.Config) { c.Native, c.KeepAlive = true, 30*time.Minute })
}

// lines returns the lines of a recorded stream of /api/chat.
func lines(t *testing.T, text string) (all []api.ChatResponse) {
	for line := range strings.Lines(text) {
		var r api.ChatResponse
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

// events returns the data of server-sent events, without ids and times.
func sseData(text string) (all []string) {
	for line := range strings.Lines(text) {
		data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		if !ok {
			continue
		}
		var v map[string]any
		if json.Unmarshal([]byte(data), &v) == nil {
			delete(v, "id")
			delete(v, "created")
			if m, ok := v["message"].(map[string]any); ok {
				delete(m, "id")
				delete(m, "usage") // an estimate
				delete(m, "stop_reason")
				delete(m, "stop_sequence")
			}
			if d, ok := v["delta"].(map[string]any); ok {
				delete(d, "stop_sequence")
			}
			raw, _ := json.Marshal(v)
			data = string(raw)
		}
		all = append(all, data)
	}
	return all
}

// TestATranslatedStreamIsThatOfOllamasOwnTranslation compares the translation of
// recorded streams, split at every byte, with that of Ollama's packages.
func TestATranslatedStreamIsThatOfOllamasOwnTranslation(t *testing.T) {
	for _, name := range []string{"chat-stream", "chat-call-stream"} {
		stream := recorded(t, name)
		var wantOpenAI, wantAnthropic []string
		converter, sent := anthropic.NewStreamConverter("", "m", 0), false
		add := func(all *[]string, v any) {
			raw, _ := json.Marshal(v)
			*all = append(*all, sseData("data: "+string(raw))...)
		}
		for _, r := range lines(t, stream.Body) {
			chunk := openai.ToChunk("", r, sent)
			sent = sent || len(r.Message.ToolCalls) > 0
			add(&wantOpenAI, chunk)
			if r.Done {
				usage := openai.ToUsage(r)
				chunk.Choices, chunk.Usage = []openai.ChunkChoice{}, &usage
				add(&wantOpenAI, chunk)
			}
			converter.Model = r.Model
			for _, e := range converter.Process(r) {
				add(&wantAnthropic, e.Data)
			}
		}
		wantOpenAI = append(wantOpenAI, "[DONE]")
		s := nativeSetup(t, 100_000)
		for cut := 0; cut <= len(stream.Body); cut += 1 + cut%7 {
			s.upstream.mu.Lock()
			s.answer = func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", stream.Kind)
				_, _ = io.WriteString(w, stream.Body[:cut])
				w.(http.Flusher).Flush()
				_, _ = io.WriteString(w, stream.Body[cut:])
			}
			s.upstream.mu.Unlock()
			answer, text := s.post(t, "/v1/chat/completions", `{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"Say hello."}]}`)
			if got := sseData(text); !slices.Equal(got, wantOpenAI) || answer.Header.Get("Content-Type") != "text/event-stream" {
				t.Fatalf("%s at %d:\n%s\nwant\n%s", name, cut, strings.Join(got, "\n"), strings.Join(wantOpenAI, "\n"))
			}
			_, text = s.post(t, "/v1/messages", `{"model":"m","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"Say hello."}]}`)
			if got := sseData(text); !slices.Equal(got, wantAnthropic) {
				t.Fatalf("%s at %d:\n%s\nwant\n%s", name, cut, strings.Join(got, "\n"), strings.Join(wantAnthropic, "\n"))
			}
		}
	}
}

func TestATranslatedAnswerHasTheShapeOfTheServersOwn(t *testing.T) {
	s := nativeSetup(t, 100_000)
	for _, c := range [][3]string{
		{"chat", "openai", "/v1/chat/completions"}, {"chat-call", "openai-call", "/v1/chat/completions"},
		{"chat-no-model", "openai-no-model", "/v1/chat/completions"}, {"chat-no-model", "anthropic-no-model", "/v1/messages"}, {"chat", "anthropic", "/v1/messages"},
	} {
		s.answer = func(w http.ResponseWriter, _ *http.Request) { recorded(t, c[0]).write(w) }
		answer, text := s.post(t, c[2], `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Say hello."}]}`)
		got := recordedAnswer{answer.StatusCode, answer.Header.Get("Content-Type"), text}
		want := recorded(t, c[1])
		if a, b := withoutOptional(got.shape()), withoutOptional(want.shape()); a != b {
			t.Errorf("%s:\n%s\nthe server's own:\n%s", c[1], a, b)
		}
	}
}

// withoutOptional leaves out what Anthropic documents and Ollama omits, and the other
// way round.
func withoutOptional(shape string) string {
	return strings.NewReplacer("stop_sequence:null,", "", ",stop_sequence:null", "", ",request_id:string", "").Replace(shape)
}

func TestATranslatedRequestHasWhatV1CannotSet(t *testing.T) {
	const picture = "iVBORw0KGgo="
	tests := map[string]struct{ path, body, want string }{
		"openai": {
			"/v1/chat/completions",
			`{"model":"m","stream":true,"max_completion_tokens":50,"max_tokens":9,"temperature":0.10,"top_p":0.9,"seed":7,"stop":"END","reasoning_effort":"high","response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"object"}}},
			"messages":[{"role":"developer","content":"Be brief."},{"role":"user","content":[{"type":"text","text":"Look:"},{"type":"image_url","image_url":{"url":"data:image/png;base64,` + picture + `"}}]},
			{"role":"assistant","content":null,"reasoning_content":"Hm.","tool_calls":[{"id":"c1","type":"function","function":{"name":"read","arguments":"{\"z\":1.50,\"a\":2}"}}]},{"role":"tool","tool_call_id":"c1","content":"text"}],
			"tools":[{"type":"function","function":{"name":"read","description":"d","parameters":{"type":"object","properties":{}}}}]}`,
			`{"model":"m","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Look:","images":["` + picture + `"]},` +
				`{"role":"assistant","content":"","thinking":"Hm.","tool_calls":[{"id":"c1","type":"function","function":{"name":"read","arguments":{"z":1.50,"a":2}}}]},{"role":"tool","content":"text","tool_name":"read","tool_call_id":"c1"}],` +
				`"tools":[{"type":"function","function":{"name":"read","description":"d","parameters":{"type":"object","properties":{}}}}],` +
				`"stream":true,"truncate":false,"shift":false,"keep_alive":"30m0s","think":"high","format":{"type":"object"},"options":{"num_ctx":9000,"num_predict":50,"temperature":0.10,"top_p":0.9,"seed":7,"stop":["END"]}}`,
		},
		"anthropic": {
			"/v1/messages",
			`{"model":"m","max_tokens":50,"top_k":5,"stop_sequences":["A","B"],"thinking":{"type":"enabled","budget_tokens":1024},"system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],
			"messages":[{"role":"user","content":[{"type":"text","text":"Look:"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + picture + `"}}]},
			{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"read","input":{"z":1.50,"a":2}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"text"}]}],
			"tools":[{"name":"read","description":"d","input_schema":{"type":"object","properties":{}}}]}`,
			`{"model":"m","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Look:","images":["` + picture + `"]},` +
				`{"role":"assistant","content":"","tool_calls":[{"id":"c1","type":"function","function":{"name":"read","arguments":{"z":1.50,"a":2}}}]},{"role":"tool","content":"text","tool_name":"read","tool_call_id":"c1"}],` +
				`"tools":[{"type":"function","function":{"name":"read","description":"d","parameters":{"type":"object","properties":{}}}}],` +
				`"stream":false,"truncate":false,"shift":false,"keep_alive":"30m0s","think":true,"options":{"num_ctx":9000,"num_predict":50,"top_k":5,"stop":["A","B"]}}`,
		},
		"no tool may be called": {
			"/v1/chat/completions",
			`{"model":"m","tool_choice":"none","messages":[{"role":"user","content":"Hi"}],"tools":[{"type":"function","function":{"name":"read"}}]}`,
			`{"model":"m","messages":[{"role":"user","content":"Hi"}],"stream":false,"truncate":false,"shift":false,"keep_alive":"30m0s","options":{"num_ctx":9000}}`,
		},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			s := nativeSetup(t, 9000)
			s.answer = func(w http.ResponseWriter, _ *http.Request) { recorded(t, "chat").write(w) }
			if strings.Contains(c.body, `"stream":true`) {
				s.answer = nil
			}
			for range 2 { // the same bytes each time
				if answer, text := s.post(t, c.path+"?beta=true", c.body); answer.StatusCode != http.StatusOK {
					t.Fatalf("%d %s", answer.StatusCode, text)
				}
				if got := string(s.last(t)); got != c.want {
					t.Errorf("sent\n%s\nwant\n%s", got, c.want)
				}
			}
			if got := s.uris[0]; got != "/api/chat" {
				t.Errorf("sent to %s", got)
			}
		})
	}
}

// TestThinkingBeforeACallIsABlockOfItsOwn: Ollama's own stream gives both the index 0.
func TestThinkingBeforeACallIsABlockOfItsOwn(t *testing.T) {
	s := nativeSetup(t, 100_000)
	call := recorded(t, "chat-call-stream")
	first := lines(t, call.Body)[0]
	s.answer = func(w http.ResponseWriter, _ *http.Request) {
		first.Message = api.Message{Role: "assistant", Thinking: "Hm."}
		raw, _ := json.Marshal(first)
		_, _ = fmt.Fprintf(w, "%s\n%s", raw, call.Body)
	}
	_, text := s.post(t, "/v1/messages", `{"model":"m","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"Hi"}]}`)
	var got []string
	for _, data := range sseData(text) {
		var e struct {
			Type  string
			Index int
			Delta struct {
				Type string
				Stop string `json:"stop_reason"`
			}
			Block struct{ Type string } `json:"content_block"`
		}
		_ = json.Unmarshal([]byte(data), &e)
		got = append(got, fmt.Sprint(e.Index, " ", e.Type, e.Delta.Type, e.Delta.Stop, e.Block.Type))
	}
	want := []string{
		"0 message_start", "0 content_block_startthinking", "0 content_block_deltathinking_delta", "0 content_block_stop",
		"1 content_block_starttool_use", "1 content_block_deltainput_json_delta", "1 content_block_stop", "0 message_deltatool_use", "0 message_stop",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
}

func TestErrorsOfATranslatedRequest(t *testing.T) {
	begun := strings.SplitAfter(recorded(t, "chat-stream").Body, "\n")[0]
	write := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
	}
	tests := map[string]struct {
		path, body string
		answer     http.HandlerFunc
		status     int
		want       string
	}{
		"an error in a stream, OpenAI":    {"/v1/chat/completions", `"stream":true,`, write(begun + `{"error":"it crashed"}` + "\n"), 200, `data: {"error":{"code":null,"message":"it crashed","param":null,"type":"api_error"}}`},
		"an error in a stream, Anthropic": {"/v1/messages", `"stream":true,`, write(begun + `{"error":"it crashed"}`), 200, "event: error\ndata: {\"error\":{\"message\":\"it crashed\",\"type\":\"api_error\"},\"type\":\"error\"}"},
		"too long, and nothing to remove": {"/v1/chat/completions", ``, func(w http.ResponseWriter, _ *http.Request) { recorded(t, "chat-too-long").write(w) }, 400, `"code":"context_length_exceeded"`},
		"no tools":                        {"/v1/messages", ``, func(w http.ResponseWriter, _ *http.Request) { recorded(t, "chat-no-tools").write(w) }, 400, `{"error":{"message":"registry.ollama.ai/library/real-smol:latest does not support tools","type":"invalid_request_error"},"type":"error"}`},
		"no JSON":                         {"/v1/chat/completions", ``, write("<html>"), 0, ""},
		"a stream that is cut":            {"/v1/messages", `"stream":true,`, write(begun), 0, ""},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			s := nativeSetup(t, 100_000)
			s.answer = c.answer
			answer, err := http.Post(s.Server.URL+c.path, "application/json", strings.NewReader(`{"model":"m","max_tokens":9,`+c.body+`"messages":[{"role":"user","content":"Hi"}]}`))
			if err != nil && c.status == 0 {
				return // the connection ended before the answer began
			}
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			text, err := io.ReadAll(answer.Body)
			if c.status == 0 && err == nil {
				t.Errorf("an answer that was cut looks complete: %s", text)
			}
			if c.status != 0 && (answer.StatusCode != c.status || !strings.Contains(string(text), c.want)) {
				t.Errorf("%d %s", answer.StatusCode, text)
			}
		})
	}
	s := nativeSetup(t, 100_000)
	for path, block := range map[string]string{"/v1/chat/completions": `{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}`, "/v1/messages": `{"type":"image","source":{"type":"url","url":"https://example.com/a.png"}}`} {
		answer, text := s.post(t, path, `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[`+block+`]}]}`)
		if answer.StatusCode != http.StatusBadRequest || !strings.Contains(text, "base64") {
			t.Errorf("%s: %d %s", path, answer.StatusCode, text)
		}
	}
}

func TestAModelThatCannotThinkAnswersAllTheSame(t *testing.T) {
	s := nativeSetup(t, 100_000)
	s.answer = func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), `"think":true`) { // routes.go of Ollama 0.17.4
			http.Error(w, `{"error":"\"real-smol\" does not support thinking"}`, http.StatusBadRequest)
			return
		}
		recorded(t, "chat").write(w)
	}
	answer, text := s.post(t, "/v1/messages", `{"model":"m","max_tokens":9,"thinking":{"type":"enabled","budget_tokens":1024},"messages":[{"role":"user","content":"Hi"}]}`)
	if answer.StatusCode != http.StatusOK || !strings.Contains(text, "so glad") {
		t.Errorf("%d %s", answer.StatusCode, text)
	}
}

func TestATranslatedRequestThatDoesNotFitIsSentOnceMore(t *testing.T) {
	for _, path := range []string{"/v1/chat/completions", "/v1/messages"} {
		s := nativeSetup(t, 100_000)
		var d dialogue
		for range 30 {
			d.turn()
		}
		tries := 0
		s.answer = func(w http.ResponseWriter, _ *http.Request) {
			if tries++; tries == 1 {
				recorded(t, "chat-too-long").write(w)
				return
			}
			recorded(t, "chat").write(w)
		}
		answer, text := s.post(t, path, strings.Replace(d.body(), `{"model":"m"`, `{"model":"m","max_tokens":9`, 1))
		sent := s.received()
		if answer.StatusCode != http.StatusOK || answer.Header.Get("X-Tiercompact-Retried") != "1" || len(sent) != 2 || len(sent[1]) >= len(sent[0]) || !strings.Contains(string(sent[1]), `"truncate":false`) {
			t.Errorf("%s: %d %s; %d requests", path, answer.StatusCode, text, len(sent))
		}
	}
}

// TestRealTranslatedSessionsGoOn is TestRealSessionsGoOnPastTheWindow by /v1, with a
// window that /v1 could not set.
func TestRealTranslatedSessionsGoOn(t *testing.T) {
	server := ollamatest.URL(t)
	for _, c := range []*realClient{
		{path: "/v1/chat/completions", native: true, window: 2048},
		{path: "/v1/messages", native: true, window: 2048},
	} {
		t.Run(strings.Trim(strings.ReplaceAll(c.path, "/", "_"), "_"), func(t *testing.T) { c.goOn(t, server) })
	}
}

// TestRealTranslationHasTheRecordedShape: what the proxy makes of /api/chat has the
// shape of what the same server sends by /v1.
func TestRealTranslationHasTheRecordedShape(t *testing.T) {
	server := ollamatest.URL(t)
	s := realSetup(t, server, &realClient{native: true, window: 4096})
	for _, name := range []string{"openai", "openai-stream", "openai-call", "openai-call-stream", "openai-no-model", "anthropic", "anthropic-stream", "anthropic-no-model"} {
		q := recordings[name]
		answer, text := s.post(t, q.path, q.body)
		got := recordedAnswer{answer.StatusCode, answer.Header.Get("Content-Type"), text}
		want := recorded(t, name)
		a, b := withoutOptional(got.shape()), withoutOptional(want.shape())
		a, b = strings.ReplaceAll(a, ",stop_reason:null", ""), strings.ReplaceAll(b, ",stop_reason:null", "")
		if a != b {
			t.Errorf("%s:\n%s\nthe server's own:\n%s", name, a, b)
		}
	}
}
