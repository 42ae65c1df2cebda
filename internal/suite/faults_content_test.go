package suite

import (
	"context"
	"fmt"
	"strings"
	"testing"

	tiercompact "github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/summarize"
	"github.com/tiercompact/tiercompact/wire"
)

// chatOf returns n steps in OpenAI's form; content is what the calling message
// has for its content.
func chatOf(n int, content string) string {
	list := []string{`{"role":"user","content":"list all folders"}`}
	for i := range n {
		list = append(list, fmt.Sprintf(`{"role":"assistant","content":%s,"tool_calls":[{"id":"c%d","type":"function","function":{"name":"ls","arguments":"{\"path\": \"dir%d\"}"}}]}`, content, i, i),
			fmt.Sprintf(`{"role":"tool","tool_call_id":"c%d","content":%q}`, i, fmt.Sprintf("dir%d holds ", i)+prose(80, i)))
	}
	return "[" + strings.Join(append(list, `{"role":"assistant","content":"that is all"}`), ",") + "]"
}

func TestFaultsOfContent(t *testing.T) {
	for name, content := range map[string]string{"14 null content beside calls": "null", "15 empty content beside calls": `""`} {
		t.Run(name, func(t *testing.T) {
			c := decoded(t, chatOf(10, content))
			everyWay(t, c.Messages, func(how string, out chat.Transcript) {
				strictly(t, how, c.Messages, out)
				text := written(t, c, out, "")
				if err := refusedByOpenAI([]byte(text)); err != nil {
					t.Errorf("%s: %v", how, err)
				}
				if calls := strings.Count(text, `"tool_calls"`); calls != strings.Count(text, `"content":`+content+`,"tool_calls"`) {
					t.Errorf("%s: the content of calling messages became another\n%s", how, text)
				}
				if strings.Contains(text, "None") || strings.Contains(text, `"null"`) {
					t.Errorf("%s: no content became a word\n%s", how, text)
				}
			})
		})
	}
	t.Run("16 empty summary is not sent again", func(t *testing.T) {
		in := append(chat.Transcript{user("go on"), {Role: chat.Assistant, State: chat.Summarized, Parts: []chat.Part{{Kind: chat.Summary}}}, user("and on")}, flow(8, 100)...)
		in = append(in, reply("done"))
		everyWay(t, in, func(how string, out chat.Transcript) {
			for i, m := range out {
				if m.IsSummary() && len(out) < len(in) && m.ID != "m2" && strings.TrimSpace(m.Text()) == "" {
					t.Errorf("%s: summary %d is empty", how, i)
				}
			}
			if err := refusedByAnthropic([]byte(written(t, wire.Conversation{}, out, "anthropic"))); err != nil {
				t.Errorf("%s: %v", how, err)
			}
		})
	})
	t.Run("17 parts where a text is expected, and text where blocks are", func(t *testing.T) {
		list := []string{`{"role":"user","content":[{"type":"text","text":"list all"},{"type":"text","text":"folders"}]}`}
		for i := range 8 {
			list = append(list, fmt.Sprintf(`{"role":"assistant","content":[],"tool_calls":[{"id":"c%d","type":"function","function":{"name":"ls","arguments":"{}"}}]}`, i),
				fmt.Sprintf(`{"role":"tool","tool_call_id":"c%d","content":[{"type":"text","text":"more"},{"type":"text","text":%q}]}`, i, fmt.Sprintf("dir%d holds ", i)+prose(80, i)))
		}
		text := "[" + strings.Join(list, ",") + `,{"role":"assistant","content":"that is all"}]`
		c := decoded(t, text)
		if got := c.Messages[2].Text(); !strings.HasPrefix(got, "more\ndir0 holds") {
			t.Fatalf("the result is read as %q", got)
		}
		everyWay(t, c.Messages, func(how string, out chat.Transcript) { strictly(t, how, c.Messages, out) })
	})
}

func picture(kilobytes int) chat.Part {
	return chat.Part{Kind: chat.Image, Image: &chat.Picture{MediaType: "image/png", Data: strings.Repeat("iVBORw0KGgoAAAAN", kilobytes*64), Width: 1024, Height: 768}}
}

func TestFaultsOfImages(t *testing.T) {
	shown := chat.Message{Role: chat.User, Parts: []chat.Part{{Kind: chat.Text, Text: "what is this?"}, picture(2560)}}
	t.Run("18 an image counts by its size, not by its base64", func(t *testing.T) {
		s := newSession(t, tiercompact.Config{Window: 8192})
		if r := add(t, s, shown); r.Reason != tiercompact.BelowThreshold || r.Before > 4000 {
			t.Errorf("a first image counts %d tokens: %s", r.Before, r.Reason)
		}
	})
	t.Run("19 images count, and base64 as text counts as what it is", func(t *testing.T) {
		s := newSession(t, tiercompact.Config{Window: 1 << 30})
		if r := add(t, s, shown); r.Before < 500 {
			t.Errorf("an image of 1024 x 768 counts %d tokens", r.Before)
		}
		before := s.Usage().Tokens
		noise := noiseOf(1 << 20)
		r := add(t, s, chat.NewText(chat.Assistant, "data:image/png;base64,"+noise))
		if n := r.Before - before; n < len(noise)/2 {
			t.Errorf("%d characters of base64 count %d tokens, a fourth as of prose", len(noise), n)
		}
	})
	t.Run("19 images lead to a compaction", func(t *testing.T) {
		s := newSession(t, tiercompact.Config{Window: 8192})
		made := false
		for i := range 20 {
			made = made || add(t, s, []chat.Message{shown, reply(fmt.Sprint("picture ", i))}[i%2]).Compacted()
		}
		if !made {
			t.Errorf("%d tokens of images, and no round", s.Usage().Tokens)
		}
	})
	t.Run("20 an image in a result goes with it, and no base64 into a summary", func(t *testing.T) {
		in := chat.Transcript{user("look at all screens")}
		for i := range 8 {
			id := fmt.Sprint("s", i)
			r := chat.NewResult(id, "a screen "+prose(30, i))
			r.Parts = append(r.Parts, picture(40))
			in = append(in, calling(id), r)
		}
		in = append(in, reply("all screens are fine"))
		everyWay(t, in, func(how string, out chat.Transcript) {
			strictly(t, how, in, out)
			for _, m := range out {
				if strings.Contains(m.Text(), "iVBORw0K") {
					t.Errorf("%s: base64 in the text of %s", how, m.ID)
				}
			}
		})
	})
}

// noiseOf returns n characters as of base64, with nothing that repeats.
func noiseOf(n int) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	b, x := make([]byte, n), uint64(88172645463325252)
	for i := range b {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		b[i] = letters[x>>58]
	}
	return string(b)
}

func TestFaultsOfArguments(t *testing.T) {
	write := func(id, args string) chat.Message {
		return chat.Message{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, ID: id, Name: "write_file", Args: args}}}
	}
	t.Run("22 arguments stay JSON, and paths whole", func(t *testing.T) {
		in := chat.Transcript{user("write them all")}
		for i := range 10 {
			id := fmt.Sprint("w", i)
			in = append(in, write(id, fmt.Sprintf(`{"path":"deep/folder/file%d.txt","content":%q,"mode":420}`, i, prose(180, i))), chat.NewResult(id, "written"))
		}
		in = append(in, reply("all written"))
		everyWay(t, in, func(how string, out chat.Transcript) {
			strictly(t, how, in, out)
			for _, m := range out {
				for _, p := range m.Parts {
					if p.Kind == chat.Call && (!strings.Contains(p.Args, `"deep/folder/file`+p.ID[1:]+`.txt"`) || !strings.Contains(p.Args, `"mode":420`)) {
						t.Errorf("%s: arguments became %s", how, p.Args)
					}
				}
			}
		})
	})
	t.Run("22 arguments that are no JSON stay as they are", func(t *testing.T) {
		broken := `{"path":"a.txt","content":"` + prose(120, 1)
		in := append(chat.Transcript{user("go"), write("b", broken), chat.NewResult("b", "error: no JSON")}, flow(8, 100)...)
		in = append(in, reply("done"))
		everyWay(t, in, func(how string, out chat.Transcript) {
			for _, m := range out {
				if m.HasCalls() && m.Parts[0].ID == "b" && m.Parts[0].Args != broken {
					t.Errorf("%s: broken arguments became %s", how, m.Parts[0].Args)
				}
			}
		})
	})
	t.Run("23 arguments and tool definitions count", func(t *testing.T) {
		s := newSession(t, tiercompact.Config{Window: 1 << 20})
		add(t, s, write("d", fmt.Sprintf(`{"path":"a.txt","content":%q}`, strings.Repeat("one more word ", 2857))))
		if n := s.Usage().Tokens; n < 8000 {
			t.Errorf("a document of 40,000 characters in arguments counts %d tokens", n)
		}
		before := s.Usage().Tokens
		s.SetTools([]byte(`[{"name":"read","description":"` + strings.Repeat("reads a file ", 100) + `"}]`))
		if u := s.Usage(); u.Tools < 300 || u.Tokens != before+u.Tools {
			t.Errorf("tool definitions count %d tokens", u.Tools)
		}
	})
}

func TestFaultsOfReasoning(t *testing.T) {
	t.Run("37 thinking stays byte for byte, or goes with its message", func(t *testing.T) {
		var list []string
		blocks := make(map[string]bool)
		for i := range 8 {
			think := fmt.Sprintf(`{"type":"thinking","thinking":"step\u0020%d %s","signature":"c2ln%d=="}`, i, prose(15, i), i)
			hidden := fmt.Sprintf(`{"type":"redacted_thinking", "data":"ZGF0YQ%d=="}`, i)
			blocks[think], blocks[hidden] = true, true
			list = append(list, fmt.Sprintf(`{"role":"user","content":"step %d please"}`, i),
				fmt.Sprintf(`{"role":"assistant","content":[%s,%s,{"type":"text","text":"I will write."},{"type":"tool_use","id":"t%d","name":"write","input":{"path":"f%d","content":%q}}]}`, think, hidden, i, i, prose(80, i)),
				fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":%q}]}`, i, prose(60, 20+i)),
				fmt.Sprintf(`{"role":"assistant","content":"step %d is done"}`, i))
		}
		c := decoded(t, `{"model":"m","max_tokens":9,"messages":[`+strings.Join(list, ",")+`]}`)
		everyWay(t, c.Messages, func(how string, out chat.Transcript) {
			text := written(t, c, out, "")
			if err := refusedByAnthropic([]byte(text)); err != nil {
				t.Errorf("%s: %v", how, err)
			}
			left := 0
			for b := range blocks {
				left += strings.Count(text, b)
			}
			if got := strings.Count(text, `thinking"`) - strings.Count(text, `"thinking":`); got != left || strings.Count(text, `"tool_use"`)*2 != left {
				t.Errorf("%s: of %d thinking blocks %d are as they were, beside %d calls\n%s", how, got, left, strings.Count(text, `"tool_use"`), text)
			}
		})
	})
	t.Run("38 reasoning items stay beside what they belong to", func(t *testing.T) {
		var items []string
		for i := range 8 {
			items = append(items, fmt.Sprintf(`{"type":"message","role":"user","content":[{"type":"input_text","text":"step %d"}]}`, i),
				fmt.Sprintf(`{"type":"reasoning","id":"rs_%d","summary":[{"type":"summary_text","text":"thought %d %s"}],"encrypted_content":"eA=="}`, i, i, prose(10, i)),
				fmt.Sprintf(`{"type":"function_call","id":"fc_%d","call_id":"call_%d","name":"ls","arguments":"{}"}`, i, i),
				fmt.Sprintf(`{"type":"function_call_output","call_id":"call_%d","output":%q}`, i, prose(100, i)),
				fmt.Sprintf(`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"step %d is done"}]}`, i))
		}
		c := decoded(t, `{"model":"m","input":[`+strings.Join(items, ",")+`]}`)
		thoughts := func(m chat.Message) (n int) {
			for _, p := range m.Parts {
				if p.Kind == chat.Thinking && strings.Contains(p.Text, "thought") {
					n++
				}
			}
			return n
		}
		everyWay(t, c.Messages, func(how string, out chat.Transcript) {
			strictly(t, how, c.Messages, out)
			for _, m := range out {
				if m.HasCalls() && thoughts(m) != 1 {
					t.Errorf("%s: a call has %d thoughts, not its one", how, thoughts(m))
				}
			}
		})
	})
	t.Run("39 reasoning_content stays beside its calls", func(t *testing.T) {
		c := decoded(t, strings.ReplaceAll(chatOf(10, "null"), `"tool_calls"`, `"reasoning_content":"I think\u0020so","tool_calls"`))
		everyWay(t, c.Messages, func(how string, out chat.Transcript) {
			text := written(t, c, out, "")
			if a, b := strings.Count(text, `"tool_calls"`), strings.Count(text, `"reasoning_content":"I think\u0020so"`); a != b {
				t.Errorf("%s: %d calling messages, %d with their reasoning\n%s", how, a, b, text)
			}
		})
	})
	t.Run("40 signatures of calls stay when their arguments are shortened", func(t *testing.T) {
		const signature = `"extra_content":{"google":{"thought_signature":"c2ln\u0020"}},`
		in := strings.ReplaceAll(chatOf(10, "null"), `"type":"function","function"`, signature+`"type":"function","function"`)
		in = strings.ReplaceAll(in, `\"path\": \"dir`, `\"note\":\"`+prose(60, 1)+`\",\"path\": \"dir`)
		c := decoded(t, in)
		everyWay(t, c.Messages, func(how string, out chat.Transcript) {
			text := written(t, c, out, "")
			if a, b := strings.Count(text, `"tool_calls"`), strings.Count(text, signature); a != b {
				t.Errorf("%s: %d calls, %d signatures\n%s", how, a, b, text)
			}
		})
	})
}

func TestFaultsOfSummaries(t *testing.T) {
	for name, answer := range map[string]string{
		"16 an empty answer":                      "",
		"44 an answer that calls a tool":          `<tool_call>{"name":"read","arguments":{"path":"a"}}</tool_call>`,
		"44 an answer that goes on with the task": "Let me fix the next bug in src/file4.go now.",
		"44 all spent on thinking":                "<think>the user wants",
		"44 an answer that is cut off":            "The state of the work is that the file was changed and the",
		"42 an answer longer than its source":     strings.Repeat("bug 3 is fixed in src/file3.go. ", 3000),
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			cfg := tiercompact.Config{Window: 4000, Count: quarter, Summary: tiercompact.SummaryConfig{Name: "fake", Summarizer: summarizer(func(context.Context, summarize.Request) (string, error) {
				asked++
				return answer, nil
			})}}
			s := newSession(t, cfg)
			if err := s.Load(working(14, 200)); err != nil {
				t.Fatal(err)
			}
			r, err := s.CompactLevel(t.Context(), levels.Emergency)
			if err != nil || !r.Compacted() || asked == 0 || r.Applied[0].Fallback != levels.FallbackExtractive {
				t.Fatalf("asked %d times, %v, %v", asked, r.Applied, err)
			}
			strictly(t, name, working(14, 200), s.Messages())
			at := chat.Newest(s.Messages(), chat.Message.IsSummary)
			if at < 0 || answer != "" && strings.Contains(s.Messages()[at].Text(), answer) {
				t.Errorf("the answer, or no summary, stands in the conversation\n%s", show(s.Messages()))
			}
		})
	}
}
