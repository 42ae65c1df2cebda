package wire

import (
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
)

// TestFaults has an example of each known kind of fault in requests, numbered.
func TestFaults(t *testing.T) {
	calls := func(content, arguments string) string {
		return `[{"role":"user","content":"q"},{"role":"assistant","content":` + content + `,"tool_calls":[{"id":"functions.ls:1","type":"function","function":{"name":"ls","arguments":` + arguments + `}}]},{"role":"tool","tool_call_id":"functions.ls:1","content":"r"}]`
	}
	twice := strings.TrimSuffix(calls("null", `"{}"`), "]") + "," + strings.TrimPrefix(calls("null", `"{}"`), "[")
	for _, c := range []struct {
		name, in, to string
		holds, not   []string
	}{
		{"8 repeated ids are distinguished", twice, "anthropic", []string{`"id":"functions_ls_1"`, `"id":"functions_ls_1_1"`, `"tool_use_id":"functions_ls_1_1"`}, nil},
		{"13 calls without a text stay", calls(`""`, `"{}"`), "anthropic", []string{`"content":[{"type":"tool_use"`}, []string{`"text":""`}},
		{"14 null beside calls is no text", calls("null", `"{}"`), "ollama", []string{`"content":"","tool_calls"`}, []string{"null", "None"}},
		{"15 an empty text beside calls becomes null", calls(`""`, `"{}"`), "jsonl", []string{`"content":null,"tool_calls"`}, nil},
		{"16 an empty message is not sent as a block", `[{"role":"user","content":"q"},{"role":"assistant","content":""}]`, "anthropic", []string{`[{"role":"user","content":"q"}]`}, nil},
		{"17 a list becomes a string if one is required", `[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]`, "ollama", []string{`"content":"a\nb"`}, nil},
		{"22 arguments that are no JSON are wrapped", calls("null", `"{\"path\": \"a"`), "anthropic", []string{`"input":{"input":"{\"path\": \"a"}`}, nil},
		{"22 arguments that are not JSON stay unchanged", calls("null", `"{\"path\": \"a"`), "openai", []string{`"arguments":"{\"path\": \"a"`}, nil},
		{"27 a lone surrogate passes", `[{"role":"user","content":"\ud83d"}]`, "openai", []string{`"\ud83d"`}, nil},
		{"27 a lone surrogate is never written anew", `[{"role":"user","content":"\ud83d"}]`, "ollama", []string{"\ufffd"}, []string{`\ud`}},
		{"29 CRLF in a text stays", `[{"role":"user","content":"a\r\nb"}]`, "anthropic", []string{`"a\r\nb"`}, nil},
		{"30 results come before the text", `[{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":"r"},{"role":"user","content":"go on"}]`, "anthropic",
			[]string{`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"r"},{"type":"text","text":"go on"}]}`}, nil},
		{"31 a second system message is no role of its own", `[{"role":"system","content":"s"},{"role":"user","content":"q"},{"role":"system","content":"t"}]`, "anthropic", []string{`"system":"s"`, `{"role":"user","content":"t"}`}, []string{`"role":"system"`}},
		{"33 developer is system if it is unknown", `[{"role":"developer","content":"d"},{"role":"user","content":"q"}]`, "ollama", []string{`"role":"system"`}, []string{"developer"}},
		{"37 thinking without a signature is left out", `[{"role":"user","content":"q"},{"role":"assistant","content":"a","reasoning_content":"why"}]`, "anthropic", nil, []string{"why", "thinking"}},
		{"39 reasoning goes with its message", anthropicBlocksFixture, "openai", []string{`"reasoning_content":"two calls"`}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := encoded(t, decoded(t, c.in), c.to)
			for _, w := range c.holds {
				if !strings.Contains(got, w) {
					t.Errorf("no %s in %s", w, got)
				}
			}
			for _, n := range c.not {
				if strings.Contains(got, n) {
					t.Errorf("%s in %s", n, got)
				}
			}
		})
	}
}

// Fault 37: a block of an assistant message with thinking changes, and the thinking
// keeps its bytes.
func TestThinkingKeepsItsBytesWhenItsNeighbourChanges(t *testing.T) {
	c := decoded(t, anthropicBlocksFixture)
	c.Messages = retold(c.Messages, 1, 1, "I see.")
	if got := encoded(t, c, ""); !strings.Contains(got, `{"type": "thinking", "thinking": "two\u0020calls", "signature": "c2ln"}`) {
		t.Error(got)
	}
	for i := range c.Messages { // as after a session was saved and loaded
		c.Messages[i].Source = nil
	}
	if got := encoded(t, c, ""); !strings.Contains(got, `{"type": "thinking", "thinking": "two\u0020calls", "signature": "c2ln"}`) {
		t.Error(got)
	}
}

// Thinking among the blocks of an OpenAI message stays there.
func TestThinkingAmongBlocksStays(t *testing.T) {
	in := `[{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"long","n":1}]}]`
	c := decoded(t, in)
	c.Messages = retold(c.Messages, 0, 1, "l")
	if got := encoded(t, c, ""); got != strings.Replace(in, "long", "l", 1) {
		t.Error(got)
	}
	c = decoded(t, `[{"role":"assistant","content":"a","reasoning":"b","reasoning_details":[1]}]`)
	c.Messages[0] = c.Messages[0].With(chat.Outlined, c.Messages[0].Parts[1])
	if got := encoded(t, c, ""); got != `[{"role":"assistant","content":"a"}]` {
		t.Error(got)
	}
}

func TestImagesGoIntoEachFormsOwnPlace(t *testing.T) {
	c := Conversation{Messages: chat.Transcript{{Role: chat.User, Parts: []chat.Part{
		{Kind: chat.Text, Text: "see"},
		{Kind: chat.Image, Image: &chat.Picture{Data: "/9j/4AAQ"}},
		{Kind: chat.Image, Image: &chat.Picture{URL: "https://example.com/a.png", Detail: "low"}},
	}}, {Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Image, Image: &chat.Picture{Data: "R0lG"}}}}}}
	for to, want := range map[string]string{
		"openai": `[{"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:image/jpeg;base64,/9j/4AAQ"}},` +
			`{"type":"image_url","image_url":{"url":"https://example.com/a.png","detail":"low"}}]},{"role":"assistant","content":"[image]"}]`,
		"anthropic": `[{"role":"user","content":[{"type":"text","text":"see"},{"type":"image","source":{"type":"base64","media_type":"image/jpeg","data":"/9j/4AAQ"}},` +
			`{"type":"image","source":{"type":"url","url":"https://example.com/a.png"}}]},{"role":"assistant","content":"[image]"}]`,
		"ollama": `[{"role":"user","content":"see\n[image: https://example.com/a.png]","images":["/9j/4AAQ"]},{"role":"assistant","content":"[image]"}]`,
	} {
		if got := encoded(t, c, to); got != want+"\n" {
			t.Errorf("%s: %s", to, got)
		}
	}
}

func TestAnyPartCanBeWritten(t *testing.T) {
	var parts []chat.Part
	for _, k := range []chat.Kind{chat.Text, chat.Thinking, chat.Image, chat.Call, chat.Result, chat.Summary, "else"} {
		parts = append(parts, chat.Part{Kind: k})
	}
	var all chat.Transcript
	for _, role := range []chat.Role{chat.System, chat.Developer, chat.User, chat.Assistant, chat.Tool, "else"} {
		all = append(all, chat.Message{Role: role, Parts: parts}, chat.Message{Role: role})
	}
	read := decoded(t, anthropicBlocksFixture)
	for i, m := range read.Messages {
		read.Messages[i] = m.With(chat.Outlined, parts...)
	}
	for _, to := range []string{"openai", "anthropic", "ollama", "jsonl"} {
		checkJSON(t, encoded(t, Conversation{Messages: all}, to))
		checkJSON(t, encoded(t, read, to))
	}
}
