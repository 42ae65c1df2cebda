package summarize_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/model"
	"github.com/tiercompact/tiercompact/summarize"
)

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
		"signs of the fence":     {chat.NewText(chat.User, strings.Repeat("=", 30_000)), chat.NewText(chat.User, "set the_flag "+strings.Repeat("=", 300))},
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

func TestRequestsShrinkForASmallerWindow(t *testing.T) {
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

func TestAWindowTooSmallForTheInstructionsReportsTheMinimum(t *testing.T) {
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

func TestALongSessionIsShortenedToMaxInput(t *testing.T) {
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
	if !strings.Contains(promptOf(s.asked[0]), "[record] of what was before:") || !strings.Contains(promptOf(s.asked[0]), "9443") {
		t.Errorf("a former summary that is too long for the window is not read first:\n%s", promptOf(s.asked[0]))
	}
}
