package ollama_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/model"
	"github.com/tiercompact/tiercompact/internal/ollama"
	"github.com/tiercompact/tiercompact/tokens"
)

// A script answers requests by their paths, and keeps the last body.
type script struct {
	answers map[string]string
	status  int
	body    map[string]any
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	data, _ := io.ReadAll(r.Body)
	s.body = nil
	_ = json.Unmarshal(data, &s.body)
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

// scripted returns a client of a server with these answers.
func scripted(t testing.TB, answers map[string]string) (*ollama.Client, *script) {
	t.Helper()
	s := &script{answers: answers}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	c, err := ollama.New(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return c, s
}

func TestNewReadsTheEnvironmentAsOllamaDoes(t *testing.T) {
	for env, want := range map[string]string{
		"":                 "http://127.0.0.1:11434",
		"0.0.0.0":          "http://127.0.0.1:11434",
		` "box:99" `:       "http://box:99",
		"https://box/path": "https://box/path",
	} {
		t.Setenv("OLLAMA_HOST", env)
		if c, err := ollama.New(""); err != nil || c.URL() != want {
			t.Errorf("OLLAMA_HOST=%s: %v, want %s", env, err, want)
		}
	}
	t.Setenv("OLLAMA_HOST", "no host")
	if _, err := ollama.New(""); err == nil || !strings.Contains(err.Error(), "OLLAMA_HOST") || !strings.Contains(err.Error(), "no host") {
		t.Errorf("error is %v", err)
	}
	if c, err := ollama.New("box:1"); err != nil || c.URL() != "http://box:1" {
		t.Errorf("an address beats the environment: %v", err)
	}
}

func TestLoopbackUsesNoProxy(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://192.0.2.1:1")
	c, _ := scripted(t, map[string]string{"/api/version": `{"version":"0.17.4"}`})
	if v, err := c.Version(t.Context()); err != nil || v != "0.17.4" {
		t.Errorf("%q, %v", v, err)
	}
}

func TestVersionRejectsOtherServers(t *testing.T) {
	for name, answers := range map[string]map[string]string{
		"a web page":  {"/api/version": "<html>"},
		"no version":  {"/api/version": "{}"},
		"no answer":   {"/api/version": ""},
		"other paths": {},
	} {
		c, _ := scripted(t, answers)
		if _, err := c.Version(t.Context()); !errors.Is(err, model.ErrGarbled) || !strings.Contains(err.Error(), "; check that this is Ollama's ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	c, err := ollama.New("127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Version(t.Context()); !errors.Is(err, model.ErrUnreachable) || !strings.HasSuffix(err.Error(), "; start it: ollama serve") || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("nobody there: %v", err)
	}
}

const (
	tags = `{"models":[{"name":"nomic-embed-text:latest","size":7,"digest":"abc","details":{"family":"nomic-bert","parameter_size":"137M"}},{"name":"hf.co/x/y:Q4"}]}`
	show = `{"capabilities":["completion","tools","thinking"],"parameters":"stop  \"<|x num_ctx 5|>\"\nnum_ctx       16384\nnum_ctx_x 3","details":{"family":"llama"},
		"model_info":{"general.architecture":"llama","llama.context_length":131072}}`
)

func TestModelsAreFoundByTheNamesThatPeopleWrite(t *testing.T) {
	c, _ := scripted(t, map[string]string{"/api/tags": tags})
	models, err := c.Models(t.Context())
	if want := (ollama.Model{Name: "nomic-embed-text:latest", Family: "nomic-bert", Parameters: "137M", Bytes: 7, Digest: "abc"}); err != nil || len(models) != 2 || models[0] != want {
		t.Fatalf("%+v, %v", models, err)
	}
	for name, want := range map[string]string{
		"nomic-embed-text":         "nomic-embed-text:latest",
		"nomic-embed-text:latest":  "nomic-embed-text:latest",
		"Nomic-Embed-Text":         "nomic-embed-text:latest",
		"library/nomic-embed-text": "nomic-embed-text:latest",
		"hf.co/x/y:Q4":             "hf.co/x/y:Q4",
		"nomic-embed-text:v1":      "",
		"nomic":                    "",
		"":                         "",
	} {
		if m, ok, err := c.Has(t.Context(), name); err != nil || m.Name != want || ok != (want != "") {
			t.Errorf("%q: %q, %v, %v", name, m.Name, ok, err)
		}
	}
}

func TestShowReportsCapabilities(t *testing.T) {
	c, s := scripted(t, map[string]string{"/api/show": show})
	i, err := c.Show(t.Context(), "m")
	if err != nil || !i.CanChat() || !i.CanCallTools() || !i.CanThink() || i.CanEmbed() || i.Elsewhere || i.Family != "llama" || i.TrainedWindow != 131_072 || i.NumCtx != 16_384 {
		t.Errorf("%+v, %v", i, err)
	}
	for answer, want := range map[string]string{ // of servers that report no capabilities
		`{"template":"{{ .Tools }}","model_info":{"general.architecture":"llama"}}`:                             "completion tools",
		`{"template":"{{ .Prompt }}","model_info":{"general.architecture":"bert","bert.pooling_type":1}}`:       "embedding",
		`{"details":{"family":"x"},"model_info":{"general.architecture":"llama","llama.context_length":-1e99}}`: "completion",
		`{"capabilities":["vision"]}`: "vision",
	} {
		s.answers["/api/show"] = answer
		if i, err := c.Show(t.Context(), "m"); err != nil || strings.Join(i.Capabilities, " ") != want || i.TrainedWindow != 0 {
			t.Errorf("%s: %+v, %v", answer, i, err)
		}
	}
	s.answers["/api/show"] = "{}"
	if _, err := c.Show(t.Context(), "m"); !errors.Is(err, model.ErrGarbled) {
		t.Errorf("nothing reported: %v", err)
	}
}

func TestWindowIsReportedByOllama(t *testing.T) {
	answers := map[string]string{"/api/show": show, "/api/ps": `{"models":[{"name":"other:latest","context_length":1},{"name":"m:latest","context_length":8192}]}`}
	c, s := scripted(t, answers)
	check := func(name string, want tokens.Known) {
		t.Helper()
		if got, err := c.Window(t.Context(), "m"); err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, want)
		}
	}
	t.Setenv("OLLAMA_CONTEXT_LENGTH", "")
	check("loaded", tokens.Known{Loaded: 8192, Modelfile: 16_384, Assumed: 4096, Trained: 131_072})
	t.Setenv("OLLAMA_CONTEXT_LENGTH", "32768")
	s.answers["/api/ps"] = `{"models":[{"name":"m:latest"}]}` // of a server before 0.11
	check("environment", tokens.Known{Modelfile: 16_384, Assumed: 32_768, Trained: 131_072})
	s.answers["/api/show"] = strings.Replace(show, "{", `{"remote_host":"https://elsewhere",`, 1)
	s.answers["/api/ps"] = `{"models":null}`
	check("elsewhere", tokens.Known{Modelfile: 16_384, Assumed: 32_768, Trained: 131_072, Served: 131_072})
	delete(s.answers, "/api/ps")
	if _, err := c.Window(t.Context(), "m"); err == nil {
		t.Error("no /api/ps, and no error")
	}
	delete(s.answers, "/api/show")
	if _, err := c.Window(t.Context(), "m"); !errors.Is(err, model.ErrNoModel) || !strings.HasSuffix(err.Error(), "; run: ollama pull m") {
		t.Errorf("error is %v", err)
	}
}

func TestEmbedForbidsTruncation(t *testing.T) {
	c, s := scripted(t, map[string]string{"/api/embed": `{"embeddings":[[1,2],[3,4]]}`})
	v, err := c.Embed(t.Context(), "m", []string{"a", ""})
	if err != nil || len(v) != 2 || v[1][0] != 3 {
		t.Errorf("%v, %v", v, err)
	}
	if got := fmt.Sprintf("%v %v %v", s.body["truncate"], s.body["keep_alive"], s.body["input"]); got != "false 30m0s [a ]" {
		t.Errorf("asked: %s", got)
	}
	if v, err := c.Embed(t.Context(), "m", nil); v != nil || err != nil {
		t.Errorf("no texts: %v, %v", v, err)
	}
	for answer, kind := range map[string]error{
		`{"embeddings":[[1]]}`:         model.ErrGarbled,
		`{"embeddings":[[1],[1,2]]}`:   model.ErrGarbled,
		`{"embeddings":[[1],[1e99]]}`:  model.ErrGarbled,
		`{"embeddings":[[1],["x"]]}`:   model.ErrGarbled,
		`{"embeddings":[[1],[NaN]]}`:   model.ErrGarbled,
		`{"embeddings":[[1],[1`:        model.ErrGarbled,
		`{}`:                           model.ErrGarbled,
		``:                             model.ErrGarbled,
		`{"embeddings":[[1],[null,2]]`: model.ErrGarbled,
	} {
		s.answers["/api/embed"] = answer
		if v, err := c.Embed(t.Context(), "m", []string{"a", "b"}); !errors.Is(err, kind) {
			t.Errorf("%s: %v, %v", answer, v, err)
		}
	}
	s.status = http.StatusBadRequest
	s.answers["/api/embed"] = `{"error":"the input length exceeds the context length"}`
	if _, err := c.Embed(t.Context(), "m", []string{"a"}); !errors.Is(err, model.ErrTooLong) {
		t.Errorf("error is %v", err)
	}
}

func TestChatSetsEveryServerDefault(t *testing.T) {
	c, s := scripted(t, map[string]string{"/api/chat": `{"done":true}` + "\n"})
	_, err := c.Chat(t.Context(), model.Request{
		Model: "m", Messages: user("hi"), Window: 2048, MaxTokens: 50, NoThink: true, Sampling: &model.Sampling{Seed: 42},
		Tools: []byte(`[{"type":"function","function":{"name":"recall","description":"d","parameters":{"type":"object","required":["id"],"properties":{"id":{"type":"string"}}}}}]`),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"truncate": "false", "shift": "false", "think": "false", "keep_alive": "30m0s", "stream": "<nil>",
		"options": "map[num_ctx:2048 num_predict:50 seed:42 temperature:0]",
	} {
		if got := fmt.Sprint(s.body[key]); got != want {
			t.Errorf("%s: %s, want %s", key, got, want)
		}
	}
	if tools, _ := json.Marshal(s.body["tools"]); !strings.Contains(string(tools), `"name":"recall"`) || !strings.Contains(string(tools), `"required":["id"]`) {
		t.Errorf("tools: %s", tools)
	}
	if _, err := c.Chat(t.Context(), model.Request{Model: "m", Messages: user("hi")}, nil); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(s.body["options"], s.body["think"], s.body["tools"]); got != "map[] <nil> <nil>" {
		t.Errorf("without any wish: %s", got)
	}
	c.Threads = 3
	if _, err := c.Chat(t.Context(), model.Request{Model: "m", Messages: user("hi")}, nil); err != nil || fmt.Sprint(s.body["options"]) != "map[num_thread:3]" {
		t.Errorf("threads: %v, %v", s.body["options"], err)
	}
	s.answers["/api/embed"] = `{"embeddings":[[1]]}`
	if _, err := c.Embed(t.Context(), "m", []string{"a"}); err != nil || fmt.Sprint(s.body["options"]) != "map[num_thread:3]" {
		t.Errorf("threads of an embedder: %v, %v", s.body["options"], err)
	}
	for name, bad := range map[string]model.Request{
		"tools":   {Tools: []byte(`{`)},
		"image":   {Messages: []chat.Message{{Role: chat.User, Parts: []chat.Part{{Kind: chat.Image, Image: &chat.Picture{Data: "?"}}}}}},
		"address": {Messages: []chat.Message{{Role: chat.Tool, Parts: []chat.Part{{Kind: chat.Result, Image: &chat.Picture{URL: "http://x/y.png"}}}}}},
	} {
		if _, err := c.Chat(t.Context(), bad, nil); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestChatSendsMessagesAsTemplatesWantThem(t *testing.T) {
	c, s := scripted(t, map[string]string{"/api/chat": `{"done":true}` + "\n"})
	picture := &chat.Picture{Data: base64.StdEncoding.EncodeToString([]byte("png"))}
	_, err := c.Chat(t.Context(), model.Request{Model: "m", Messages: []chat.Message{
		chat.NewText(chat.Developer, "rules"),
		{Role: chat.User, Parts: []chat.Part{{Kind: chat.Text, Text: "look"}, {Kind: chat.Image, Image: picture}, {Kind: chat.Image, Image: &chat.Picture{URL: "data:image/png;base64,cG5n"}}}},
		{Role: chat.Assistant, Parts: []chat.Part{
			{Kind: chat.Thinking, Text: "hm"}, {Kind: chat.Summary, Text: "sum"},
			{Kind: chat.Call, ID: "1", Name: "read", Args: `{"path":"a<b","n":[1,2]}`}, {Kind: chat.Call, ID: "2", Name: "list", Args: `null`}, {Kind: chat.Call, ID: "3", Name: "now"},
		}},
		{Role: chat.Tool, Parts: []chat.Part{{Kind: chat.Result, ID: "1", Text: "r1"}, {Kind: chat.Result, ID: "2", Name: "named", Text: "r2", Image: picture}}},
		{Role: chat.User, Parts: []chat.Part{{Kind: chat.Result, ID: "9", Text: "lost"}, {Kind: chat.Text, Text: "go on"}}},
	}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, _ := json.Marshal(s.body["messages"])
	want := `[{"content":"rules","role":"system"},` +
		`{"content":"look","images":["cG5n","cG5n"],"role":"user"},` +
		`{"content":"sum","role":"assistant","thinking":"hm","tool_calls":[` +
		`{"function":{"arguments":{"n":[1,2],"path":"a\u003cb"},"index":0,"name":"read"},"id":"1"},` +
		`{"function":{"arguments":{"not_an_object":"null"},"index":1,"name":"list"},"id":"2"},` +
		`{"function":{"arguments":{},"index":2,"name":"now"},"id":"3"}]},` +
		`{"content":"r1","role":"tool","tool_call_id":"1","tool_name":"read"},` +
		`{"content":"r2","images":["cG5n"],"role":"tool","tool_call_id":"2","tool_name":"named"},` +
		`{"content":"lost","role":"tool","tool_call_id":"9"},` +
		`{"content":"go on","role":"user"}]`
	if string(got) != want {
		t.Errorf("sent\n%s\nwant\n%s", got, want)
	}
}

func TestChatPutsAnAnswerTogether(t *testing.T) {
	c, _ := scripted(t, map[string]string{"/api/chat": `
		{"message":{"role":"assistant","content":"","thinking":"let "},"done":false}
		{"message":{"thinking":"me"}}
		{"message":{"content":"Hel"}}
		{"message":{"content":"lo","tool_calls":[{"function":{"name":"read","arguments":{"z":"a<b>","a":{"k":1.5}}}}]}}
		{"message":{"content":""},"done":true,"done_reason":"length","prompt_eval_count":12,"prompt_eval_duration":7,"eval_count":3,"eval_duration":9}`})
	text := ""
	a, err := c.Chat(t.Context(), model.Request{Model: "m", Messages: user("hi")}, func(d model.Delta) error {
		text += "[" + d.Thinking + d.Text + "]"
		return nil
	})
	if err != nil || text != "[let ][me][Hel][lo]" {
		t.Errorf("%s, %v", text, err)
	}
	if got := fmt.Sprintf("%s %d %d %d %d", a.Done, a.PromptTokens, a.Tokens, a.PromptTime, a.Time); got != "length 12 3 7 9" {
		t.Errorf("end: %s", got)
	}
	parts := []chat.Part{{Kind: chat.Thinking, Text: "let me"}, {Kind: chat.Text, Text: "Hello"}, {Kind: chat.Call, ID: "call_1", Name: "read", Args: `{"z":"a<b>","a":{"k":1.5}}`}}
	if fmt.Sprint(a.Message.Parts) != fmt.Sprint(parts) {
		t.Errorf("parts: %v, want %v", a.Message.Parts, parts)
	}
}

// 0.17.4 sends a stream without a last line, after 31 equal pieces, if a model
// repeats one token.
func TestAServerEndsAnAnswerThatRepeatsAToken(t *testing.T) {
	for name, c := range map[string]struct {
		pieces []string
		ends   bool
	}{
		"one token":     {slices.Repeat([]string{" counsel"}, 31), true},
		"blanks differ": {slices.Repeat([]string{" no", "no\n"}, 16), true},
		"blanks":        {slices.Repeat([]string{"\n"}, 30), true},
		"after words":   {append([]string{"The", " answer"}, slices.Repeat([]string{"="}, 31)...), true},
		"too few":       {slices.Repeat([]string{" counsel"}, 29), false},
		"two tokens":    {slices.Repeat([]string{" tick", " tock"}, 31), false},
	} {
		var stream strings.Builder
		for _, piece := range c.pieces {
			fmt.Fprintf(&stream, `{"message":{"content":%q}}`+"\n", piece)
		}
		client, _ := scripted(t, map[string]string{"/api/chat": stream.String()})
		a, err := client.Chat(t.Context(), model.Request{Model: "m", Messages: user("hi")}, nil)
		if a.Message.Text() != strings.Join(c.pieces, "") || (a.Done == model.Looped) != c.ends || errors.Is(err, model.ErrGarbled) == c.ends {
			t.Errorf("%s: %q, %v", name, a.Done, err)
		}
	}
}

func TestChatReportsFailedAnswers(t *testing.T) {
	const hello = `{"message":{"content":"Hello"}}` + "\n"
	for name, c := range map[string]struct {
		answer string
		status int
		kind   error
		text   string // in the error
		said   string
	}{
		"no end":             {hello, 0, model.ErrGarbled, "ends in the middle", "Hello"},
		"nothing":            {"", 0, model.ErrGarbled, "ends in the middle", ""},
		"cut in a line":      {hello + `{"message":{"con`, 0, model.ErrGarbled, "not JSON", "Hello"},
		"garbage":            {hello + "<html>", 0, model.ErrGarbled, "<html>", "Hello"},
		"another form":       {`{"message":"text"}`, 0, model.ErrGarbled, "cannot unmarshal", ""},
		"error line":         {hello + `{"error":"the runner stopped"}`, 0, nil, "server fails: the runner stopped; see the server's log", "Hello"},
		"error line, long":   {`{"error":"prompt is too long"}`, 0, model.ErrTooLong, "too long", ""},
		"too long":           {`{"error":"the input length exceeds the context length"}`, 400, model.ErrTooLong, "; send less, or raise num_ctx", ""},
		"newer, naming 4096": {`{"error":{"message":"request (7901 tokens) exceeds the available context size (4096 tokens)","type":"exceed_context_size_error"}}`, 400, model.ErrTooLong, "4096", ""},
		"newer, no user":     {`{"error":"no user query found in messages"}`, 500, model.ErrTooLong, "no user query", ""},
		"no model":           {`{"error":"model 'm' not found"}`, 404, model.ErrNoModel, "; run: ollama pull m", ""},
		"no chat":            {`{"error":"\"m\" does not support chat"}`, 400, model.ErrCannot, "; use another model", ""},
		"busy":               {`{"error":"server busy, please try again"}`, 503, nil, "try again later", ""},
		"to sign in":         {`{"error":"unauthorized"}`, 401, nil, "ollama signin", ""},
		"refusal unsaid":     {``, 500, nil, "server answers 500", ""},
	} {
		client, s := scripted(t, map[string]string{"/api/chat": c.answer})
		s.status = c.status
		a, err := client.Chat(t.Context(), model.Request{Model: "m", Messages: user("hi")}, nil)
		if err == nil || c.kind != nil && !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.text) || a.Message.Text() != c.said || a.Done != "" {
			t.Errorf("%s: %q, %q, %v", name, a.Message.Text(), a.Done, err)
		}
		if c.kind == nil && (errors.Is(err, model.ErrGarbled) || errors.Is(err, model.ErrNoModel) || errors.Is(err, model.ErrTooLong)) {
			t.Errorf("%s is of no kind: %v", name, err)
		}
	}
}

func TestChatStopsOnAnErrorOfTheCaller(t *testing.T) {
	stop := errors.New("enough")
	c, s := scripted(t, map[string]string{"/api/chat": `{"message":{"content":"a"}}` + "\n" + `{"message":{"content":"b"},"done":true}`})
	if a, err := c.Chat(t.Context(), model.Request{Model: "m"}, func(model.Delta) error { return stop }); err != stop || a.Message.Text() != "a" {
		t.Errorf("%q, %v", a.Message.Text(), err)
	}
	s.answers["/api/chat"] = strings.Repeat(`{"message":{"content":"`+strings.Repeat("x", 1<<20)+`"}}`+"\n", 18)
	if _, err := c.Chat(t.Context(), model.Request{Model: "m"}, nil); !errors.Is(err, model.ErrGarbled) || !strings.Contains(err.Error(), "does not end") {
		t.Errorf("without end: %v", err)
	}
}

func TestCallsEndWithTheirContext(t *testing.T) {
	free := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, `{"message":{"content":"a"}}`)
		w.(http.Flusher).Flush()
		select {
		case <-free:
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	defer close(free)
	c, err := ollama.New(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	a, err := c.Chat(ctx, model.Request{Model: "m"}, func(model.Delta) error {
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) || a.Message.Text() != "a" {
		t.Errorf("chat: %q, %v", a.Message.Text(), err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := c.Embed(ctx, "m", []string{"a"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("embed: %v", err)
	}
}

func TestPullReportsProgress(t *testing.T) {
	c, s := scripted(t, map[string]string{"/api/pull": `{"status":"pulling abc","total":10,"completed":4}` + "\n" + `{"status":"success"}`})
	var got []ollama.Progress
	each := func(p ollama.Progress) error {
		got = append(got, p)
		return nil
	}
	if err := c.Pull(t.Context(), "m", each); err != nil || fmt.Sprint(got) != "[{pulling abc 4 10} {success 0 0}]" {
		t.Errorf("%v, %v", got, err)
	}
	stop := errors.New("stop")
	if err := c.Pull(t.Context(), "m", func(ollama.Progress) error { return stop }); err != stop {
		t.Errorf("stopped: %v", err)
	}
	s.answers["/api/pull"] = `{"status":"pulling abc"}`
	if err := c.Pull(t.Context(), "m", each); !errors.Is(err, model.ErrGarbled) {
		t.Errorf("ends early: %v", err)
	}
	s.answers["/api/pull"] = `{"error":"pull model manifest: file does not exist"}`
	if err := c.Pull(t.Context(), "m", each); !errors.Is(err, model.ErrNoModel) || !strings.Contains(err.Error(), "; check its name") {
		t.Errorf("unknown: %v", err)
	}
}

func TestUnloadKeepsAModelNoLonger(t *testing.T) {
	c, s := scripted(t, map[string]string{"/api/generate": `{"done":true}`})
	if err := c.Unload(t.Context(), "m"); err != nil || fmt.Sprint(s.body["keep_alive"]) != "0s" || fmt.Sprint(s.body["prompt"]) != "" {
		t.Errorf("%v, %v", s.body, err)
	}
}
