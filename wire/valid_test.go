package wire

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
)

// The validators here make the checks of the servers, as far as they are known:
// they return the first reason to reject a request.

type openAIMessage struct {
	Role       string
	Content    any
	ToolCallID string `json:"tool_call_id"`
	ToolCalls  []struct {
		ID, Type string
		Function struct{ Name, Arguments string }
	} `json:"tool_calls"`
}

func refusedByOpenAI(messages []openAIMessage) error {
	open := map[string]bool{}
	for i, m := range messages {
		if m.Role == "tool" {
			if !open[m.ToolCallID] {
				return fmt.Errorf("message %d answers no call before it: %q", i, m.ToolCallID)
			}
			delete(open, m.ToolCallID)
			continue
		}
		if len(open) > 0 {
			return fmt.Errorf("message %d comes before %d results", i, len(open))
		}
		if m.Content == nil && len(m.ToolCalls) == 0 {
			return fmt.Errorf("message %d has neither content nor calls", i)
		}
		for _, c := range m.ToolCalls {
			if c.ID == "" || c.Type != "function" || c.Function.Name == "" || !json.Valid([]byte(c.Function.Arguments)) {
				return fmt.Errorf("message %d has a bad call %+v", i, c)
			}
			open[c.ID] = true
		}
	}
	return nil
}

type anthropicRequest struct {
	Model    string
	Max      int `json:"max_tokens"`
	System   any
	Tools    []struct{ Name string } `json:"tools"`
	Messages []struct {
		Role    string
		Content any
	}
}

var toolID = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

func refusedByAnthropic(r anthropicRequest) error {
	if r.Model != "" && r.Max == 0 || r.Tools != nil && len(r.Tools) == 0 || r.System == "" {
		return fmt.Errorf("bad body %q %d %v", r.Model, r.Max, r.System)
	}
	seen := map[string]bool{}
	var open []string
	for i, m := range r.Messages {
		if m.Role != "user" && m.Role != "assistant" {
			return fmt.Errorf("message %d has role %q", i, m.Role)
		}
		if m.Content == "" || m.Content == nil {
			return fmt.Errorf("message %d is empty", i)
		}
		blocks, _ := m.Content.([]any)
		if _, text := m.Content.(string); !text && len(blocks) == 0 {
			return fmt.Errorf("message %d has no blocks", i)
		}
		var results, calls []string
		for j, b := range blocks {
			block := b.(map[string]any)
			switch block["type"] {
			case "text":
				if block["text"] == "" {
					return fmt.Errorf("message %d has an empty text", i)
				}
			case "tool_use":
				id, _ := block["id"].(string)
				if _, is := block["input"].(map[string]any); !is || seen[id] || !toolID.MatchString(id) {
					return fmt.Errorf("message %d has a bad call %v", i, block)
				}
				seen[id] = true
				calls = append(calls, id)
			case "tool_result":
				if len(results) < j {
					return fmt.Errorf("message %d has results behind other blocks", i)
				}
				results = append(results, block["tool_use_id"].(string))
			}
		}
		slices.Sort(open)
		slices.Sort(results)
		if !slices.Equal(open, results) {
			return fmt.Errorf("message %d answers %v, not %v", i, results, open)
		}
		open = calls
	}
	return nil
}

type ollamaMessage struct {
	Role, Content string
	Thinking      string
	Images        [][]byte
	ToolName      string `json:"tool_name"`
	ToolCalls     []struct {
		Function struct {
			Name      string
			Arguments map[string]any
		}
	} `json:"tool_calls"`
}

func refusedByOllama(messages []ollamaMessage) error {
	var open []string
	for i, m := range messages {
		switch m.Role {
		case "system", "user", "assistant":
			if len(open) > 0 {
				return fmt.Errorf("message %d comes before results of %v", i, open)
			}
		case "tool":
			at := slices.Index(open, m.ToolName)
			if at < 0 {
				return fmt.Errorf("message %d is of %q, not of one of %v", i, m.ToolName, open)
			}
			open = slices.Delete(open, at, at+1)
		default:
			return fmt.Errorf("message %d has role %q", i, m.Role)
		}
		for _, c := range m.ToolCalls {
			if c.Function.Arguments == nil || c.Function.Name == "" {
				return fmt.Errorf("message %d has a bad call", i)
			}
			open = append(open, c.Function.Name)
		}
	}
	return nil
}

// refused returns an API's reason to reject out.
func refused(t testing.TB, format, out string) error {
	t.Helper()
	messages := func(into any) error {
		if out[0] == '{' {
			return json.Unmarshal([]byte(fieldIn(out, "messages")), into)
		}
		return json.Unmarshal([]byte(out), into)
	}
	switch format {
	case "openai":
		var m []openAIMessage
		if err := messages(&m); err != nil {
			return err
		}
		return refusedByOpenAI(m)
	case "ollama":
		var m []ollamaMessage
		if err := messages(&m); err != nil {
			return err
		}
		return refusedByOllama(m)
	case "anthropic":
		var r anthropicRequest
		if out[0] == '{' {
			if err := json.Unmarshal([]byte(out), &r); err != nil {
				return err
			}
		} else if err := json.Unmarshal([]byte(out), &r.Messages); err != nil {
			return err
		}
		return refusedByAnthropic(r)
	}
	checkJSON(t, out)
	return nil
}

func fieldIn(out, key string) string { return parseObject(out).rawValue(key) }

func TestConvertedConversationIsValidForTheAPI(t *testing.T) {
	for _, s := range shapes {
		for _, to := range []string{"openai", "anthropic", "ollama", "jsonl"} {
			if to == s.format { // the original bytes
				continue
			}
			out := encoded(t, decoded(t, s.in), to)
			if err := refused(t, to, out); err != nil {
				t.Errorf("%s, written as %s: %v\n%s", s.name, to, err, out)
			}
		}
	}
}

// gist is the content of a message that every format supports.
func gist(m chat.Message) string {
	var s strings.Builder
	s.WriteString(string(m.Role) + " " + m.Text())
	for _, p := range m.Parts {
		switch p.Kind {
		case chat.Call:
			s.WriteString(" call " + p.Name + compact(argumentsObject(p)))
		case chat.Image:
			s.WriteString(" image " + p.Image.Data + p.Image.URL)
		}
	}
	return s.String()
}

func compact(raw string) string {
	var v any
	if json.Unmarshal([]byte(raw), &v) != nil {
		return raw
	}
	out, _ := json.Marshal(v)
	return string(out)
}

func TestConvertedConversationHasTheSameContent(t *testing.T) {
	plain := []string{"blocks", "arguments as objects", "calls with null content", "lines with blocks", "body"}
	for _, s := range shapes {
		if !slices.Contains(plain, s.name) {
			continue
		}
		c := decoded(t, s.in)
		for _, to := range []string{"openai", "anthropic", "ollama", "jsonl"} {
			again, err := DecodeBytes([]byte(encoded(t, c, to)), Options{Format: to})
			if err != nil {
				t.Fatal(err)
			}
			if len(again.Messages) != len(c.Messages) {
				t.Errorf("%s as %s: %d messages of %d", s.name, to, len(again.Messages), len(c.Messages))
				continue
			}
			was, is := chat.PairUp(c.Messages), chat.PairUp(again.Messages)
			for i := range c.Messages {
				if a, b := gist(c.Messages[i]), gist(again.Messages[i]); a != b {
					t.Errorf("%s as %s, message %d: %q became %q", s.name, to, i, a, b)
				}
			}
			if !slices.Equal(was.CallOf, is.CallOf) {
				t.Errorf("%s as %s: pairs %v became %v", s.name, to, was.CallOf, is.CallOf)
			}
		}
	}
}
