package summarize_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/model"
	"github.com/tiercompact/tiercompact/summarize"
	"github.com/tiercompact/tiercompact/summarize/summarizetest"
)

// A server is a chat model that counts with its own tokenizer, and refuses
// what is longer than its window.
type server struct {
	count   func(string) int // tokens of a text; nil: three bytes are one
	window  int              // 0: the one that it is asked to load
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

// data returns what stands between the fences of a prompt.
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

// echoing answers with the names in what it is given.
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

// talk returns n messages of about so many bytes each, no two alike.
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

func TestAnotherSeedIsAskedFor(t *testing.T) {
	s := &server{answer: echoing}
	if _, err := (&summarize.Model{Chat: s, Name: "fake", Seed: 7}).Summarize(t.Context(), summarize.Request{Messages: talk(2, 80)}); err != nil || s.asked[0].Sampling.Seed != 7 || s.asked[0].Window != 4096 {
		t.Errorf("asked %+v, error %v", s.asked[0], err)
	}
}

func TestNothingLongerThanTheWindowIsSent(t *testing.T) {
	bytesBy := func(n int) func(string) int { return func(s string) int { return (len(s) + n - 1) / n } }
	chinese := chat.NewText(chat.User, strings.Repeat("请修复保存会话时出现的错误。", 900))
	chinese.ID = "c1"
	inputs := map[string][]chat.Message{
		"prose of 30,000 tokens": talk(120, 1000),
		"one long message":       talk(1, 60_000),
		"many short ones":        talk(900, 80),
		"no spaces":              {chat.NewText(chat.User, strings.Repeat("0123456789abcdef", 2500))},
		"Chinese":                {chinese},
	}
	for name, messages := range inputs {
		for _, window := range []int{1024, 2048, 8192, 32_768} {
			for tokenizer, count := range map[string]func(string) int{"4 bytes": bytesBy(4), "3.5 bytes": func(s string) int { return len(s)*2/7 + 1 }, "3 bytes": bytesBy(3)} {
				s := &server{count: count, answer: echoing}
				m := &summarize.Model{Chat: s, Name: "fake", Window: window}
				text, err := m.Summarize(t.Context(), summarize.Request{Messages: messages, MaxTokens: 300})
				if err != nil || text == "" {
					t.Errorf("%s, window %d, %s: %q, error %v", name, window, tokenizer, text, err)
				}
				if s.longest > window || tokenizer != "3 bytes" && s.refused > 0 {
					t.Errorf("%s, window %d, %s: %d tokens, %d refused", name, window, tokenizer, s.longest, s.refused)
				}
				if len(s.asked) > 64 {
					t.Errorf("%s, window %d, %s: %d requests", name, window, tokenizer, len(s.asked))
				}
			}
		}
	}
}

func TestATokenizerThatCountsFarMoreIsLearnt(t *testing.T) {
	s := &server{count: func(s string) int { return len(s)/2 + 1 }, answer: echoing}
	m := &summarize.Model{Chat: s, Name: "fake", Window: 8192}
	if _, err := m.Summarize(t.Context(), summarize.Request{Messages: talk(60, 1000), MaxTokens: 300}); err != nil {
		t.Fatal(err)
	}
	if s.refused == 0 || s.refused > 2 {
		t.Errorf("%d of %d requests were too long", s.refused, len(s.asked))
	}
}

func TestAServerWithASmallerWindowIsAskedForLess(t *testing.T) {
	s := &server{window: 4096, answer: echoing}
	if _, err := (&summarize.Model{Chat: s, Name: "fake", Window: 8192}).Summarize(t.Context(), summarize.Request{Messages: talk(60, 1000), MaxTokens: 300}); err != nil {
		t.Errorf("after %d requests: %v", len(s.asked), err)
	}
	s = &server{window: 100, answer: echoing}
	_, err := (&summarize.Model{Chat: s, Name: "fake", Window: 8192}).Summarize(t.Context(), summarize.Request{Messages: talk(60, 1000), MaxTokens: 300})
	if !errors.Is(err, model.ErrTooLong) || len(s.asked) > 10 {
		t.Errorf("after %d requests: %v", len(s.asked), err)
	}
}

func TestAWindowTooSmallForTheInstructionsSaysWhichIsEnough(t *testing.T) {
	r := summarize.Request{Messages: talk(20, 400), MaxTokens: 300}
	_, err := (&summarize.Model{Chat: &server{answer: echoing}, Name: "fake", Window: 512}).Summarize(t.Context(), r)
	var least int
	if err == nil {
		t.Fatal("a window of 512 tokens is enough")
	}
	if _, scan := fmt.Sscanf(err.Error()[strings.LastIndex(err.Error(), " ")+1:], "%d", &least); scan != nil || least <= 512 || least > 1024 {
		t.Fatalf("%v", err)
	}
	if _, err := (&summarize.Model{Chat: &server{answer: echoing}, Name: "fake", Window: least}).Summarize(t.Context(), r); err != nil {
		t.Errorf("with the window that the error names: %v", err)
	}
}

func TestEveryMessageIsReadOnceAndInOrder(t *testing.T) {
	messages := talk(80, 600)
	s := &server{answer: echoing}
	if _, err := (&summarize.Model{Chat: s, Name: "fake", Window: 4096}).Summarize(t.Context(), summarize.Request{Messages: messages, MaxTokens: 300}); err != nil {
		t.Fatal(err)
	}
	var read strings.Builder
	for _, q := range s.asked {
		if strings.Contains(promptOf(q), "===== messages") {
			read.WriteString(data(promptOf(q)) + "\n")
		}
	}
	at := 0
	for i := range messages {
		next := strings.Index(read.String()[at:], fmt.Sprintf("word_%d begins.", i))
		if next < 0 {
			t.Fatalf("message %d is not read behind the one before", i)
		}
		at += next
	}
	if n := strings.Count(read.String(), " begins."); n != len(messages) {
		t.Errorf("%d messages are read, of %d", n, len(messages))
	}
}

func TestALongMessageIsReadFromHeadToTail(t *testing.T) {
	var lines []string
	for i := range 700 {
		lines = append(lines, fmt.Sprintf("line %d of the report, which says how it went", i))
	}
	m := chat.NewText(chat.User, strings.Join(lines, "\n"))
	m.ID = "long"
	s := &server{answer: echoing}
	long := &summarize.Model{Chat: s, Name: "fake", Window: 2048, MaxInput: 100_000}
	if _, err := long.Summarize(t.Context(), summarize.Request{Messages: []chat.Message{m, m}, MaxTokens: 300}); err != nil {
		t.Fatal(err)
	}
	var read []string
	for _, q := range s.asked {
		for line := range strings.Lines(data(promptOf(q))) {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "line ") {
				read = append(read, line)
			}
		}
	}
	if len(s.asked) < 4 || read[0] != lines[0] || !slices.Contains(read, lines[len(lines)-1]) {
		t.Errorf("%d requests read %d lines", len(s.asked), len(read))
	}
}

func TestCallsAndTheirResultsAreReadTogether(t *testing.T) {
	var messages []chat.Message
	for i := range 60 {
		id := fmt.Sprintf("call_%d", i)
		messages = append(messages,
			chat.Message{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, ID: id, Name: "bash", Args: fmt.Sprintf(`{"command":"run step_%d"}`, i)}}},
			chat.NewResult(id, fmt.Sprintf("came of step_%d.%s", i, strings.Repeat(" and went on", 30))))
	}
	s := &server{answer: echoing}
	if _, err := (&summarize.Model{Chat: s, Name: "fake", Window: 2048}).Summarize(t.Context(), summarize.Request{Messages: messages, MaxTokens: 200}); err != nil {
		t.Fatal(err)
	}
	for _, q := range s.asked {
		body := data(promptOf(q))
		for i := range 60 {
			if strings.Contains(body, fmt.Sprintf("run step_%d\"", i)) != strings.Contains(body, fmt.Sprintf("came of step_%d.", i)) {
				t.Errorf("call %d and its result are in different requests", i)
			}
		}
	}
}

func TestALongSessionIsShortenedToWhatTheModelMayRead(t *testing.T) {
	var messages []chat.Message
	for i := range 150 {
		id := fmt.Sprintf("call_%d", i)
		messages = append(messages,
			chat.Message{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Thinking, Text: "hm"}, {Kind: chat.Call, ID: id, Name: "write", Args: `{"path":"a.go","text":"` + strings.Repeat("some code ", 300) + `"}`}}},
			chat.NewResult(id, id+"\n"+strings.Repeat("a line of output that says nothing\n", 100)+"error: it broke\n"+strings.Repeat("a line of output that says nothing\n", 100)))
	}
	for _, most := range []int{0, 2000} {
		s := &server{answer: echoing}
		m := &summarize.Model{Chat: s, Name: "fake", Window: 8192, MaxInput: most}
		if _, err := m.Summarize(t.Context(), summarize.Request{Messages: messages, MaxTokens: 300}); err != nil {
			t.Fatal(err)
		}
		read := 0
		for _, q := range s.asked {
			read += len(data(promptOf(q))) / 4
			if strings.Contains(promptOf(q), "hm\n") || most == 0 && !strings.Contains(promptOf(q), "error: it broke") && strings.Contains(promptOf(q), "===== messages") {
				t.Errorf("most %d: a request with thinking, or without the errors:\n%s", most, promptOf(q))
			}
		}
		if limit := max(most, 2000); most == 0 && read > 40_000 || most > 0 && read > limit*5/4 {
			t.Errorf("most %d: %d tokens in %d requests", most, read, len(s.asked))
		}
		if last := s.asked[len(s.asked)-1]; most > 0 && !strings.Contains(promptOf(last), "call_149") {
			t.Errorf("the newest message is not read")
		}
	}
}

func TestTheFormerSummaryIsMerged(t *testing.T) {
	previous := summarize.Finish("- the port is 9443", "Rules:\n- never", []string{"a_name"}, 0, nil)
	s := &server{answer: echoing}
	if _, err := (&summarize.Model{Chat: s, Name: "fake", Window: 2048}).Summarize(t.Context(), summarize.Request{Messages: talk(40, 400), Previous: previous, MaxTokens: 200}); err != nil {
		t.Fatal(err)
	}
	for i, q := range s.asked {
		if last := i == len(s.asked)-1; strings.Contains(promptOf(q), "the port is 9443") != last || strings.Contains(promptOf(q), "a_name") {
			t.Errorf("request %d of %d:\n%s", i+1, len(s.asked), promptOf(q))
		}
	}
	long := strings.Repeat("- the port of the service is 9443\n", 200)
	s = &server{answer: echoing}
	if _, err := (&summarize.Model{Chat: s, Name: "fake", Window: 2048}).Summarize(t.Context(), summarize.Request{Messages: talk(4, 400), Previous: long, MaxTokens: 200}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(promptOf(s.asked[0]), "[record] of what was before:") {
		t.Errorf("a former summary that is too long for the window is not read first:\n%s", promptOf(s.asked[0]))
	}
}

func TestAnswersThatAreNoSummary(t *testing.T) {
	call := model.Answer{Message: chat.Message{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, Name: "bash", Args: "{}"}}}}
	thought := model.Answer{Message: chat.Message{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Thinking, Text: "hm"}}}}
	cut := saying("The gateway drops sessions, and the next step is to")
	cut.Done = model.CutOff
	whole := saying("The gateway drops sessions. The test fails.")
	whole.Done = model.CutOff
	for name, c := range map[string]struct {
		answer model.Answer
		want   string
	}{
		"a tool call":                  {call, summarize.ToolCall},
		"thinking alone":               {thought, summarize.Thinks},
		"nothing":                      {saying(" \n"), summarize.Empty},
		"only a tag":                   {saying("<think>hm</think>"), summarize.Empty},
		"cut off":                      {cut, summarize.CutOff},
		"cut off at the end of a line": {whole, summarize.CutOff},
		"far too long":                 {saying(strings.Repeat("abcdefgh 0123 ", 40_000)), summarize.TooLong},
	} {
		text, err := (&summarize.Model{Chat: &server{answer: always(c.answer)}, Name: "fake"}).Summarize(t.Context(), summarize.Request{Messages: summarizetest.Session(), MaxTokens: 100})
		var rejected summarize.Rejection
		if !errors.As(err, &rejected) || string(rejected) != c.want || text != "" {
			t.Errorf("%s: %q, error %v", name, text, err)
		}
	}
}

func TestWhatStandsAroundARecordIsTakenOff(t *testing.T) {
	const record = "## Goals\n- the gateway keeps its sessions (m1)\n\n## Outstanding\n- loadSnapshot reads no file (m8)"
	for name, text := range map[string]string{
		"as it is":            record,
		"thinking":            "<think>\nThe user wants…\n</think>\n\n" + record,
		"thinking, half":      "The user wants…\n</think>\n" + record,
		"a fence":             "```markdown\n" + record + "\n```",
		"a greeting":          "Here is the record of the session:\n\n" + record,
		"our fence":           "===== record\n" + record + "\n===== end of record",
		"a line twice":        record + "\n- loadSnapshot reads no file (m8).",
		"an empty section":    record + "\n\n## Sources\n\n## Entities\n",
		"the example":         strings.Replace(record, "\n\n", "\n- never touch the valve_table (x3)\n\n", 1),
		"a sentence, doubled": strings.Replace(record, "- loadSnapshot reads no file (m8)", "- loadSnapshot reads no file (m8)\n- loadSnapshot reads no file (m8)", 1),
	} {
		got, err := (&summarize.Model{Chat: &server{answer: always(saying(text))}, Name: "fake"}).Summarize(t.Context(), summarize.Request{Messages: summarizetest.Session(), MaxTokens: 200})
		if err != nil || got != record {
			t.Errorf("%s:\n%s\nerror %v", name, got, err)
		}
	}
	open := "<think>\nThe user wants"
	if got, err := (&summarize.Model{Chat: &server{answer: always(saying(open))}, Name: "fake"}).Summarize(t.Context(), summarize.Request{Messages: summarizetest.Session()}); err != nil || summarize.Accept(got, summarize.Request{}, 1000) != summarize.Thinks {
		t.Errorf("thinking that is not closed: %q, error %v", got, err)
	}
	tag := "The parser drops what stands before `</think>` in a text."
	if got, err := (&summarize.Model{Chat: &server{answer: always(saying(tag))}, Name: "fake"}).Summarize(t.Context(), summarize.Request{Messages: summarizetest.Session()}); err != nil || got != tag {
		t.Errorf("a tag that is mentioned: %q, error %v", got, err)
	}
}

func TestAModelThatRepeatsItselfIsStopped(t *testing.T) {
	const first = "- the gateway drops sessions after a deploy\n- the test fails: got 0 sessions\n"
	endless := saying(first + strings.Repeat("- the next step is to parse snapshot.json\n", 300) + "- the next st")
	endless.Done = model.CutOff
	prose := saying("The gateway drops sessions after a deploy. " + strings.Repeat("The next step is to parse snapshot.json. It is in loadSnapshot now. ", 100))
	prose.Done = model.CutOff
	for _, c := range []struct {
		answer model.Answer
		want   string
	}{
		{endless, first + "- the next step is to parse snapshot.json"},
		{prose, "The gateway drops sessions after a deploy. The next step is to parse snapshot.json. It is in loadSnapshot now."},
	} {
		for piece := 1; piece < 200; piece += 13 {
			s := &server{answer: always(c.answer), piece: piece}
			got, err := (&summarize.Model{Chat: s, Name: "fake"}).Summarize(t.Context(), summarize.Request{Messages: summarizetest.Session(), MaxTokens: 400})
			if err != nil || got != c.want {
				t.Errorf("pieces of %d bytes:\n%s\nerror %v", piece, got, err)
			}
		}
	}
}

func TestACutAnswerIsUsedWhereItOnlyRepeatedItself(t *testing.T) {
	again := saying("The gateway drops sessions.\nThe next step is this.\n" + strings.Repeat("Go on now. Go on now. ", 60) + "Go o")
	again.Done = model.CutOff
	got, err := (&summarize.Model{Chat: &server{answer: always(again), piece: 1 << 20}, Name: "fake"}).Summarize(t.Context(), summarize.Request{Messages: summarizetest.Session(), MaxTokens: 100})
	if err != nil || !strings.HasPrefix(got, "The gateway drops sessions.\nThe next step is this.") || len(got) > 120 {
		t.Errorf("%q, error %v", got, err)
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

func TestWhereHalfOfThePartsAreRejectedTheSummaryIs(t *testing.T) {
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
			_, err := (&summarize.Model{Chat: s, Name: "fake", Window: 2048}).Summarize(t.Context(), summarize.Request{Messages: talk(n, 400), MaxTokens: 200})
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

func TestProgressIsToldOfEachCall(t *testing.T) {
	var told []summarize.Progress
	s := &server{answer: echoing}
	_, err := (&summarize.Model{Chat: s, Name: "fake", Window: 2048}).Summarize(t.Context(), summarize.Request{Messages: talk(40, 400), MaxTokens: 200, Progress: func(p summarize.Progress) { told = append(told, p) }})
	if err != nil {
		t.Fatal(err)
	}
	began, ended := 0, 0
	for i, p := range told {
		if p.Call > p.Of || p.Call > len(s.asked) || p.Call == len(s.asked) != (p.Step == summarize.StepMerge) {
			t.Errorf("told %+v of %d calls", p, len(s.asked))
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

func TestPartsAreNotAskedForAgain(t *testing.T) {
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

func FuzzAnyAnswerIsTidied(f *testing.F) {
	f.Add("## Goals\n- the port is 8443 (m1)\n")
	f.Add("<think>x</think>\n```\n- a line that is said\n- a line that is said\n```")
	f.Add("Go on now, please do. Go on now, please do. Go on")
	f.Fuzz(func(t *testing.T, text string) {
		m := func(s string) *summarize.Model {
			return &summarize.Model{Chat: &server{answer: always(saying(s)), piece: 7}, Name: "fake"}
		}
		r := summarize.Request{Messages: summarizetest.Session(), MaxTokens: 400}
		got, err := m(text).Summarize(t.Context(), r)
		if err != nil {
			return
		}
		if got == "" || len(got) > len(text) || strings.TrimSpace(got) != got {
			t.Errorf("%q became %q", text, got)
		}
		if again, err := m(got).Summarize(t.Context(), r); err == nil && len(again) > len(got) {
			t.Errorf("%q, then %q", got, again)
		}
	})
}
