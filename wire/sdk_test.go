package wire

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
)

// The fixtures in testdata/sdk were written by the official SDKs: their clients
// parsed the answers in testdata/sdk/api, and the returned objects were appended to
// a history and dumped. testdata/sdk/make.sh regenerates them.

type sdkSession struct {
	System, User, Say string
	Calls             []struct {
		ID, Name string
		Args     json.RawMessage
		Result   string
	}
	Custom struct{ ID, Name, Input, Result string }
	Answer string
	Next   []string
}

func readSDKSession(t testing.TB) sdkSession {
	t.Helper()
	data, err := os.ReadFile("testdata/sdk/session.json")
	if err != nil {
		t.Fatal(err)
	}
	var s sdkSession
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// sdkFixtures are the fixtures by their expected format.
var sdkFixtures = map[string][]string{
	"openai":    {"openai-go-*", "openai-js.json", "openai-python-model*"},
	"responses": {"openai-*-responses.json"},
	"anthropic": {"anthropic-*"},
	"ollama":    {"ollama-*"},
	"gemini":    {"gemini-*"},
	"langchain": {"langchain-*"},
	"bedrock":   {"bedrock-*"},
	"aisdk":     {"aisdk-*"},
}

func eachSDKFixture(t *testing.T, do func(t *testing.T, format, in string)) {
	t.Helper()
	met := 0
	for format, patterns := range sdkFixtures {
		for _, pattern := range patterns {
			files, err := filepath.Glob(filepath.Join("testdata/sdk", pattern))
			if err != nil || len(files) == 0 {
				t.Fatalf("no fixture %s: %v", pattern, err)
			}
			for _, file := range files {
				if format != "responses" && strings.HasSuffix(file, "-responses.json") {
					continue
				}
				met++
				data, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				t.Run(filepath.Base(file), func(t *testing.T) { do(t, format, string(data)) })
			}
		}
	}
	if all, _ := filepath.Glob("testdata/sdk/*-*.json"); len(all) != met {
		t.Errorf("%d fixtures of %d were read", met, len(all))
	}
}

// told returns the content of a conversation, with calls identified by the index of
// their results: their ids are the source's own, or invented.
func told(c Conversation) []string {
	var all []string
	for _, m := range c.Messages {
		for _, p := range m.Parts {
			switch p.Kind {
			case chat.Call, chat.ServerCall:
				all = append(all, "call "+p.Name+" "+compact(argumentsObject(p)))
			case chat.Result, chat.ServerResult:
				all = append(all, "result "+p.Text)
			case chat.Text, chat.Opaque:
				all = append(all, string(m.Role)+" "+p.Text)
			}
		}
	}
	return all
}

func (s sdkSession) told(format, in string) []string {
	all := []string{"system " + s.System, "user " + s.User, "assistant " + s.Say}
	for _, c := range s.Calls {
		all = append(all, "call "+c.Name+" "+compact(string(c.Args)))
	}
	for _, c := range s.Calls {
		all = append(all, "result "+c.Result)
	}
	if format == "openai" || format == "responses" {
		all = append(all, "call "+s.Custom.Name+" "+compact(objectOf(change{"input", quotedJSON(s.Custom.Input)})), "result "+s.Custom.Result)
	}
	if format == "anthropic" {
		all = append(all, `call web_search {"query":"decimal rounding"}`, "result Decimal\nhttps://example.com/decimal")
	}
	all = append(all, "assistant "+s.Answer)
	for i, text := range s.Next {
		all = append(all, []string{"user ", "assistant "}[i%2]+text)
	}
	return all
}

func TestHistoriesOfOfficialSDKsAreReadRight(t *testing.T) {
	s := readSDKSession(t)
	eachSDKFixture(t, func(t *testing.T, format, in string) {
		c := decoded(t, in)
		if c.Format != format {
			t.Fatalf("taken for %s", c.Format)
		}
		got, want := told(c), s.told(format, in)
		for i := range max(len(got), len(want)) {
			if i >= len(got) || i >= len(want) || got[i] != want[i] {
				t.Fatalf("piece %d of %d:\n%.300q\nwant, of %d:\n%.300q", i, len(got), at(got, i), len(want), at(want, i))
			}
		}
		if problems := chat.Check(c.Messages); len(problems) > 0 {
			t.Error(problems)
		}
		if format != "ollama" { // whose SDKs omit ids
			for _, call := range s.Calls {
				if !strings.Contains(ids(c.Messages), "+"+call.ID) || !strings.Contains(ids(c.Messages), "-"+call.ID) {
					t.Errorf("ids %s, want %s", ids(c.Messages), call.ID)
				}
			}
		}
	})
}

func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return "(nothing)"
}

func TestHistoriesOfOfficialSDKsKeepTheirBytes(t *testing.T) {
	eachSDKFixture(t, func(t *testing.T, format, in string) {
		c := decoded(t, in)
		if c.layout == nil {
			return // a read-only format
		}
		if out := encoded(t, c, ""); out != in {
			t.Errorf("became\n%s", out)
		}
		for i, m := range c.Messages { // all but one stay unchanged
			if len(m.Parts) == 1 && m.Parts[0].Kind == chat.Text && m.Source != nil && m.Source.Count == 1 && beginsWithAny(m.Source.JSON, "{") {
				c.Messages[i] = m.With(chat.Active, chat.Part{Kind: chat.Text, Text: "changed"})
				break
			}
		}
		out := encoded(t, c, "")
		for _, m := range c.Messages {
			if !m.Changed && !strings.Contains(out, m.Source.JSON) {
				t.Errorf("%s has changed", m.Source.JSON)
			}
		}
	})
}

func TestHistoriesOfOfficialSDKsLoseNothingInAnyFormat(t *testing.T) {
	eachSDKFixture(t, func(t *testing.T, format, in string) {
		c := decoded(t, in)
		want := told(c)
		for _, to := range []string{"openai", "anthropic", "ollama", "jsonl"} {
			out := encoded(t, c, to)
			if to != format {
				if err := refused(t, to, out); err != nil {
					t.Errorf("%s: %v", to, err)
				}
			}
			again, err := DecodeBytes([]byte(out), Options{Format: to})
			if err != nil {
				t.Fatal(err)
			}
			if got := told(again); !slices.Equal(got, want) {
				t.Errorf("%s: %.1500q\nwant %.1500q", to, got, want)
			}
			if problems := chat.Check(again.Messages); len(problems) > 0 {
				t.Error(to, problems)
			}
		}
	})
}

func TestACallIsReadByItsType(t *testing.T) {
	function := `"function":{"name":"f","arguments":"{\"a\":1}"}`
	custom := `"custom":{"name":"g","input":"text"}`
	for call, want := range map[string]string{
		`{"id":"c",` + function + `,"custom":{"input":"","name":""},"type":"function"}`:         `f {"a":1}`,
		`{"id":"c","function":{"arguments":"","name":""},` + custom + `,"type":"custom"}`:       `g {"input":"text"}`,
		`{"id":"c",` + function + `,"custom":null,"type":"function"}`:                           `f {"a":1}`,
		`{"id":"c",` + custom + `,"function":null,"type":"custom"}`:                             `g {"input":"text"}`,
		`{"id":"c",` + function + `,"custom":{}}`:                                               `f {"a":1}`,
		`{"id":"c","function":{"name":"","arguments":""},` + custom + `,"type":null}`:           `g {"input":"text"}`,
		`{"id":"c","type":"function","name":"f","arguments":{"a":1}}`:                           `f {"a":1}`,
		`{"id":"c",` + function + `,"custom":{"input":"","name":""},"type":"","caller":[null]}`: `f {"a":1}`,
	} {
		in := fmt.Sprintf(`[{"role":"user","content":"q"},{"role":"assistant","content":null,"tool_calls":[%s]},{"role":"tool","tool_call_id":"c","content":"r"}]`, call)
		c := decoded(t, in)
		p := c.Messages[1].Parts[0]
		if got := p.Name + " " + p.Args; got != want {
			t.Errorf("%s: read as %s, want %s", call, got, want)
		}
		p.Args, p.Raw = `{"input":"cut"}`, ""
		c.Messages[1] = c.Messages[1].With(chat.Outlined, p)
		again := decoded(t, encoded(t, c, ""))
		if q := again.Messages[1].Parts[0]; q.Name != p.Name || q.Args != p.Args {
			t.Errorf("%s: written as %+v", call, q)
		}
	}
}

func TestACallWithoutANameIsReported(t *testing.T) {
	for _, in := range []string{
		`[{"role":"user","content":"q"},{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"r"}]`,
		`[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"tool_use","id":"c","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"r"}]}]`,
	} {
		problems := chat.Check(decoded(t, in).Messages)
		if len(problems) != 1 || problems[0].Kind != chat.NoName || problems[0].ID != "c" || problems[0].Index != 1 {
			t.Errorf("%s: %v", in, problems)
		}
	}
}
