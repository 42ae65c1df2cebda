package wire

import (
	"slices"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
)

// without returns t without message i.
func without(t chat.Transcript, i int) chat.Transcript {
	return slices.Delete(slices.Clone(t), i, i+1)
}

// retold returns t with the text of part p of message i replaced.
func retold(t chat.Transcript, i, p int, text string) chat.Transcript {
	t = slices.Clone(t)
	parts := slices.Clone(t[i].Parts)
	parts[p].Text, parts[p].Raw = text, ""
	t[i] = t[i].With(chat.Outlined, parts...)
	return t
}

// recalled returns t with the arguments of call p of message i replaced.
func recalled(t chat.Transcript, i, p int, args string) chat.Transcript {
	t = slices.Clone(t)
	parts := slices.Clone(t[i].Parts)
	parts[p].Args, parts[p].Raw = args, ""
	t[i] = t[i].With(chat.Outlined, parts...)
	return t
}

func TestCompactedConversationKeepsUnchangedMessages(t *testing.T) {
	type edit = func(chat.Transcript) chat.Transcript
	summary := chat.Message{Role: chat.Assistant, State: chat.Summarized, Parts: []chat.Part{{Kind: chat.Summary, Text: "<COMPACT-SUMMARY v1>\nall \"good\" & <done>"}}}
	marker := chat.NewText(chat.User, "[marker 3 messages]")
	lines := "{\"role\":\"user\",\"content\":\"a\"}\r\n{\"role\": \"user\",\"content\":\"b\"}\r\n{\"role\":\"user\",\"content\":\"c\", \"x\":1}"
	body := `{"stream":true, "messages": [ {"role":"user","content":"a"} ,{"role":"user","content":"b"} , {"role":"user","content":"c"}] ,"model":"m"}` + "\n"
	tool := `[{"role":"assistant","content":null,"tool_calls":[{"id":"a","index":0,"type":"function","function":{"name":"f","strict":true,"arguments":"{\"x\": \"long\"}"}},{"id":"b","type":"function","function":{"name":"g","arguments":"{\"y\":\"\u00e9\"}"}}],"z":1},{"role":"tool","content":"one","tool_call_id":"a","q":2},{"role":"tool","tool_call_id":"b","content":[{"type":"text","text":"two","cache_prompt":true}]}]`
	ollamaTool := `[{"role":"assistant","content":"","tool_calls":[{"function":{"index":0,"name":"f","arguments":{"x":"long"}}}]},{"role":"tool","content":"one","tool_name":"f"}]`
	claude := `{"system":"s","messages":[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"g"},{"type":"tool_use","id":"a","name":"f","input":{"x":"long"},"caller":1},{"type":"tool_use","id":"b","name":"f","input":{ }}]},{"role":"user","n":1,"content":[{"type":"tool_result","tool_use_id":"a","content":"one","cache_control":{}},{"type":"tool_result","tool_use_id":"b","content":[{"type":"text","text":"two","k":1},{"type":"image","source":{"type":"url","url":"u"}}]},{"type":"text","text":"go\u0020on"}]}]}`
	for _, c := range []struct {
		name, in string
		edit     edit
		want     []string // substrings of the output
		gone     []string
		exact    string // the whole output, if given
	}{
		{name: "first line dropped", in: lines, edit: func(t chat.Transcript) chat.Transcript { return t[1:] },
			exact: "{\"role\": \"user\",\"content\":\"b\"}\r\n{\"role\":\"user\",\"content\":\"c\", \"x\":1}"},
		{name: "middle line replaced", in: lines, edit: func(t chat.Transcript) chat.Transcript { return chat.Transcript{t[0], summary, t[2]} },
			exact: "{\"role\":\"user\",\"content\":\"a\"}\r\n{\"role\":\"assistant\",\"content\":\"<COMPACT-SUMMARY v1>\\nall \\\"good\\\" & <done>\"}\r\n{\"role\":\"user\",\"content\":\"c\", \"x\":1}"},
		{name: "protection of a new line", in: lines, edit: func(t chat.Transcript) chat.Transcript {
			m := marker
			m.Protected = true
			return chat.Transcript{m}
		}, exact: `{"role":"user","content":"[marker 3 messages]","meta":{"protected":true}}`},
		{name: "all lines dropped", in: lines, edit: func(chat.Transcript) chat.Transcript { return nil }, exact: ""},
		{name: "element of a body dropped", in: body, edit: func(t chat.Transcript) chat.Transcript { return without(t, 1) },
			exact: `{"stream":true, "messages": [ {"role":"user","content":"a"} ,{"role":"user","content":"c"}] ,"model":"m"}` + "\n"},
		{name: "element of a body moved", in: body, edit: func(t chat.Transcript) chat.Transcript { return chat.Transcript{t[2], t[0], t[1]} },
			exact: `{"stream":true, "messages": [ {"role":"user","content":"c"} ,{"role":"user","content":"a"} ,{"role":"user","content":"b"}] ,"model":"m"}` + "\n"},
		{name: "all elements dropped", in: body, edit: func(chat.Transcript) chat.Transcript { return nil },
			exact: `{"stream":true, "messages": [ ] ,"model":"m"}` + "\n"},
		{name: "result text changed", in: tool, edit: func(t chat.Transcript) chat.Transcript { return retold(t, 1, 0, "1") },
			exact: strings.Replace(tool, `"content":"one"`, `"content":"1"`, 1)},
		{name: "result text in blocks changed", in: tool, edit: func(t chat.Transcript) chat.Transcript { return retold(t, 2, 0, "2") },
			exact: strings.Replace(tool, `"text":"two"`, `"text":"2"`, 1)},
		{name: "arguments changed", in: tool, edit: func(t chat.Transcript) chat.Transcript { return recalled(t, 0, 0, `{"x":"…"}`) },
			exact: strings.Replace(tool, `{\"x\": \"long\"}`, `{\"x\":\"…\"}`, 1)},
		{name: "arguments as an object changed", in: ollamaTool, edit: func(t chat.Transcript) chat.Transcript { return recalled(t, 0, 0, `{"x":"…"}`) },
			exact: strings.Replace(ollamaTool, `"long"`, `"…"`, 1)},
		{name: "plain result changed", in: ollamaTool, edit: func(t chat.Transcript) chat.Transcript { return retold(t, 1, 0, "1") },
			exact: strings.Replace(ollamaTool, `"one"`, `"1"`, 1)},
		{name: "changed, yet the same", in: tool, edit: func(t chat.Transcript) chat.Transcript {
			t = slices.Clone(t)
			for i := range t {
				t[i].Changed = true
			}
			return t
		}, exact: tool},
		{name: "calls gone", in: tool, edit: func(t chat.Transcript) chat.Transcript {
			return chat.Transcript{t[0].With(chat.Outlined, chat.Part{Kind: chat.Text, Text: "called"})}
		}, exact: `[{"role":"assistant","content":"called","z":1}]`},
		{name: "block that is no text replaced", in: `[{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"AAAA"}},"x"]}]`, edit: func(t chat.Transcript) chat.Transcript {
			return retold(retold(t, 0, 0, "a"), 0, 1, "b")
		}, exact: `[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]`},
		{name: "block result changed", in: claude, edit: func(t chat.Transcript) chat.Transcript { return retold(t, 3, 0, "1") },
			exact: strings.Replace(claude, `"one"`, `"1"`, 1)},
		{name: "block result with an image changed", in: claude, edit: func(t chat.Transcript) chat.Transcript { return retold(t, 4, 0, "2") },
			exact: strings.Replace(claude, `"two"`, `"2"`, 1)},
		{name: "image of a block result dropped", in: claude, edit: func(t chat.Transcript) chat.Transcript {
			t = slices.Clone(t)
			t[4] = t[4].With(chat.Outlined, t[4].Parts[0])
			return t
		}, exact: strings.Replace(claude, `,{"type":"image","source":{"type":"url","url":"u"}}`, "", 1)},
		{name: "block arguments changed", in: claude, edit: func(t chat.Transcript) chat.Transcript { return recalled(t, 2, 1, `{"x":"…"}`) },
			exact: strings.Replace(claude, `"long"`, `"…"`, 1)},
		{name: "one of the results dropped", in: claude, edit: func(t chat.Transcript) chat.Transcript { return without(t, 3) },
			exact: strings.Replace(claude, `{"type":"tool_result","tool_use_id":"a","content":"one","cache_control":{}},`, "", 1)},
		{name: "text behind results dropped", in: claude, edit: func(t chat.Transcript) chat.Transcript { return t[:5] },
			exact: strings.Replace(claude, `,{"type":"text","text":"go\u0020on"}`, "", 1)},
		{name: "system text changed", in: claude, edit: func(t chat.Transcript) chat.Transcript { return retold(t, 0, 0, "S") },
			exact: strings.Replace(claude, `"system":"s"`, `"system":"S"`, 1)},
		{name: "system dropped", in: claude, edit: func(t chat.Transcript) chat.Transcript { return t[1:] },
			exact: strings.Replace(claude, `"system":"s",`, "", 1)},
		{name: "second system message", in: claude, edit: func(t chat.Transcript) chat.Transcript {
			return slices.Insert(slices.Clone(t), 1, chat.NewText(chat.System, "[Compressed Message Summary]"))
		}, exact: strings.Replace(claude, `"system":"s"`, `"system":[{"type":"text","text":"s"},{"type":"text","text":"[Compressed Message Summary]"}]`, 1)},
		{name: "later system message", in: claude, edit: func(t chat.Transcript) chat.Transcript {
			return append(slices.Clone(t), chat.NewText(chat.System, "note"))
		}, want: []string{`,{"role":"user","content":"note"}]`}},
		{name: "new call with its results", in: claude, edit: func(t chat.Transcript) chat.Transcript {
			call := chat.Message{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, ID: "a", Name: "f", Args: "{}"}, {Kind: chat.Call, ID: "x.1", Name: "f", Args: "[1]"}}}
			return append(slices.Clone(t), call, chat.NewResult("a", "ra"), chat.NewResult("x.1", ""), marker)
		}, want: []string{
			`{"role":"assistant","content":[{"type":"tool_use","id":"a_1","name":"f","input":{}},{"type":"tool_use","id":"x_1","name":"f","input":{"input":[1]}}]},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a_1","content":"ra"},{"type":"tool_result","tool_use_id":"x_1","content":""},{"type":"text","text":"[marker 3 messages]"}]}]`,
		}},
		{name: "empty new messages", in: claude, edit: func(t chat.Transcript) chat.Transcript {
			return append(slices.Clone(t), chat.NewText(chat.User, ""), chat.Message{Role: chat.Assistant})
		}, exact: claude},
	} {
		t.Run(c.name, func(t *testing.T) {
			read := decoded(t, c.in)
			read.Messages = c.edit(read.Messages)
			got := encoded(t, read, "")
			if c.want == nil && got != c.exact {
				t.Errorf("got\n%s\nwant\n%s", got, c.exact)
			}
			for _, w := range c.want {
				if !strings.Contains(got, w) {
					t.Errorf("no %s in\n%s", w, got)
				}
			}
			if c.exact != "" {
				checkJSON(t, got)
			}
		})
	}
}
