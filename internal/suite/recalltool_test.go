package suite

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/recall"
	"github.com/tiercompact/tiercompact/tokens"
)

// recalling returns a session whose newest round wrote a summary, and the recall id of it.
func recalling(t *testing.T) (s *tiercompact.Session, id string) {
	t.Helper()
	c, err := tiercompact.New(tiercompact.Config{Window: 16000, NoAuto: true})
	if err != nil {
		t.Fatal(err)
	}
	s = c.Session("tool")
	for i := range 60 {
		call := chat.Message{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Text, Text: fmt.Sprintf("I read file number %d.", i)},
			{Kind: chat.Call, ID: fmt.Sprint(i), Name: "read_file", Args: fmt.Sprintf(`{"path":"internal/part%d/store%d.go"}`, i, i)}}}
		said := chat.NewText(chat.User, fmt.Sprintf("Please look at part %d. Decision: we keep the leases of part %d in Redis.", i, i))
		result := chat.NewResult(fmt.Sprint(i), fmt.Sprintf("package part%d\n\nfunc Lease%d() string {\n\treturn \"lease of %d\"\n}\n", i, i, i))
		if err := s.Load([]chat.Message{said, call, result, chat.NewText(chat.Assistant, "done")}); err != nil {
			t.Fatal(err)
		}
	}
	r, err := s.Compact(t.Context(), "")
	if err != nil || !r.Compacted() {
		t.Fatal(r.Reason, err)
	}
	for _, m := range s.Messages() {
		if m.IsSummary() {
			return s, m.Recall
		}
	}
	t.Fatal("no summary")
	return nil, ""
}

// A scripted model asks, gets at most its tokens, and goes on; wrong arguments get a
// sentence that says what is right.
func TestAModelRecallsInItsToolLoop(t *testing.T) {
	s, id := recalling(t)
	count, err := tokens.ForModel("")
	if err != nil {
		t.Fatal(err)
	}
	for _, turn := range []struct {
		args, has, err string
	}{
		{`{"text":"Lease7"}`, `return "lease of 7"`, ""},
		{`{"text":"which part keeps leases of part 31 in Redis"}`, "part 31", ""},
		{`{"text":"internal/part9/store9.go"}`, "func Lease9()", ""},
		{`{"text":"\"lease of 12\""}`, `return "lease of 12"`, ""},
		{`{"file":"store15.go"}`, "func Lease15()", ""},
		{`{"id":"` + id + `"}`, "stands for", ""},
		{`{"id":"` + id + `","message":31}`, "Lease7()", ""},
		{`{"id":"` + id + `","message":9999}`, "", "has no message 9999"},
		{`{"id":"deadbeef"}`, "", "no removed text has the id"},
		{`{"text":"xylophone"}`, "", "try other words"},
		{`{"query":"Lease7"}`, "", `it needs a text, an id or a file`},
		{`{"text":7}`, "", `"text" must be a string`},
		{`Lease7`, "", `{"text":"words to search for"}`},
		{``, "", `not a JSON object`},
	} {
		answer, err := s.HandleRecall(t.Context(), turn.args)
		if turn.err != "" {
			if err == nil || !strings.Contains(err.Error(), turn.err) {
				t.Errorf("%s: error %v, want %q", turn.args, err, turn.err)
			}
			continue
		}
		if err != nil || !strings.Contains(answer, turn.has) {
			t.Errorf("%s: %v, without %q:\n%s", turn.args, err, turn.has, answer)
		}
		if n := count.Text(answer); n > tiercompact.RecallTokens {
			t.Errorf("%s: %d tokens", turn.args, n)
		}
	}
}

func TestTheRecallToolHasTheFormOfEachServer(t *testing.T) {
	tool := tiercompact.RecallTool()
	var openai struct {
		Type     string
		Function struct {
			Name, Description string
			Parameters        struct {
				Type       string
				Properties map[string]struct{ Type string }
			}
		}
	}
	if err := json.Unmarshal(tool.OpenAI(), &openai); err != nil || openai.Type != "function" || openai.Function.Name != "recall" ||
		openai.Function.Parameters.Type != "object" || openai.Function.Parameters.Properties["text"].Type != "string" {
		t.Errorf("%s: %v", tool.OpenAI(), err)
	}
	var anthropic struct {
		Name, Description string
		Schema            struct{ Type string } `json:"input_schema"`
	}
	if err := json.Unmarshal(tool.Anthropic(), &anthropic); err != nil || anthropic.Name != "recall" || anthropic.Schema.Type != "object" {
		t.Errorf("%s: %v", tool.Anthropic(), err)
	}
	if string(tool.Ollama()) != string(tool.OpenAI()) || !strings.Contains(tiercompact.RecallPrompt, tool.Name) {
		t.Error("Ollama takes the form of OpenAI")
	}
}

func TestDroppedListsDecisionsFirst(t *testing.T) {
	s, _ := recalling(t)
	dropped, err := s.Dropped(t.Context())
	if err != nil || len(dropped) < 100 {
		t.Fatal(len(dropped), err)
	}
	decisions := 0
	for i, d := range dropped {
		if d.Decision {
			decisions++
		}
		if d.Decision != (i < decisions) || d.Message < 1 || d.Title == "" {
			t.Fatalf("%d: %+v", i, d)
		}
	}
	if decisions < 40 || !strings.Contains(dropped[0].Text, "Redis") {
		t.Errorf("%d decisions, %q first", decisions, dropped[0].Text)
	}
}

// A search in a session prints at most its tokens, whatever they are.
func TestAnAnswerIsWithinItsTokens(t *testing.T) {
	s, _ := recalling(t)
	count := func(text string) int { return (len(text) + 2) / 3 }
	for _, limit := range []int{20, 60, 200, 1000, 5000} {
		r, err := s.SearchBy(t.Context(), recall.Query{Text: "leases of part 12 in Redis", Tokens: limit, Count: count})
		if err != nil || count(r.Text()) > limit {
			t.Errorf("%d tokens of %d, %v", count(r.Text()), limit, err)
		}
		seen := make(map[string]bool)
		for _, h := range r.Hits {
			if seen[h.Text] {
				t.Errorf("%q twice", h.Text)
			}
			seen[h.Text] = true
		}
	}
}
