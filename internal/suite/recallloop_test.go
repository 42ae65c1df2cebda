package suite

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/model"
	"github.com/tiercompact/tiercompact/internal/ollama"
	"github.com/tiercompact/tiercompact/internal/ollamatest"
	"github.com/tiercompact/tiercompact/tokens"
)

// A recallLoop lets a model answer a question, and answers its calls of recall.
type recallLoop struct {
	session *tiercompact.Session
	window  int
	// ask returns the model's next message.
	ask func(conversation []chat.Message) (chat.Message, error)

	args, answers []string // of the calls
	said          string   // the last message
}

// run ends with the first message without a call. An answer never has more than its
// tokens.
func (l *recallLoop) run(t *testing.T, question string) {
	t.Helper()
	count, err := tokens.ForModel("")
	if err != nil {
		t.Fatal(err)
	}
	add := func(m chat.Message) {
		if _, err := l.session.AddMessage(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	add(chat.NewText(chat.User, question))
	for range 6 {
		m, err := l.ask(l.session.Messages())
		if err != nil {
			t.Fatal(err)
		}
		add(m)
		if l.said = m.Text(); !m.HasCalls() {
			return
		}
		for _, p := range m.Parts {
			if p.Kind != chat.Call {
				continue
			}
			answer, err := l.session.HandleRecall(t.Context(), p.Args)
			if err != nil {
				answer = err.Error()
			}
			if n := count.Text(answer); n > min(tiercompact.RecallTokens, l.window/4) || answer == "" {
				t.Errorf("the answer to %s has %d tokens:\n%s", p.Args, n, answer)
			}
			l.args, l.answers = append(l.args, p.Args), append(l.answers, answer)
			add(chat.NewResult(p.ID, answer))
		}
	}
	t.Error("the model only calls")
}

// compactedFacts returns a session in which a summary replaced most messages.
func compactedFacts(t *testing.T, window int) *tiercompact.Session {
	t.Helper()
	c, err := tiercompact.New(tiercompact.Config{Window: window, NoAuto: true})
	if err != nil {
		t.Fatal(err)
	}
	s := c.Session("loop")
	messages := []chat.Message{chat.NewText(chat.System, "You are a helpful assistant. "+tiercompact.RecallPrompt)}
	for i, fact := range []string{"the team meets on Tuesday", "the staging database listens on port 6543", "the lease of a worker ends after forty seconds", "invoices are sent on the third of each month",
		"the release branch is called cedar", "Mira keeps the signing keys", "the queue is named heron"} {
		messages = append(messages, chat.NewText(chat.User, fmt.Sprintf("Note %d: %s.", i+1, fact)), chat.NewText(chat.Assistant, "Noted. "+strings.Repeat(fmt.Sprintf("That is number %d on the list of the team. ", i+1), 6)))
	}
	if err := s.Load(messages); err != nil {
		t.Fatal(err)
	}
	if r, err := s.CompactLevel(t.Context(), "emergency"); err != nil || !r.Compacted() {
		t.Fatal(r.Reason, err)
	}
	return s
}

func recallCall(id, args string) chat.Message {
	return chat.Message{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, ID: id, Name: tiercompact.RecallTool().Name, Args: args}}}
}

// A scripted model gets a sentence for its wrong arguments, then the text, and goes on.
func TestAScriptedModelGoesOnAfterRecall(t *testing.T) {
	const window = 4096
	script := []chat.Message{recallCall("1", `{"question":"port"}`), recallCall("2", `{"text":"port of the staging database"}`), chat.NewText(chat.Assistant, "It is 6543.")}
	l := recallLoop{session: compactedFacts(t, window), window: window, ask: func([]chat.Message) (chat.Message, error) {
		m := script[0]
		script = script[1:]
		return m, nil
	}}
	l.run(t, "Which port does the staging database use?")
	if l.said != "It is 6543." || len(l.answers) != 2 || !strings.Contains(l.answers[0], `it needs a text, an id or a file`) || !strings.Contains(l.answers[1], "port 6543") {
		t.Errorf("%q after %q", l.said, l.answers)
	}
	if problems := chat.Check(l.session.Messages()); len(problems) > 0 {
		t.Error(problems)
	}
}

// smolTools is the template of the small model, whose own has no tools, in the form in
// which models with tools have it: the server parses the calls by it.
const smolTools = `{{- range .Messages }}<|im_start|>{{ .Role }}
{{ if and $.Tools (eq .Role "system") }}Tools: {{ $.Tools }}
To use a tool, answer only with {"name": "recall", "arguments": {"text": "words to search for"}}
{{ end }}{{ .Content }}{{ range .ToolCalls }}{"name": "{{ .Function.Name }}", "arguments": {{ .Function.Arguments }}}{{ end }}<|im_end|>
{{ end }}<|im_start|>assistant
`

// postJSON posts x to a real server, and decodes its answer.
func postJSON(t *testing.T, url string, x, into any) {
	t.Helper()
	body, err := json.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Timeout: 5 * time.Minute}
	r, err := client.Post(url, "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if err := json.NewDecoder(r.Body).Decode(into); err != nil || r.StatusCode != http.StatusOK {
		t.Fatal(r.Status, err)
	}
}

// A real model with 135 million parameters gets the tool. Such a model answers by itself
// more often than it calls; then the server makes it write arguments in the form of the
// tool's schema. What it writes there is its own, right or wrong. The loop goes on with
// what recall answers, and ends with a text.
func TestRealSmallModelRecallsInItsToolLoop(t *testing.T) {
	const window, name = 4096, "real-smol-tools"
	server := ollamatest.URL(t)
	var status struct{ Status, Error string }
	postJSON(t, server+"/api/create", map[string]any{"model": name, "from": ollamatest.Chat, "template": smolTools, "stream": false}, &status)
	if status.Status != "success" {
		t.Fatalf("%+v", status)
	}
	client, err := ollama.New(server)
	if err != nil {
		t.Fatal(err)
	}
	client.Threads = ollamatest.Threads
	tools := fmt.Appendf(nil, "[%s]", tiercompact.RecallTool().Ollama())
	calls, own := 0, 0
	l := recallLoop{session: compactedFacts(t, window), window: window}
	l.ask = func(conversation []chat.Message) (chat.Message, error) {
		r := model.Request{Model: name, Messages: conversation, Tools: tools, Window: window, MaxTokens: 40, Sampling: &model.Sampling{Seed: 1}}
		if calls > 0 {
			r.Tools = nil // it has what it asked for
		}
		a, err := client.Chat(t.Context(), r, nil)
		if err != nil || calls > 0 {
			return a.Message, err
		}
		calls++
		if a.Message.HasCalls() {
			own++
			return a.Message, nil
		}
		t.Logf("without a call, the model says %q", a.Message.Text())
		return recallCall("forced", forcedArguments(t, server, name, window)), nil
	}
	l.run(t, "Which port does the staging database use? Look it up with the tool recall.")
	t.Logf("calls of its own: %d; arguments %q; answers %q; then %q", own, l.args, l.answers, l.said)
	if len(l.args) != 1 || strings.TrimSpace(l.said) == "" {
		t.Errorf("%d calls, then %q", len(l.args), l.said)
	}
	if problems := chat.Check(l.session.Messages()); len(problems) > 0 {
		t.Error(problems)
	}
}

// forcedArguments returns what the model writes if the server only lets it write
// arguments with a text.
func forcedArguments(t *testing.T, server, name string, window int) string {
	t.Helper()
	schema := json.RawMessage(`{"type":"object","properties":{"text":{"type":"string","maxLength":80}},"required":["text"]}`)
	var answer struct {
		Message struct{ Content string }
	}
	postJSON(t, server+"/api/chat", map[string]any{
		"model": name, "stream": false, "format": schema,
		"messages": []map[string]string{{"role": "user", "content": "Which port does the staging database use? Write the words to search for in old notes."}},
		"options":  map[string]any{"num_ctx": window, "num_predict": 60, "temperature": 0, "seed": 1, "num_thread": ollamatest.Threads},
	}, &answer)
	return answer.Message.Content
}
