package ollama_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/model"
	"github.com/tiercompact/tiercompact/internal/ollama"
	"github.com/tiercompact/tiercompact/internal/ollamatest"
	"github.com/tiercompact/tiercompact/tokens"
)

func realClient(t *testing.T) *ollama.Client {
	t.Helper()
	c, err := ollama.New(ollamatest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	c.Threads = ollamatest.Threads
	return c
}

// lines returns lines of source code, from the n-th on.
func lines(t *testing.T, n, count int) string {
	t.Helper()
	data, err := os.ReadFile("testdata/source.txt")
	if err != nil {
		t.Fatal(err)
	}
	all := strings.SplitAfter(string(data), "\n")
	n %= len(all) - count
	return strings.Join(all[n:n+count], "")
}

// posted sends a request without this package, as other clients do.
func posted(t *testing.T, path string, request map[string]any) (count int) {
	t.Helper()
	body, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Post(ollamatest.URL(t)+path, "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer struct {
		Error string
		Count int `json:"prompt_eval_count"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || answer.Error != "" {
		t.Fatalf("%s: %v, %s", path, err, answer.Error)
	}
	return answer.Count
}

func user(text string) []chat.Message { return []chat.Message{chat.NewText(chat.User, text)} }

func TestRealServerReportsItsModels(t *testing.T) {
	c := realClient(t)
	ctx := t.Context()
	if v, err := c.Version(ctx); err != nil || v == "" {
		t.Errorf("version %q, %v", v, err)
	}
	for name, want := range map[string]bool{ollamatest.Chat: true, ollamatest.Chat + ":latest": true, "REAL-smol": true, "real": false, "real-smol:1b": false, "": false} {
		m, ok, err := c.Has(ctx, name)
		if err != nil || ok != want || ok && m.Name != ollamatest.Chat+":latest" {
			t.Errorf("has %q: %q, %v, %v", name, m.Name, ok, err)
		}
	}
	for name, want := range map[string]string{
		ollamatest.Chat:     "llama 8192 0 chat:true embed:false",
		ollamatest.Embedder: "bert 512 0 chat:false embed:true",
	} {
		i, err := c.Show(ctx, name)
		if got := fmt.Sprintf("%s %d %d chat:%v embed:%v", i.Family, i.TrainedWindow, i.NumCtx, i.CanChat(), i.CanEmbed()); err != nil || got != want {
			t.Errorf("show %s: %s, %v", name, got, err)
		}
	}
}

func TestRealWindowIsTheOneThatIsLoaded(t *testing.T) {
	c := realClient(t)
	ctx := t.Context()
	for _, asked := range []int{1024, 20_000} { // the second is more than the model was trained for
		if _, err := c.Chat(ctx, model.Request{Model: ollamatest.Tiny, Messages: user("hi"), Window: asked, MaxTokens: 1}, nil); err != nil {
			t.Fatal(err)
		}
		known, err := c.Window(ctx, ollamatest.Tiny)
		if want := min(asked, 8192); err != nil || known.Loaded != want || tokens.Discover(known).Tokens != want {
			t.Errorf("num_ctx %d: %+v, %v, want %d", asked, known, err, want)
		}
	}
	if err := c.Unload(ctx, ollamatest.Tiny); err != nil {
		t.Fatal(err)
	}
	for { // it is unloaded soon
		known, err := c.Window(ctx, ollamatest.Tiny)
		if err != nil || known.Assumed == 0 || known.Trained != 8192 {
			t.Fatalf("%+v, %v", known, err)
		}
		if known.Loaded == 0 {
			if w := tokens.Discover(known); w.Unsure == "" {
				t.Errorf("not loaded, and said to be known: %+v", w)
			}
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	asked, err := c.DefaultWindow(ctx, ollamatest.Tiny)
	known, again := c.Window(ctx, ollamatest.Tiny)
	if err != nil || again != nil || asked == 0 || known.Loaded != asked {
		t.Errorf("the default window: %d, %v, then %+v, %v", asked, err, known, again)
	}
}

func TestRealLongInputIsRefusedNotCut(t *testing.T) {
	c := realClient(t)
	long := strings.Repeat("word ", 9000)
	for name, request := range map[string]model.Request{
		"one message":            {Window: 512, Messages: user(long[:4000])},
		"many messages":          {Window: 512, Messages: append(append(user(long[:1500]), user(long[:1500])...), user("hi")...)},
		"window above the model": {Window: 20_000, Messages: user(long)},
	} {
		request.Model, request.MaxTokens = ollamatest.Tiny, 1
		if a, err := c.Chat(t.Context(), request, nil); !errors.Is(err, model.ErrTooLong) {
			t.Errorf("%s: %d tokens, %v", name, a.PromptTokens, err)
		}
	}
	if _, err := c.Embed(t.Context(), ollamatest.Embedder, []string{"short", long[:4000]}); !errors.Is(err, model.ErrTooLong) {
		t.Errorf("embed: %v", err)
	}
}

func TestRealAnswerEndsWithTheWindow(t *testing.T) {
	const window = 512
	a, err := realClient(t).Chat(t.Context(), model.Request{Model: ollamatest.Tiny, Window: window, Messages: user(strings.Repeat("word ", 430)), MaxTokens: 300, Sampling: &model.Sampling{Temperature: 1, Seed: 1}}, nil)
	if err != nil || a.Done != model.CutOff || a.PromptTokens+a.Tokens > window+1 {
		t.Errorf("%q after %d + %d tokens, %v", a.Done, a.PromptTokens, a.Tokens, err)
	}
}

// At temperature 0 the tiny model answers this with one token over and over.
func TestRealServerEndsAnAnswerThatRepeatsAToken(t *testing.T) {
	a, err := realClient(t).Chat(t.Context(), model.Request{
		Model: ollamatest.Tiny, Window: 1024, Messages: user("a a a a a a a a a a a a"), MaxTokens: 400, Sampling: &model.Sampling{},
	}, nil)
	if err != nil || a.Done != model.Looped || len(strings.Fields(a.Message.Text())) < 30 {
		t.Errorf("%q after %q, %v", a.Done, a.Message.Text(), err)
	}
}

func TestRealSameRequestSameAnswer(t *testing.T) {
	c := realClient(t)
	var first string
	for i := range 3 {
		pieces := ""
		a, err := c.Chat(t.Context(), model.Request{
			Model: ollamatest.Chat, Messages: user("Name three colours."), MaxTokens: 16, NoThink: true, Sampling: &model.Sampling{Seed: 7},
		}, func(d model.Delta) error {
			pieces += d.Text
			return nil
		})
		if err != nil || a.Message.Text() == "" || a.Message.Text() != pieces {
			t.Fatalf("%q in pieces %q, %v", a.Message.Text(), pieces, err)
		}
		if i > 0 && pieces != first {
			t.Errorf("run %d: %q, the first was %q", i, pieces, first)
		}
		first = pieces
	}
}

func TestRealServerReportsMissingCapabilities(t *testing.T) {
	c := realClient(t)
	tools := []byte(`[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{}}}}]`)
	for name, try := range map[string]struct {
		request model.Request
		want    error
	}{
		"an embedder chats": {model.Request{Model: ollamatest.Embedder, Messages: user("hi")}, model.ErrCannot},
		"no tools":          {model.Request{Model: ollamatest.Chat, Messages: user("hi"), Tools: tools}, model.ErrCannot},
		"no such model":     {model.Request{Model: "nobody/has:this", Messages: user("hi")}, model.ErrNoModel},
	} {
		if _, err := c.Chat(t.Context(), try.request, nil); !errors.Is(err, try.want) || !strings.Contains(err.Error(), "; ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := c.Embed(t.Context(), "nobody-has-this", []string{"a"}); !errors.Is(err, model.ErrNoModel) {
		t.Errorf("embed: %v", err)
	}
	if _, err := c.Show(t.Context(), "nobody-has-this"); !errors.Is(err, model.ErrNoModel) {
		t.Errorf("show: %v", err)
	}
}

func TestRealVectorsMeanSomething(t *testing.T) {
	v, err := realClient(t).Embed(t.Context(), ollamatest.Embedder, []string{"the login test fails", "authentication spec is red", "a recipe for soup"})
	if err != nil || len(v) != 3 || len(v[0]) != 384 {
		t.Fatalf("%d vectors, %v", len(v), err)
	}
	dot := func(a, b []float32) (sum float64) {
		for i := range a {
			sum += float64(a[i] * b[i])
		}
		return sum
	}
	if near, far := dot(v[0], v[1]), dot(v[0], v[2]); near <= far || math.Abs(dot(v[0], v[0])-1) > 1e-3 {
		t.Errorf("near %.3f, far %.3f, itself %.4f", near, far, dot(v[0], v[0]))
	}
}

// tricky are 36 texts that are hard for tokenizers.
func tricky(t *testing.T) []string {
	return []string{
		"hello world",
		"func f(a int) {\n\treturn a+1\n}\n\n\n    // x  y   z\n",
		"numbers 1 22 333 4444  55555   6 7.8e9 0x1F",
		"it's don't WE'VE I'LL he'd",
		"äöü Straße 漢字かな 한글 😀👩‍👩‍👧 naïve",
		"a<|im_end|>b <|im_start|> <|eot_id|> <|notone|>",
		strings.Repeat(" ", 70) + "x" + strings.Repeat("=", 300) + strings.Repeat("-", 77) + strings.Repeat("\n", 40) + "\t\t\r\n end",
		`{"a": [1, 2, {"b": null}], "path": "/usr/local/bin/x_y-z.go:12"}`,
		lines(t, 40, 80),
		lines(t, 200, 60),
		lines(t, 500, 120),
		"a b  c   d    e     f      g       h        i",
		"x\ny\n\nz\n\n\nw\n\n\n\nv\n\n\n\n\n",
		"\ta\n\t\tb\n\t\t\tc\n\t\t\t\td\n\t\t\t\t\te",
		" \t \t\t  \t   \n \n\t\n  \n",
		"\r\n\r\na\r\n b\r\r\n",
		"  leading, trailing  ",
		"<table><tr><td>1</td><td> 2</td></tr></table>\n<h1>Title</h1><code>x  y</code>",
		"a<end_of_turn>b<start_of_turn>model\n<bos> <eos><unk> <pad><unused7> <mask>",
		"<tool_call>\n{\"name\": \"read\"}\n</tool_call><tool_response></tool_response><think>\n\n</think>",
		"<<|im_end|>> <|<|im_start|>|> <tool_call<tool_call>>",
		"- [ ] one\n- [x] two\n  - three\n    - four\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
		"def f(x):\n    if x:\n        return {\n            'a': 1,\n        }\n    return None\n",
		"SELECT  a,b\nFROM t\nWHERE a='x''y' -- z\n;",
		"https://example.com/a/b?c=d&e=%20f#g user@example.com 10.0.0.1:8443",
		"camelCase snake_case SCREAMING_CASE kebab-case Mixed_Case42x",
		"1,234,567.89 2026-11-29T05:40:12Z 0b1010 0o17 1e-9 ½ ² ٣",
		"Ünïcödé ﬁ ﬀ Ǆ ŉ ﷽ \u200b\u00a0\u3000\u2028x",
		"e\u0301a\u0308 नमस्ते สวัสดี שלום مرحبا ქართული",
		"日本語の文章です。中文的句子，没有空格。한국어 문장입니다.",
		"🇩🇪🏳️‍🌈👍🏽 ☃ ❤️ → ≠ ∑ ℝ",
		strings.Repeat("ab", 300) + strings.Repeat("aA1", 80),
		"________ ******** //////// \\\\\\ ........ !!!??? #### ==== ~~~~ ||||",
		"diff --git a/x b/x\n@@ -1,3 +1,4 @@\n-\told\n+\tnew\n \n",
		"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
		"\x01\x02\x7f \ufffd \ufeff",
	}
}

func TestRealTokenizersCountAsTheServerDoes(t *testing.T) {
	c := realClient(t)
	const chatML, turn = "<|im_end|>\n<|im_start|>assistant\n", "<end_of_turn>\n<start_of_turn>model\n"
	texts := tricky(t)
	if len(texts) != 36 {
		t.Fatalf("%d texts", len(texts))
	}
	for _, m := range []struct{ name, before, after string }{
		{ollamatest.Chat, "<|im_start|>user\n", chatML},
		{ollamatest.Tiny, "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\n", "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
		{ollamatest.TinyGemma2, "<bos><start_of_turn>user\n", turn},
		{ollamatest.TinyGemma3, "<bos><start_of_turn>user\n", turn},
		{ollamatest.TinyQwen2, "<|im_start|>user\n", chatML},
		{ollamatest.TinyQwen3, "<|im_start|>user\n", chatML},
	} {
		count, err := c.Tokenizer(t.Context(), m.name)
		if err != nil {
			t.Fatal(err)
		}
		off := 0
		for i, text := range texts {
			a, err := c.Chat(t.Context(), model.Request{Model: m.name, MaxTokens: 1, Window: 4096, Messages: user(text)}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := count(m.before + text + m.after); got != a.PromptTokens {
				off++
				t.Errorf("%s, text %d: %d tokens, the server counts %d", m.name, i, got, a.PromptTokens)
			}
		}
		t.Logf("%s: %d of %d texts differ", m.name, off, len(texts))
	}
	for _, name := range []string{ollamatest.Embedder, ollamatest.TinyEmbedder} {
		count, err := c.Tokenizer(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		for i, text := range texts[:9] { // in others, words have more than wordBytes
			text = strings.ToValidUTF8(text[:min(len(text), 500)], "")
			const ends = 2
			if got, want := count(text)+ends, posted(t, "/api/embed", map[string]any{"model": name, "input": text, "options": map[string]any{"num_thread": ollamatest.Threads}}); got != want {
				t.Errorf("%s, text %d: %d tokens, the server counts %d", name, i, got, want)
			}
		}
	}
}

func TestRealTruncationIsDetectedAndNotLearnt(t *testing.T) {
	url := ollamatest.URL(t)
	counter, err := tokens.ForModel("llama3.2")
	if err != nil {
		t.Fatal(err)
	}
	many := func(n int) (out []chat.Message) {
		for i := range n {
			out = append(out, chat.NewText([]chat.Role{chat.User, chat.Assistant}[i%2], lines(t, 30*i, 6)))
		}
		return out
	}
	for _, c := range []struct {
		name      string
		messages  []chat.Message
		window    int
		truncated bool
	}{
		{"messages dropped", many(21), 512, true},
		{"one message cut", user(lines(t, 0, 300)), 512, true},
		{"half of the window", many(5), 512, false},
		{"most of the window", many(9), 1024, false},
		{"the whole of it in two", many(21), 4096, false},
	} {
		estimate := 0
		var sent []map[string]any
		for _, m := range c.messages {
			estimate += counter.Message(m)
			sent = append(sent, map[string]any{"role": m.Role, "content": m.Text()})
		}
		// As clients do that do not set truncate and shift.
		count := posted(t, "/api/chat", map[string]any{
			"model": ollamatest.Tiny, "messages": sent, "stream": false, "options": map[string]any{"num_ctx": c.window, "num_predict": 1, "num_thread": ollamatest.Threads},
		})
		before := tokens.Calibration{Ratio: 1, Weight: 1000}
		after, sample := before.Observe(estimate, count, c.window)
		if sample.Truncated != c.truncated || sample.Taken == c.truncated || c.truncated && after != before {
			t.Errorf("%s at %s: %d counted, %d estimated in %d: %+v", c.name, url, count, estimate, c.window, sample)
		}
	}
}

func TestRealEstimatesFollowTheServersCounts(t *testing.T) {
	c := realClient(t)
	exact, err := c.Tokenizer(t.Context(), ollamatest.Chat)
	if err != nil {
		t.Fatal(err)
	}
	for name, count := range map[string]func(string) int{"estimated": nil, "exact": exact} {
		t.Run(name, func(t *testing.T) {
			compactor, err := tiercompact.New(tiercompact.Config{Model: ollamatest.Chat, Window: 8192, NoAuto: true, Count: count})
			if err != nil {
				t.Fatal(err)
			}
			s := compactor.Session(name)
			add(t, s, chat.NewText(chat.System, "You explain code. This is the package that it is from:\n\n"+lines(t, 600, 90)))
			for i := range 13 {
				off := answered(t, c, s, i)
				if i >= 3 && off > 0.02 {
					t.Errorf("answer %d: the estimate is off by %.1f %%", i, 100*off)
				}
			}
			if _, err := s.Compact(t.Context(), ""); err != nil {
				t.Fatal(err)
			}
			for i := 13; i < 16; i++ {
				if off := answered(t, c, s, i); off > 0.10 {
					t.Errorf("answer %d, after a compaction: the estimate is off by %.1f %%", i, 100*off)
				}
			}
		})
	}
}

// answered adds a user's message and a model's answer to a session, and returns the
// error of the estimate, as a share of the server's count.
func answered(t *testing.T, c *ollama.Client, s *tiercompact.Session, i int) float64 {
	t.Helper()
	add(t, s, chat.NewText(chat.User, "What does this do?\n\n"+lines(t, 37*i, 6+i%4)))
	estimate := s.Usage().Tokens
	a, err := c.Chat(t.Context(), model.Request{
		Model: ollamatest.Chat, Window: 8192, Messages: s.Messages(), MaxTokens: 24, Sampling: &model.Sampling{Seed: 1},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	off := math.Abs(float64(estimate-a.PromptTokens)) / float64(a.PromptTokens)
	t.Logf("answer %d: %d estimated, %d counted, off by %.2f %%", i, estimate, a.PromptTokens, 100*off)
	s.Observe(a.PromptTokens)
	add(t, s, a.Message)
	return off
}

func add(t *testing.T, s *tiercompact.Session, m chat.Message) {
	t.Helper()
	if _, err := s.AddMessage(t.Context(), m); err != nil {
		t.Fatal(err)
	}
}
