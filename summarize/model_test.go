package summarize_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/model"
	"github.com/tiercompact/tiercompact/internal/summarizetest"
	"github.com/tiercompact/tiercompact/summarize"
)

// A server is a chat model that counts with its own tokenizer, and rejects requests
// that are longer than its window.
type server struct {
	count   func(string) int // tokens of a text; nil: three bytes are one
	window  int              // 0: the one in the request to load it
	answer  func(prompt string, call int) model.Answer
	err     error
	piece   int // bytes of a delta; 0: 4
	asked   []model.Request
	refused int
	longest int // tokens of the longest prompt with the room for its answer
}

func (s *server) Chat(ctx context.Context, r model.Request, each func(model.Delta) error) (model.Answer, error) {
	if err := ctx.Err(); err != nil {
		return model.Answer{}, err
	}
	s.asked = append(s.asked, r)
	if s.err != nil {
		return model.Answer{}, s.err
	}
	size := 8
	for _, m := range r.Messages {
		size += 5 + s.tokens(m.Text())
	}
	window := s.window
	if window == 0 {
		window = r.Window
	}
	if size+r.MaxTokens > window {
		s.refused++
		return model.Answer{}, fmt.Errorf("chat: %w", model.ErrTooLong)
	}
	s.longest = max(s.longest, size+r.MaxTokens)
	a := s.answer(promptOf(r), len(s.asked))
	text, step := a.Message.Text(), max(s.piece, 4)
	for at := 0; at < len(text); at += step {
		if err := each(model.Delta{Text: text[at:min(at+step, len(text))]}); err != nil {
			return model.Answer{}, fmt.Errorf("chat: %w", err)
		}
	}
	a.PromptTokens, a.Tokens = size, s.tokens(text)
	return a, nil
}

func (s *server) tokens(text string) int {
	if s.count != nil {
		return s.count(text)
	}
	return (len(text) + 2) / 3
}

func promptOf(r model.Request) string { return r.Messages[len(r.Messages)-1].Text() }

// data returns the text between the fences of a prompt.
func data(prompt string) string {
	for _, what := range []string{"messages", "records"} {
		if _, after, ok := strings.Cut(prompt, "===== "+what+"\n"); ok {
			body, _, _ := strings.Cut(after, "\n===== end of "+what)
			return body
		}
	}
	return ""
}

// saying is the answer of a model that writes text and ends.
func saying(text string) model.Answer {
	return model.Answer{Message: chat.NewText(chat.Assistant, text), Done: model.Stopped}
}

func always(a model.Answer) func(string, int) model.Answer {
	return func(string, int) model.Answer { return a }
}

// echoing answers with the names in its input.
func echoing(prompt string, _ int) model.Answer {
	if strings.ContainsAny(data(prompt), "请求") {
		return saying("用户要求修复这个错误。")
	}
	var lines []string
	for _, name := range regexp.MustCompile(`\w+_\w+|\b[A-Z]+-\d+`).FindAllString(data(prompt), 6) {
		lines = append(lines, "- "+name+" went on")
	}
	return saying("The work goes on.\n" + strings.Join(slices.Compact(lines), "\n"))
}

// talk returns n messages of about the given number of bytes each, no two
// alike.
func talk(n, size int) []chat.Message {
	var messages []chat.Message
	for i := range n {
		role := []chat.Role{chat.User, chat.Assistant}[i%2]
		m := chat.NewText(role, fmt.Sprintf("word_%d begins.", i)+strings.Repeat(fmt.Sprintf(" Then the thing of step %d is looked at.", i), size/40)+fmt.Sprintf(" done_%d", i))
		m.ID = fmt.Sprintf("m%d", i+1)
		messages = append(messages, m)
	}
	return messages
}

func TestModelKeepsThePromisesOfASummarizer(t *testing.T) {
	for _, window := range []int{1024, 2048, 0, 8192} {
		m := &summarize.Model{Chat: &server{answer: echoing}, Name: "fake", Window: window}
		if err := summarizetest.Check(t.Context(), m); err != nil {
			t.Errorf("window %d: %v", window, err)
		}
	}
}

func TestAShortSessionIsOneRequest(t *testing.T) {
	s := &server{answer: always(saying("The port is 8443."))}
	m := &summarize.Model{Chat: s, Name: "fake", Window: 8192}
	r := summarize.Request{Messages: summarizetest.Session(), MaxTokens: 200, Previous: "the record of before", Note: "keep the port"}
	text, err := m.Summarize(t.Context(), r)
	if err != nil || text != "The port is 8443." || len(s.asked) != 1 {
		t.Fatalf("%q after %d requests, error %v", text, len(s.asked), err)
	}
	q := s.asked[0]
	if q.Model != "fake" || q.Window != 8192 || q.MaxTokens != 220 || q.Tools != nil || !q.NoThink || q.Sampling == nil || *q.Sampling != (model.Sampling{Temperature: 0, Seed: 42}) {
		t.Errorf("asked with %+v, sampling %+v", q, q.Sampling)
	}
	if len(q.Messages) != 2 || q.Messages[0].Role != chat.System || q.Messages[0].Text() != summarize.Instructions() || q.Messages[1].Role != chat.User {
		t.Errorf("messages %+v", q.Messages)
	}
	if got := promptOf(q); got != summarize.Prompt(r) {
		t.Errorf("asked\n%s\nwant\n%s", got, summarize.Prompt(r))
	}
}

func TestSeedIsSent(t *testing.T) {
	s := &server{answer: echoing}
	if _, err := (&summarize.Model{Chat: s, Name: "fake", Seed: 7}).Summarize(t.Context(), summarize.Request{Messages: talk(2, 80)}); err != nil || s.asked[0].Sampling.Seed != 7 || s.asked[0].Window != 4096 {
		t.Errorf("asked %+v, error %v", s.asked[0], err)
	}
}

func TestAPartThatIsRejectedIsSummarisedWithoutAModel(t *testing.T) {
	var told []summarize.Progress
	messages := talk(40, 400)
	s := &server{answer: func(prompt string, call int) model.Answer {
		if call == 2 {
			return saying("I'm sorry, I can't help with that.")
		}
		return echoing(prompt, call)
	}}
	text, err := (&summarize.Model{Chat: s, Name: "fake", Window: 2048}).Summarize(t.Context(), summarize.Request{Messages: messages, MaxTokens: 200, Progress: func(p summarize.Progress) { told = append(told, p) }})
	if err != nil || text == "" || len(s.asked) < 5 {
		t.Fatalf("%q after %d requests, error %v", text, len(s.asked), err)
	}
	merge := promptOf(s.asked[len(s.asked)-1])
	if !strings.Contains(merge, "part 2:\n") || strings.Contains(merge, "sorry") || strings.Contains(merge, "part 2:\n\n") {
		t.Errorf("merged from\n%s", merge)
	}
	i := slices.IndexFunc(told, func(p summarize.Progress) bool { return p.Rejected != "" })
	if i < 0 || told[i].Call != 2 || told[i].Rejected != summarize.Refusal || !told[i].Done {
		t.Errorf("told %+v", told)
	}
}

func TestRejectionOfHalfThePartsRejectsTheSummary(t *testing.T) {
	for want, text := range map[string]string{
		summarize.Refusal:   "I'm sorry, I can't help with that.",
		summarize.Empty:     "",
		summarize.Unfounded: "- the file is nowhere/to/be/found.go",
		summarize.ToolCall:  `<tool_call>{"name":"x"}</tool_call>`,
	} {
		s := &server{answer: always(saying(text))}
		_, err := (&summarize.Model{Chat: s, Name: "fake", Window: 2048}).Summarize(t.Context(), summarize.Request{Messages: talk(40, 400), MaxTokens: 200})
		var rejected summarize.Rejection
		if !errors.As(err, &rejected) || string(rejected) != want || len(s.asked) != 2 {
			t.Errorf("%q: error %v after %d requests", text, err, len(s.asked))
		}
	}
}

func TestErrorsOfTheServerAreReturned(t *testing.T) {
	for _, want := range []error{model.ErrUnreachable, model.ErrNoModel, model.ErrGarbled, model.ErrCannot} {
		for _, n := range []int{2, 60} {
			s := &server{err: want}
			var last summarize.Progress
			_, err := (&summarize.Model{Chat: s, Name: "fake", Window: 2048}).Summarize(t.Context(), summarize.Request{
				Messages: talk(n, 400), MaxTokens: 200, Progress: func(p summarize.Progress) { last = p },
			})
			if !last.Done || !strings.Contains(last.Rejected, want.Error()) {
				t.Errorf("the end of the call is reported as %+v", last)
			}
			if !errors.Is(err, want) || len(s.asked) != 1 || !strings.HasPrefix(err.Error(), "summarize with fake: ") {
				t.Errorf("%v after %d requests, want %v", err, len(s.asked), want)
			}
		}
	}
	for _, m := range []*summarize.Model{{Name: "x"}, {Chat: &server{answer: echoing}}} {
		if _, err := m.Summarize(t.Context(), summarize.Request{}); err == nil {
			t.Error("a model without a name, or without a server, summarises")
		}
	}
	if _, err := (&summarize.Model{Chat: &server{answer: echoing}, Name: "x"}).Summarize(t.Context(), summarize.Request{Strategy: "poem"}); err == nil {
		t.Error("an unknown strategy is used")
	}
}

func TestProgressIsReportedForEachCall(t *testing.T) {
	var told []summarize.Progress
	s := &server{answer: echoing}
	_, err := (&summarize.Model{Chat: s, Name: "fake", Window: 2048}).Summarize(t.Context(), summarize.Request{Messages: talk(40, 400), MaxTokens: 200, Progress: func(p summarize.Progress) { told = append(told, p) }})
	if err != nil {
		t.Fatal(err)
	}
	began, ended := 0, 0
	for i, p := range told {
		if p.Call > p.Of || p.Call > len(s.asked) || p.Call == len(s.asked) != (p.Step == summarize.StepMerge) {
			t.Errorf("%+v reported for %d calls", p, len(s.asked))
		}
		if i == 0 || told[i-1].Call != p.Call {
			began++
			if p.Tokens != 0 || p.Done {
				t.Errorf("call %d begins with %+v", p.Call, p)
			}
		}
		if p.Done {
			ended++
			if p.Tokens == 0 {
				t.Errorf("call %d ends without tokens", p.Call)
			}
		}
	}
	if began != len(s.asked) || ended != began {
		t.Errorf("%d calls, %d beginnings, %d ends", len(s.asked), began, ended)
	}
}

func TestCancellingEndsTheCall(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &server{answer: func(prompt string, call int) model.Answer {
		if call == 3 {
			cancel()
		}
		return echoing(prompt, call)
	}}
	_, err := (&summarize.Model{Chat: s, Name: "fake", Window: 2048}).Summarize(ctx, summarize.Request{Messages: talk(60, 400), MaxTokens: 200})
	if !errors.Is(err, context.Canceled) || len(s.asked) != 3 {
		t.Errorf("%v after %d requests", err, len(s.asked))
	}
}

func TestPartsAreNotRequestedAgain(t *testing.T) {
	s := &server{answer: echoing, count: func(s string) int { return len(s) / 4 }}
	m := &summarize.Model{Chat: s, Name: "fake", Window: 4096}
	r := summarize.Request{Messages: talk(60, 400), MaxTokens: 400, Progress: func(p summarize.Progress) {
		if p.Rejected != "" {
			t.Errorf("%+v", p)
		}
	}}
	first, err := m.Summarize(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	calls := len(s.asked)
	second, err := m.Summarize(t.Context(), r)
	if r.MaxTokens /= 2; err == nil && second == first {
		_, err = m.Summarize(t.Context(), r)
	}
	if err != nil || second != first || len(s.asked) != calls+2 {
		t.Errorf("%d requests, then %d, error %v", calls, len(s.asked)-calls, err)
	}
}

func TestASharedModelKeepsTheWindowOfTheConversationAndStaysLoaded(t *testing.T) {
	s := &server{answer: echoing}
	shared := 0
	m := &summarize.Model{Chat: s, Name: "fake", Window: 8192, Shared: func() int { return shared }}
	for _, shared = range []int{0, 4096, 2048, 0} { // as the conversation changes its model
		s.asked = nil
		if _, err := m.Summarize(t.Context(), summarize.Request{Messages: talk(60, 1000), MaxTokens: 300}); err != nil {
			t.Fatal(err)
		}
		want := cmp.Or(shared, 8192)
		for _, q := range s.asked {
			if q.Window != want || q.MayUnload != (shared == 0) {
				t.Errorf("shared with a window of %d: a request loads %d, and may unload: %v", shared, q.Window, q.MayUnload)
			}
			if n := len(promptOf(q))/4 + q.MaxTokens; n > want {
				t.Errorf("a request of %d tokens for a window of %d", n, want)
			}
		}
	}
}
