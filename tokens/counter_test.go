package tokens_test

import (
	"encoding/base64"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/pkoukk/tiktoken-go"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/tokens"
)

func model(t testing.TB, name string) *tokens.Counter {
	t.Helper()
	c, err := tokens.ForModel(name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestForModelKnowsFamilies(t *testing.T) {
	for _, c := range []struct {
		model, encoding string
		factor          float64
	}{
		{"", tokens.CL100K, 1},
		{"  ", tokens.CL100K, 1},
		{"gpt-4", tokens.CL100K, 1},
		{"gpt-4-0613", tokens.CL100K, 1},
		{"gpt-4o", tokens.O200K, 1},
		{"gpt-4o-mini-2024-07-18", tokens.O200K, 1},
		{"openai/gpt-4.1-nano", tokens.O200K, 1},
		{"ft:gpt-3.5-turbo-0125:acme::7p4lURel", tokens.CL100K, 1},
		{"o3-mini", tokens.O200K, 1},
		{"gpt-5.1-codex", tokens.O200K, 1},
		{"gpt-oss:20b", tokens.O200K, 1},
		{"llama3", tokens.CL100K, 1},
		{"llama3.2:3b", tokens.CL100K, 1},
		{"hf.co/bartowski/Llama-3.2-3B-Instruct-GGUF:Q4_K_M", tokens.CL100K, 1},
		{"dolphin-llama3:8b", tokens.CL100K, 1},
		{"llama2:7b", tokens.CL100K, 1.15},
		{"llama-30b", tokens.CL100K, 1.15},
		{"qwen2.5-coder:7b", tokens.CL100K, 1.07},
		{"qwq", tokens.CL100K, 1.07},
		{"gemma3:4b", tokens.CL100K, 1.25},
		{"codegemma", tokens.CL100K, 1.25},
		{"mistral", tokens.CL100K, 1.15},
		{"o10-something", tokens.CL100K, 1.15},
		{"text-davinci-003", tokens.CL100K, 1.15},
	} {
		if enc, f := model(t, c.model).Describe(); enc != c.encoding || f != c.factor {
			t.Errorf("%q counts as %s x %.2f, want %s x %.2f", c.model, enc, f, c.encoding, c.factor)
		}
	}
}

func TestForModelHoldsTiktokensTable(t *testing.T) {
	for name, want := range tiktoken.MODEL_TO_ENCODING {
		if want != tokens.CL100K && want != tokens.O200K {
			continue
		}
		if got, f := model(t, name).Describe(); got != want || f != 1 {
			t.Errorf("%s counts as %s x %.2f, want %s x 1.00", name, got, f, want)
		}
	}
	for prefix, want := range tiktoken.MODEL_PREFIX_TO_ENCODING {
		if got, f := model(t, prefix+"2031-01-01").Describe(); got != want || f != 1 {
			t.Errorf("%s… counts as %s x %.2f, want %s x 1.00", prefix, got, f, want)
		}
	}
}

func TestFactorRoundsUp(t *testing.T) {
	for _, c := range []struct {
		model string
		want  int
	}{{"", 100}, {"qwen3", 107}, {"gemma3", 125}, {"phi4", 115}} {
		if got := model(t, c.model).Text(strings.Repeat(" word", 100)); got != c.want {
			t.Errorf("%q: 100 tokens count %d, want %d", c.model, got, c.want)
		}
		if got := model(t, c.model).Text(""); got != 0 {
			t.Errorf("%q: no text counts %d", c.model, got)
		}
	}
	if got := model(t, "qwen3").Text(" word"); got != 2 {
		t.Errorf("one token counts %d for qwen3, want 2", got)
	}
}

func TestMessageCountsWhatTheModelReads(t *testing.T) {
	c := model(t, "")
	for _, m := range []struct {
		name  string
		parts []chat.Part
		want  int
	}{
		{"nothing", nil, 5},
		{"text", []chat.Part{{Kind: chat.Text, Text: "hello world"}}, 7},
		{"text as read", []chat.Part{{Kind: chat.Text, Text: "hello world", Raw: `{"type":"text","text":"hello world"}`}}, 7},
		{"thinking and text", []chat.Part{{Kind: chat.Thinking, Text: "hello world"}, {Kind: chat.Text, Text: "hello"}}, 8},
		{"call", []chat.Part{{Kind: chat.Call, ID: "call_1", Name: "read", Args: `{}`}}, 19},
		{"two calls", []chat.Part{{Kind: chat.Call, Name: "read", Args: `{}`}, {Kind: chat.Call, Name: "read", Args: `{}`}}, 33},
		{"result", []chat.Part{{Kind: chat.Result, ID: "call_1", Text: "hello world"}}, 7},
		{"named result", []chat.Part{{Kind: chat.Result, Name: "read", Text: "hello world"}}, 8},
		{"summary", []chat.Part{{Kind: chat.Summary, Text: "hello world"}}, 7},
		{"image", []chat.Part{{Kind: chat.Image, Image: &chat.Picture{Data: strings.Repeat("A", 1<<20)}}}, 773},
		{"image without picture", []chat.Part{{Kind: chat.Image}}, 773},
		{"result with an image", []chat.Part{{Kind: chat.Result, Image: &chat.Picture{Detail: "low"}}}, 90},
		{"special tokens as text", []chat.Part{{Kind: chat.Text, Text: "<|endoftext|>"}}, 12},
	} {
		if got := c.Message(chat.Message{Role: chat.User, Parts: m.parts}); got != m.want {
			t.Errorf("%s: %d tokens, want %d", m.name, got, m.want)
		}
	}
	if got := model(t, "gpt-4").Message(chat.NewText(chat.User, "hello world")); got != 6 {
		t.Errorf("a message of two tokens counts %d for gpt-4, want 6", got)
	}
}

func TestToolsCountCompactJSON(t *testing.T) {
	c := model(t, "")
	for _, none := range []string{"", "null", "[]", " [ ] ", "{}"} {
		if got := c.Tools([]byte(none)); got != 0 {
			t.Errorf("%q counts %d", none, got)
		}
	}
	compact := `[{"type":"function","function":{"name":"read","parameters":{"type":"object"}}}]`
	spread := strings.NewReplacer("{", "{\n    ", ",", ",\n    ").Replace(compact)
	if got, want := c.Tools([]byte(spread)), c.Text(compact); got != want || got == 0 {
		t.Errorf("tools with white space count %d, want %d", got, want)
	}
	if got, want := c.Tools([]byte("no {json")), c.Text("no {json"); got != want {
		t.Errorf("what is no JSON counts %d, want %d", got, want)
	}
}

func TestWithCountsTextByTheGivenFunction(t *testing.T) {
	c := model(t, "").With(func(s string) int { return 10 * len(s) })
	if got := c.Message(chat.NewText(chat.User, "abc")); got != 35 {
		t.Errorf("message counts %d, want 35", got)
	}
	if got := model(t, "").Text("abc"); got != 1 {
		t.Errorf("the counter it was made from counts %d, want 1", got)
	}
}

func TestLoadRefusesOtherEncodings(t *testing.T) {
	if _, err := tokens.Load("p50k_base"); err == nil || err.Error() != `unknown encoding "p50k_base"` {
		t.Errorf("error %v", err)
	}
}

func TestLoadBuildsOnce(t *testing.T) {
	for _, name := range encodings {
		if first, second := load(t, name), load(t, name); first != second {
			t.Errorf("%s was built twice", name)
		}
	}
}

func TestCountIsSafeForConcurrentUse(t *testing.T) {
	for _, name := range encodings {
		e := load(t, name)
		var want []int
		for _, text := range tricky {
			want = append(want, e.Count(text))
		}
		var wg sync.WaitGroup
		for seed := range uint64(4) {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(seed, 0))
				for range 2000 {
					i := r.IntN(len(tricky))
					if got := e.Count(tricky[i]); got != want[i] {
						t.Errorf("%s: %q: %d tokens, want %d", name, tricky[i], got, want[i])
					}
				}
			})
		}
		wg.Wait()
	}
}

func TestCountAllocatesNothing(t *testing.T) {
	if raceDetector {
		t.Skip("under the race detector a pool drops some of what it is given")
	}
	for _, c := range append(corpora(t), corpus{"hostile", func(testing.TB) string {
		var all strings.Builder
		for _, h := range hostile(5000) {
			all.WriteString(h.text)
		}
		return all.String()
	}}) {
		t.Run(c.name, func(t *testing.T) {
			text := c.text(t)
			text = strings.ToValidUTF8(text[:min(len(text), 50_000)], "")
			for _, name := range encodings {
				e := load(t, name)
				if got := testing.AllocsPerRun(20, func() { e.Count(text) }); got >= 1 {
					t.Errorf("%s: %v allocations", name, got)
				}
			}
		})
	}
}

// The model reads the text in an encrypted result, not its base64.
func TestResultsOfServersToolsCountWhatTheModelReads(t *testing.T) {
	c, err := tokens.ForModel("")
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Repeat("some words of a page ", 200)
	encrypted := base64.StdEncoding.EncodeToString([]byte(words))
	m := chat.Message{Parts: []chat.Part{{Kind: chat.ServerResult, Text: "title", Raw: `{"encrypted_content":"` + encrypted + `"}`}}}
	plain := c.Message(chat.Message{Parts: []chat.Part{{Kind: chat.ServerResult, Text: words}}})
	if got := c.Message(m); got < plain*9/10 || got > plain*3/2 {
		t.Errorf("%d tokens, of the text %d", got, plain)
	}
	call := chat.Part{Kind: chat.ServerCall, Name: "web_search", Args: `{"query":"a"}`}
	own := call
	if own.Kind = chat.Call; c.Message(chat.Message{Parts: []chat.Part{call}}) != c.Message(chat.Message{Parts: []chat.Part{own}}) {
		t.Error("a server's call counts otherwise than another")
	}
}
