package proxy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ollama/ollama/api"
	"github.com/ollama/ollama/openai"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/internal/ollamatest"
	"github.com/tiercompact/tiercompact/internal/proxy"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/tokens"
	"github.com/tiercompact/tiercompact/wire"
)

const (
	assistantCalls  = 36     // files that the scripted model reads
	assistantWindow = 32_768 // holds the assistants' system prompts and tools
	assistantFile   = 16_000 // bytes
)

// assistantRuns are headless runs of assistants from npm: their command, and the
// environment and files that point them at the proxy.
var assistantRuns = map[string]struct {
	command func(address, prompt string, goOn bool) []string // goOn: the newest session goes on
	env     func(home, address string) []string
	files   map[string]string // in the working folder; ADDRESS is the proxy's
}{
	"qwen": {
		command: func(_, prompt string, goOn bool) []string {
			if goOn {
				return []string{"--auth-type", "openai", "--yolo", "--continue", "-p", prompt}
			}
			return []string{"--auth-type", "openai", "--yolo", "-p", prompt}
		},
		env: func(_, address string) []string {
			return []string{"OPENAI_BASE_URL=" + address + "/v1", "OPENAI_API_KEY=local", "OPENAI_MODEL=m"}
		},
	},
	"opencode": {
		command: func(_, prompt string, goOn bool) []string {
			if goOn {
				return []string{"run", "--continue", "-m", "tiercompact/m", prompt}
			}
			return []string{"run", "-m", "tiercompact/m", prompt}
		},
		files: map[string]string{"opencode.json": `{"$schema":"https://opencode.ai/config.json","autoupdate":false,"share":"disabled","provider":{"tiercompact":{"npm":"@ai-sdk/openai-compatible","name":"tiercompact","options":{"baseURL":"ADDRESS/v1"},"models":{"m":{"name":"m","limit":LIMIT}}}}}`},
	},
	"codex": {
		command: func(address, prompt string, goOn bool) []string {
			args := []string{"exec"}
			if goOn {
				args = append(args, "resume", "--last")
			}
			return append(args, "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "-c", `model="m"`, "-c", `model_provider="tiercompact"`,
				"-c", `model_providers.tiercompact={name="tiercompact",base_url="`+address+`/v1",wire_api="responses"}`, prompt)
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
			var rounds roundLog
			s := newSetup(t, assistantWindow, func(c *proxy.Config) { c.Report = rounds.add })
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
			a := assistant{name, program, s.Server.URL, home, work, `{"context":200000,"output":4096}`}
			out := a.run(t, "Read all files.", false)
			if n := m.calls.Load(); n < assistantCalls || !strings.Contains(out, "so glad") {
				t.Fatalf("%d of %d files were read; it prints\n%s", n, assistantCalls, out)
			}
			largest := 0
			for _, body := range s.received() {
				largest = max(largest, len(body)/4)
				if wrong := unpaired(body); wrong != "" {
					t.Error(wrong)
				}
			}
			if largest > assistantWindow {
				t.Errorf("a request has about %d tokens", largest)
			}
			t.Logf("%d requests; the session read about %d tokens of files; the largest request has about %d; rounds %v", len(s.received()), assistantCalls*assistantFile/4, largest, rounds.levels)
		})
	}
}

// A roundLog counts the rounds of a proxy by their level.
type roundLog struct {
	mu     sync.Mutex
	levels map[levels.Name]int
	newest proxy.RequestReport // of a request, not of a round for the next one
}

func (l *roundLog) add(r proxy.RequestReport) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.levels == nil {
		l.levels = make(map[levels.Name]int)
	}
	if r.Level != levels.None {
		l.levels[r.Level]++
	}
	if !r.Planned {
		l.newest = r
	}
}

// missing returns the levels without a round.
func (l *roundLog) missing() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(levels.Names(), func(level string) bool { return l.levels[levels.Name(level)] > 0 })
}

func (l *roundLog) newestReport() proxy.RequestReport {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.newest
}

// An assistant has a program before a proxy, a home and a working folder.
type assistant struct {
	name, program, address, home, work string
	limit                              string // of the model, for its settings
}

// run runs the assistant with a prompt to its end, and returns what it prints.
func (a assistant) run(t *testing.T, prompt string, goOn bool) string {
	t.Helper()
	r := assistantRuns[a.name]
	for file, text := range r.files {
		if err := os.WriteFile(filepath.Join(a.work, file), []byte(strings.NewReplacer("ADDRESS", a.address, "LIMIT", a.limit).Replace(text)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Minute)
	defer stop()
	run := exec.CommandContext(ctx, a.program, r.command(a.address, prompt, goOn)...)
	run.Dir, run.WaitDelay = a.work, 5*time.Second
	run.Env = []string{"HOME=" + a.home, "PATH=" + os.Getenv("PATH"), "CODEX_HOME=" + a.home, "CI=1"}
	if r.env != nil {
		run.Env = append(run.Env, r.env(a.home, a.address)...)
	}
	out, err := run.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v\n%s", a.name, err, out[max(0, len(out)-4000):])
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

// realWindow holds the system prompts and tools of opencode and codex, and a few turns.
const realWindow = 24_576

// createShort creates a model with random weights that ends after 16 tokens.
func createShort(t *testing.T, server string, window int) {
	t.Helper()
	answer, err := http.Post(server+"/api/create", "application/json", strings.NewReader(fmt.Sprintf(`{"model":"m","from":%q,"parameters":{"num_predict":16,"num_ctx":%d,"num_thread":%d},"stream":false}`, ollamatest.TinyLong, window, ollamatest.Threads)))
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
}

const (
	realLength   = 4 * realWindow // tokens of a session
	maxRealCalls = 45             // after them a session that is not complete is an error
	lastWords    = "All files are read."
)

// nextFile returns the tokens of the file that is read after a request. As long as soft or
// hard is missing, files take the session to the middle between its threshold and the next
// one, however long the assistant's own prompt is. They are not large, because both levels
// need results older than the newest ones. Large files lead to emergency, because hard
// keeps the newest four calls.
func nextFile(r proxy.RequestReport, missing []string) int {
	const small, medium, large = realWindow / 20, realWindow / 10, realWindow / 6 // codex cuts longer results
	from := levels.Thresholds(nil).WithDefaults(string(tiercompact.Default)).Rising()
	milder := levels.Names()[:len(from)-1]
	if !slices.ContainsFunc(milder, func(level string) bool { return slices.Contains(missing, level) }) {
		return large
	}
	for i, level := range milder {
		low, high := int(from[i]*realWindow), int(from[i+1]*realWindow)
		if slices.Contains(missing, level) && r.Level == levels.None && r.After+small < high {
			return min(max((low+high)/2-r.After, small), medium)
		}
	}
	return small // the session is in the cooldown, or past the missing level
}

// goOnForReal carries one session of an assistant past its window at least four times: the
// model reads files by the assistant's tool until each level has made a round, then the
// session goes on with another prompt. Each round is one that the proxy makes by itself.
func goOnForReal(t *testing.T, server string, a assistant) {
	createShort(t, server, realWindow)
	a.home, a.work = t.TempDir(), t.TempDir()
	a.limit = fmt.Sprintf(`{"context":%d,"output":400}`, 100*realWindow)
	var rounds roundLog
	c := &callingServer{scriptedModel: scriptedModel{t: t}, server: server, folder: a.work, rounds: &rounds} // a call takes the less time the shorter its path is
	upstream := httptest.NewServer(http.HandlerFunc(c.forward))
	t.Cleanup(upstream.Close)
	s := realSetup(t, upstream.URL, &realClient{native: true, window: realWindow, preset: tiercompact.Default, report: rounds.add})
	var mu sync.Mutex // one request at a time: the newest report is that of the one at the server
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		mu.Lock()
		defer mu.Unlock()
		c.longest.Store(max(c.longest.Load(), int64(historyTokens(body))))
		s.proxy.Wait() // how far a round is does not depend on the machine's speed
		s.proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	a.address = front.URL
	for n, prompt := range []string{"Read all files.", "What does this do?\n" + sourceText(0, 8000)} {
		out := a.run(t, prompt, n > 0)
		s.proxy.Wait()
		if !strings.Contains(out, lastWords) || t.Failed() {
			t.Fatalf("step %d: it prints\n%s", n, out)
		}
	}
	t.Logf("%d calls; the assistant's longest request has %d tokens of messages, in a window of %d; rounds %v", c.calls.Load(), c.longest.Load(), realWindow, rounds.levels)
	if !c.isComplete() {
		t.Errorf("the session is shorter than %d tokens, or has no round of %v", realLength, rounds.missing())
	}
	if s.events.warned("cut the prompt") {
		t.Error("the server cut a prompt")
	}
}

// historyTokens returns about how many tokens the messages of a request have, 0 for a
// body without messages.
func historyTokens(body []byte) (n int) {
	var q struct{ Messages, Input json.RawMessage }
	if json.Unmarshal(body, &q) != nil {
		return 0
	}
	c, err := wire.DecodeBytes(append(q.Messages, q.Input...), wire.Options{})
	encoding, wrong := tokens.Load(tokens.CL100K)
	if err != nil || wrong != nil {
		return 0
	}
	for _, m := range c.Messages {
		n += encoding.Count(m.TextWithCalls())
	}
	return n
}

// unpaired returns the first tool call of a request without its result, or the reverse,
// as a server sees them: the results follow their calls, and say nothing between.
func unpaired(body []byte) string {
	type part struct {
		Role, Type, Call_ID, Tool_Call_ID string
		Tool_Calls                        []struct{ ID string }
	}
	var q struct{ Messages, Input []part }
	_ = json.Unmarshal(body, &q)
	var open []string
	for i, p := range append(q.Messages, q.Input...) {
		id := p.Call_ID + p.Tool_Call_ID
		switch {
		case p.Role == "tool" || p.Type == "function_call_output":
			at := slices.Index(open, id)
			if at < 0 {
				return fmt.Sprintf("message %d is a result of %q, of which there is no call", i, id)
			}
			open = slices.Delete(open, at, at+1)
		case p.Type == "function_call":
			open = append(open, id)
		case p.Type == "reasoning":
		case len(open) > 0:
			return fmt.Sprintf("message %d follows the call %q, which has no result", i, open[0])
		}
		for _, call := range p.Tool_Calls {
			open = append(open, call.ID)
		}
	}
	if len(open) > 0 {
		return fmt.Sprintf("the call %q has no result", open[0])
	}
	return ""
}

// A callingServer is a real server that gets requests with a schema for the answer: by it,
// a model with random weights calls the tool that reads the next file, and says its last
// words when the session is complete.
type callingServer struct {
	scriptedModel
	server  string
	folder  string // of the files; each is written before its call
	rounds  *roundLog
	longest atomic.Int64 // request of the assistant, in tokens
}

// isComplete reports whether the session has passed its window often enough, and each
// level has made a round.
func (c *callingServer) isComplete() bool {
	return c.longest.Load() >= realLength && len(c.rounds.missing()) == 0
}

// writeFile writes the file of the n-th call.
func (c *callingServer) writeFile(n int64) {
	const sample = 4096 // bytes
	encoding, err := tokens.Load(tokens.CL100K)
	if err == nil {
		size := nextFile(c.rounds.newestReport(), c.rounds.missing()) * sample / encoding.Count(sourceText(int(n), sample))
		err = os.WriteFile(filepath.Join(c.folder, fmt.Sprintf("file_%d.go", n)), []byte(sourceText(int(n), size)), 0o600)
	}
	if err != nil {
		c.t.Error(err)
	}
}

func (c *callingServer) forward(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if wrong := unpaired(body); wrong != "" {
		c.t.Error(wrong)
	}
	var q map[string]any
	if name, args := c.call(body); name != "" && json.Unmarshal(body, &q) == nil {
		schema := map[string]any{"enum": []any{lastWords}}
		if c.calls.Load() < maxRealCalls && !c.isComplete() {
			n := c.calls.Add(1) - 1
			c.writeFile(n)
			schema = schemaOfCall(name, args(n))
		}
		if r.URL.Path == "/v1/responses" {
			q["text"] = map[string]any{"format": map[string]any{"type": "json_schema", "name": "call", "schema": schema}}
			q["max_output_tokens"] = 400
			q["tools"] = slices.DeleteFunc(q["tools"].([]any), func(tool any) bool { return tool.(map[string]any)["type"] != "function" }) // Ollama 0.17.4 takes each call for one of a tool without a name
		} else {
			options, _ := q["options"].(map[string]any)
			options["num_predict"] = 400
			q["format"] = schema
		}
		body = []byte(jsonOf(q))
	}
	to, _ := url.Parse(c.server)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	(&httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(to) }, FlushInterval: -1, ModifyResponse: func(answer *http.Response) error {
		if answer.StatusCode >= http.StatusBadRequest {
			text, _ := io.ReadAll(answer.Body)
			answer.Body = io.NopCloser(bytes.NewReader(text))
			c.t.Errorf("the server answers %d %s", answer.StatusCode, text)
		}
		return nil
	}}).ServeHTTP(w, r)
}

// schemaOfCall returns the schema of a call of a tool with certain arguments.
func schemaOfCall(name, args string) map[string]any {
	var values map[string]any
	_ = json.Unmarshal([]byte(args), &values)
	properties, required := make(map[string]any), make([]string, 0, 1)
	for key, value := range values {
		properties[key], required = map[string]any{"enum": []any{value}}, append(required, key)
	}
	return map[string]any{"type": "object", "required": []string{"name", "parameters"}, "properties": map[string]any{
		"name": map[string]any{"enum": []string{name}}, "parameters": map[string]any{"type": "object", "properties": properties, "required": required}}}
}

// sourceText returns n bytes of code.
func sourceText(seed, n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "func part%d_%d(a int) int { return a*%d + %d }\n", seed, i, i, seed)
	}
	return b.String()
}

// TestRealAssistantsGoOnPastTheWindow runs assistants, and Ollama's own CLI (the program
// OLLAMA), before the proxy and a real server. The weights of its model are random, and
// it ends after 16 tokens: what it says is of no use, but the APIs are the real ones.
func TestRealAssistantsGoOnPastTheWindow(t *testing.T) {
	server, folder := ollamatest.URL(t), os.Getenv("ASSISTANTS")
	if folder == "" {
		t.Skip("ASSISTANTS names no folder with assistants")
	}
	for _, name := range []string{"opencode", "codex"} {
		t.Run(name, func(t *testing.T) {
			program := filepath.Join(folder, "node_modules", ".bin", name)
			if _, err := os.Stat(program); err != nil {
				t.Skip("this assistant is not installed: ", err)
			}
			goOnForReal(t, server, assistant{name: name, program: program})
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
