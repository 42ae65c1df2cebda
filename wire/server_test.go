package wire

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
)

// serverBlocks are a call and a result of each tool that Anthropic's API runs, in
// the format of its SDKs.
var serverBlocks = []struct{ use, result, text string }{
	{`{"type":"server_tool_use","id":"s1","name":"web_search","input":{"query":"a"}}`,
		`{"type":"web_search_tool_result","tool_use_id":"s1","content":[{"type":"web_search_result","title":"T","url":"https://example.com","encrypted_content":"AAAA","page_age":"1 day"}]}`, "T\nhttps://example.com\n1 day"},
	{`{"type":"server_tool_use","id":"s1","name":"web_search","input":{"query":"a"}}`,
		`{"type":"web_search_tool_result","tool_use_id":"s1","content":{"type":"web_search_tool_result_error","error_code":"max_uses_exceeded"}}`, `{"type":"web_search_tool_result_error","error_code":"max_uses_exceeded"}`},
	{`{"type":"server_tool_use","id":"s1","name":"web_fetch","input":{"url":"https://example.com"}}`,
		`{"type":"web_fetch_tool_result","tool_use_id":"s1","content":{"type":"web_fetch_result","url":"https://example.com","content":{"type":"document","source":{"type":"text","media_type":"text/plain","data":"words"},"title":"T"},"retrieved_at":null}}`, "https://example.com\nT\nwords"},
	{`{"type":"server_tool_use","id":"s1","name":"code_execution","input":{"code":"print(1)"}}`,
		`{"type":"code_execution_tool_result","tool_use_id":"s1","content":{"type":"code_execution_result","stdout":"1\n","stderr":"","return_code":0,"content":[]}}`, "1\n"},
	{`{"type":"server_tool_use","id":"s1","name":"bash_code_execution","input":{"command":"false"}}`,
		`{"type":"bash_code_execution_tool_result","tool_use_id":"s1","content":{"type":"bash_code_execution_result","stdout":"","stderr":"no","return_code":1,"content":[]}}`, "no\nexit code 1"},
	{`{"type":"server_tool_use","id":"s1","name":"text_editor_code_execution","input":{"command":"view","path":"a"}}`,
		`{"type":"text_editor_code_execution_tool_result","tool_use_id":"s1","content":{"type":"text_editor_code_execution_view_result","file_type":"text","content":"x"}}`, `{"type":"text_editor_code_execution_view_result","file_type":"text","content":"x"}`},
	{`{"type":"server_tool_use","id":"s1","name":"tool_search_tool_regex","input":{"pattern":"rate"}}`,
		`{"type":"tool_search_tool_result","tool_use_id":"s1","content":{"type":"tool_search_tool_search_result","tool_references":[{"type":"tool_reference","tool_name":"rate"}]}}`, `{"type":"tool_search_tool_search_result","tool_references":[{"type":"tool_reference","tool_name":"rate"}]}`},
	{`{"type":"mcp_tool_use","id":"s1","name":"ask","server_name":"wiki","input":{}}`,
		`{"type":"mcp_tool_result","tool_use_id":"s1","is_error":false,"content":[{"type":"text","text":"words"}]}`, "words"},
	{`{"type":"new_tool_use","id":"s1","name":"new","input":{}}`, `{"type":"new_tool_result","tool_use_id":"s1","content":"words"}`, "words"},
}

func anthropicList(contents ...string) string {
	messages := []string{`{"role":"user","content":"q"}`}
	for i, c := range contents {
		messages = append(messages, fmt.Sprintf(`{"role":%q,"content":[%s]}`, []string{"assistant", "user"}[i%2], c))
	}
	return "[" + strings.Join(messages, ",") + "]"
}

func TestServersToolsAreCallsAndResultsInOneMessage(t *testing.T) {
	for _, b := range serverBlocks {
		in := anthropicList(b.use + "," + b.result + `,{"type":"text","text":"done"}`)
		c := decoded(t, in)
		if c.Format != "anthropic" || len(c.Messages) != 2 {
			t.Fatalf("%s: %s with %d messages", b.use, c.Format, len(c.Messages))
		}
		p := c.Messages[1].Parts
		if len(p) != 3 || p[0].Kind != chat.ServerCall || p[1].Kind != chat.ServerResult || p[1].Text != b.text {
			t.Errorf("read as %+v", p)
		}
		if p[1].Error != strings.Contains(b.result, "_result_error") {
			t.Errorf("%s: failed is %v", b.result, p[1].Error)
		}
		if got := chat.Check(c.Messages); len(got) > 0 {
			t.Error(got)
		}
		if out := encoded(t, c, ""); out != in {
			t.Errorf("became %s", out)
		}
		lone := c.Messages[1]
		lone.Source = nil // as after a session was saved and loaded
		c.Messages[1] = lone
		if out := encoded(t, c, ""); !strings.Contains(out, b.use+","+b.result) {
			t.Errorf("without its source %s", out)
		}
		if out := encoded(t, c, "jsonl"); !strings.Contains(out, b.use+","+b.result) || strings.Count(out, "\n") != 2 {
			t.Errorf("as lines %s", out)
		}
		for _, to := range []string{"openai", "ollama"} {
			out := encoded(t, c, to)
			if err := refused(t, to, out); err != nil {
				t.Errorf("%s: %v in %s", to, err, out)
			}
			if again := decoded(t, out); again.Messages[2].Parts[0].Text != b.text || again.Messages[3].Text() != "done" {
				t.Errorf("%s: %s", to, out)
			}
		}
	}
}

func TestUnansweredCallsOfServersToolsAreReported(t *testing.T) {
	for _, b := range serverBlocks {
		for name, c := range map[string]struct {
			in   string
			want []string
		}{
			"no result":           {anthropicList(b.use, `{"type":"text","text":"and?"}`, `{"type":"text","text":"a"}`), []string{chat.Unanswered, chat.SameRole}},
			"no result, answered": {anthropicList(b.use+`,{"type":"text","text":"a"}`, `{"type":"text","text":"and?"}`), []string{chat.Unanswered, chat.SameRole}},
			"a paused turn":       {anthropicList(b.use), nil},
			"a lone result":       {anthropicList(b.result), []string{chat.Orphan}},
			"another's result":    {anthropicList(strings.Replace(b.use, "s1", "s2", 1)+","+b.result, `{"type":"text","text":"and?"}`), []string{chat.Orphan, chat.Unanswered, chat.SameRole}},
			"a tool_result":       {anthropicList(b.use, `{"type":"tool_result","tool_use_id":"s1","content":"r"}`, `{"type":"text","text":"a"}`), []string{chat.Unanswered, chat.Orphan}},
		} {
			var got []string
			for _, p := range chat.Check(decoded(t, c.in).Messages) {
				got = append(got, p.Kind)
			}
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("%s of %s: %v, want %v", name, b.use, got, c.want)
			}
		}
	}
}

// A paused turn continues in the next assistant message; code on the server may
// call the client's tools in between. These messages form one group.
func TestHalvesOfAServersToolInTwoMessagesAreOneGroup(t *testing.T) {
	for _, b := range serverBlocks {
		paused := `[{"role":"user","content":"q"},{"role":"assistant","content":[` + b.use + `]},{"role":"assistant","content":[` + b.result + `,{"type":"text","text":"a"}]},{"role":"user","content":"next"}]`
		inside := anthropicList(b.use+`,{"type":"tool_use","id":"t","name":"f","input":{},"caller":{"type":"code_execution_20250825","tool_id":"s1"}}`,
			`{"type":"tool_result","tool_use_id":"t","content":"r"}`, b.result+`,{"type":"text","text":"a"}`, `{"type":"text","text":"next"}`)
		for in, size := range map[string]int{paused: 2, inside: 3} {
			c := decoded(t, in)
			groups, of := chat.Groups(c.Messages)
			if len(groups[of[1]]) != size {
				t.Errorf("%s: groups %v", in, groups)
			}
			for _, p := range chat.Check(c.Messages) {
				if p.Kind != chat.SameRole {
					t.Errorf("%s: %v", in, p)
				}
			}
			for _, to := range []string{"openai", "ollama"} {
				if err := refused(t, to, encoded(t, c, to)); err != nil {
					t.Errorf("%s of %s: %v", to, in, err)
				}
			}
		}
	}
}

// responsesOf returns a body of the Responses API with items between two
// messages of the user.
func responsesOf(items ...string) string {
	user := `{"role":"user","content":"%s"}`
	return `{"model":"m","input":[` + strings.Join(append(append([]string{fmt.Sprintf(user, "q")}, items...), fmt.Sprintf(user, "next")), ",") + `]}`
}

func TestItemsOfTheResponsesAPIAreCallsAndResults(t *testing.T) {
	for _, c := range []struct {
		name  string
		items []string
		want  string
	}{
		{"web search", []string{`{"type":"web_search_call","id":"w","status":"completed","action":{"type":"search","query":"go"}}`},
			`call w web_search {"type":"search","query":"go"} / result w "completed"`},
		{"web search in progress", []string{`{"type":"web_search_call","id":"w","status":"searching","action":{"type":"search","query":"go"}}`},
			`call w web_search {"type":"search","query":"go"} / unanswered w`},
		{"failed", []string{`{"type":"web_search_call","id":"w","status":"failed","action":{}}`}, `call w web_search {} / result w failed "failed"`},
		{"file search", []string{`{"type":"file_search_call","id":"f","status":"completed","queries":["a"],"results":[{"file_id":"x","filename":"a.md","text":"words","score":0.5}]}`},
			`call f file_search {"queries":["a"]} / result f "{\"file_id\":\"x\",\"filename\":\"a.md\",\"text\":\"words\",\"score\":0.5}"`},
		{"file search without results", []string{`{"type":"file_search_call","id":"f","status":"completed","queries":["a"],"results":null}`},
			`call f file_search {"queries":["a"]} / result f "completed"`},
		{"code", []string{`{"type":"code_interpreter_call","id":"i","status":"completed","code":"1+1","container_id":"c","outputs":[{"type":"logs","logs":"2"},{"type":"image","url":"https://example.com/a.png"}]}`},
			`call i code_interpreter {"code":"1+1","container_id":"c"} / result i "2" image https://example.com/a.png`},
		{"code in progress", []string{`{"type":"code_interpreter_call","id":"i","status":"interpreting","code":"1+1","container_id":"c","outputs":null}`},
			`call i code_interpreter {"code":"1+1","container_id":"c"} / unanswered i`},
		{"an image", []string{`{"type":"image_generation_call","id":"g","status":"completed","result":"iVBORw0KGgo="}`}, `call g image_generation {} / result g "" image `},
		{"an image in progress", []string{`{"type":"image_generation_call","id":"g","status":"generating","result":null}`}, `call g image_generation {} / unanswered g`},
		{"MCP", []string{`{"type":"mcp_call","id":"m","name":"ask","server_label":"w","arguments":"{\"q\":1}","output":"words","error":null,"status":"completed"}`}, `call m ask {"q":1} / result m "words"`},
		{"MCP without a status", []string{`{"type":"mcp_call","id":"m","name":"ask","server_label":"w","arguments":"{}","output":"words"}`}, `call m ask {} / result m "words"`},
		{"MCP failed", []string{`{"type":"mcp_call","id":"m","name":"ask","server_label":"w","arguments":"{}","output":null,"error":"gone"}`}, `call m ask {} / result m failed "gone"`},
		{"MCP calling", []string{`{"type":"mcp_call","id":"m","name":"ask","server_label":"w","arguments":"{}","status":"calling"}`}, `call m ask {} / unanswered m`},
		{"MCP tools", []string{`{"type":"mcp_list_tools","id":"l","server_label":"w","tools":[{"name":"ask","input_schema":{}}]}`},
			`call l mcp_list_tools {"server_label":"w"} / result l "{\"name\":\"ask\",\"input_schema\":{}}"`},
		{"approval", []string{`{"type":"mcp_approval_request","id":"a","server_label":"w","name":"ask","arguments":"{}"}`, `{"type":"mcp_approval_response","approval_request_id":"a","approve":false,"reason":"no"}`},
			`call a mcp_approval_request {"server_label":"w","name":"ask","arguments":"{}"} / result a "{\"approve\":false,\"reason\":\"no\"}"`},
		{"approval asked for", []string{`{"type":"mcp_approval_request","id":"a","server_label":"w","name":"ask","arguments":"{}"}`},
			`call a mcp_approval_request {"server_label":"w","name":"ask","arguments":"{}"} / unanswered a`},
		{"computer", []string{`{"type":"computer_call","id":"u","call_id":"c","status":"completed","action":{"type":"screenshot"},"pending_safety_checks":[]}`, `{"type":"computer_call_output","call_id":"c","output":{"type":"computer_screenshot","image_url":"https://example.com/s.png"}}`},
			`call c computer {"action":{"type":"screenshot"},"pending_safety_checks":[]} / result c "" image https://example.com/s.png`},
		{"computer pending", []string{`{"type":"computer_call","id":"u","call_id":"c","status":"completed","action":{"type":"screenshot"},"pending_safety_checks":[]}`},
			`call c computer {"action":{"type":"screenshot"},"pending_safety_checks":[]} / unanswered c`},
		{"local shell by the item's id", []string{`{"type":"local_shell_call","id":"ls","call_id":"c","status":"completed","action":{"type":"exec","command":["ls"]}}`, `{"type":"local_shell_call_output","id":"ls","output":"a"}`},
			`call c local_shell {"type":"exec","command":["ls"]} / result c "a"`},
		{"shell", []string{`{"type":"shell_call","id":"s","call_id":"c","status":"completed","action":{"commands":["false"]}}`, `{"type":"shell_call_output","call_id":"c","output":[{"stdout":"a","stderr":"b","outcome":{"type":"exit","exit_code":1}},{"stdout":"","stderr":"","outcome":{"type":"timeout"}}]}`},
			`call c shell {"commands":["false"]} / result c "a\nb\nexit code 1\ntimeout"`},
		{"patch", []string{`{"type":"apply_patch_call","id":"p","call_id":"c","status":"completed","operation":{"type":"delete_file","path":"a"}}`, `{"type":"apply_patch_call_output","call_id":"c","status":"failed","output":"no such file"}`},
			`call c apply_patch {"type":"delete_file","path":"a"} / result c failed "no such file"`},
		{"patch without output", []string{`{"type":"apply_patch_call","id":"p","call_id":"c","status":"completed","operation":{"type":"delete_file","path":"a"}}`, `{"type":"apply_patch_call_output","call_id":"c","status":"completed"}`},
			`call c apply_patch {"type":"delete_file","path":"a"} / result c "completed"`},
		{"hosted tool search", []string{`{"type":"tool_search_call","id":"t","call_id":null,"execution":"server","status":"completed","arguments":{"q":1}}`, `{"type":"tool_search_output","id":"o","call_id":null,"execution":"server","status":"completed","tools":[{"name":"rate"}]}`},
			`call t tool_search {"q":1} / result t "{\"name\":\"rate\"}"`},
		{"two hosted tool searches", []string{`{"type":"tool_search_call","id":"t","call_id":null,"arguments":{}}`, `{"type":"tool_search_call","id":"v","call_id":null,"arguments":{}}`, `{"type":"tool_search_output","id":"o","call_id":null,"tools":[{"name":"a"}]}`, `{"type":"tool_search_output","id":"p","call_id":null,"tools":[{"name":"b"}]}`},
			`call t tool_search {} call v tool_search {} / result t "{\"name\":\"a\"}" / result v "{\"name\":\"b\"}"`},
		{"a search that was given up", []string{`{"type":"tool_search_call","id":"t","call_id":null,"status":"in_progress","arguments":{}}`, `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"again"}]}`, `{"type":"tool_search_call","id":"v","call_id":null,"arguments":{}}`, `{"type":"tool_search_output","id":"o","call_id":null,"tools":[]}`},
			`call t tool_search {} text "again" call v tool_search {} / unanswered t / result v ""`},
		{"client tool search", []string{`{"type":"tool_search_call","id":"t","call_id":"c","execution":"client","arguments":{}}`, `{"type":"tool_search_output","call_id":"c","tools":[{"name":"a"}]}`},
			`call c tool_search {} / result c "{\"name\":\"a\"}"`},
		{"program", []string{`{"type":"program","id":"g","call_id":"c","code":"x()"}`, `{"type":"program_output","id":"h","call_id":"c","result":"1","status":"completed"}`},
			`call c program {"code":"x()"} / result c "1"`},
		{"a new call with its result", []string{`{"type":"teleport_call","id":"n","status":"completed","to":"home","output":"there"}`}, `call n teleport {"to":"home"} / result n "there"`},
		{"a new call without", []string{`{"type":"teleport_call","id":"n","status":"completed","to":"home"}`}, `call n teleport {"to":"home"} / unanswered n`},
		{"compaction", []string{`{"type":"compaction","id":"k","encrypted_content":"QUJD"}`}, `opaque "{\"type\":\"compaction\",\"id\":\"k\",\"encrypted_content\":\"QUJD\"}"`},
		{"a reference", []string{`{"type":"item_reference","id":"msg_1"}`}, `opaque "{\"type\":\"item_reference\",\"id\":\"msg_1\"}"`},
		{"tools added", []string{`{"type":"additional_tools","role":"developer","tools":[{"name":"a"}]}`}, `opaque "{\"type\":\"additional_tools\",\"role\":\"developer\",\"tools\":[{\"name\":\"a\"}]}"`},
		{"reasoning and its call", []string{`{"type":"reasoning","id":"r","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"QUJD"}`, `{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}`, `{"type":"function_call_output","call_id":"c","output":"o"}`},
			`thinking "hm" call c f {} / result c "o"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			read := decoded(t, responsesOf(c.items...))
			if read.Format != "responses" {
				t.Fatalf("taken for %s", read.Format)
			}
			if got := piecesOf(read.Messages[1 : len(read.Messages)-1]); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if strings.Contains(c.want, "unanswered") {
				return
			}
			if err := refused(t, "openai", encoded(t, read, "")); err != nil {
				t.Error(err)
			}
		})
	}
}

// piecesOf writes messages in one line, with the calls that have no result.
func piecesOf(messages chat.Transcript) string {
	var all []string
	for i, m := range messages {
		var parts []string
		for _, p := range m.Parts {
			text := canonicalPart(p)
			if p.Kind == chat.Result {
				text = strings.Replace(strings.Replace(text, "  failed", " failed", 1), "  \"", " \"", 1)
			}
			if p.Kind == chat.Image {
				text = "image " + p.Image.URL
			}
			parts = append(parts, text)
		}
		all = append(all, strings.Join(parts, " "))
		for _, p := range chat.Check(append(messages[i:len(messages):len(messages)], chat.NewText(chat.User, "x"))) {
			if p.Index == 0 && p.Kind == chat.Unanswered {
				all = append(all, "unanswered "+p.ID)
			}
		}
	}
	return strings.Join(all, " / ")
}

func TestDocumentsKeepTheirBytesInLines(t *testing.T) {
	document := `{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0="},"title":"plan"}`
	for _, in := range []string{
		`[{"role":"user","content":[` + document + `,{"type":"text","text":"q"}]}]`,
		`[{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[` + document + `]}]}]`,
	} {
		c := decoded(t, in)
		out := encoded(t, c, "jsonl")
		if !strings.Contains(out, document) {
			t.Errorf("lost in %s", out)
		}
		if again := encoded(t, decoded(t, out), "anthropic"); !strings.Contains(again, document) {
			t.Errorf("lost in %s", again)
		}
		if out := encoded(t, c, "openai"); !strings.Contains(out, "[document plan]") {
			t.Errorf("missing in %s", out)
		}
	}
	file := `{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,JVBERi0="}}`
	c := decoded(t, `[{"role":"user","content":[`+file+`,{"type":"text","text":"q"}]}]`)
	if out := encoded(t, c, "jsonl"); !strings.Contains(out, file) {
		t.Errorf("lost in %s", out)
	}
	if out := encoded(t, c, "anthropic"); !strings.Contains(out, "[file a.pdf]") {
		t.Errorf("missing in %s", out)
	}
}
