package wire

import (
	"slices"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
)

// ids returns the ids of calls and results, in order.
func ids(t chat.Transcript) string {
	var all []string
	for _, m := range t {
		for _, p := range m.Parts {
			if p.Kind == chat.Call {
				all = append(all, "+"+p.ID)
			} else if p.Kind == chat.Result {
				all = append(all, "-"+p.ID)
			}
		}
	}
	return strings.Join(all, " ")
}

func call(names ...string) chat.Message {
	m := chat.Message{Role: chat.Assistant}
	for _, n := range names {
		id, name, _ := strings.Cut(n, ":")
		m.Parts = append(m.Parts, chat.Part{Kind: chat.Call, ID: id, Name: name})
	}
	return m
}

func result(n string) chat.Message {
	id, name, _ := strings.Cut(n, ":")
	m := chat.NewResult(id, "")
	m.Parts[0].Name = name
	return m
}

func TestCallsAndResultsWithoutIDsArePairedByNameThenOrder(t *testing.T) {
	for _, c := range []struct {
		name string
		t    chat.Transcript
		want string
	}{
		{"by order", chat.Transcript{call(":f", ":f"), result(":f"), result(":f")}, "+call_1 +call_2 -call_1 -call_2"},
		{"by name", chat.Transcript{call(":f", ":g"), result(":g"), result(":f")}, "+call_1 +call_2 -call_2 -call_1"},
		{"no names", chat.Transcript{call(":f", ":g"), result(":"), result(":")}, "+call_1 +call_2 -call_1 -call_2"},
		{"name then none", chat.Transcript{call(":f", ":g"), result(":g"), result(":"), result(":")}, "+call_1 +call_2 -call_2 -call_1 -"},
		{"some with ids", chat.Transcript{call("call_1:f", ":f"), result("call_1:f"), result(":f")}, "+call_1 +call_2 -call_1 -call_2"},
		{"result first", chat.Transcript{result(":f"), call(":f")}, "- +call_1"},
		{"newest calls only", chat.Transcript{call(":f"), call(":g"), result(":f"), result(":f")}, "+call_1 +call_2 -call_2 -"},
	} {
		if fillCallIDs(c.t); ids(c.t) != c.want {
			t.Errorf("%s: %s, want %s", c.name, ids(c.t), c.want)
		}
	}
}

func TestPreparedIDsAreValidInTheDialect(t *testing.T) {
	read := call("x:f")
	read.Source = &chat.Source{Format: "anthropic"}
	for _, c := range []struct {
		name string
		t    chat.Transcript
		want string
	}{
		{"characters", chat.Transcript{call("functions.ls:f"), result("functions.ls:")}, "+functions_ls -functions_ls"},
		{"repeated", chat.Transcript{call("a:f"), result("a:"), call("a:f"), result("a:")}, "+a -a +a_1 -a_1"},
		{"repeated in one message", chat.Transcript{call("a:f", "a:g"), result("a:"), result("a:")}, "+a +a_1 -a -a_1"},
		{"alike", chat.Transcript{call("a.b:f", "a_b:g"), result("a_b:"), result("a.b:")}, "+a_b +a_b_1 -a_b_1 -a_b"},
		{"none", chat.Transcript{call(":f"), result(":")}, "+call_1 -call_1"},
		{"orphan", chat.Transcript{result("x.y:")}, "-x_y"},
		{"beside what was read", chat.Transcript{call("x:f"), result("x:"), read, result("x:")}, "+x_1 -x_1 +x -x"},
	} {
		before := ids(c.t)
		if got := ids(prepared(c.t, anthropicDialect())); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if ids(c.t) != before {
			t.Errorf("%s: the transcript was changed", c.name)
		}
	}
	got := prepared(chat.Transcript{call("a:f", ":g"), result("a:"), result(":")}, flatDialect("ollama", true))
	if ids(got) != "+a +call_1 -a -call_1" || got[1].Parts[0].Name != "f" || got[2].Parts[0].Name != "g" {
		t.Error(ids(got), got)
	}
}

func TestToolsAreConverted(t *testing.T) {
	openAITool := `{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object"}}}`
	anthropicTool := `{"name":"f","description":"d","input_schema":{"type":"object"}}`
	for in, want := range map[string][2]string{
		openAITool:    {openAITool, anthropicTool},
		anthropicTool: {openAITool, anthropicTool},
		`{"type":"function","name":"f","description":"d","parameters":{"type":"object"}}`:                    {openAITool, anthropicTool},
		`{"functionDeclarations":[{"name":"f","description":"d","parametersJsonSchema":{"type":"object"}}]}`: {openAITool, anthropicTool},
		`{"name":"f"}`: {
			`{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{}}}}`,
			`{"name":"f","input_schema":{"type":"object","properties":{}}}`,
		},
		`{"type":"web_search_20250305","name":"web_search"}`: {},
		`{"googleSearch":{}}`:                                {},
		`7`:                                                  {},
	} {
		for i, d := range []dialect{flatDialect("openai", false), anthropicDialect()} {
			list := ""
			if want[i] != "" {
				list = "[" + want[i] + "]"
			}
			if got := toolsFor([]byte("["+in+"]"), d); got != list {
				t.Errorf("%s for %s: %s, want %s", in, d.name, got, want[i])
			}
		}
	}
	if got := toolsFor([]byte("[{"), anthropicDialect()); got != "" {
		t.Error(got)
	}
}

func TestReadFieldsOfMessages(t *testing.T) {
	c := decoded(t, `[{"id":"m1","role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA","detail":"low"}}],"meta":{"protected":true}},
		{"role":"assistant","content":null,"reasoning_content":"why","tool_calls":[{"id":"c","function":{"name":"f","arguments":"{\"a\":1}"}}]},
		{"role":"tool","tool_call_id":"c","content":[{"type":"text","text":"x"},{"type":"text","text":"y"}]}]`)
	m := c.Messages[0]
	if m.ID != "m1" || !m.Protected || m.Parts[1].Image.Data != "AAAA" || m.Parts[1].Image.MediaType != "image/png" || m.Parts[1].Image.Detail != "low" {
		t.Errorf("%+v", m)
	}
	kinds := func(m chat.Message) (all []chat.Kind) {
		for _, p := range m.Parts {
			all = append(all, p.Kind)
		}
		return all
	}
	if got := kinds(c.Messages[1]); !slices.Equal(got, []chat.Kind{chat.Thinking, chat.Call}) || c.Messages[1].Parts[1].Args != `{"a":1}` {
		t.Errorf("%v", c.Messages[1])
	}
	if r := c.Messages[2].Parts[0]; r.ID != "c" || r.Text != "x\ny" || c.Messages[2].Role != chat.Tool {
		t.Errorf("%+v", r)
	}
	body := decoded(t, anthropicBlocksFixture)
	if body.Model != "claude-x" || !strings.HasPrefix(string(body.Tools), `[{"name": "ls"`) || !body.Messages[3].Parts[0].Error || body.Messages[4].Source.Count != 3 {
		t.Errorf("%+v", body)
	}
}
