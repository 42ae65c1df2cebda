package proxy_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/ollama/ollama/anthropic"
	"github.com/ollama/ollama/api"
	"github.com/ollama/ollama/openai"

	"github.com/tiercompact/tiercompact/internal/proxy"
)

// anthropicRecorded returns a recorded answer of /api/chat as Ollama's own package
// writes it for /v1/messages: the small models call no tool there.
func anthropicRecorded(t *testing.T, name string, stream bool) recordedAnswer {
	all := lines(t, recorded(t, name).Body)
	if !stream {
		return recordedAnswer{200, "application/json", jsonOf(anthropic.ToMessagesResponse("msg_1", all[0]))}
	}
	c := anthropic.NewStreamConverter("msg_1", "m", 3)
	var text strings.Builder
	for _, r := range append([]api.ChatResponse{{Model: "m", Message: api.Message{Role: "assistant", Content: "Let me look. "}}}, all...) {
		for _, e := range c.Process(r) {
			text.WriteString(fmt.Sprintf("event: %s\ndata: %s\n\n", e.Event, jsonOf(e.Data)))
		}
	}
	return recordedAnswer{200, "text/event-stream", text.String()}
}

// responsesRecorded returns a recorded answer of /api/chat as Ollama's own package writes
// it for /v1/responses, a call after a text.
func responsesRecorded(t *testing.T, name string, stream bool) recordedAnswer {
	all := lines(t, recorded(t, name).Body)
	request := openai.ResponsesRequest{Tools: []openai.ResponsesTool{{Type: "function", Name: "read_file"}, {Type: "function", Name: "recall"}}} // they are in the answer
	if !stream {
		return recordedAnswer{200, "application/json", jsonOf(openai.ToResponse("m", "resp_0", "msg_0", all[0], request))}
	}
	c := openai.NewResponsesStreamConverter("resp_0", "msg_0", "m", request)
	var text strings.Builder
	for _, r := range append([]api.ChatResponse{{Model: "m", Message: api.Message{Role: "assistant", Content: "Let me look. "}}}, all...) {
		for _, e := range c.Process(r) {
			text.WriteString(fmt.Sprintf("event: %s\ndata: %s\n\n", e.Event, jsonOf(e.Data)))
		}
	}
	return recordedAnswer{200, "text/event-stream", text.String()}
}

// asRecall makes a recorded call of read_file one of recall.
func asRecall(a recordedAnswer) recordedAnswer {
	a.Body = strings.NewReplacer(`"read_file"`, `"recall"`, `"path"`, `"text"`, `\"path\"`, `\"text\"`, `main.go`, `NEEDLE_3`).Replace(a.Body)
	return a
}

func TestTheProxyAnswersCallsOfRecall(t *testing.T) {
	names := map[string]string{"/api/chat": "chat", "/v1/chat/completions": "openai", "/v1/messages": "anthropic", "/v1/responses": "responses"}
	for path, name := range names {
		for _, stream := range []bool{false, true} {
			for _, native := range []bool{false, true} {
				if native && (path == "/api/chat" || path == "/v1/responses") {
					continue
				}
				t.Run(fmt.Sprint(name, " stream ", stream, " native ", native), func(t *testing.T) {
					from := name
					if native {
						from = "chat"
					}
					recallGoesOn(t, path, from, stream, native)
				})
			}
		}
	}
}

func recallGoesOn(t *testing.T, path, from string, stream, native bool) {
	s := newSetup(t, 3000, func(c *proxy.Config) { c.RecallTool, c.Native = true, native })
	end := ""
	if stream {
		end = "-stream"
	}
	text := recorded(t, from+end)
	call := recordedAnswer{}
	switch from {
	case "anthropic":
		call = asRecall(anthropicRecorded(t, "chat-call"+end, stream))
	case "responses":
		call = asRecall(responsesRecorded(t, "chat-call"+end, stream))
	default:
		call = asRecall(recorded(t, from+"-call"+end))
	}
	calls := 0
	s.answer = func(w http.ResponseWriter, r *http.Request) {
		if calls++; calls == 1 {
			call.write(w)
			return
		}
		text.write(w)
	}
	var d dialogue
	for i := range 40 {
		d.turn()
		if i == 3 {
			d.add("assistant", "NEEDLE_3 is in the file needle.go, which parses a date.")
			d.add("user", "Good.")
		}
	}
	tools := `[{"type":"function","function":{"name":"read_file","parameters":{"type":"object","properties":{}}}}]`
	switch path {
	case "/v1/messages":
		tools = `[{"name":"read_file","input_schema":{"type":"object","properties":{}}} ]`
	case "/v1/responses":
		tools = `[{"type":"function","name":"read_file","parameters":{"type":"object","properties":{}}}]`
	}
	body := strings.Replace(d.body(), `{"model":"m",`, fmt.Sprintf(`{"model":"m","max_tokens":99,"stream":%v,"tools":%s,`, stream, tools), 1)
	if path == "/v1/responses" {
		body = strings.Replace(body, `"messages":`, `"input":`, 1)
	}
	answer, got := s.post(t, path, body)
	sent := s.received()
	if answer.StatusCode != http.StatusOK || len(sent) != 2 {
		t.Fatalf("%d, %d requests: %s", answer.StatusCode, len(sent), got)
	}
	first, second := string(sent[0]), string(sent[1])
	if strings.Count(first, `"name":"recall"`) != 1 || !json.Valid(sent[1]) || !strings.Contains(second, "needle.go, which parses a date") {
		t.Errorf("the first request has the tool %d times; the second is\n%s", strings.Count(first, `"name":"recall"`), second)
	}
	if common := commonPrefix(first, second); common < len(first)/2 {
		t.Errorf("the second request shares %d of %d bytes", common, len(first))
	}
	if strings.Contains(got, "recall") || path == "/v1/responses" && stream && !strings.Contains(got, "Let me look. ") || !strings.Contains(strings.NewReplacer(`"`, "", "\n", "").Replace(textOf(t, path, stream, got)), "I'm so glad you're here!") {
		t.Errorf("the client gets\n%s", got)
	}
	if strings.Count(got, "message_start") > 2 || stream && path == "/v1/messages" && strings.Count(got, "event: message_start") != 1 {
		t.Errorf("the client gets several beginnings:\n%s", got)
	}
}

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// textOf returns the text of an answer, and checks the order of its blocks.
func textOf(t *testing.T, path string, stream bool, body string) (text string) {
	if !stream {
		var a struct {
			Message struct{ Content string }
			Choices []struct{ Message struct{ Content string } }
			Content []struct{ Text string }
			Output  []struct{ Content []struct{ Text string } }
		}
		if err := json.Unmarshal([]byte(body), &a); err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		text = a.Message.Content
		for _, c := range a.Choices {
			text += c.Message.Content
		}
		for _, c := range a.Content {
			text += c.Text
		}
		for _, o := range a.Output {
			for _, c := range o.Content {
				text += c.Text
			}
		}
		return text
	}
	if path == "/v1/responses" {
		return responsesText(t, body)
	}
	open, next := -1, 0
	for line := range strings.Lines(body) {
		var e struct {
			Type    string
			Index   int
			Message struct{ Content any }
			Choices []struct{ Delta struct{ Content string } }
			Delta   struct{ Text string }
		}
		_ = json.Unmarshal([]byte(strings.TrimPrefix(strings.TrimSpace(line), "data: ")), &e)
		switch e.Type {
		case "content_block_start":
			if open >= 0 || e.Index != next {
				t.Errorf("block %d begins; %d is open, %d is next", e.Index, open, next)
			}
			open, next = e.Index, next+1
		case "content_block_delta", "content_block_stop":
			if e.Index != open {
				t.Errorf("%s of block %d; %d is open", e.Type, e.Index, open)
			}
			if e.Type == "content_block_stop" {
				open = -1
			}
		}
		if s, ok := e.Message.Content.(string); ok {
			text += s
		}
		for _, c := range e.Choices {
			text += c.Delta.Content
		}
		text += e.Delta.Text
	}
	return text
}

func TestOtherCallsReachTheClient(t *testing.T) {
	for _, c := range [][2]string{{"/api/chat", "chat-call"}, {"/api/chat", "chat-call-stream"}, {"/v1/chat/completions", "openai-call"}, {"/v1/chat/completions", "openai-call-stream"}, {"/v1/responses", "chat-call"}, {"/v1/responses", "chat-call-stream"}} {
		s := newSetup(t, 100_000, func(c *proxy.Config) { c.RecallTool = true })
		a := recorded(t, c[1])
		request := `{"model":"m",` + toolRequest + `}`
		if c[0] == "/v1/responses" {
			a = responsesRecorded(t, c[1], strings.HasSuffix(c[1], "stream"))
			a.Body = strings.ReplaceAll(a.Body, `"name":"recall"`, `"name":"write_file"`)
			request = `{"model":"m","input":"What is in main.go?","tools":[{"type":"function","name":"read_file","parameters":{"type":"object"}}]}`
		}
		for cut := 0; cut < len(a.Body); cut += 1 + cut%11 {
			s.upstream.mu.Lock()
			s.answer = func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", a.Kind)
				_, _ = io.WriteString(w, a.Body[:cut])
				w.(http.Flusher).Flush()
				_, _ = io.WriteString(w, a.Body[cut:])
			}
			s.upstream.mu.Unlock()
			if _, got := s.post(t, c[0], request); got != a.Body {
				t.Fatalf("%s at %d: %s", c[1], cut, got)
			}
		}
	}
}

func TestRequestsThatGetNoRecallTool(t *testing.T) {
	s := newSetup(t, 100_000, func(c *proxy.Config) { c.RecallTool = true })
	for _, body := range []string{
		`{"model":"m","messages":[{"role":"user","content":"Hi"}]}`,
		`{"model":"m","tools":[ ],"messages":[{"role":"user","content":"Hi"}]}`,
		`{"model":"m","tools":[{"type":"function","function":{"name":"recall"}}],"messages":[{"role":"user","content":"Hi"}]}`,
	} {
		if s.post(t, "/v1/chat/completions", body); string(s.last(t)) != body {
			t.Errorf("sent %s", s.last(t))
		}
	}
	failing := `{"model":"m",` + toolRequest + `}`
	if s.post(t, "/v1/chat/completions", failing, "X-Tiercompact-Mode", "strange"); string(s.last(t)) != failing {
		t.Errorf("a request whose compaction fails is sent as %s", s.last(t))
	}
	without, _ := s.post(t, "/v1/messages/count_tokens", `{"model":"m","messages":[{"role":"user","content":"Hi"}]}`)
	s.post(t, "/v1/chat/completions", `{"model":"m",`+toolRequest+`}`)
	if !strings.Contains(string(s.last(t)), `"recall"`) || without.StatusCode != http.StatusOK {
		t.Errorf("sent %s", s.last(t))
	}
}

func TestAModelThatCallsRecallForEverIsEnded(t *testing.T) {
	s := newSetup(t, 100_000, func(c *proxy.Config) { c.RecallTool = true })
	s.answer = func(w http.ResponseWriter, _ *http.Request) { asRecall(recorded(t, "chat-call-stream")).write(w) }
	answer, err := http.Post(s.Server.URL+"/api/chat", "application/json", strings.NewReader(`{"model":"m",`+toolRequest+`}`))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if _, err := io.ReadAll(answer.Body); err == nil || len(s.received()) > 8 {
		t.Errorf("%v after %d requests", err, len(s.received()))
	}
}

func TestTheSchemaOfRecallCounts(t *testing.T) {
	var counts []int
	for _, with := range []bool{false, true} {
		s := newSetup(t, 100_000, func(c *proxy.Config) { c.RecallTool = with })
		answer, _ := s.post(t, "/v1/chat/completions", `{"model":"m",`+toolRequest+`}`)
		n := 0
		_, _ = fmt.Sscan(answer.Header.Get("X-Tiercompact-Tokens-After"), &n)
		counts = append(counts, n)
	}
	if counts[1] < counts[0]+50 {
		t.Errorf("tokens without and with the tool: %v", counts)
	}
}

// responsesText returns the text of a stream of /v1/responses, and checks the numbers of
// its events and items, and that its last event repeats the items.
func responsesText(t *testing.T, body string) (text string) {
	type item struct {
		ID, Type, Name string
		Content        []struct{ Text string }
	}
	number, created, ended := 0, 0, []string{}
	indices := make(map[int]string)
	for line := range strings.Lines(body) {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		var e struct {
			Type     string
			Number   *int `json:"sequence_number"`
			Index    *int `json:"output_index"`
			Item     item
			Delta    string
			Response struct{ Output []item }
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil || e.Number == nil || *e.Number != number {
			t.Errorf("event %d: %v: %s", number, err, data)
		}
		number++
		switch e.Type {
		case "response.created":
			created++
		case "response.output_item.added":
			if other := indices[*e.Index]; other != "" {
				t.Errorf("items %s and %s have the index %d", other, e.Item.ID, *e.Index)
			}
			indices[*e.Index] = e.Item.ID
		case "response.output_item.done":
			if indices[*e.Index] != e.Item.ID {
				t.Errorf("item %s ends at the index %d of %s", e.Item.ID, *e.Index, indices[*e.Index])
			}
			ended = append(ended, e.Item.ID)
		case "response.output_text.delta":
			text += e.Delta
		case "response.completed":
			var all []string
			var whole strings.Builder
			for _, it := range e.Response.Output {
				all = append(all, it.ID)
				for _, c := range it.Content {
					whole.WriteString(c.Text)
				}
			}
			if !slices.Equal(all, ended) || whole.String() != text {
				t.Errorf("the response has the items %v with %q; those that ended are %v, with %q", all, whole.String(), ended, text)
			}
		}
	}
	if created != 1 || len(ended) == 0 || len(ended) != len(indices) {
		t.Errorf("%d beginnings, %d of %d items ended:\n%s", created, len(ended), len(indices), body)
	}
	return text
}

// A text can be the whole input, and a history on the server takes no tool.
func TestRecallWithOtherInputsOfResponses(t *testing.T) {
	const tools = `"tools":[{"type":"web_search"},{"type":"function","name":"read_file","parameters":{"type":"object"}}]`
	s := newSetup(t, 100_000, func(c *proxy.Config) { c.RecallTool = true })
	held := `{"model":"m","previous_response_id":"resp_1","input":"Go on.",` + tools + `}`
	if s.post(t, "/v1/responses", held); string(s.last(t)) != held {
		t.Errorf("sent %s", s.last(t))
	}
	calls := 0
	s.answer = func(w http.ResponseWriter, _ *http.Request) {
		if calls++; calls == 1 {
			asRecall(responsesRecorded(t, "chat-call", false)).write(w)
			return
		}
		recorded(t, "responses").write(w)
	}
	_, got := s.post(t, "/v1/responses", `{"model":"m","input":"What is in \"main.go\"?",`+tools+`}`)
	var sent openai.ResponsesRequest // as the real server reads it
	if err := json.Unmarshal(s.last(t), &sent); err != nil {
		t.Fatal(err)
	}
	if items := sent.Input.Items; len(items) != 3 || len(sent.Tools) != 3 || !strings.Contains(got, "so glad") {
		t.Errorf("%d items, %d tools: %s\n%s", len(items), len(sent.Tools), s.last(t), got)
	}
}
