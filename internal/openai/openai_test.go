package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/model"
	"github.com/tiercompact/tiercompact/internal/openai"
	"github.com/tiercompact/tiercompact/tokens"
)

// A script answers requests by their paths, and keeps the last one.
type script struct {
	answers map[string]string
	status  int
	body    string
	key     string
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	data, _ := io.ReadAll(r.Body)
	s.body, s.key = string(data), r.Header.Get("Authorization")
	answer, ok := s.answers[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	if s.status != 0 {
		w.WriteHeader(s.status)
	}
	fmt.Fprint(w, answer)
}

const key = "sk-do-not-tell"

func scripted(t *testing.T, answers map[string]string) (*openai.Client, *script) {
	t.Helper()
	s := &script{answers: answers}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	c, err := openai.New(server.URL+"/v1/", key)
	if err != nil {
		t.Fatal(err)
	}
	return c, s
}

func user(text string) []chat.Message { return []chat.Message{chat.NewText(chat.User, text)} }

func TestNewTakesAnAddressWithAndWithoutVersion(t *testing.T) {
	for text, want := range map[string]string{
		"http://box:8080":         "http://box:8080",
		"http://box:8080/v1":      "http://box:8080",
		"box:8080/v1/":            "http://box:8080",
		"https://box/openai/v1":   "https://box/openai",
		"https://me:pass@box:1/x": "https://me:xxxxx@box:1/x",
	} {
		if c, err := openai.New(text, ""); err != nil || c.URL() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	if _, err := openai.New("", ""); err == nil {
		t.Error("no address, and no error")
	}
}

func TestModelsAreListed(t *testing.T) {
	c, s := scripted(t, map[string]string{"/v1/models": `{"object":"list","data":[{"id":"a"},{"id":""},{"id":"b/c:d"}]}`})
	if names, err := c.Models(t.Context()); err != nil || fmt.Sprint(names) != "[a b/c:d]" || s.key != "Bearer "+key {
		t.Errorf("%v, %v, key %q", names, err, s.key)
	}
	s.answers["/v1/models"] = `<html>`
	if _, err := c.Models(t.Context()); !errors.Is(err, model.ErrGarbled) {
		t.Errorf("a web page: %v", err)
	}
	delete(s.answers, "/v1/models")
	if _, err := c.Models(t.Context()); !errors.Is(err, model.ErrGarbled) || !strings.Contains(err.Error(), "; check that this is the base address") {
		t.Errorf("another server: %v", err)
	}
	nobody, err := openai.New("127.0.0.1:1", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := nobody.Models(t.Context()); !errors.Is(err, model.ErrUnreachable) || !strings.Contains(err.Error(), "; start the server") {
		t.Errorf("nobody there: %v", err)
	}
}

func TestWindowIsReportedByTheServer(t *testing.T) {
	for name, c := range map[string]struct {
		answers map[string]string
		want    tokens.Known
	}{
		"llama.cpp": {map[string]string{
			"/props":     `{"default_generation_settings":{"n_ctx":4096},"total_slots":2}`,
			"/v1/models": `{"data":[{"id":"m","meta":{"n_ctx_train":131072}}]}`,
		}, tokens.Known{Served: 4096}},
		"llama.cpp without props": {map[string]string{"/v1/models": `{"data":[{"id":"/path/m.gguf","meta":{"n_ctx_train":131072}}]}`}, tokens.Known{Trained: 131_072}},
		"vLLM":                    {map[string]string{"/v1/models": `{"data":[{"id":"x","max_model_len":1},{"id":"m","max_model_len":32768}]}`}, tokens.Known{Served: 32_768}},
		"LM Studio": {map[string]string{
			"/api/v0/models": `{"data":[{"id":"m","max_context_length":131072,"loaded_context_length":8192}]}`,
			"/v1/models":     `{"data":[{"id":"m"}]}`,
		}, tokens.Known{Served: 8192, Trained: 131_072}},
		"Ollama":            {map[string]string{"/v1/models": `{"data":[{"id":"m"},{"id":"n"}]}`}, tokens.Known{}},
		"tells nothing":     {nil, tokens.Known{}},
		"another model":     {map[string]string{"/v1/models": `{"data":[{"id":"a","max_model_len":5},{"id":"b","max_model_len":6}]}`}, tokens.Known{}},
		"props of a page":   {map[string]string{"/props": `<html>`, "/v1/models": `{"data":[{"id":"m","max_model_len":7}]}`}, tokens.Known{Served: 7}},
		"numbers that lie":  {map[string]string{"/props": `{"default_generation_settings":{"n_ctx":-1}}`, "/v1/models": `{"data":[{"id":"m","max_model_len":1e300}]}`}, tokens.Known{}},
		"words for numbers": {map[string]string{"/props": `{"default_generation_settings":{"n_ctx":"x"}}`}, tokens.Known{}},
	} {
		client, s := scripted(t, c.answers)
		got, err := client.Window(t.Context(), "m")
		if err != nil || got != c.want || s.key != "Bearer "+key {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, c.want)
		}
	}
	nobody, err := openai.New("127.0.0.1:1", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := nobody.Window(t.Context(), "m"); !errors.Is(err, model.ErrUnreachable) {
		t.Errorf("nobody there: %v", err)
	}
}

func TestEmbedPutsVectorsInOrder(t *testing.T) {
	c, s := scripted(t, map[string]string{"/v1/embeddings": `{"data":[{"index":1,"embedding":[3,4]},{"index":0,"embedding":[1,2]}]}`})
	v, err := c.Embed(t.Context(), "m", []string{"a", "b"})
	if err != nil || fmt.Sprint(v) != "[[1 2] [3 4]]" || !strings.Contains(s.body, `"input":["a","b"]`) || !strings.Contains(s.body, `"encoding_format":"float"`) {
		t.Errorf("%v, %v, asked %s", v, err, s.body)
	}
	if v, err := c.Embed(t.Context(), "m", nil); v != nil || err != nil {
		t.Errorf("no texts: %v, %v", v, err)
	}
	for _, answer := range []string{
		`{"data":[{"index":0,"embedding":[1]}]}`,
		`{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}`,
		`{"data":[{"index":0,"embedding":[1]},{"index":2,"embedding":[1]}]}`,
		`{"data":[{"index":0,"embedding":[1]},{"index":-1,"embedding":[1]}]}`,
		`{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[1,2]}]}`,
		`{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[]}]}`,
		`{"data":[{"index":0,"embedding":"AAAA"}]}`,
		`{"data":[`, ``, `[]`,
	} {
		s.answers["/v1/embeddings"] = answer
		if v, err := c.Embed(t.Context(), "m", []string{"a", "b"}); !errors.Is(err, model.ErrGarbled) {
			t.Errorf("%s: %v, %v", answer, v, err)
		}
	}
}

// events returns a stream of events.
func events(all ...string) string {
	var b strings.Builder
	for _, e := range all {
		b.WriteString("data: " + e + "\n\n")
	}
	return b.String()
}

const done = "[DONE]"

func delta(fields string) string {
	return `{"choices":[{"delta":{` + fields + `},"finish_reason":null}]}`
}

func finish(reason string) string {
	return `{"choices":[{"delta":{},"finish_reason":"` + reason + `"}]}`
}

func TestChatPutsAnAnswerTogether(t *testing.T) {
	c, s := scripted(t, map[string]string{"/v1/chat/completions": ": waiting\n\n" + events(
		delta(`"role":"assistant","content":null,"reasoning_content":"let "`), delta(`"reasoning":"me"`), delta(`"content":"Hel"`), delta(`"content":"lo"`),
		finish("length"),
		`{"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":3},"timings":{"prompt_ms":1.5,"predicted_ms":2}}`, done)})
	text := ""
	a, err := c.Chat(t.Context(), model.Request{Model: "m", Messages: user("hi")}, func(d model.Delta) error {
		text += "[" + d.Thinking + d.Text + "]"
		return nil
	})
	if err != nil || text != "[let ][me][Hel][lo]" || a.Message.Text() != "Hello" || a.Message.Parts[0].Text != "let me" || s.key != "Bearer "+key {
		t.Errorf("%s, %+v, %v", text, a.Message, err)
	}
	if got := fmt.Sprintf("%s %d %d %s %s", a.Done, a.PromptTokens, a.Tokens, a.PromptTime, a.Time); got != "length 12 3 1.5ms 2ms" {
		t.Errorf("end: %s", got)
	}
}

func TestChatPutsCallsTogether(t *testing.T) {
	for name, c := range map[string]struct{ answer, want string }{
		"in pieces": {events(
			delta(`"tool_calls":[{"index":0,"id":"x","type":"function","function":{"name":"read","arguments":""}}]`),
			delta(`"tool_calls":[{"index":1,"id":"y","function":{"name":"list","arguments":"{\"b\""}}]`),
			delta(`"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":"}}]`),
			delta(`"tool_calls":[{"index":1,"function":{"arguments":":2}"}},{"index":0,"function":{"arguments":"1}"}}]`),
			finish("tool_calls"), done), `x read {"a":1} y list {"b":2}`},
		"without indexes": {events(
			delta(`"tool_calls":[{"id":"x","function":{"name":"read","arguments":"{\"a\":"}}]`),
			delta(`"tool_calls":[{"function":{"arguments":"1}"}}]`),
			delta(`"tool_calls":[{"function":{"name":"now"}}]`),
			finish("tool_calls"), done), `x read {"a":1} call_1 now {}`},
		"all at one index": {events(
			delta(`"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"{}"}},{"index":0,"id":"y","function":{"name":"g","arguments":"{}"}}]`),
			finish("stop"), done), `x f {} y g {}`},
		"without ids, and no JSON": {events(
			delta(`"tool_calls":[{"index":7,"function":{"name":"f","arguments":"oops"}},{"index":-3,"function":{"name":"g"}}]`),
			finish("tool_calls"), done), `call_1 f {"not_an_object":"oops"} call_2 g {}`},
	} {
		client, _ := scripted(t, map[string]string{"/v1/chat/completions": c.answer})
		a, err := client.Chat(t.Context(), model.Request{Model: "m", Messages: user("hi")}, nil)
		var got []string
		for _, p := range a.Message.Parts {
			got = append(got, p.ID, p.Name, p.Args)
		}
		if err != nil || strings.Join(got, " ") != c.want || a.Done != model.Stopped {
			t.Errorf("%s: %v, %v, want %s", name, got, err, c.want)
		}
	}
}

func TestChatSendsTheServersForm(t *testing.T) {
	c, s := scripted(t, map[string]string{"/v1/chat/completions": events(finish("stop"), done)})
	tools := `[{"type":"function","function":{"name":"recall","parameters":{"type":"object"}}}]`
	request := model.Request{Model: "o3-like", Window: 99, MaxTokens: 50, NoThink: true, Sampling: &model.Sampling{}, Tools: []byte(tools), Messages: []chat.Message{
		chat.NewText(chat.Developer, "rules"),
		{Role: chat.User, Parts: []chat.Part{{Kind: chat.Text, Text: "look"}, {Kind: chat.Image, Image: &chat.Picture{MediaType: "image/gif", Data: "R0"}}, {Kind: chat.Image, Image: &chat.Picture{URL: "https://x/y.png"}}}},
		{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Thinking, Text: "hm"}, {Kind: chat.Call, ID: "1", Name: "f", Args: `{"a":1}`}}},
		chat.NewResult("1", ""),
		{Role: chat.Tool, Parts: []chat.Part{{Kind: chat.Result, ID: "2", Text: "seen", Image: &chat.Picture{Data: "R0"}}}},
		{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Thinking, Text: "hm"}, {Kind: chat.Summary, Text: "sum"}}},
		chat.NewText(chat.User, ""),
	}}
	if _, err := c.Chat(t.Context(), request, nil); err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(s.body), &got); err != nil {
		t.Fatalf("%v: %s", err, s.body)
	}
	messages, _ := json.Marshal(got["messages"])
	want := `[{"content":"rules","role":"system"},` +
		`{"content":[{"text":"look","type":"text"},{"image_url":{"url":"data:image/gif;base64,R0"},"type":"image_url"},{"image_url":{"url":"https://x/y.png"},"type":"image_url"}],"role":"user"},` +
		`{"reasoning_content":"hm","role":"assistant","tool_calls":[{"function":{"arguments":"{\"a\":1}","name":"f"},"id":"1","type":"function"}]},` +
		`{"content":" ","role":"tool","tool_call_id":"1"},` +
		`{"content":[{"text":"seen","type":"text"},{"image_url":{"url":"data:image/png;base64,R0"},"type":"image_url"}],"role":"tool","tool_call_id":"2"},` +
		`{"content":"sum","role":"assistant"},` +
		`{"content":" ","role":"user"}]`
	if string(messages) != want {
		t.Errorf("messages\n%s\nwant\n%s", messages, want)
	}
	rest := fmt.Sprint(got["max_tokens"], got["temperature"], got["seed"], got["stream"], got["stream_options"], got["chat_template_kwargs"], got["tools"] != nil, got["num_ctx"])
	if rest != "50 0 0 true map[include_usage:true] map[enable_thinking:false] true <nil>" {
		t.Errorf("asked %s", rest)
	}
	if _, err := c.Chat(t.Context(), model.Request{Model: "m", Messages: user("hi")}, nil); err != nil || strings.Contains(s.body, "temperature") || strings.Contains(s.body, "max_tokens") {
		t.Errorf("without any wish: %s, %v", s.body, err)
	}
	for name, bad := range map[string]model.Request{
		"read tools": {Tools: []byte(`{`)},
		"neither":    {Messages: []chat.Message{{Role: chat.User, Parts: []chat.Part{{Kind: chat.Image, Image: &chat.Picture{}}}}}},
		"message 0":  {Messages: []chat.Message{{Role: chat.Tool, Parts: []chat.Part{{Kind: chat.Result, Image: &chat.Picture{}}}}}},
	} {
		if _, err := c.Chat(t.Context(), bad, nil); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestChatReportsFailedAnswers(t *testing.T) {
	hello := events(delta(`"content":"Hello"`))
	for name, c := range map[string]struct {
		answer     string
		status     int
		kind       error
		text, said string
	}{
		"no end":          {hello, 0, model.ErrGarbled, "ends in the middle", "Hello"},
		"no finish":       {hello + events(done), 0, model.ErrGarbled, "ends in the middle", "Hello"},
		"nothing":         {"", 0, model.ErrGarbled, "ends in the middle", ""},
		"no stream":       {`{"choices":[{"message":{"content":"x"}}]}`, 0, model.ErrGarbled, "ends in the middle", ""},
		"garbage":         {hello + "<html>\n<body>\n", 0, model.ErrGarbled, "ends in the middle", "Hello"},
		"no JSON":         {hello + events("{"), 0, model.ErrGarbled, "unexpected end of JSON", "Hello"},
		"error event":     {hello + events(`{"error":{"message":"slot is gone","type":"server_error"}}`), 0, nil, "slot is gone server_error; see the server's log", "Hello"},
		"error, too long": {events(`{"error":{"message":"no room","type":"exceed_context_size_error"}}`), 0, model.ErrTooLong, "no room", ""},
		"llama.cpp, long": {`{"error":{"code":400,"message":"request (9 tokens) exceeds the available context size (8 tokens)","type":"exceed_context_size_error","n_ctx":8}}`, 400, model.ErrTooLong, "; send less, or start the server with a larger context", ""},
		"vLLM, long":      {`{"object":"error","message":"This model's maximum context length is 8 tokens.","type":"BadRequestError","code":400}`, 400, model.ErrTooLong, "maximum context length", ""},
		"LM Studio, long": {`{"error":"Trying to keep the first 9 tokens when context the overflows."}`, 400, model.ErrTooLong, "Trying to keep", ""},
		"no model":        {`{"error":{"message":"model 'm' not found","type":"api_error"}}`, 404, model.ErrNoModel, "; name a model that the server lists", ""},
		"no tools":        {`{"error":{"message":"tools param requires --jinja flag: not supported","type":"x"}}`, 500, model.ErrCannot, "; use another model", ""},
		"loading":         {`{"error":{"message":"Loading model","type":"unavailable_error","code":503}}`, 503, nil, "; it is busy", ""},
		"wrong key":       {`{"error":{"message":"bad key ` + key + `"}}`, 401, nil, "bad key …; check the key", ""},
	} {
		client, s := scripted(t, map[string]string{"/v1/chat/completions": c.answer})
		s.status = c.status
		a, err := client.Chat(t.Context(), model.Request{Model: "m", Messages: user("hi")}, nil)
		if err == nil || c.kind != nil && !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.text) || a.Message.Text() != c.said || a.Done != "" {
			t.Errorf("%s: %q, %q, %v", name, a.Message.Text(), a.Done, err)
		}
		if err != nil && (strings.Contains(err.Error(), key) || c.kind == nil && (errors.Is(err, model.ErrGarbled) || errors.Is(err, model.ErrTooLong))) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Ollama (0.17.4) ends a stream on /v1 like this if a model repeats one token.
func TestAServerEndsAnAnswerThatRepeatsAToken(t *testing.T) {
	client, _ := scripted(t, map[string]string{"/v1/chat/completions": events(slices.Repeat([]string{delta(`"content":" counsel"`)}, 31)...)})
	a, err := client.Chat(t.Context(), model.Request{Model: "m", Messages: user("hi")}, nil)
	if err != nil || a.Done != model.Looped || a.Message.Text() != strings.Repeat(" counsel", 31) {
		t.Errorf("%q after %q, %v", a.Done, a.Message.Text(), err)
	}
}

func TestChatStopsOnAnErrorOfTheCaller(t *testing.T) {
	stop := errors.New("enough")
	c, s := scripted(t, map[string]string{"/v1/chat/completions": events(delta(`"content":"a"`), delta(`"content":"b"`), finish("stop"), done)})
	if a, err := c.Chat(t.Context(), model.Request{Model: "m"}, func(model.Delta) error { return stop }); err != stop || a.Message.Text() != "a" {
		t.Errorf("%q, %v", a.Message.Text(), err)
	}
	s.answers["/v1/chat/completions"] = strings.Repeat(events(delta(`"content":"`+strings.Repeat("x", 1<<20)+`"`)), 18)
	if _, err := c.Chat(t.Context(), model.Request{Model: "m"}, nil); !errors.Is(err, model.ErrGarbled) || !strings.Contains(err.Error(), "does not end") {
		t.Errorf("without end: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Chat(ctx, model.Request{Model: "m"}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestTheConnectionIsClosedWhenTheContextEnds(t *testing.T) {
	for name, begin := range map[string]string{
		"before the answer": "",
		"in the answer":     `data: {"choices":[{"finish_reason":null,"index":0,"delta":{"content":"Hello"}}],"object":"chat.completion.chunk"}` + "\n\n",
		"between two":       ": still reading\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			reached, gone := make(chan struct{}), make(chan struct{})
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body) // otherwise net/http does not notice that the client leaves
				if begin != "" {
					io.WriteString(w, begin)
					w.(http.Flusher).Flush()
				}
				close(reached)
				<-r.Context().Done()
				close(gone)
			}))
			t.Cleanup(s.Close)
			c, err := openai.New(s.URL, "")
			if err != nil {
				t.Fatal(err)
			}
			ctx, end := context.WithCancel(t.Context())
			go func() {
				<-reached
				end()
			}()
			if _, err := c.Chat(ctx, model.Request{Model: "m", Messages: user("hi")}, nil); !errors.Is(err, context.Canceled) {
				t.Errorf("error is %v", err)
			}
			<-gone // otherwise the test times out
		})
	}
}
