package summarize

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
)

// corpusDir holds real sessions; it is not part of the repository.
const corpusDir = "../../shared/transcripts/go-openai"

// realSessions reads OpenAI messages, for measurements on real sessions.
func realSessions(t testing.TB) map[string][]chat.Message {
	files, _ := filepath.Glob(filepath.Join(corpusDir, "*.json"))
	if len(files) == 0 {
		t.Skip("no real sessions in " + corpusDir)
	}
	sessions := make(map[string][]chat.Message)
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		sessions[filepath.Base(f)] = decodeOpenAI(t, b)
	}
	return sessions
}

func decodeOpenAI(t testing.TB, b []byte) []chat.Message {
	var raw []struct {
		Role    chat.Role
		Content any
		ID      string `json:"tool_call_id"`
		Calls   []struct {
			ID       string
			Function struct{ Name, Arguments string }
		} `json:"tool_calls"`
	}
	if err := json.Unmarshal(b, &raw); err != nil {
		t.Fatal(err)
	}
	var messages []chat.Message
	for i, r := range raw {
		m := chat.Message{ID: "m" + itoa(i+1), Role: r.Role}
		text, _ := r.Content.(string)
		switch {
		case r.Role == chat.Tool:
			m.Parts = append(m.Parts, chat.Part{Kind: chat.Result, ID: r.ID, Text: text})
		case text != "":
			m.Parts = append(m.Parts, chat.Part{Kind: chat.Text, Text: text})
		}
		for _, c := range r.Calls {
			m.Parts = append(m.Parts, chat.Part{Kind: chat.Call, ID: c.ID, Name: c.Function.Name, Args: c.Function.Arguments})
		}
		messages = append(messages, m)
	}
	return messages
}

func itoa(n int) string { b, _ := json.Marshal(n); return string(b) }
