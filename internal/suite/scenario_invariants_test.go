package suite

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	tiercompact "github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/levels"
)

func TestErrorOfThresholdsThatDoNotRiseNamesThem(t *testing.T) {
	for _, test := range []struct {
		thresholds levels.Thresholds
		fields     []string
	}{
		{levels.Thresholds{levels.SoftName: 0.8}, []string{"thresholds.soft", "thresholds.hard"}}, // hard is 0.75 by default
		{levels.Thresholds{levels.SoftName: 0.5, levels.HardName: 0.5, levels.Emergency: 0.9}, []string{"thresholds.soft", "thresholds.hard"}},
		{levels.Thresholds{levels.HardName: 0.95}, []string{"thresholds.hard", "thresholds.emergency"}},
		{levels.Thresholds{levels.Emergency: 1.5}, []string{"thresholds.emergency"}},
		{levels.Thresholds{levels.SoftName: -0.1}, []string{"thresholds.soft"}},
	} {
		_, err := tiercompact.New(tiercompact.Config{Window: 1000, Thresholds: test.thresholds})
		for _, field := range test.fields {
			if err == nil || !strings.Contains(err.Error(), field) {
				t.Errorf("%+v: error %v does not name %s", test.thresholds, err, field)
			}
		}
	}
}

func TestWithoutACompactionTheBytesStay(t *testing.T) {
	for name, text := range map[string]string{
		"openai":    `[{"content":"be  brief","role":"system","x":1},{"role":"user","content":[{"type":"text","text":"time?"}]},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"clock","arguments":"{ }"}}]},{"tool_call_id":"c","role":"tool","content":"noon"}]`,
		"anthropic": `{"model":"m","max_tokens":9,"system":"be brief","messages":[{"role":"user","content":"time?"},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"clock","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"noon"}]}]}`,
		"jsonl":     "{\"role\": \"user\",  \"content\": \"time?\"}\n{\"role\":\"assistant\",\"content\":\"noon\",\"meta\":{\"protected\":true}}\n",
	} {
		c := decoded(t, text)
		for _, way := range ways()[:2] {
			out, err := way.run(t, tiercompact.Config{Window: 4096}, c.Messages)
			if got := written(t, c, out, ""); err != nil || got != text {
				t.Errorf("%s, %s: %v\n%s", name, way.name, err, got)
			}
		}
	}
}

func TestFaultsOfTheInputAreNotMultiplied(t *testing.T) {
	bad := calling("bad")
	bad.Parts[0].Args = `{"command": "make`
	for name, fault := range map[string]chat.Transcript{
		"unanswered call":   {calling("lost")},
		"orphan result":     {chat.NewResult("nobody", prose(100, 1))},
		"empty message":     {reply("")},
		"arguments no JSON": {bad, chat.NewResult("bad", prose(200, 2))},
		"id twice":          {calling("same"), chat.NewResult("same", prose(100, 3)), calling("same"), chat.NewResult("same", prose(100, 4))},
	} {
		in := join(working(4, 100), chat.Transcript{user("on")}, fault, working(6, 100)[1:])
		for i := range in {
			in[i].ID = fmt.Sprint("x", i)
		}
		everyWay(t, in, func(how string, out chat.Transcript) {
			if made := chat.New(chat.Check(in), chat.Check(out)); len(made) > 0 {
				t.Errorf("%s, %s: %v", name, how, made)
			}
		})
	}
}

func TestKeptMessagesStayInOrder(t *testing.T) {
	in := working(12, 100)
	for i := range in {
		in[i].ID = fmt.Sprintf("x%03d", i)
		in[i].Protected = i%12 == 5 // what a user said: no group moves with it
	}
	everyWay(t, in, func(how string, out chat.Transcript) {
		var rest []string
		for _, m := range out {
			if strings.HasPrefix(m.ID, "x") && !m.Protected {
				rest = append(rest, m.ID)
			}
		}
		if !slices.IsSorted(rest) {
			t.Errorf("%s: left are %v", how, rest)
		}
	})
}

func TestNoCompactionThatWouldNotShrink(t *testing.T) {
	in := chat.Transcript{as("a", user("hello")), as("b", reply("hi")), as("c", user("and?")), as("d", reply("so")), as("e", user("on")), as("f", reply("ok")), as("g", user("go")), as("h", reply("yes"))}
	for _, way := range ways()[2:] {
		out, err := way.run(t, tiercompact.Config{Window: 100000, Count: quarter}, in)
		if sizeOf(t, out) > sizeOf(t, in) || err != nil {
			t.Errorf("%s: %d tokens were %d, %v", way.name, sizeOf(t, out), sizeOf(t, in), err)
		}
	}
	s := loaded(t, tiercompact.Config{Window: 100000}, in[:6]...)
	if r, err := s.Compact(t.Context(), ""); err != nil || r.Reason != tiercompact.NothingToDo {
		t.Errorf("there is nothing to summarise: %v, %q, %v", applied(r), r.Reason, err)
	}
	if err := held(in[:6], s.Messages()); err != nil {
		t.Error(err)
	}
}

// watching calls seen with each round before it keeps it.
type watching struct {
	archive.Store
	seen func(archive.Step)
}

func (w watching) Put(ctx context.Context, s archive.Step) error {
	w.seen(s)
	return w.Store.Put(ctx, s)
}

func TestArchiveIsWrittenBeforeTheConversationChanges(t *testing.T) {
	var s *tiercompact.Session
	rounds := 0
	store := watching{archive.NewMemory(), func(step archive.Step) {
		rounds++
		if now := s.Messages(); !slices.EqualFunc(now, step.Before, unchanged) {
			t.Errorf("step %d is kept of\n%s, and the conversation is already\n%s", step.Number, show(step.Before), show(now))
		}
	}}
	s = loaded(t, tiercompact.Config{Window: 3000, Archive: store})
	for _, m := range working(40, 200) {
		before := s.Messages()
		r := add(t, s, m)
		if !r.Compacted() {
			continue
		}
		step, err := store.Get(t.Context(), "x", r.Step)
		if err != nil || len(step.Before) != len(before)+1 {
			t.Fatalf("step %d: %d messages, %v", r.Step, len(step.Before), err)
		}
	}
	if rounds < 5 {
		t.Errorf("%d rounds", rounds)
	}
}

func TestSameInputGivesTheSameBytesAndRecallIDs(t *testing.T) {
	run := func(size int) (recall, bytes string) {
		s := loaded(t, tiercompact.Config{Window: 100000}, join(chat.Transcript{as("start", user("start"))}, reads("alpha", size), turns("", 8, 100))...)
		compactTo(t, s, levels.SoftName)
		alpha, _ := byID(s, "alpha")
		compactTo(t, s, levels.Emergency)
		return alpha.Recall, bytesOf(t, s)
	}
	recall, bytes := run(2000)
	if again, same := run(2000); again != recall || same != bytes {
		t.Errorf("two runs gave recall ids %q and %q, and\n%s\nand\n%s", recall, again, bytes, same)
	}
	if other, _ := run(2100); other == recall || len(recall) != 8 {
		t.Errorf("another text has the recall id %q, the first had %q", other, recall)
	}
}

func TestMarkerSeparatesNewNeighboursOfOneRole(t *testing.T) {
	roles := func(s *tiercompact.Session) (out string) {
		for _, m := range s.Messages() {
			out += string(m.Role)[:1]
			if m.State == chat.Marked {
				out += "!"
			}
			out += " "
		}
		return strings.TrimSpace(out)
	}
	hard := func(in ...chat.Message) *tiercompact.Session {
		return hardOn(t, tiercompact.Config{Policy: tiercompact.PolicyConfig{NoPinFirstUser: true}}, join(in, newest())...)
	}
	for _, test := range []struct {
		name string
		s    *tiercompact.Session
		want string
	}{
		{"two users", hard(rated("a", chat.User, .9), rated("b", chat.Assistant, .1), rated("c", chat.Assistant, .05), rated("d", chat.User, .8)), "u a! u a u a u a u"},
		{"two assistants", hard(rated("a", chat.User, .9), rated("b", chat.Assistant, .8), rated("c", chat.User, .1), rated("d", chat.User, .05)), "u a u! a u a u a u"},
		{"two users that met before", hard(rated("a", chat.User, .9), rated("b", chat.User, .8), rated("c", chat.Assistant, .1), rated("d", chat.User, .05)), "u u a u a u a u"},
	} {
		if got := roles(test.s); got != test.want {
			t.Errorf("%s: %s, want %s\n%s", test.name, got, test.want, show(test.s.Messages()))
		}
	}
	pinned := join(chat.Transcript{user("start"), reply("yes")}, turns("o", 3, 100), turns("", 6, 100))
	pinned[4] = guarded(pinned[4])
	if s, _ := compacted(t, tiercompact.Config{Window: 100000}, pinned...); !strings.HasPrefix(roles(s), "u a! u a u a u a") {
		t.Errorf("in the Pinned layer: %s", roles(s))
	}
	s := loaded(t, tiercompact.Config{Window: 100000, Policy: tiercompact.PolicyConfig{NoPinFirstUser: true}}, append(turns("", 8, 100), user("go on"))...)
	if compactTo(t, s, levels.Emergency); roles(s) != "a u! a u a u" {
		t.Errorf("behind the summary: %s", roles(s))
	}
}
