package wire

import (
	"errors"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
)

// unknown is a block of a type that no format has, in the most common form of
// blocks.
const unknown = `{"type":"hologram","id":"h1","shape":{"note":"only-in-the-hologram"}}`

// withUnknown are inputs of every format with content blocks, with an unknown one
// in each possible place.
var withUnknown = map[string][]string{
	"openai": {
		`[{"role":"user","content":[{"type":"text","text":"q"},@]},{"role":"assistant","content":"a"}]`,
		`[{"role":"user","content":"q"},{"role":"assistant","content":[@]}]`,
		`[{"role":"user","content":"q"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":[{"type":"text","text":"r"},@]}]`,
		`{"model":"m","messages":[{"role":"system","content":[@]},{"role":"user","content":"q"}]}`,
	},
	"anthropic": {
		`{"model":"claude-x","max_tokens":9,"system":[@],"messages":[{"role":"user","content":"q"}]}`,
		`{"max_tokens":9,"system":"s","messages":[{"role":"user","content":[@,{"type":"text","text":"q"}]},{"role":"assistant","content":[{"type":"text","text":"a"},@]}]}`,
		`[{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[{"type":"text","text":"r"},@]},@]}]`,
	},
	"ollama": {`{"model":"m","options":{},"messages":[{"role":"user","content":[{"type":"text","text":"q"},@]}]}`},
	"jsonl": {
		"{\"role\":\"user\",\"content\":[@]}\n{\"role\":\"assistant\",\"content\":\"a\"}\n",
		"{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"c\",\"name\":\"f\",\"input\":{}},@]}\n{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"c\",\"content\":[@]}]}\n",
	},
	"responses": {
		`{"model":"m","input":[{"role":"user","content":[@]},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}]}`,
		`{"model":"m","input":[{"role":"user","content":"q"},@]}`,
		`{"model":"m","input":[{"role":"user","content":"q"},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":[@]}]}`,
	},
	"codex": {
		`{"type":"session_meta","payload":{}}` + "\n" + `{"type":"response_item","payload":{"type":"message","role":"user","content":[@]}}` + "\n",
		`{"type":"session_meta","payload":{}}` + "\n" + `{"type":"response_item","payload":{"type":"message","role":"user","content":"q"}}` + "\n" + `{"type":"response_item","payload":@}` + "\n",
	},
	"claudecode": {
		`{"parentUuid":null,"type":"user","uuid":"u1","sessionId":"s","message":{"role":"user","content":[{"type":"text","text":"q"},@]}}` + "\n",
		goodLine + "\n" + `{"parentUuid":"u1","type":"assistant","uuid":"a1","message":{"role":"assistant","content":[@]}}` + "\n",
		goodLine + "\n" + `{"parentUuid":"u1","type":"assistant","uuid":"a1","message":{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":{}}]}}` + "\n" + `{"parentUuid":"a1","type":"user","uuid":"u2","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[@]}]}}` + "\n",
	},
	"gemini": {
		`{"contents":[{"role":"user","parts":[{"text":"q"},@]},{"role":"model","parts":[{"hologram":` + unknown + `}]}]}`,
		`{"contents":[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"text":null,"function_call":null,"hologram":` + unknown + `}]}]}`,
	},
	"geminicli": {`{"sessionId":"s","projectHash":"h","messages":[{"id":"1","type":"user","content":[{"text":"q"},@]},{"id":"2","type":"gemini","content":[@]}]}`},
	"opencode":  {`{"info":{"id":"ses_1"},"messages":[{"info":{"id":"msg_1","role":"user"},"parts":[{"type":"text","text":"q"},@]},{"info":{"id":"msg_2","role":"assistant"},"parts":[@]}]}`},
	"pi": {
		`{"type":"session","version":3,"id":"s","timestamp":"t"}` + "\n" + `{"type":"message","id":"1","parentId":null,"message":{"role":"user","content":[@]}}` + "\n" + `{"type":"message","id":"2","parentId":"1","message":{"role":"assistant","content":[{"type":"text","text":"a"},@]}}` + "\n",
	},
	"cline": {`[{"role":"user","content":[{"type":"text","text":"<task>\nq\n</task>"},@]},{"role":"assistant","content":[{"type":"text","text":"a"},@]}]`},
	"bedrock": {
		`{"messages":[{"role":"user","content":[{"text":"q"},@]},{"role":"assistant","content":[{"text":"a"},{"hologram":` + unknown + `}]}]}`,
		`{"messages":[{"role":"user","content":[{"text":"q"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"c","name":"f","input":{}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"c","content":[{"hologram":` + unknown + `}]}}]}]}`,
		`{"system":[{"hologram":` + unknown + `}],"messages":[{"role":"user","content":[{"text":"q"}]}]}`,
	},
	"aisdk": {
		`[{"role":"user","content":[{"type":"text","text":"q"},@]},{"role":"assistant","content":[{"type":"tool-call","toolCallId":"c","toolName":"f","input":{}},@]},{"role":"tool","content":[{"type":"tool-result","toolCallId":"c","toolName":"f","output":{"type":"content","value":[@]}},@]}]`,
		`[{"id":"1","role":"user","parts":[{"type":"text","text":"q"},@]},{"id":"2","role":"assistant","parts":[{"type":"step-start"},@]}]`,
		`[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"tool-call","toolCallId":"c","toolName":"f","input":{}}]},{"role":"tool","content":[{"type":"tool-result","toolCallId":"c","toolName":"f","output":@}]}]`,
	},
	"langchain": {
		`[{"type":"human","data":{"content":[{"type":"text","text":"q"},@]}},{"type":"ai","data":{"content":[@],"tool_calls":[{"id":"c","name":"f","args":{}}]}},{"type":"tool","data":{"content":[@],"tool_call_id":"c"}}]`,
		`[{"lc":1,"type":"constructor","id":["langchain","schema","messages","HumanMessage"],"kwargs":{"content":[@]}}]`,
	},
	"openhands": {`{"kind":"MessageEvent","id":"1","source":"user","timestamp":"t","llm_message":{"role":"user","content":[{"type":"text","text":"q"},@]}}` + "\n" +
		`{"kind":"ObservationEvent","id":"2","tool_call_id":"c","tool_name":"f","observation":{"content":[@]}}` + "\n"},
	"sweagent":     {`{"trajectory":[],"history":[{"role":"system","content":"s"},{"role":"user","content":[{"type":"text","text":"q"},@]},{"role":"assistant","content":[@]}]}`},
	"minisweagent": {`{"trajectory_format":"mini-swe-agent-1","info":{},"messages":[{"role":"user","content":[{"type":"text","text":"q"},@]},{"role":"assistant","content":[@]}]}`},
	"cassette":     {"version: 2\ninteractions:\n- request:\n    body: '[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"q\"},@]}]'\n    url: u\n"},
}

// No unknown block is dropped: it is in the conversation as often as in the input,
// and is written to every format. Markdown, which aider writes, has no blocks, and
// a session file only those of this program.
func TestBlocksOfUnknownTypesAreKept(t *testing.T) {
	for _, f := range Formats() {
		if inputs := withUnknown[f.Name]; len(inputs) == 0 && f.Name != "aider" && f.Name != "session" {
			t.Errorf("no input of format %s", f.Name)
		}
		for _, in := range withUnknown[f.Name] {
			checkUnknownKept(t, f.Name, strings.ReplaceAll(in, "@", unknown))
		}
	}
}

func checkUnknownKept(t *testing.T, format, in string) {
	t.Helper()
	const mark = "only-in-the-hologram"
	c, err := DecodeBytes([]byte(in), Options{Name: "in", Format: format})
	if err != nil {
		if !errors.As(err, new(*Error)) {
			t.Errorf("%s: %v", format, err)
		}
		t.Errorf("%s is refused: %v", in, err)
		return
	}
	if told, err := DecodeBytes([]byte(in), Options{}); format != "ollama" && (err != nil || format != "cassette" && told.Format != format) {
		t.Errorf("%s: taken for %s, %v", format, told.Format, err)
	}
	kept := 0
	for _, m := range c.Messages {
		opaque := false
		for _, p := range m.Parts {
			kept += strings.Count(p.Text, mark)
			opaque = opaque || p.Kind == chat.Opaque && strings.Contains(p.Text, mark)
		}
		if opaque && !m.HasOpaque() {
			t.Errorf("%s: %+v may be rewritten", format, m)
		}
	}
	if want := strings.Count(in, mark); kept != want {
		t.Errorf("%s: %d of %d unknown blocks are there, in %s", format, kept, want, in)
	}
	for _, to := range []string{"", "openai", "anthropic", "ollama", "jsonl"} {
		if out := encoded(t, c, to); strings.Count(out, mark) != kept {
			t.Errorf("%s as %q: %d of %d in %s", format, to, strings.Count(out, mark), kept, out)
		}
	}
}

func TestEncodedBytesOfUnknownBlocksBecomeANote(t *testing.T) {
	long := strings.Repeat("QUJD", 500)
	c := decoded(t, `[{"role":"user","content":[{"type":"hologram","data":"`+long+`","name":"`+strings.Repeat("a b ", 500)+`"}]}]`)
	p := c.Messages[0].Parts[0]
	if strings.Contains(p.Text, long) || !strings.Contains(p.Text, `"data":"2000 characters"`) || !strings.Contains(p.Text, "a b a b") {
		t.Errorf("%.200s", p.Text)
	}
	if out := encoded(t, c, ""); !strings.Contains(out, long) {
		t.Error("the bytes are gone")
	}
}

// Content that readers of other formats would misread as text is rejected, or read
// correctly: each of these was once mistaken for another format.
func TestMessagesOfOtherSDKsAreNotTakenForOurs(t *testing.T) {
	for in, want := range map[string]string{
		`[{"role":"user","content":[{"text":"q"}]}]`:                                                 "bedrock",
		`{"modelId":"m","messages":[{"role":"user","content":[{"text":"q"}]}],"inferenceConfig":{}}`: "bedrock",
		`[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"tool-call","toolCallId":"c","toolName":"f","args":{}}]},{"role":"tool","content":[{"type":"tool-result","toolCallId":"c","toolName":"f","result":{"a":1}}]}]`: "aisdk",
		`[{"role":"user","content":[{"type":"image","image":"https://example.com/a.png"}]}]`:                           "aisdk",
		`{"messages":[{"type":"human","content":"q","additional_kwargs":{}}]}`:                                         "langchain",
		`{"lc":1,"type":"constructor","id":["langchain","schema","messages","HumanMessage"],"kwargs":{"content":"q"}}`: "langchain",
	} {
		if c := decoded(t, in); c.Format != want || len(c.Messages) == 0 {
			t.Errorf("%s: taken for %s", in, c.Format)
		}
	}
	for in, field := range map[string]string{
		`[[{"role":"user","content":[{"text":"q"}]}],[{"role":"user","content":[{"text":"q"}]}]]`: "messages[0]",
		`[{"role":"user","content":[{"text":"q"}]},{"role":"elf","content":[{"text":"q"}]}]`:      "messages[1].role",
		`[{"type":"human","data":{"content":"q"}},{"type":"elf","data":{"content":"q"}}]`:         "messages[1].type",
	} {
		var at *Error
		if _, err := DecodeBytes([]byte(in), Options{Name: "in"}); !errors.As(err, &at) || at.Field != field && at.Field != "" {
			t.Errorf("%s: %v, want an error in %s", in, err, field)
		}
	}
}

func TestStatesOfToolsOfTheAISDK(t *testing.T) {
	part := func(state string) string {
		return `[{"id":"1","role":"user","parts":[{"type":"text","text":"q"}]},{"id":"2","role":"assistant","parts":[{"type":"step-start"},{"type":"tool-read","toolCallId":"c","input":{"path":"a"},` + state + `},{"type":"step-start"},{"type":"text","text":"done"}]},{"id":"3","role":"user","parts":[{"type":"text","text":"next"}]}]`
	}
	for state, want := range map[string]string{
		`"state":"output-available","output":"text"`:                        `call c read {"path":"a"} / result c "text" / text "done"`,
		`"state":"output-available","output":{"a":[1]}`:                     `call c read {"path":"a"} / result c "{\"a\":[1]}" / text "done"`,
		`"state":"output-error","errorText":"no"`:                           `call c read {"path":"a"} / result c failed "no" / text "done"`,
		`"state":"output-denied","approval":{"approved":false,"reason":""}`: `call c read {"path":"a"} / result c failed "denied" / text "done"`,
		`"state":"input-streaming"`:                                         `call c read {"path":"a"} / unanswered c / text "done"`,
		`"state":"input-available"`:                                         `call c read {"path":"a"} / unanswered c / text "done"`,
		`"state":"approval-requested","approval":{"id":"x"}`:                `call c read {"path":"a"} / unanswered c / text "done"`,
	} {
		c := decoded(t, part(state))
		if got := piecesOf(c.Messages[1 : len(c.Messages)-1]); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", state, got, want)
		}
	}
	dynamic := `[{"role":"assistant","parts":[{"type":"dynamic-tool","toolName":"read","toolCallId":"c","state":"output-available","input":{},"output":null}]}]`
	if got := piecesOf(decoded(t, dynamic).Messages); got != `call c read {} / result c "null"` {
		t.Error(got)
	}
}
