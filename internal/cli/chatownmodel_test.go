package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// A recordedServer gives the answers of a real Ollama 0.17.4 with SmolLM2-135M, as
// testdata/ollama/smol.json has them. The vocabulary and the list of tensors are left
// out. The answers about smol:latest serve for other names, too.
type recordedServer struct {
	url   string
	mu    sync.Mutex
	chats []recordedChat
}

// A recordedChat is a request to /api/chat.
type recordedChat struct {
	Model    string
	Messages []struct{ Content string }
	Options  struct {
		NumCtx int `json:"num_ctx"`
	}
}

func newRecordedServer(t *testing.T, names ...string) *recordedServer {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "ollama", "smol.json"))
	if err != nil {
		t.Fatal(err)
	}
	var answers struct {
		Version, Tags, Show, PS json.RawMessage
		Chat                    string
	}
	if err := json.Unmarshal(raw, &answers); err != nil {
		t.Fatal(err)
	}
	var tags struct {
		Models []map[string]any `json:"models"`
	}
	if err := json.Unmarshal(answers.Tags, &tags); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		other := map[string]any{}
		maps.Copy(other, tags.Models[0])
		other["name"], other["model"] = name, name
		tags.Models = append(tags.Models, other)
	}
	s := &recordedServer{}
	reply := func(body []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			w.Write(body)
		}
	}
	list, err := json.Marshal(tags)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "Ollama is running") })
	mux.HandleFunc("/api/version", reply(answers.Version))
	mux.HandleFunc("/api/tags", reply(list))
	mux.HandleFunc("/api/show", reply(answers.Show))
	mux.HandleFunc("/api/ps", reply(answers.PS))
	mux.HandleFunc("/api/chat", func(w http.ResponseWriter, r *http.Request) {
		var c recordedChat
		if err := json.NewDecoder(r.Body).Decode(&c); err != nil {
			t.Error(err)
		}
		s.mu.Lock()
		s.chats = append(s.chats, c)
		s.mu.Unlock()
		w.Header().Set("Content-Type", "application/x-ndjson")
		size := 0
		for _, m := range c.Messages {
			size += len(m.Content)
		}
		io.WriteString(w, strings.ReplaceAll(answers.Chat, `"prompt_eval_count":13,`, fmt.Sprintf(`"prompt_eval_count":%d,`, size/4)))
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// runChat runs a chat with smol line by line, and returns what it wrote.
func (s *recordedServer) runChat(t *testing.T, input string, flags ...string) string {
	t.Helper()
	t.Setenv("OLLAMA_HOST", s.url)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	cmd := newRootCommand()
	var out bytes.Buffer
	cmd.SetIn(strings.NewReader(input))
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs(append([]string{"chat", "smol", "--window", "3072", "--dir", t.TempDir()}, flags...))
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Error(err)
	}
	return out.String()
}

// manyMessages returns messages for more than one compaction.
func manyMessages() (lines string, n int) {
	var b strings.Builder
	for n = range 12 {
		fmt.Fprintf(&b, "the harbour keeps ship %d at the pier of the north: %s\n", n, strings.Repeat("so it was agreed with the owner. ", 12))
	}
	return b.String(), n + 1
}

func TestTheChatsOwnModelSummarizesIfTheDefaultOneIsMissing(t *testing.T) {
	lines, n := manyMessages()
	tests := []struct {
		name  string
		have  []string // besides smol
		flags []string
		model string // that summarizes; "": none
		says  bool
	}{
		{"missing", nil, nil, "smol:latest", true},
		{"there", []string{"llama3.2:3b"}, nil, "llama3.2:3b", false},
		{"extracts asked for", nil, []string{"--summary-model", "extractive"}, "", false},
		{"no model asked for", nil, []string{"--engine", "built-in"}, "", false},
		{"its own asked for", nil, []string{"--summary-model", "session"}, "smol:latest", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newRecordedServer(t, test.have...)
			out := s.runChat(t, lines+"/compact\n/why\n", test.flags...)
			notice := "llama3.2:3b is not on the server at " + s.url + ", so the chat's own model summarizes; for a model of its own: ollama pull llama3.2:3b"
			if got := strings.Count(out, notice); got != map[bool]int{true: 1}[test.says] {
				t.Errorf("%d times said:\n%s", got, out)
			}
			summaries := make(map[string]int)
			for _, c := range s.chats {
				summaries[c.Model]++
				if c.Model == "smol:latest" && c.Options.NumCtx != 3072 {
					t.Errorf("a request sets the window to %d", c.Options.NumCtx)
				}
			}
			summaries["smol:latest"] -= n // answers
			for model, count := range summaries {
				if (count > 0) != (model == test.model) {
					t.Errorf("%d summaries by %s, want those by %q:\n%s", count, model, test.model, out)
				}
			}
		})
	}
}

func TestDoctorSaysWhichModelSummarizesInAChat(t *testing.T) {
	for _, test := range []struct {
		flags []string
		want  string
	}{
		{nil, "so a chat asks its own model for summaries, and other commands ask none"},
		{[]string{"--model", "smol"}, "so a chat asks smol for summaries, and other commands ask none"},
	} {
		s := newRecordedServer(t)
		t.Setenv("OLLAMA_HOST", s.url)
		cmd := newRootCommand()
		var out bytes.Buffer
		cmd.SetOut(&out)
		cmd.SetErr(io.Discard)
		cmd.SetArgs(append([]string{"doctor", "--json"}, test.flags...))
		if err := cmd.ExecuteContext(t.Context()); err != nil {
			t.Error(err)
		}
		if text := out.String(); !strings.Contains(text, "llama3.2:3b is not on the server at "+s.url+", "+test.want) {
			t.Errorf("%v: doctor does not say %q:\n%s", test.flags, test.want, text)
		}
	}
}
