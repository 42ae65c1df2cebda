package cli

import (
	"bytes"
	"context"
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
	"time"

	"github.com/tiercompact/tiercompact/summarize"
)

// A recordedServer gives the answers of a real Ollama 0.17.4 with SmolLM2-135M, as
// testdata/ollama/smol.json has them. The vocabulary and the list of tensors are left
// out. The answers about smol:latest serve for other names, too.
type recordedServer struct {
	url      string
	silent   bool // in summaries: it sends nothing until the client leaves
	mu       sync.Mutex
	chats    []recordedChat
	unloaded []string // models
	waiting  int      // summaries that wait
}

// isSummary reports whether a request asks for a summary.
func (c recordedChat) isSummary() bool { return c.Messages[0].Content == summarize.Instructions() }

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
		if s.silent && c.isSummary() {
			s.wait(r.Context())
			return
		}
		size := 0
		for _, m := range c.Messages {
			size += len(m.Content)
		}
		io.WriteString(w, strings.ReplaceAll(answers.Chat, `"prompt_eval_count":13,`, fmt.Sprintf(`"prompt_eval_count":%d,`, size/4)))
	})
	mux.HandleFunc("/api/generate", func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Model string
			Keep  string `json:"keep_alive"`
		}
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil || q.Keep != "0s" {
			t.Errorf("a request that does not unload: %+v, %v", q, err)
		}
		s.mu.Lock()
		s.unloaded = append(s.unloaded, q.Model)
		s.mu.Unlock()
		io.WriteString(w, `{"model":"m","created_at":"2026-11-28T20:45:14.915030469Z","response":"","done":true,"done_reason":"unload"}`)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// wait returns when the client has left.
func (s *recordedServer) wait(ctx context.Context) {
	add := func(n int) {
		s.mu.Lock()
		s.waiting += n
		s.mu.Unlock()
	}
	add(1)
	<-ctx.Done()
	add(-1)
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

// A summary that is given up leaves no request on the server, which would delay the next
// turn. Its model is unloaded only if the chat does not need it.
func TestAGivenUpSummaryLeavesTheModelOfTheChatLoaded(t *testing.T) {
	lines, n := manyMessages()
	for _, test := range []struct {
		name        string
		have        []string // besides smol
		before      string   // commands
		chat        string   // the model of the chat
		summarizes  string
		wantsUnload bool
	}{
		{"its own model", nil, "", "smol:latest", "smol:latest", false},
		{"another model", []string{"llama3.2:3b"}, "", "smol:latest", "llama3.2:3b", true},
		{"a model that became its own", []string{"llama3.2:3b"}, "/model llama3.2:3b\n", "llama3.2:3b", "llama3.2:3b", false},
		{"a model that was its own", []string{"other:latest"}, "/model other\n", "other:latest", "smol:latest", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newRecordedServer(t, test.have...)
			s.silent = true
			out := s.runChat(t, test.before+lines+"/compact\nand now?\n", "--summary-deadline", "50ms")
			answers, summaries := 0, 0
			for _, c := range s.chats {
				want := test.chat
				if c.isSummary() {
					want = test.summarizes
					summaries++
				} else {
					answers++
				}
				if c.Model != want || c.Model == test.chat && c.Options.NumCtx != 3072 {
					t.Errorf("%s is asked with a window of %d, want %s", c.Model, c.Options.NumCtx, want)
				}
			}
			if summaries == 0 || answers != n+1 {
				t.Errorf("%d summaries, %d answers, want %d:\n%s", summaries, answers, n+1, out)
			}
			for _, name := range s.unloaded {
				if name != test.summarizes || !test.wantsUnload {
					t.Errorf("%s is unloaded", name)
				}
			}
			if got := len(s.unloaded) > 0; got != test.wantsUnload {
				t.Errorf("unloaded: %v", got)
			}
			for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) { // the server notices it soon
				s.mu.Lock()
				waiting := s.waiting
				s.mu.Unlock()
				if waiting == 0 {
					break
				}
				if time.Now().After(end) {
					t.Fatalf("%d requests wait on the server", waiting)
				}
			}
		})
	}
}
