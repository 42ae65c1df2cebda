package proxy_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/internal/ollamatest"
)

var update = flag.Bool("update", false, "record the answers of the real server anew")

// A recorded answer is what Ollama 0.17.4 sent for a request, byte for byte.
// testdata/ollama holds them; TestRealAnswersHaveTheRecordedShape compares them with a
// real server.
type recordedAnswer struct {
	Status int
	Kind   string // Content-Type
	Body   string
}

// recordings are the requests of the recorded answers, by name. A schema for the answer
// makes the small model call the tool.
var recordings = map[string]struct{ path, body string }{
	"chat":               {"/api/chat", `{"model":"real-smol","stream":false,"options":{"temperature":0,"num_predict":12},"messages":[{"role":"user","content":"Say hello."}]}`},
	"chat-stream":        {"/api/chat", `{"model":"real-smol","options":{"temperature":0,"num_predict":12},"messages":[{"role":"user","content":"Say hello."}]}`},
	"chat-call":          {"/api/chat", `{"model":"tinyllama","stream":false,"options":{"temperature":0,"num_predict":400},` + toolRequest + `,"format":` + callSchema + `}`},
	"chat-call-stream":   {"/api/chat", `{"model":"tinyllama","options":{"temperature":0,"num_predict":400},` + toolRequest + `,"format":` + callSchema + `}`},
	"chat-too-long":      {"/api/chat", `{"model":"real-smol","truncate":false,"options":{"num_ctx":256},"messages":[{"role":"user","content":"` + strings.Repeat("many words ", 400) + `"}]}`},
	"chat-no-model":      {"/api/chat", `{"model":"absent","messages":[{"role":"user","content":"Say hello."}]}`},
	"chat-no-tools":      {"/api/chat", `{"model":"real-smol",` + toolRequest + `}`},
	"openai":             {"/v1/chat/completions", `{"model":"real-smol","temperature":0,"max_tokens":12,"messages":[{"role":"user","content":"Say hello."}]}`},
	"openai-stream":      {"/v1/chat/completions", `{"model":"real-smol","temperature":0,"max_tokens":12,"stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"Say hello."}]}`},
	"openai-call":        {"/v1/chat/completions", `{"model":"tinyllama","temperature":0,"max_tokens":400,` + toolRequest + `,"response_format":{"type":"json_schema","json_schema":{"name":"c","schema":` + callSchema + `}}}`},
	"openai-call-stream": {"/v1/chat/completions", `{"model":"tinyllama","temperature":0,"max_tokens":400,"stream":true,"stream_options":{"include_usage":true},` + toolRequest + `,"response_format":{"type":"json_schema","json_schema":{"name":"c","schema":` + callSchema + `}}}`},
	"openai-no-model":    {"/v1/chat/completions", `{"model":"absent","messages":[{"role":"user","content":"Say hello."}]}`},
	"responses":          {"/v1/responses", `{"model":"real-smol","temperature":0,"max_output_tokens":12,"input":"Say hello."}`},
	"responses-stream":   {"/v1/responses", `{"model":"real-smol","temperature":0,"max_output_tokens":12,"stream":true,"input":"Say hello."}`},
	"anthropic":          {"/v1/messages", `{"model":"real-smol","temperature":0,"max_tokens":12,"messages":[{"role":"user","content":"Say hello."}]}`},
	"anthropic-stream":   {"/v1/messages", `{"model":"real-smol","temperature":0,"max_tokens":12,"stream":true,"messages":[{"role":"user","content":"Say hello."}]}`},
	"anthropic-no-model": {"/v1/messages", `{"model":"absent","max_tokens":12,"messages":[{"role":"user","content":"Say hello."}]}`},
}

const (
	toolRequest = `"messages":[{"role":"user","content":"What is in main.go?"}],"tools":[{"type":"function","function":{"name":"read_file","description":"Read a file","parameters":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}}}]`
	callSchema  = `{"type":"object","properties":{"name":{"enum":["read_file"]},"parameters":{"type":"object","properties":{"path":{"enum":["main.go"]}},"required":["path"]}},"required":["name","parameters"]}`
)

func recordingNames() []string {
	var names []string
	for name := range recordings {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// recorded returns a recorded answer.
func recorded(t testing.TB, name string) (a recordedAnswer) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "ollama", name+".json"))
	if err == nil {
		err = json.Unmarshal(data, &a)
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (a recordedAnswer) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", a.Kind)
	w.WriteHeader(a.Status)
	_, _ = io.WriteString(w, a.Body)
}

// shape returns the events of an answer as their keys, without values, and repeated
// events once.
func (a recordedAnswer) shape() string {
	lines := []string{fmt.Sprint(a.Status, " ", a.Kind)}
	for line := range strings.Lines(a.Body) {
		line = strings.TrimSpace(line)
		head, data, sse := strings.Cut(line, "data: ")
		if !sse {
			data, head = line, ""
		}
		var v any
		if json.Unmarshal([]byte(data), &v) == nil {
			line = head + shapeOf(v)
		}
		if line != "" && line != lines[len(lines)-1] && !(len(lines) > 1 && line == lines[len(lines)-2]) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

func shapeOf(v any) string {
	switch v := v.(type) {
	case map[string]any:
		var keys []string
		for k, item := range v {
			keys = append(keys, k+":"+shapeOf(item))
		}
		slices.Sort(keys)
		return "{" + strings.Join(keys, ",") + "}"
	case []any:
		var items []string
		for _, item := range v {
			items = append(items, shapeOf(item))
		}
		return "[" + strings.Join(items, ",") + "]"
	case nil:
		return "null"
	}
	return fmt.Sprintf("%T", v)
}

func TestRealAnswersHaveTheRecordedShape(t *testing.T) {
	url := ollamatest.URL(t)
	for _, name := range recordingNames() {
		q := recordings[name]
		answer, err := http.Post(url+q.path, "application/json", strings.NewReader(q.body))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		now := recordedAnswer{answer.StatusCode, answer.Header.Get("Content-Type"), string(body)}
		if *update {
			data, _ := json.MarshalIndent(now, "", "  ")
			if err := os.WriteFile(filepath.Join("testdata", "ollama", name+".json"), append(data, '\n'), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if was := recorded(t, name); was.shape() != now.shape() {
			t.Errorf("%s: the server answers\n%s\nrecorded is\n%s", name, now.shape(), was.shape())
		}
	}
}
