package wire

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// shapes are small inputs in every form of the writable formats, each with its
// expected format and number of messages.
var shapes = []struct {
	name, format, in string
	messages         int
}{
	{"list", "openai", `[{"role":"user","content":"hi"},{"role":"assistant","content":"hello"}]` + "\n", 2},
	{"no line feed at the end", "openai", `[{"role":"user","content":"hi"}]`, 1},
	{"empty list", "openai", "[ ]\n", 0},
	{"empty body", "openai", `{"model":"m","messages":[]}`, 0},
	{"indented, odd spaces", "openai", "[\n  {\n    \"role\" : \"user\",\n    \"content\" : \"hi\"\n  } ,\n\n  {\"role\":\"assistant\",\"content\":\"a\"}\n]\n\n", 2},
	{"CRLF and mark", "openai", "\ufeff[\r\n{\"role\":\"user\",\"content\":\"hi\"},\r\n{\"role\":\"user\",\"content\":\"a\\r\\nb\"}\r\n]\r\n", 2},
	{"lone surrogate", "openai", `[{"role":"user","content":"x\ud83d \u00e9 \/"},{"role":"assistant","content":"\ud83d\ude00"}]`, 2},
	{"unknown fields", "openai", `[{"x":{"y":[1,2.50e1,null]},"role":"user","name":"bob","content":"hi","refusal":null}]`, 1},
	{"body", "openai", `{"stream":true,"messages":[{"role":"system","content":"s"},{"role":"user","content":"hi"}],"model":"m","tools":[{"type":"function","function":{"name":"f"}}],"z":1}`, 2},
	{"calls with null content", "openai", `[{"role":"user","content":"q"},{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","index":0,"function":{"name":"f","arguments":"{\"x\": 1}"}},{"id":"b","type":"function","function":{"name":"g","arguments":""}}]},{"role":"tool","tool_call_id":"a","content":"1"},{"role":"tool","tool_call_id":"b","name":"g","content":[{"type":"text","text":"2"},{"type":"text","text":"3"}]}]`, 4},
	{"calls with empty content", "openai", `[{"role":"user","content":"q"},{"role":"assistant","content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"not json"}}]},{"role":"tool","tool_call_id":"a","content":""}]`, 3},
	{"old functions", "openai", `[{"role":"user","content":"q"},{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}},{"role":"function","name":"f","content":"r"}]`, 3},
	{"custom tool", "openai", `[{"role":"user","content":"q"},{"role":"assistant","tool_calls":[{"id":"a","type":"custom","custom":{"name":"patch","input":"*** Begin"}}]},{"role":"tool","tool_call_id":"a","content":"ok"}]`, 3},
	{"image parts", "openai", `[{"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo=","detail":"low"}},{"type":"image_url","image_url":{"url":"https://example.com/a.png"}},{"type":"input_audio","input_audio":{"data":"AAAA","format":"wav"}}]}]`, 1},
	{"reasoning", "openai", `[{"role":"user","content":"q"},{"role":"assistant","content":"a","reasoning_content":"because"},{"role":"assistant","content":"a","reasoning":"b","reasoning_details":[{"type":"reasoning.text"}]}]`, 3},
	{"thinking in blocks", "openai", `[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"a"},{"type":"refusal","refusal":"no"},"x"],"tool_calls":[{"id":"a","name":"f","arguments":{"x":1}},{"id":"b","type":"custom","custom":{"name":"g"}}]},{"role":"tool","tool_call_id":"a","content":"1"},{"role":"tool","tool_call_id":"b","content":[{"type":"input_image","image_url":"https://example.com/a.png","detail":"low"}]}]`, 4},
	{"all variants of calls", "openai", `[{"role":"user","content":"q"},{"role":"assistant","content":"","function_call":{"arguments":"","name":""},"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"},"custom":{"input":"","name":""},"type":"function"},{"id":"b","function":{"name":"","arguments":""},"custom":{"input":"text","name":"g"},"type":"custom"}]},{"role":"tool","tool_call_id":"a","content":"1"},{"role":"tool","tool_call_id":"b","content":[{"type":"hologram"}]},{"role":"assistant","content":"done","function_call":{"arguments":"","name":""},"tool_calls":null}]`, 5},
	{"developer", "openai", `[{"role":"developer","content":"d"},{"role":"user","content":"hi"}]`, 2},
	{"repeated keys", "openai", `[{"role":"assistant","content":"a","role":"user","content":"b"}]`, 1},
	{"protected", "openai", `[{"role":"user","content":"hi","meta":{"protected":true}},{"role":"user","content":"hi","protected":true}]`, 2},

	{"body with system text", "anthropic", `{"model":"claude-x","max_tokens":9,"system":"be brief","messages":[{"role":"user","content":"hi"}]}`, 2},
	{"body with system blocks behind", "anthropic", "{\"max_tokens\":9, \"messages\": [ {\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"hi\",\"cache_control\":{\"type\":\"ephemeral\"}}]} ],\n\"system\": [{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"text\",\"text\":\"b\"}]}\n", 2},
	{"tools known by their schema", "anthropic", `{"messages":[{"role":"user","content":"hi"}],"tools":[{"name":"f","input_schema":{"type":"object"}}]}`, 1},
	{"blocks", "anthropic", anthropicBlocksFixture, 7},
	{"redacted thinking", "anthropic", `[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"redacted_thinking","data":"xyz"},{"type":"text","text":"a"}]}]`, 2},
	{"images", "anthropic", `[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}},{"type":"image","source":{"type":"url","url":"https://example.com/a.png"}},{"type":"text","text":"?"}]}]`, 1},
	{"document", "anthropic", `[{"role":"user","content":[{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0="}},{"type":"text","text":"?"}]}]`, 1},
	{"text before the result", "anthropic", `[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]},{"role":"user","content":[{"type":"text","text":"t"},{"type":"tool_result","tool_use_id":"a","content":"r"}]}]`, 3},
	{"empty contents", "anthropic", `{"system":"s","messages":[{"role":"user","content":""},{"role":"assistant","content":[]},{"role":"user","content":"x"}]}`, 4},

	{"tools of the server", "anthropic", `[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"server_tool_use","id":"s","name":"web_search","input":{"query":"a"}},{"type":"web_search_tool_result","tool_use_id":"s","content":[{"type":"web_search_result","title":"t","url":"u","encrypted_content":"QUJD"}]},{"type":"text","text":"a","citations":[{"type":"web_search_result_location","encrypted_index":"QUJD"}]}]},{"role":"user","content":"and?"},{"role":"assistant","content":[{"type":"mcp_tool_use","id":"m","name":"ask","server_name":"w","input":{}},{"type":"tool_use","id":"c","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"r"}]},{"role":"assistant","content":[{"type":"mcp_tool_result","tool_use_id":"m","is_error":false,"content":"x"},{"type":"text","text":"b"}]}]`, 6},
	{"unknown blocks", "anthropic", `{"system":[{"type":"hologram"}],"messages":[{"role":"user","content":[{"type":"search_result","source":"s","title":"t","content":[{"type":"text","text":"x"}]},{"type":"text","text":"q"}]},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":{}},{"type":"hologram","n":1}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[{"type":"tool_reference","tool_name":"g"},{"type":"text","text":"r"}]}]}]}`, 4},

	{"arguments as objects", "ollama", `{"model":"llama3.2","messages":[{"role":"user","content":"q"},{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":{"x":1}}},{"function":{"name":"f","arguments":{"x":2}}},{"function":{"index":2,"name":"g","arguments":{}}}]},{"role":"tool","tool_name":"g","content":"3"},{"role":"tool","tool_name":"f","content":"1"},{"role":"tool","tool_name":"f","content":"2"}],"stream":false,"options":{"num_ctx":4096}}`, 5},
	{"images beside", "ollama", `[{"role":"user","content":"see","images":["iVBORw0KGgo=","/9j/4AAQ"]},{"role":"assistant","content":"a cat","thinking":"hm"}]`, 2},
	{"body known by its options", "ollama", `{"model":"m","messages":[{"role":"user","content":"q"}],"options":{"num_ctx":4096}}`, 1},

	{"lines", "jsonl", "{\"role\":\"user\",\"content\":\"hi\"}\n{\"role\":\"assistant\",\"content\":\"hello\",\"meta\":{\"protected\":true}}\n", 2},
	{"one line", "jsonl", `{"role":"user","content":"hi"}`, 1},
	{"lines with CRLF, blank lines, two on one", "jsonl", "\ufeff\r\n{\"role\":\"user\",\"content\":\"hi\"}\r\n\r\n{\"role\":\"assistant\",\"content\":\"a\"} {\"role\":\"user\",\"content\":\"b\"}{\"role\":\"user\",\"content\":\"c\"}\r\n \r\n", 4},
	{"lines with calls", "jsonl", "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"a\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]}\n{\"role\":\"tool\",\"tool_call_id\":\"a\",\"content\":\"r\"}", 2},
	{"lines with blocks", "jsonl", "{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"f\",\"input\":{}}]}\n{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"a\",\"content\":\"r\"},{\"type\":\"text\",\"text\":\"go on\"}]}\n", 3},
}

const anthropicBlocksFixture = `{
  "model": "claude-x", "max_tokens": 1024,
  "thinking": {"type": "enabled", "budget_tokens": 512},
  "messages": [
    {"role": "user", "content": "list \u00e4 and b"},
    {"role": "assistant", "content": [
      {"type": "thinking", "thinking": "two\u0020calls", "signature": "c2ln"},
      {"type": "text", "text": "I look."},
      {"type": "tool_use", "id": "toolu_1", "name": "ls", "input": {"path": "a", "deep": 1.0}, "caller": {"type": "direct"}},
      {"type": "tool_use", "id": "toolu_2", "name": "ls", "input": {"path": "b"}}
    ]},
    {"role": "user", "content": [
      {"type": "tool_result", "tool_use_id": "toolu_1", "content": "x.go", "cache_control": {"type": "ephemeral"}},
      {"type": "tool_result", "tool_use_id": "toolu_2", "is_error": true, "content": [
        {"type": "text", "text": "no such folder", "n": 1},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
      ]},
      {"type": "text", "text": "and c?"}
    ], "extra": true},
    {"role": "assistant", "content": [{"type": "text", "text": "There is x.go."}]},
    {"role": "user", "content": [{"type": "text", "text": "thanks"}]}
  ],
  "tools": [{"name": "ls", "description": "list", "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}}}]
}
`

func decoded(t testing.TB, in string) Conversation {
	t.Helper()
	c, err := DecodeBytes([]byte(in), Options{Name: "in"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func encoded(t testing.TB, c Conversation, to string) string {
	t.Helper()
	var out bytes.Buffer
	if err := Encode(&out, c, to); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestFormatIsDetectedByContent(t *testing.T) {
	for _, s := range shapes {
		if c := decoded(t, s.in); c.Format != s.format || len(c.Messages) != s.messages {
			t.Errorf("%s: %s with %d messages, want %s with %d", s.name, c.Format, len(c.Messages), s.format, s.messages)
		}
	}
}

func TestUntouchedConversationKeepsItsBytes(t *testing.T) {
	for _, s := range shapes {
		if got := encoded(t, decoded(t, s.in), ""); got != s.in {
			t.Errorf("%s:\n%s\nbecame\n%s", s.name, s.in, got)
		}
	}
}

// FuzzDecode: no input panics; a readable one comes back byte for byte, and can be
// written in every format.
func FuzzDecode(f *testing.F) {
	for _, s := range shapes {
		f.Add([]byte(s.in), false)
	}
	f.Add([]byte("{\"role\":\"user\",\"content\":\"hi\"}\n{\"role\":\"user\"\n{\"role\":\"user\",\"content\":3}\n"), true)
	f.Add([]byte(`[{"role":"user","content":"a"},{"role":"assistant","content":"\ud8`), false)
	f.Add([]byte("[{\"role\":\"assistant\",\"tool_calls\":[{\"\xe6\":{}}]}]"), true)
	f.Add([]byte(`[{"traj":[{"role":"user","content":"a"}]},{"traj":[]}]`), false)
	f.Fuzz(func(t *testing.T, data []byte, lenient bool) {
		c, err := DecodeBytes(data, Options{Lenient: lenient})
		if err != nil {
			var typed *Error
			if !errors.As(err, &typed) || typed.Unwrap() == nil || typed.Problem == "" {
				t.Fatalf("untyped error %v", err)
			}
			return
		}
		writable := false
		for _, format := range Formats() {
			if !format.Writable {
				continue
			}
			writable = writable || c.Format == format.Name
			checkJSON(t, encoded(t, c, format.Name))
		}
		if writable && c.Skipped == 0 && c.Unfinished == 0 {
			want := string(data)
			if c.Replaced > 0 {
				want = string([]rune(want)) // U+FFFD for each invalid byte
			}
			if out := encoded(t, c, ""); out != want {
				t.Fatalf("%q became %q", data, out)
			}
		}
	})
}

// checkJSON fails if out is not JSON: one document, or one object a line.
func checkJSON(t testing.TB, out string) {
	t.Helper()
	src := &source{text: strings.TrimPrefix(out, "\ufeff")}
	if err := src.eachJSONLine(func(value) error { return nil }); err != nil {
		if _, err := src.document(); err != nil {
			t.Fatalf("%v in %q", err, out)
		}
	}
}
