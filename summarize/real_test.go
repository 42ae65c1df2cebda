package summarize_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/model"
	"github.com/tiercompact/tiercompact/internal/ollama"
	"github.com/tiercompact/tiercompact/internal/ollamatest"
	"github.com/tiercompact/tiercompact/internal/summarizetest"
	"github.com/tiercompact/tiercompact/summarize"
	"github.com/tiercompact/tiercompact/tokens"
)

// A recorder keeps the model's answers.
type recorder struct {
	summarize.Chatter
	said strings.Builder
}

func (r *recorder) Chat(ctx context.Context, q model.Request, each func(model.Delta) error) (model.Answer, error) {
	return r.Chatter.Chat(ctx, q, func(d model.Delta) error {
		r.said.WriteString(d.Text)
		return each(d)
	})
}

// realModel is a new model on the real server, behind a counter.
func realModel(t *testing.T, window int) (*summarize.Model, *recorder, *ollamatest.Counter) {
	t.Helper()
	counter := ollamatest.Count(t, ollamatest.URL(t))
	c, err := ollama.New(counter.URL)
	if err != nil {
		t.Fatal(err)
	}
	c.Threads = ollamatest.Threads
	r := &recorder{Chatter: c}
	return &summarize.Model{Chat: r, Name: ollamatest.Chat, Window: window}, r, counter
}

func countTokens(t *testing.T) func(string) int {
	t.Helper()
	e, err := tokens.Load(tokens.CL100K)
	if err != nil {
		t.Fatal(err)
	}
	return e.Count
}

// The answer of the small model is arbitrary, but the same each time.
func TestRealSummaryIsTheSameEveryTime(t *testing.T) {
	r := summarize.Request{Messages: summarizetest.Session(), Strategy: summarize.Brief, MaxTokens: 150, Count: countTokens(t)}
	var first string
	for run := range 5 {
		m, said, _ := realModel(t, 4096)
		text, err := m.Summarize(t.Context(), r)
		all := fmt.Sprintf("%s\n%v\n%s", text, err, said.said.String())
		if run == 0 {
			first = all
			t.Log(all)
		}
		if all != first {
			t.Fatalf("run %d:\n%s\nnot\n%s", run+1, all, first)
		}
	}
}

// The small model may break only one promise: it may not finish a text, which the
// fallback steps handle.
func TestRealModelKeepsThePromisesOfASummarizer(t *testing.T) {
	m, _, _ := realModel(t, 4096)
	for err := range strings.SplitSeq(fmt.Sprint(summarizetest.Check(t.Context(), m)), "\n") {
		if err != "<nil>" && !strings.HasSuffix(err, summarize.CutOff) {
			t.Error(err)
		} else {
			t.Log(err)
		}
	}
}

// The source supports what remains of the small model's text, and the facts are
// beside it.
func TestRealSummaryIsGrounded(t *testing.T) {
	r := summarize.Request{Messages: summarizetest.Session(), MaxTokens: 150, Count: countTokens(t)}
	r.Facts = summarize.FactsOf(r.Messages, "", 200, r.Count)
	source := strings.ToLower(sourceText(r.Messages))
	for _, strategy := range summarize.Strategies() {
		r.Strategy = strategy
		m, said, _ := realModel(t, 4096)
		if _, err := m.Summarize(t.Context(), r); said.said.Len() == 0 {
			t.Errorf("%s: the model said nothing, error %v", strategy, err)
		}
		clean, removed := summarize.Verify(said.said.String(), r)
		t.Logf("%s: %d lines removed of\n%s", strategy, removed, said.said.String())
		for line := range strings.Lines(clean) {
			for _, name := range regexp.MustCompile(`\w+`).FindAllString(strings.TrimLeft(line, " -*#0123456789.)["), -1) {
				if strings.ContainsAny(name, "0123456789_") && !strings.Contains(source, strings.ToLower(name)) {
					t.Errorf("%s: %q does not occur in the session: %s", strategy, name, line)
				}
			}
		}
		content := summarize.Finish(clean, r.Facts, nil, 400, r.Count)
		for _, want := range []string{"## Facts on record", "never log session tokens", "cmd/gateway/main.go", "TestRestoreAfterDeploy", "8443"} {
			if !strings.Contains(content, want) {
				t.Errorf("%s: the summary lacks %q:\n%s", strategy, want, content)
			}
		}
	}
}

func sourceText(messages []chat.Message) string {
	var b strings.Builder
	for _, m := range messages {
		b.WriteString(m.ID + " " + m.Text() + "\n")
		for _, p := range m.Parts {
			b.WriteString(p.Name + " " + p.Args + "\n")
		}
	}
	return b.String()
}

// talkOf returns a conversation of the given number of tokens, counted by
// count.
func talkOf(size int, count func(string) int) []chat.Message {
	messages := talk(200, 800)
	n := 0
	for i, m := range messages {
		if n += count(m.Text()); n >= size {
			return messages[:i+1]
		}
	}
	return messages
}

// The full size, 30,000 tokens on a window of 8,192, takes minutes.
func TestRealLongSessionNeverExceedsTheWindow(t *testing.T) {
	window, size := 2048, 4500
	if os.Getenv("TIERCOMPACT_LONG") == "full" {
		window, size = 8192, 30_000
	}
	m, _, server := realModel(t, window)
	r := summarize.Request{MaxTokens: 400, Count: countTokens(t)}
	r.Messages = talkOf(size, r.Count)
	calls := 0
	r.Progress = func(p summarize.Progress) {
		if p.Call > p.Of {
			t.Errorf("call %d of %d", p.Call, p.Of)
		}
		if p.Done {
			calls++
			t.Logf("%s %d of %d: %d tokens, %.0f/s %s", p.Step, p.Call, p.Of, p.Tokens, p.PerSecond, p.Rejected)
		}
	}
	text, err := m.Summarize(t.Context(), r)
	t.Logf("%d messages, %d calls, longest prompt %d tokens, error %v\n%s", len(r.Messages), calls, server.LongestPrompt(), err, text)
	if server.LongestPrompt() > window || server.LongestPrompt() == 0 || server.LargestWindow() != window || server.Refusals() > 0 {
		t.Errorf("window %d: longest prompt %d, largest num_ctx %d, %d refused", window, server.LongestPrompt(), server.LargestWindow(), server.Refusals())
	}
	if calls < 2 {
		t.Errorf("%d calls", calls)
	}
}
