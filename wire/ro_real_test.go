package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
)

const transcripts = "../../shared/transcripts"

// decodeSession decodes a real session, or skips the test if there are none.
func decodeSession(t *testing.T, file string) ([]byte, Conversation) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	c, err := DecodeBytes(data, Options{Name: filepath.Base(file)})
	if err != nil {
		t.Fatal(err)
	}
	if err := sound(c.Messages); err != nil {
		t.Error(err)
	}
	return data, c
}

func logFiles(t *testing.T, pattern string) []string {
	t.Helper()
	if _, err := os.Stat(transcripts); err != nil {
		t.Skip("no real transcripts beside the repository")
	}
	files, err := filepath.Glob(filepath.Join(transcripts, pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files %s: %v", pattern, err)
	}
	return files
}

// tally counts the content of a conversation.
type tally struct{ calls, results int }

func tallyOf(messages chat.Transcript) tally {
	var n tally
	for _, m := range messages {
		for _, p := range m.Parts {
			switch p.Kind {
			case chat.Call:
				n.calls++
			case chat.Result:
				n.results++
			}
		}
	}
	return n
}

// eachObject calls f with every JSON object in data, at any depth.
func eachObject(t *testing.T, data []byte, f func(o map[string]any)) {
	t.Helper()
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			f(v)
			for _, e := range v {
				walk(e)
			}
		case []any:
			for _, e := range v {
				walk(e)
			}
		}
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	for {
		var v any
		if err := dec.Decode(&v); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		walk(v)
	}
}

// The counts do not use the package: they are the objects of the kinds of calls and
// results, anywhere in the file. None of these files has a compaction.
func TestRealSessionsKeepTheirCallsAndResults(t *testing.T) {
	tests := []struct {
		files, format string
		count         func(n *tally, seen map[string]bool, o map[string]any)
	}{
		{"claude-code/*.jsonl", "claudecode", countClaude},
		{"codex/*.jsonl", "codex", func(n *tally, _ map[string]bool, o map[string]any) {
			switch o["type"] {
			case "function_call", "custom_tool_call":
				n.calls++
			case "function_call_output", "custom_tool_call_output":
				n.results++
			}
		}},
		{"pi/*", "pi", countPi},
		{"tokbench/*", "pi", countPi},
		{"gemini/*", "geminicli", func(n *tally, _ map[string]bool, o map[string]any) {
			if _, ok := o["args"]; ok {
				n.calls++
			}
			if _, ok := o["functionResponse"]; ok {
				n.results++
			}
		}},
		{"swe-agent/*", "sweagent", func(n *tally, _ map[string]bool, o map[string]any) {
			if history, ok := o["history"].([]any); ok {
				for _, m := range history {
					calls, _ := m.(map[string]any)["tool_calls"].([]any)
					ids, _ := m.(map[string]any)["tool_call_ids"].([]any)
					n.calls, n.results = n.calls+len(calls), n.results+len(ids)
				}
			}
		}},
		{"mini-swe-agent/*", "minisweagent", func(*tally, map[string]bool, map[string]any) {}},
		{"openhands/goal-events.jsonl", "openhands", func(n *tally, _ map[string]bool, o map[string]any) {
			switch o["kind"] {
			case "ActionEvent":
				n.calls++
			case "ObservationEvent":
				n.results++
			}
		}},
	}
	for _, test := range tests {
		for _, file := range logFiles(t, test.files) {
			t.Run(filepath.Base(file), func(t *testing.T) {
				data, c := decodeSession(t, file)
				var want tally
				seen := make(map[string]bool)
				eachObject(t, data, func(o map[string]any) { test.count(&want, seen, o) })
				if got := tallyOf(c.Messages); got != want {
					t.Errorf("has %+v, the file %+v", got, want)
				}
				if c.Format != test.format {
					t.Errorf("detected as %s", c.Format)
				}
			})
		}
	}
}

func countClaude(n *tally, seen map[string]bool, o map[string]any) {
	message, _ := o["message"].(map[string]any)
	blocks, _ := message["content"].([]any)
	if _, ok := o["sessionId"]; !ok {
		return // text of a sub-agent, in a progress record
	}
	for _, block := range blocks {
		b, _ := block.(map[string]any)
		key := fmt.Sprint(b["type"], b["id"], b["tool_use_id"])
		switch {
		case seen[key]:
		case b["type"] == "tool_use":
			n.calls++
		case b["type"] == "tool_result":
			n.results++
		}
		seen[key] = true
	}
}

func countPi(n *tally, _ map[string]bool, o map[string]any) {
	switch {
	case o["type"] == "toolCall":
		n.calls++
	case o["role"] == "toolResult":
		n.results++
	}
}

func TestCondensedOpenHandsSessionIsTheModelsView(t *testing.T) {
	for _, file := range logFiles(t, "openhands/tls-scanner.json") {
		_, c := decodeSession(t, file)
		// Of events 8 to 141 nothing is left; 23 calls follow them.
		if got, want := tallyOf(c.Messages), (tally{23, 23}); got != want {
			t.Errorf("has %+v, want %+v", got, want)
		}
		summaries := 0
		for _, m := range c.Messages {
			if strings.HasPrefix(m.Text(), "<CONTEXT_STATE>") {
				summaries++
			}
		}
		if summaries != 1 || !strings.HasPrefix(c.Messages[2].Text(), "<CONTEXT_STATE>") {
			t.Errorf("%d summaries, want the newest behind the first user message", summaries)
		}
	}
}

func TestAiderHistoryHasNoConsoleLines(t *testing.T) {
	for _, file := range logFiles(t, "aider/*") {
		data, c := decodeSession(t, file)
		typed := 0
		for _, m := range c.Messages {
			if m.Typed() {
				typed++
			}
			if m.Role == chat.Assistant && (strings.Contains(m.Text(), "\n> Applied edit") || strings.Contains(m.Text(), aiderStart)) {
				t.Errorf("an assistant's message has lines of the program: %.200q", m.Text())
			}
		}
		questions, before := 0, false
		for line := range strings.Lines(string(data)) {
			asks := strings.HasPrefix(line, "#### ") && strings.TrimSpace(line) != "####"
			if command := strings.TrimPrefix(line, "#### "); strings.HasPrefix(command, "/") || strings.HasPrefix(command, "!") {
				asks = false // the text for the model is on a line of its own
			}
			if asks && !before {
				questions++
			}
			before = strings.HasPrefix(line, "####")
		}
		if typed < questions*9/10 || typed > questions {
			t.Errorf("%d messages of the user, the file has %d questions", typed, questions)
		}
	}
}

func TestFixturesOfOtherTools(t *testing.T) {
	formats := map[string]string{ // by how the name begins; "" is an error
		"claude__": "claudecode", "codex__": "codex", "codex_05": "", "gemini__": "geminicli", "gemini__schema_drift": "gemini",
		"qwen__": "geminicli", "pi__": "pi", "openclaw__": "pi", "opencode__": "",
		"session_branch": "codex", "session_toolcall": "codex",
		"copilot__": "", "cursor__": "", "droid__": "", "grok__": "", "kimi__": "", "antigravity__": "",
	}
	for _, file := range logFiles(t, "format-fixtures/*") {
		name := filepath.Base(file)
		want, longest := "", 0
		for prefix, format := range formats {
			if strings.HasPrefix(name, prefix) && len(prefix) > longest {
				want, longest = format, len(prefix)
			}
		}
		if longest == 0 || strings.HasSuffix(name, ".meta.json") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			c, err := DecodeBytes(data, Options{Name: name})
			if err != nil && !errors.As(err, new(*Error)) {
				t.Errorf("error of type %T: %v", err, err)
			}
			if c.Format != want {
				t.Errorf("format %q (%v), want %q", c.Format, err, want)
			}
			if err == nil && sound(c.Messages) != nil {
				t.Error(sound(c.Messages))
			}
		})
	}
}
