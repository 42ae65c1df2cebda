package suite

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	tiercompact "github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/wire"
)

// serverTools is an Anthropic body of n steps in which the API's server runs a
// tool: most have the result beside the call, some in the next message of the
// assistant, and some are not understood at all.
func serverTools(n int) string {
	text := func(s string) string { return fmt.Sprintf(`{"type":"text","text":%q}`, s) }
	message := func(role string, blocks ...string) string {
		return fmt.Sprintf(`{"role":%q,"content":[%s]}`, role, strings.Join(blocks, ","))
	}
	var list []string
	for i := range n {
		use := fmt.Sprintf(`{"type":"mcp_tool_use","id":"srv%d","name":"ask","server_name":"wiki","input":{"question":%q}}`, i, prose(20, i))
		result := fmt.Sprintf(`{"type":"mcp_tool_result","tool_use_id":"srv%d","is_error":false,"content":[{"type":"text","text":%q}]}`, i, prose(150, i))
		if i%3 == 1 {
			use = fmt.Sprintf(`{"type":"server_tool_use","id":"srv%d","name":"web_search","input":{"query":"q"}}`, i)
			result = fmt.Sprintf(`{"type":"web_search_tool_result","tool_use_id":"srv%d","content":[{"type":"web_search_result","title":"t","url":"https://example.com/%d","encrypted_content":%q,"page_age":null}]}`, i, i, strings.Repeat("QUJD", 100))
		}
		list = append(list, message("user", text(fmt.Sprintf("question %d: ", i)+prose(60, i))))
		switch i % 4 {
		case 0, 1:
			list = append(list, message("assistant", use, result, text(prose(120, i))))
		case 2: // code on the server that calls a tool of the client
			list = append(list, message("assistant", use, fmt.Sprintf(`{"type":"tool_use","id":"own%d","name":"read","input":{"path":"a%d.py"}}`, i, i)),
				message("user", fmt.Sprintf(`{"type":"tool_result","tool_use_id":"own%d","content":%q}`, i, prose(200, i))), message("assistant", result, text(prose(60, i))))
		case 3:
			list = append(list, message("assistant", fmt.Sprintf(`{"type":"hologram","id":"srv%d","data":%q}`, i, prose(150, i)), text(prose(100, i))))
		}
	}
	return `{"model":"claude-x","max_tokens":9,"messages":[` + strings.Join(list, ",") + `]}`
}

// What runs on the server, and what is not understood, is never rewritten: the
// messages that hold it stay byte for byte, or go with their other half.
func TestNoLevelRewritesHalfOfAServersTool(t *testing.T) {
	in := serverTools(16)
	c := decoded(t, in)
	dropped := 0
	everyWay(t, c.Messages, func(how string, out chat.Transcript) {
		strictly(t, how, c.Messages, out)
		text := written(t, c, out, "")
		for _, m := range c.Messages {
			if m.HasOpaque() && strings.Contains(text, m.Source.JSON) == (chat.Newest(out, func(o chat.Message) bool { return o.Source == m.Source }) < 0) {
				t.Errorf("%s: rewritten: %s", how, m.Source.JSON)
			}
		}
		for i := range 16 {
			call, result := fmt.Sprintf(`_tool_use","id":"srv%d"`, i), fmt.Sprintf(`"tool_use_id":"srv%d"`, i)
			if strings.Contains(text, call) != strings.Contains(text, result) {
				t.Errorf("%s: one half of srv%d is gone", how, i)
			}
			if i%4 != 3 && !strings.Contains(text, call) {
				dropped++
			}
		}
		if fresh := chat.New(chat.Check(c.Messages), chat.Check(decoded(t, text).Messages)); len(fresh) > 0 {
			t.Errorf("%s: %v", how, fresh)
		}
	})
	if dropped == 0 {
		t.Error("nothing went in any way")
	}
}

// Hosted tools of the Responses API are calls with their results, and go or
// stay with them.
func TestHostedToolsOfTheResponsesAPIStayWhole(t *testing.T) {
	items := []string{`{"role":"user","content":"look all of it up"}`}
	for i := range 12 {
		items = append(items,
			fmt.Sprintf(`{"type":"reasoning","id":"rs%d","summary":[{"type":"summary_text","text":%q}],"encrypted_content":"QUJD"}`, i, prose(20, i)),
			fmt.Sprintf(`{"type":"file_search_call","id":"fs%d","status":"completed","queries":["q"],"results":[{"filename":"f%d","text":%q}]}`, i, i, prose(150, i)),
			fmt.Sprintf(`{"type":"tool_search_call","id":"ts%d","call_id":null,"arguments":{}}`, i),
			fmt.Sprintf(`{"type":"tool_search_output","id":"to%d","call_id":null,"tools":[{"name":"t%d"}]}`, i, i),
			fmt.Sprintf(`{"type":"message","role":"assistant","content":[{"type":"output_text","text":%q}]}`, prose(60, i)),
			fmt.Sprintf(`{"role":"user","content":%q}`, prose(60, i)))
	}
	c := decoded(t, `{"model":"m","input":[`+strings.Join(items, ",")+`]}`)
	if problems := chat.Check(c.Messages); len(problems) > 0 {
		t.Fatal(problems)
	}
	everyWay(t, c.Messages, func(how string, out chat.Transcript) { strictly(t, how, c.Messages, out) })
}

// The files that a session of an SDK has read become outlines, so their calls
// were understood.
func TestFilesInHistoriesOfSDKsBecomeOutlines(t *testing.T) {
	files, err := filepath.Glob("wire/testdata/sdk/*-*.json")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		c := decoded(t, string(data))
		s := newSession(t, tiercompact.Config{Window: 4096, Count: quarter})
		if err := s.Load(c.Messages); err != nil {
			t.Fatal(err)
		}
		if _, err := s.CompactLevel(t.Context(), levels.SoftName); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"shop/billing.py", "shop/taxes.py"} {
			if chat.Newest(s.Messages(), func(m chat.Message) bool {
				return m.Role == chat.Tool && strings.HasPrefix(m.Text(), "[outline "+path)
			}) < 0 {
				t.Errorf("%s: no outline of %s\n%s", file, path, show(s.Messages()))
			}
		}
		for _, to := range []string{"", "openai", "anthropic", "ollama", "jsonl"} {
			out := written(t, c, s.Messages(), to)
			again, err := wire.DecodeBytes([]byte(out), wire.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if problems := chat.Check(again.Messages); len(problems) > 0 || strings.Count(out, "[outline shop/") != 2 {
				t.Errorf("%s as %q: %v", file, to, problems)
			}
		}
	}
}
