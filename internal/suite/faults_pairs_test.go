package suite

import (
	"fmt"
	"strings"
	"testing"

	tiercompact "github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/wire"
)

func user(text string) chat.Message { return chat.NewText(chat.User, text) }

func reply(text string) chat.Message { return chat.NewText(chat.Assistant, text) }

// calling returns an assistant message that makes calls of the given ids.
func calling(ids ...string) chat.Message {
	m := chat.Message{Role: chat.Assistant}
	for _, id := range ids {
		m.Parts = append(m.Parts, chat.Part{Kind: chat.Call, ID: id, Name: "bash", Args: `{"command":"make ` + id + `"}`})
	}
	return m
}

// flow returns n calls with their results, of size tokens each.
func flow(n, size int) chat.Transcript {
	var out chat.Transcript
	for i := range n {
		id := fmt.Sprintf("call%d", i)
		out = append(out, calling(id), chat.NewResult(id, fmt.Sprintf("output of %s: ", id)+prose(size, i)))
	}
	return out
}

func join(parts ...chat.Transcript) (out chat.Transcript) {
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

func TestFaultsOfPairs(t *testing.T) {
	long := chat.Message{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, ID: "w", Name: "write", Args: `{"path":"a.txt","content":"` + strings.Repeat("some text ", 400) + `"}`}}}
	for _, test := range []struct {
		name string
		in   chat.Transcript
	}{
		{"1 orphan result after the cut", join(chat.Transcript{user("build it")}, flow(12, 100), chat.Transcript{reply("built")})},
		{"2 tool message without the call before it", chat.Transcript{user("write it"), long, chat.NewResult("w", "ok"), calling("t"), chat.NewResult("t", prose(300, 1)), reply("written")}},
		{"4 parallel calls dropped in part", join(chat.Transcript{user("run all"), calling("a", "b", "c"), chat.NewResult("a", prose(80, 1)), chat.NewResult("b", prose(200, 2)), chat.NewResult("c", prose(80, 3))},
			flow(3, 100), chat.Transcript{calling("d", "e"), chat.NewResult("e", prose(50, 4)), chat.NewResult("d", prose(50, 5)), reply("all ran")})},
		{"7 results folded into the summary", join(chat.Transcript{user("first"), reply(prose(200, 1)), user("second")}, flow(6, 150))},
		{"13 calls without any text", join(chat.Transcript{user("go")}, chat.Transcript{
			{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Thinking, Text: ""}, {Kind: chat.Text, Text: ""}, {Kind: chat.Call, ID: "q", Name: "bash", Args: "{}"}}},
			chat.NewResult("q", prose(300, 1)),
		}, flow(4, 100), chat.Transcript{reply("gone")})},
	} {
		t.Run(test.name, func(t *testing.T) {
			everyWay(t, test.in, func(how string, out chat.Transcript) { strictly(t, how, test.in, out) })
		})
	}
}

func TestFaultOfOrphanCall(t *testing.T) {
	t.Run("3 orphan call at the end stays until its result comes", func(t *testing.T) {
		in := join(chat.Transcript{user("build it")}, flow(10, 100), chat.Transcript{calling("late", "later"), chat.NewResult("later", "half")})
		everyWay(t, in, func(how string, out chat.Transcript) {
			at := chat.Open(out)
			if at == len(out) || len(out[at].Parts) != 2 {
				t.Errorf("%s: the open call is gone\n%s", how, show(out))
				return
			}
			whole := append(out[:len(out):len(out)], chat.NewResult("late", "done"), reply("built"))
			strictly(t, how, append(in[:len(in):len(in)], chat.NewResult("late", "done"), reply("built")), whole)
		})
	})
	t.Run("3 orphan call further up makes no second one", func(t *testing.T) {
		in := join(chat.Transcript{user("build it"), calling("lost"), user("it hung, go on")}, flow(10, 100), chat.Transcript{reply("built")})
		everyWay(t, in, func(how string, out chat.Transcript) {
			if calls, results := orphans(out); calls > 1 || results > 0 {
				t.Errorf("%s: %d calls and %d results without partner\n%s", how, calls, results, show(out))
			}
		})
	})
	t.Run("4 ends with three calls and one result", func(t *testing.T) {
		in := join(chat.Transcript{user("run")}, flow(8, 120), chat.Transcript{calling("x", "y", "z"), chat.NewResult("x", prose(50, 9))})
		everyWay(t, in, func(how string, out chat.Transcript) {
			if calls, results := orphans(out); calls != 2 || results != 0 {
				t.Errorf("%s: %d calls and %d results without partner, want 2 and 0\n%s", how, calls, results, show(out))
			}
		})
	})
}

func TestFaultOfShortHistory(t *testing.T) {
	t.Run("6 results removed although the history fits", func(t *testing.T) {
		in := `[{"role":"system","content":"be brief"},{"role":"user","content":"what time is it?"},` +
			`{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"clock","arguments":"{ }"}}]},{"tool_call_id":"c","role":"tool","content":"noon"}]`
		c := decoded(t, in)
		for _, way := range ways()[:2] {
			out, err := way.run(t, tiercompact.Config{Window: 4096}, c.Messages)
			if got := written(t, c, out, ""); err != nil || got != in {
				t.Errorf("%s: %v\n%s", way.name, err, got)
			}
		}
	})
}

func TestFaultOfRepeatedIDs(t *testing.T) {
	t.Run("8 ids that repeat pair by place", func(t *testing.T) {
		var in chat.Transcript
		for i := range 10 {
			in = append(in, user(fmt.Sprintf("step %d", i)), calling("functions.bash:0"), chat.NewResult("functions.bash:0", fmt.Sprintf("result %d ", i)+prose(80, i)), reply(fmt.Sprintf("step %d is done", i)))
		}
		everyWay(t, in, func(how string, out chat.Transcript) {
			// The ids as they are would be refused: converted ones must not be.
			text := written(t, wire.Conversation{}, out, "anthropic")
			if err := refusedByAnthropic([]byte(text)); err != nil {
				t.Errorf("%s: %v\n%s", how, err, text)
			}
			if calls, results := orphans(out); calls+results > 0 {
				t.Errorf("%s: %d calls and %d results without partner", how, calls, results)
			}
		})
	})
	t.Run("8 an interrupted call leaves a second with its id", func(t *testing.T) {
		in := join(chat.Transcript{user("run"), calling("same", "same"), chat.NewResult("same", prose(50, 1))}, flow(8, 100), chat.Transcript{calling("same"), chat.NewResult("same", prose(60, 2)), reply("ran")})
		calls, results := orphans(in)
		everyWay(t, in, func(how string, out chat.Transcript) {
			if c, r := orphans(out); c > calls || r > results {
				t.Errorf("%s: %d calls and %d results without partner were %d and %d", how, c, r, calls, results)
			}
		})
	})
}

func TestFaultOfGeminiCounts(t *testing.T) {
	t.Run("11 as many function responses as function calls", func(t *testing.T) {
		var turns []string
		for i := range 8 {
			turns = append(turns, fmt.Sprintf(`{"role":"user","parts":[{"text":"compare file %d"}]}`, i),
				fmt.Sprintf(`{"role":"model","parts":[{"functionCall":{"name":"read","args":{"path":"a%d"}}},{"functionCall":{"name":"read","args":{"path":"b%d"}}}]}`, i, i),
				fmt.Sprintf(`{"role":"user","parts":[{"functionResponse":{"name":"read","response":{"output":%q}}},{"functionResponse":{"name":"read","response":{"output":%q}}}]}`, prose(60, i), prose(120, 50+i)),
				fmt.Sprintf(`{"role":"model","parts":[{"text":"file %d differs in one line"}]}`, i))
		}
		in := decoded(t, `{"contents":[`+strings.Join(turns, ",")+`]}`).Messages
		everyWay(t, in, func(how string, out chat.Transcript) {
			strictly(t, how, in, out)
			for i, m := range out {
				if !m.HasCalls() {
					continue
				}
				n := 0
				for k := i + 1; k < len(out) && out[k].Role == chat.Tool; k++ {
					n++
				}
				if n != len(m.Parts) {
					t.Errorf("%s: message %d has %d calls and %d responses", how, i, len(m.Parts), n)
				}
			}
		})
	})
}
