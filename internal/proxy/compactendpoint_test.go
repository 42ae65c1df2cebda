package proxy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/proxy"
	"github.com/tiercompact/tiercompact/wire"
)

// shapes are the documents that hold messages. In each, %s is the place of the items
// that exchange returns.
var shapes = []struct {
	name, document string
	exchange       func(n int) []string
}{
	{"openai", `{"model":"m", "messages":[{"role":"system","content":"Be brief."},%s],"x":1.50}`, withToolCalls},
	{"openai, a list", ` [%s] `, withToolCalls},
	{"ollama", `{"model":"m","messages":[%s],"options":{"temperature":0.10},"stream":false}`, ollamaTurn},
	{"anthropic", `{"model":"m","max_tokens":100,"system":"Be brief.","messages":[%s]}`, anthropicTurn},
	{"responses", `{"model":"m","instructions":"Be brief.","input":[%s]}`, responsesTurn},
	{"responses, a list", `[%s]`, responsesTurn},
	{"responses, as messages", `{"messages":[%s]}`, responsesTurn},
}

func longResult(n int) string {
	return strings.Repeat(fmt.Sprintf("line of file_%d.go; ", n), 60)
}

func withToolCalls(n int) []string {
	return []string{
		fmt.Sprintf(`{"role":"user","content":"Question %d?"}`, n),
		fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"id":"c%d","type":"function","function":{"name":"read","arguments":"{\"path\":\"file_%d.go\"}"}}]}`, n, n),
		fmt.Sprintf(`{"role":"tool","tool_call_id":"c%d","content":"%s"}`, n, longResult(n)),
		fmt.Sprintf(`{"role":"assistant","content":"Answer %d."}`, n),
	}
}

func ollamaTurn(n int) []string {
	return []string{
		fmt.Sprintf(`{"role":"user","content":"Question %d?"}`, n),
		fmt.Sprintf(`{"role":"assistant","content":"","tool_calls":[{"function":{"name":"read","arguments":{"path":"file_%d.go"}}}]}`, n),
		fmt.Sprintf(`{"role":"tool","tool_name":"read","content":"%s"}`, longResult(n)),
		fmt.Sprintf(`{"role":"assistant","content":"Answer %d."}`, n),
	}
}

func anthropicTurn(n int) []string {
	return []string{
		fmt.Sprintf(`{"role":"user","content":[{"type":"text","text":"Question %d?"}]}`, n),
		fmt.Sprintf(`{"role":"assistant","content":[{"type":"tool_use","id":"c%d","name":"read","input":{"path":"file_%d.go"}}]}`, n, n),
		fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c%d","content":"%s"}]}`, n, longResult(n)),
		fmt.Sprintf(`{"role":"assistant","content":[{"type":"text","text":"Answer %d."}]}`, n),
	}
}

func responsesTurn(n int) []string {
	return []string{
		fmt.Sprintf(`{"type":"message","role":"user","content":[{"type":"input_text","text":"Question %d?"}]}`, n),
		fmt.Sprintf(`{"type":"function_call","call_id":"c%d","name":"read","arguments":"{\"path\":\"file_%d.go\"}"}`, n, n),
		fmt.Sprintf(`{"type":"function_call_output","call_id":"c%d","output":"%s"}`, n, longResult(n)),
		fmt.Sprintf(`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Answer %d."}]}`, n),
	}
}

// TestCompactAnswersInTheShapeThatCame sends a long history in each shape, and expects
// it shorter, in the same document, with its newest message as it came.
func TestCompactAnswersInTheShapeThatCame(t *testing.T) {
	for _, shape := range shapes {
		t.Run(shape.name, func(t *testing.T) {
			s := newSetup(t, 4000, nil)
			var items []string
			for n := range 25 {
				items = append(items, shape.exchange(n)...)
			}
			newest := shape.exchange(99)[0]
			body := fmt.Sprintf(shape.document, strings.Join(append(items, newest), ","))
			answer, text := s.post(t, "/v1/compact", body, "X-Tiercompact-Session", "one")
			if answer.StatusCode != 200 || !json.Valid([]byte(text)) || len(text) >= len(body)*2/3 || !strings.Contains(text, newest) {
				t.Fatalf("%d %v: %d of %d bytes: %.1000s", answer.StatusCode, answer.Header, len(text), len(body), text)
			}
			before, after, _ := strings.Cut(shape.document, "%s")
			if strings.HasPrefix(shape.document, "{") && (!strings.HasPrefix(text, before[:strings.LastIndex(before, "[")]) || !strings.HasSuffix(text, after)) {
				t.Errorf("the document around the messages is another: %.100s", text)
			}
			want, err := wire.DecodeBytes([]byte(body), wire.Options{})
			got, err2 := wire.DecodeBytes([]byte(text), wire.Options{Format: want.Format})
			if err = errors.Join(err, err2); err != nil && shape.name != "responses, as messages" {
				t.Fatal(err)
			} else if problems := chat.New(chat.Check(want.Messages), chat.Check(got.Messages)); err == nil && len(problems) > 0 {
				t.Errorf("a call or a result is alone: %v", problems)
			}
			h := answer.Header
			if h.Get("X-Tiercompact-Session") != "one" || h.Get("X-Tiercompact-Level") == "none" || h.Get("X-Tiercompact-Tokens-Before") == "" || h.Get("X-Tiercompact-Tokens-After") == "" || h.Get("X-Tiercompact-Noticed") != "new" {
				t.Errorf("headers %v", h)
			}
			if len(s.received()) != 0 {
				t.Error("it went upstream")
			}
			if _, again := s.post(t, "/v1/compact", body, "X-Tiercompact-Session", "one"); again != text {
				t.Error("the same messages are compacted another way")
			}
		})
	}
}

func TestCompactLeavesWhatFits(t *testing.T) {
	s := newSetup(t, 100_000, nil)
	for _, shape := range shapes {
		body := fmt.Sprintf(shape.document, strings.Join(shape.exchange(1), " , "))
		if answer, text := s.post(t, "/v1/compact", body); answer.StatusCode != 200 || text != body || answer.Header.Get("X-Tiercompact-Level") != "none" {
			t.Errorf("%s: %d %s", shape.name, answer.StatusCode, text)
		}
	}
}

// TestCompactAndPreflightShareAConversation sends a growing history, every other time
// to the one and to the other, and expects the same beginning from both.
func TestCompactAndPreflightShareAConversation(t *testing.T) {
	s := newSetup(t, 3000, nil)
	pre := proxy.NewPreflight(proxy.Config{Open: steady(3000), State: s.state})
	var d dialogue
	var before string
	rounds := 0
	for i := range 60 {
		d.turn()
		body, out := d.body(), ""
		if i%2 == 0 {
			var answer *http.Response
			answer, out = s.post(t, "/v1/compact", strings.Replace(body, "{", `{"session":"shared",`, 1))
			if id := answer.Header.Get("X-Tiercompact-Session"); id != "shared" {
				t.Fatalf("the conversation is %q", id)
			}
			out = strings.Replace(out, `"session":"shared",`, "", 1)
		} else {
			c, err := wire.DecodeBytes([]byte(body), wire.Options{})
			if err != nil {
				t.Fatal(err)
			}
			text, _, err := pre.Compact(t.Context(), "shared", c, []byte(body))
			if err != nil {
				t.Fatal(err)
			}
			out = string(text)
		}
		if i > 0 && !strings.HasPrefix(out, before[:strings.LastIndex(before, " ],")]) {
			rounds++
		}
		before = out
	}
	if rounds == 0 || rounds > 15 || len(before) > len(d.body())/2 {
		t.Errorf("%d changes of the beginning; %d of %d bytes at the end", rounds, len(before), len(d.body()))
	}
	var c wire.Conversation
	if _, report, err := pre.Compact(t.Context(), "shared", c, nil); err == nil && report.Noticed == "" {
		t.Error("an empty conversation goes on")
	}
}

func TestAProgramNamesSessionAndWindow(t *testing.T) {
	unknown := func(c *proxy.Config) {
		c.Open = func(ctx context.Context, model string) (tiercompact.Config, error) {
			cfg, _ := steady(8192)(ctx, model)
			return cfg, fmt.Errorf("%w (%s)", proxy.ErrNoWindow, model)
		}
	}
	body := history("", 60)
	with := func(members string) string { return strings.Replace(body, "{", "{"+members+",", 1) }
	s := newSetup(t, 0, unknown)
	if answer, text := s.post(t, "/v1/compact", body); text != body || !strings.Contains(answer.Header.Get("X-Tiercompact-Passed"), "window") {
		t.Errorf("without a window: %v", answer.Header)
	}
	if answer, text := s.post(t, "/v1/compact", with(`"window":3000,"session":"a b"`)); len(text) > len(body)/2 || answer.Header.Get("X-Tiercompact-Session") != "a b" {
		t.Errorf("with a window: %d of %d bytes, %v", len(text), len(body), answer.Header)
	}
	s = newSetup(t, 3000, nil)
	if larger := with(`"window":100000`); true {
		if _, text := s.post(t, "/v1/compact", larger); text != larger {
			t.Error("a window that is larger than the configured one does not hold")
		}
	}
	if answer, _ := s.post(t, "/v1/compact", with(`"session":"in the body"`), "X-Tiercompact-Session", "in the header"); answer.Header.Get("X-Tiercompact-Session") != "in the header" {
		t.Errorf("headers %v", answer.Header)
	}
	if answer, text := s.post(t, "/v1/compact", body, "X-Tiercompact-Mode", "off"); text != body || answer.Header.Get("X-Tiercompact-Passed") != "off" {
		t.Errorf("off: %v", answer.Header)
	}
	for _, bad := range []string{`"session":1`, `"session":["a"]`, `"session":"a\nb"`, `"session":"` + strings.Repeat("s", 201) + `"`, `"window":"big"`, `"window":-1`, `"window":7`, `"window":1,"window":2`} {
		if answer, text := s.post(t, "/v1/compact", with(bad)); answer.StatusCode != 400 {
			t.Errorf("%s: %d %.200s", bad, answer.StatusCode, text)
		}
	}
}

func TestCompactRefusesWhatItCannotWrite(t *testing.T) {
	s := newSetup(t, 3000, nil)
	// Gemini's request, and messages of LangChain.
	for _, body := range []string{
		`{"contents":[{"role":"user","parts":[{"text":"a"}]}]}`,
		`[{"type":"human","data":{"content":"a","type":"human"}},{"type":"ai","data":{"content":"b","type":"ai"}}]`,
		`"text"`, `7`, `null`, `{"messages":{}}`, `{"input":7}`,
	} {
		if answer, text := s.post(t, "/v1/compact", body); answer.StatusCode != 400 || !strings.Contains(text, `"message":"`) {
			t.Errorf("%s: %d %s", body, answer.StatusCode, text)
		}
	}
	for _, empty := range []string{"[]", `{"messages":[]}`} {
		if answer, text := s.post(t, "/v1/compact", empty); answer.StatusCode != 200 || text != empty {
			t.Errorf("%s: %d %s", empty, answer.StatusCode, text)
		}
	}
	held := `{"input":[{"role":"user","content":"a"}],"previous_response_id":"r1"}`
	if answer, text := s.post(t, "/v1/compact", held); text != held || answer.Header.Get("X-Tiercompact-Passed") == "" {
		t.Errorf("%d %s", answer.StatusCode, text)
	}
}

// TestACompactionForAProgramFailsLikeAForwardedOne has the archive's disk full.
func TestACompactionForAProgramFailsLikeAForwardedOne(t *testing.T) {
	open := func(ctx context.Context, m string) (tiercompact.Config, error) {
		cfg, err := steady(3000)(ctx, m)
		cfg.Archive = fullDisk()
		return cfg, err
	}
	body := history("", 60)
	s := newSetup(t, 3000, func(c *proxy.Config) { c.Open = open })
	if answer, text := s.post(t, "/v1/compact", body); answer.StatusCode != 200 || text != body || answer.Header.Get("X-Tiercompact-Passed") == "" {
		t.Errorf("open: %d %v", answer.StatusCode, answer.Header)
	}
	s = newSetup(t, 3000, func(c *proxy.Config) { c.Open, c.FailClosed = open, true })
	if answer, text := s.post(t, "/v1/compact", body); answer.StatusCode != 422 || !bytes.Contains([]byte(text), []byte("no space left")) {
		t.Errorf("closed: %d %s", answer.StatusCode, text)
	}
}
