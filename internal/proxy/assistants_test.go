package proxy_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ollama/ollama/api"
	"github.com/ollama/ollama/openai"

	"github.com/tiercompact/tiercompact/internal/ollamatest"
)

const (
	assistantCalls  = 24     // files that the scripted model reads
	assistantWindow = 32_768 // holds the assistants' system prompts and tools
	assistantFile   = 16_000 // bytes
)

// assistantRuns are headless runs of assistants from npm: their command, and the
// environment and files that point them at the proxy.
var assistantRuns = map[string]struct {
	command func(address string) []string
	env     func(home, address string) []string
	files   map[string]string // in the working folder; ADDRESS is the proxy's
}{
	"qwen": {
		command: func(string) []string { return []string{"--auth-type", "openai", "--yolo", "-p", "Read all files."} },
		env: func(_, address string) []string {
			return []string{"OPENAI_BASE_URL=" + address + "/v1", "OPENAI_API_KEY=local", "OPENAI_MODEL=m"}
		},
	},
	"opencode": {
		command: func(string) []string { return []string{"run", "-m", "tiercompact/m", "Read all files."} },
		files:   map[string]string{"opencode.json": `{"$schema":"https://opencode.ai/config.json","autoupdate":false,"share":"disabled","provider":{"tiercompact":{"npm":"@ai-sdk/openai-compatible","name":"tiercompact","options":{"baseURL":"ADDRESS/v1"},"models":{"m":{"name":"m","limit":LIMIT}}}}}`},
	},
	"codex": {
		command: func(address string) []string {
			return []string{"exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "-c", `model="m"`, "-c", `model_provider="tiercompact"`,
				"-c", `model_providers.tiercompact={name="tiercompact",base_url="` + address + `/v1",wire_api="responses"}`, "Read all files."}
		},
	},
}

// TestAssistantsGoOnPastTheWindow runs assistants before the proxy: set ASSISTANTS to
// the folder in which npm installed them (make assistants). The model is scripted: it
// calls the assistant's own tool to read one file after another, in answers with the
// shape of the recorded ones.
func TestAssistantsGoOnPastTheWindow(t *testing.T) {
	folder := os.Getenv("ASSISTANTS")
	if folder == "" {
		t.Skip("ASSISTANTS names no folder with assistants")
	}
	for _, name := range []string{"qwen", "opencode", "codex"} {
		t.Run(name, func(t *testing.T) {
			program := filepath.Join(folder, "node_modules", ".bin", name)
			if _, err := os.Stat(program); err != nil {
				t.Skip("this assistant is not installed: ", err)
			}
			s := newSetup(t, assistantWindow, nil)
			m := &scriptedModel{t: t}
			s.answer = m.answer
			home, work := t.TempDir(), t.TempDir()
			for i := range assistantCalls {
				text := strings.Repeat(fmt.Sprintf("line of file %d: func part_%d() int { return %d }\n", i, i*i, i), assistantFile/50)
				if err := os.WriteFile(filepath.Join(work, fmt.Sprintf("file_%d.go", i)), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			m.work = work
			out := runAssistant(t, program, name, s.Server.URL, home, work, `{"context":200000,"output":4096}`)
			tokens, levels := m.sizes(s), m.calls.Load()
			if levels < assistantCalls || !strings.Contains(out, "so glad") {
				t.Fatalf("%d of %d files were read; it prints\n%s", levels, assistantCalls, out)
			}
			if most := slices.Max(tokens); most > assistantWindow {
				t.Errorf("a request has about %d tokens", most)
			}
			t.Logf("%d requests; the session read about %d tokens of files; the largest request has about %d", len(tokens), assistantCalls*assistantFile/4, slices.Max(tokens))
		})
	}
}

// runAssistant runs an assistant to its end, and returns what it prints.
func runAssistant(t *testing.T, program, name, address, home, work, limit string) string {
	t.Helper()
	a := assistantRuns[name]
	for file, text := range a.files {
		if err := os.WriteFile(filepath.Join(work, file), []byte(strings.NewReplacer("ADDRESS", address, "LIMIT", limit).Replace(text)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithTimeout(t.Context(), 4*time.Minute)
	defer stop()
	run := exec.CommandContext(ctx, program, a.command(address)...)
	run.Dir, run.WaitDelay = work, 5*time.Second
	run.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "CODEX_HOME=" + home, "CI=1"}
	if a.env != nil {
		run.Env = append(run.Env, a.env(home, address)...)
	}
	out, err := run.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v\n%s", name, err, out)
	}
	return string(out)
}

// A scriptedModel reads files by the tool that an assistant offers.
type scriptedModel struct {
	t     *testing.T
	work  string
	calls atomic.Int64
}

func (m *scriptedModel) answer(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	name, args := m.call(body)
	text := recorded(m.t, "chat-stream")
	if name != "" && m.calls.Load() < assistantCalls {
		n := m.calls.Add(1) - 1
		text = recorded(m.t, "chat-call-stream")
		text.Body = strings.NewReplacer(`"read_file"`, jsonOf(name), `{"path":"main.go"}`, args(n)).Replace(text.Body)
		text.Body = callID.Replace(text.Body, n)
	}
	w.Header().Set("Content-Type", "text/event-stream")
	all := lines(m.t, text.Body)
	if r.URL.Path == "/v1/responses" {
		var q openai.ResponsesRequest
		_ = json.Unmarshal(body, &q)
		c := openai.NewResponsesStreamConverter("resp_1", "msg_1", "m", q)
		for _, line := range all {
			for _, e := range c.Process(line) {
				fmt.Fprintf(w, "event: %s\ndata: %s\n\n", e.Event, jsonOf(e.Data))
			}
		}
		return
	}
	writeChunks(w, all)
}

// writeChunks writes lines as Ollama's /v1/chat/completions does.
func writeChunks(w io.Writer, all []api.ChatResponse) {
	sent := false
	for _, line := range all {
		fmt.Fprintf(w, "data: %s\n\n", jsonOf(openai.ToChunk("chatcmpl-1", line, sent)))
		sent = sent || len(line.Message.ToolCalls) > 0
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

type callIDs struct{}

var callID callIDs

// Replace gives each recorded call an id of its own.
func (callIDs) Replace(text string, n int64) string {
	const head = `"id":"call_`
	i := strings.Index(text, head)
	if i < 0 {
		return text
	}
	end := i + len(head) + strings.IndexByte(text[i+len(head):], '"')
	return text[:i] + fmt.Sprintf(`"id":"call_n%d`, n) + text[end:]
}

// call returns the tool of a request that reads files, and its arguments for the n-th.
func (m *scriptedModel) call(body []byte) (name string, args func(n int64) string) {
	type function struct {
		Name       string
		Parameters struct {
			Properties map[string]struct{ Type any }
		}
	}
	var q struct {
		Tools []struct {
			function
			Function function
		}
	}
	_ = json.Unmarshal(body, &q)
	for _, t := range q.Tools {
		f := t.function
		if f.Name == "" {
			f = t.Function
		}
		for _, key := range []string{"filePath", "file_path", "absolute_path", "path", "cmd", "command"} {
			p, ok := f.Parameters.Properties[key]
			if !ok || !slices.Contains([]string{"read", "read_file", "shell", "exec_command", "shell_command"}, f.Name) {
				continue
			}
			return f.Name, func(n int64) string {
				file := filepath.Join(m.work, fmt.Sprintf("file_%d.go", n))
				switch {
				case key == "cmd" || key == "command" && p.Type == "string":
					return jsonOf(map[string]any{key: "cat " + file})
				case key == "command":
					return jsonOf(map[string]any{key: []string{"cat", file}})
				}
				return jsonOf(map[string]any{key: file})
			}
		}
	}
	return "", nil
}

// sizes returns about how many tokens each request had.
func (m *scriptedModel) sizes(s *setup) (tokens []int) {
	for _, body := range s.received() {
		tokens = append(tokens, len(body)/4)
	}
	return tokens
}

// TestRealAssistantsAreAnswered runs assistants, and Ollama's own CLI (the program
// OLLAMA), before the proxy and a real server. The weights of its model are random, and
// it ends after 16 tokens: what it says is of no use, but the APIs are the real ones.
func TestRealAssistantsAreAnswered(t *testing.T) {
	server, folder := ollamatest.URL(t), os.Getenv("ASSISTANTS")
	if folder == "" {
		t.Skip("ASSISTANTS names no folder with assistants")
	}
	answer, err := http.Post(server+"/api/create", "application/json", strings.NewReader(`{"model":"m","from":"tinyllama","parameters":{"num_predict":16,"num_ctx":8192},"stream":false}`))
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	for _, name := range []string{"opencode", "codex"} { // the prompt of qwen-code has 19,000 tokens
		t.Run(name, func(t *testing.T) {
			s := realSetup(t, server, &realClient{native: true, window: 8192})
			out := runAssistant(t, filepath.Join(folder, "node_modules", ".bin", name), name, s.Server.URL, t.TempDir(), t.TempDir(), `{"context":8192,"output":16}`)
			if strings.TrimSpace(out) == "" || s.events.warned("cut the prompt") {
				t.Errorf("it prints\n%s", out)
			}
		})
	}
	t.Run("ollama", func(t *testing.T) {
		program := os.Getenv("OLLAMA")
		if program == "" {
			t.Skip("OLLAMA names no program")
		}
		s := realSetup(t, server, &realClient{window: 8192})
		ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
		defer stop()
		run := exec.CommandContext(ctx, "script", "-qec", program+" run m", os.DevNull) // a terminal
		run.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "OLLAMA_HOST=" + s.Server.URL, "TERM=dumb"}
		in, err := run.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		go func() { // it drops what comes before its prompt
			for seen := 0; seen == 0 && ctx.Err() == nil; {
				_, _ = io.WriteString(in, "Say hello.\r")
				time.Sleep(2 * time.Second)
				tips, _ := s.state.List(ctx)
				seen = len(tips)
			}
			_, _ = io.WriteString(in, "/bye\r")
			_ = in.Close()
		}()
		if out, err := run.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		if tips, err := s.state.List(t.Context()); err != nil || len(tips) == 0 {
			t.Errorf("%d conversations, %v", len(tips), err)
		}
	})
}
