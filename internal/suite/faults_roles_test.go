package suite

import (
	"fmt"
	"strings"
	"testing"

	tiercompact "github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/wire"
)

func TestFaultsOfRoles(t *testing.T) {
	t.Run("30 results come first in a user message", func(t *testing.T) {
		list := []string{`{"role":"user","content":"look around"}`}
		for i := range 10 {
			list = append(list, fmt.Sprintf(`{"role":"assistant","content":[{"type":"text","text":"looking"},{"type":"tool_use","id":"a%d","name":"ls","input":{}},{"type":"tool_use","id":"b%d","name":"ls","input":{}}]}`, i, i),
				fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"b%d","content":%q},{"type":"tool_result","tool_use_id":"a%d","content":%q},{"type":"text","text":"and further, step %d"}]}`, i, prose(40, i), i, prose(60, 30+i), i))
		}
		c := decoded(t, `{"model":"m","max_tokens":9,"messages":[`+strings.Join(append(list, `{"role":"assistant","content":"that was all"}`), ",")+`]}`)
		everyWay(t, c.Messages, func(how string, out chat.Transcript) {
			strictly(t, how, c.Messages, out)
			text := written(t, c, out, "")
			if err := refusedByAnthropic([]byte(text)); err != nil {
				t.Errorf("%s: %v\n%s", how, err, text)
			}
		})
	})
	t.Run("31 no second system message", func(t *testing.T) {
		in := working(10, 100)
		everyWay(t, in, func(how string, out chat.Transcript) {
			for i, m := range out {
				if i > 0 && (m.Role == chat.System || m.Role == chat.Developer) {
					t.Errorf("%s: message %d is the %s's", how, i, m.Role)
				}
			}
		})
	})
	t.Run("32 user and assistant take turns as templates see it", func(t *testing.T) {
		for _, in := range []chat.Transcript{
			working(10, 100),
			join(chat.Transcript{user("one")}, flow(10, 80)),
			join(chat.Transcript{user("one")}, flow(5, 80), chat.Transcript{reply("two"), user("three")}, flow(5, 80), chat.Transcript{reply("four")}),
		} {
			if err := refusedByTemplate(in); err != nil {
				t.Fatal(err)
			}
			everyWay(t, in, func(how string, out chat.Transcript) {
				next := user("go on")
				if in[len(in)-1].Role == chat.Tool {
					next = reply("done")
				}
				if err := refusedByTemplate(append(out[:len(out):len(out)], next)); err != nil {
					t.Errorf("%s: %v\n%s", how, err, show(out))
				}
			})
		}
	})
	t.Run("33 what a developer said is not lost", func(t *testing.T) {
		in := append(chat.Transcript{chat.NewText(chat.Developer, "never push to main")}, working(10, 100)[1:]...)
		everyWay(t, in, func(how string, out chat.Transcript) {
			if out[0].Role != chat.Developer {
				t.Errorf("%s: the first message is the %s's", how, out[0].Role)
			}
			for _, to := range []string{"openai", "anthropic", "ollama"} {
				if text := written(t, wire.Conversation{}, out, to); !strings.Contains(text, "never push to main") {
					t.Errorf("%s: as %s it is gone", how, to)
				}
			}
		})
	})
	t.Run("34 the last user message stays", func(t *testing.T) {
		in := append(chat.Transcript{chat.NewText(chat.System, prose(3000, 1)), user("list the folder")}, flow(1, 600)...)
		for _, way := range ways() {
			out, err := way.run(t, tiercompact.Config{Window: 4096, Count: quarter}, in)
			if err != nil {
				t.Errorf("%s: %v", way.name, err)
			}
			strictly(t, way.name, in, out)
			if at := chat.Newest(out, chat.Message.Typed); at < 0 || out[at].Text() != "list the folder" {
				t.Errorf("%s: the user's message is gone\n%s", way.name, show(out))
			}
		}
		empty := append(working(8, 100), user(""))
		everyWay(t, empty, func(how string, out chat.Transcript) {
			if at := chat.Newest(out, chat.Message.Typed); at < 0 || !strings.HasPrefix(out[at].Text(), "please fix bug 7") {
				t.Errorf("%s: an empty message took the place of the user's last\n%s", how, show(out))
			}
		})
	})
	t.Run("35 the last message stays the last", func(t *testing.T) {
		in := append(working(8, 100), user("and what else?"))
		everyWay(t, in, func(how string, out chat.Transcript) {
			if last := out[len(out)-1]; last.Role != chat.User || last.Text() != "and what else?" {
				t.Errorf("%s: the last message is the %s's\n%s", how, last.Role, show(out))
			}
		})
	})
}
