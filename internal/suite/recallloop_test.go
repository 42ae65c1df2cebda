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

// smolTools returns a template of the small model, whose own has no tools, in the form in
// which models with tools have it: the server parses the calls by it. Before the last
// question it shows three others, each with a call of the tool that has one argument, with
// the result and the answer; so the model calls by itself. None is about the facts of a test.
func smolTools(argument string) string {
	return `{{- $last := -1 }}{{ range $i, $m := .Messages }}{{ if eq $m.Role "user" }}{{ $last = $i }}{{ end }}{{ end }}
{{- range $i, $m := .Messages }}{{ if and $.Tools (eq $i $last) }}` + strings.ReplaceAll(smolExamples, "ARGUMENT", argument) + `{{ end }}<|im_start|>{{ .Role }}
{{ .Content }}{{ range .ToolCalls }}{"name": "{{ .Function.Name }}", "arguments": {{ .Function.Arguments }}}{{ end }}<|im_end|>
{{ end }}<|im_start|>assistant
`
}

const smolExamples = `<|im_start|>user
Which city did we choose for the meeting?<|im_end|>
<|im_start|>assistant
{"name": "recall", "arguments": {"ARGUMENT": "city of the meeting"}}<|im_end|>
<|im_start|>tool
recall 1b2c3d4e (session s, 2026-01-01):
8 user: We meet in Lisbon.
9 assistant: Lisbon it is.
10 user: The train leaves at noon.<|im_end|>
<|im_start|>assistant
We meet in Lisbon.<|im_end|>
<|im_start|>user
The printer is broken.<|im_end|>
<|im_start|>assistant
I am sorry to hear that.<|im_end|>
<|im_start|>user
How much does the ticket cost?<|im_end|>
<|im_start|>assistant
{"name": "recall", "arguments": {"ARGUMENT": "cost of the ticket"}}<|im_end|>
<|im_start|>tool
recall 1b2c3d4e (session s, 2026-01-01):
21 user: The ticket costs nine euros.
22 assistant: That is cheap.
23 user: The door is green.<|im_end|>
<|im_start|>assistant
The ticket costs nine euros.<|im_end|>
<|im_start|>user
Who will bring the cake?<|im_end|>
<|im_start|>assistant
{"name": "recall", "arguments": {"ARGUMENT": "bring the cake"}}<|im_end|>
<|im_start|>tool
recall 1b2c3d4e (session s, 2026-01-01):
15 user: Anna brings the cake.
16 assistant: How nice.
17 user: The meeting lasts two hours.<|im_end|>
<|im_start|>assistant
Anna brings the cake.<|im_end|>
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

// markedFacts returns a session in which a marker replaced the messages about the staging
// database.
func markedFacts(t *testing.T, window int) *tiercompact.Session {
	t.Helper()
	c, err := tiercompact.New(tiercompact.Config{Window: window, NoAuto: true})
	if err != nil {
		t.Fatal(err)
	}
	s := c.Session("loop")
	messages := []chat.Message{chat.NewText(chat.System, "You are a helpful assistant. "+tiercompact.RecallPrompt)}
	for _, m := range [][2]string{
		{"The team meets on Tuesday.", "Noted."},
		{"The staging database listens on port 6543.", "I will use port 6543."},
		{"The lease of a worker ends after forty seconds.", "Forty seconds is enough for most workers."},
		{"Invoices are sent on the third of each month.", "Then the next invoices go out on the third."},
		{"The release branch is called cedar.", "I will use the branch cedar for the release."},
		{"Mira keeps the signing keys.", "I will ask Mira for the keys."},
		{"The queue is named heron.", "Understood: heron is the queue."},
	} {
		messages = append(messages, chat.NewText(chat.User, m[0]), chat.NewText(chat.Assistant, m[1]))
	}
	if err := s.Load(messages); err != nil {
		t.Fatal(err)
	}
	if r, err := s.CompactLevel(t.Context(), "hard"); err != nil || !r.Compacted() {
		t.Fatal(r.Reason, err)
	}
	text := fmt.Sprint(s.Messages())
	if !strings.Contains(text, "[marker ") || strings.Contains(text, "6543") {
		t.Fatalf("no marker in place of the port: %s", text)
	}
	return s
}

// A real model with 135 million parameters gets the tool, and decides by itself: after a
// question whose answer a marker replaced, it calls recall with words of its own, and then
// says what it found. If its template shows another argument, its call is wrong; it gets
// the sentence that says what is right, and goes on: so small a model repeats its wrong call
// as long as the tool is offered, and then says something.
func TestRealSmallModelRecallsInItsToolLoop(t *testing.T) {
	const window = 4096
	server := ollamatest.URL(t)
	client, err := ollama.New(server)
	if err != nil {
		t.Fatal(err)
	}
	client.Threads = ollamatest.Threads
	tools := fmt.Appendf(nil, "[%s]", tiercompact.RecallTool().Ollama())
	for _, c := range []struct{ argument, answer, said string }{
		{"text", "port 6543", "6543"},
		{"query", `{"text":"words to search for"}`, ""},
	} {
		t.Run(c.argument, func(t *testing.T) {
			name := "real-smol-" + c.argument
			var status struct{ Status, Error string }
			// A penalty for what was just said would forbid the form of a call.
			postJSON(t, server+"/api/create", map[string]any{"model": name, "from": ollamatest.Chat, "template": smolTools(c.argument), "parameters": map[string]any{"repeat_penalty": 1}, "stream": false}, &status)
			if status.Status != "success" {
				t.Fatalf("%+v", status)
			}
			l := recallLoop{session: markedFacts(t, window), window: window}
			l.ask = func(conversation []chat.Message) (chat.Message, error) {
				offered := tools
				if c.said == "" && len(l.args) > 0 {
					offered = nil
				}
				a, err := client.Chat(t.Context(), model.Request{Model: name, Messages: conversation, Tools: offered, Window: window, MaxTokens: 40, Sampling: &model.Sampling{Seed: 1}}, nil)
				return a.Message, err
			}
			l.run(t, "Which port does the staging database listen on?")
			t.Logf("arguments %q; answers %q; then %q", l.args, l.answers, l.said)
			if len(l.args) == 0 || !strings.Contains(l.args[0], `"`+c.argument+`"`) || !strings.Contains(l.answers[0], c.answer) {
				t.Errorf("the model calls with %q, and gets %q", l.args, l.answers)
			}
			if strings.TrimSpace(l.said) == "" || !strings.Contains(l.said, c.said) {
				t.Errorf("then it says %q", l.said)
			}
			if problems := chat.Check(l.session.Messages()); len(problems) > 0 {
				t.Error(problems)
			}
		})
	}
}
