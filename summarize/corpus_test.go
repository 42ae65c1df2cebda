package summarize_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/summarize"
)

// corpus holds real sessions; it is not part of the repository.
const corpus = "../../shared/transcripts"

// realSessions reads sessions whose messages are in the OpenAI form, or under
// "messages" in the form of pi.
func realSessions(t testing.TB) map[string][]chat.Message {
	t.Helper()
	sessions := make(map[string][]chat.Message)
	for _, pattern := range []string{"go-openai/*.json", "tokbench/*.json"} {
		files, _ := filepath.Glob(filepath.Join(corpus, pattern))
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			sessions[filepath.Base(f)] = decode(t, b)
		}
	}
	if len(sessions) == 0 {
		t.Skip("no real sessions in " + corpus)
	}
	return sessions
}

// A rawMessage has the fields of both forms.
type rawMessage struct {
	Role    string
	Content any
	Result  string `json:"tool_call_id"`
	PiID    string `json:"toolCallId"`
	IsError bool   `json:"isError"`
	Calls   []struct {
		ID       string
		Function struct{ Name, Arguments string }
	} `json:"tool_calls"`
}

func decode(t testing.TB, b []byte) []chat.Message {
	t.Helper()
	var list []rawMessage
	if json.Unmarshal(b, &list) != nil {
		var pi struct {
			Prompt   string
			Messages []rawMessage
		}
		if err := json.Unmarshal(b, &pi); err != nil {
			t.Fatal(err)
		}
		list = append([]rawMessage{{Role: "user", Content: pi.Prompt}}, pi.Messages...)
	}
	var messages []chat.Message
	for i, raw := range list {
		messages = append(messages, raw.message(fmt.Sprintf("m%d", i+1)))
	}
	return messages
}

func (raw rawMessage) message(id string) chat.Message {
	m := chat.Message{ID: id, Role: chat.Role(raw.Role)}
	kind, call := chat.Text, ""
	if raw.Role == "tool" || raw.Role == "toolResult" {
		m.Role, kind, call = chat.Tool, chat.Result, raw.Result+raw.PiID
	}
	add := func(text string) {
		m.Parts = append(m.Parts, chat.Part{Kind: kind, ID: call, Text: text, Error: raw.IsError})
	}
	switch c := raw.Content.(type) {
	case string:
		add(c)
	case []any:
		for _, e := range c {
			part, _ := e.(map[string]any)
			if text, ok := part["text"].(string); ok {
				add(text)
			}
			if part["type"] == "toolCall" {
				args, _ := json.Marshal(part["arguments"])
				m.Parts = append(m.Parts, chat.Part{Kind: chat.Call, ID: fmt.Sprint(part["id"]), Name: fmt.Sprint(part["name"]), Args: string(args)})
			}
		}
	}
	for _, c := range raw.Calls {
		m.Parts = append(m.Parts, chat.Part{Kind: chat.Call, ID: c.ID, Name: c.Function.Name, Args: c.Function.Arguments})
	}
	return m
}

func TestRealSessionsGiveSummariesThatCanBeUsed(t *testing.T) {
	sessions := realSessions(t)
	for _, name := range slices.Sorted(maps.Keys(sessions)) {
		session := sessions[name][:len(sessions[name])*6/10]
		facts := summarize.FactsOf(session, "", 400, nil)
		if n := (len(facts) + 3) / 4; n > 400 || n < 20 {
			t.Errorf("%s: facts of %d tokens", name, n)
		}
		for _, s := range summarize.Strategies() {
			r := summarize.Request{Messages: session, Strategy: s, MaxTokens: 1024, Facts: facts}
			text := extract(t, r)
			if reason := summarize.Accept(text, r, 4000); reason != "" {
				t.Errorf("%s, %s: not acceptable: %s\n%s", name, s, reason, text)
			}
			if clean, removed := summarize.Verify(text, r); removed > 0 || clean != text {
				t.Errorf("%s, %s: verification removed %d lines", name, s, removed)
			}
			if len(text) < 100 {
				t.Errorf("%s, %s: says next to nothing: %s", name, s, text)
			}
			if *show == name {
				t.Logf("%s\n%s\n\n%s", s, text, facts)
			}
		}
	}
}
