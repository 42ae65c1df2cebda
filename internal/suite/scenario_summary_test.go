package suite

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	tiercompact "github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/trace"
	"github.com/tiercompact/tiercompact/wire"
)

func TestKeepLastZeroMakesOneSummaryOfAllThatIsUnprotected(t *testing.T) {
	complete := turns("", 8, 200)
	open := join(complete, chat.Transcript{as("ask", user("run it"))}, chat.Transcript{as("call", calling("c")), as("res", chat.NewResult("c", "ok"))})
	asked := join(complete, chat.Transcript{as("ask", user("run it"))})
	for _, test := range []struct {
		name string
		role chat.Role
		in   chat.Transcript
		want string
	}{
		{"system, complete turn", chat.System, complete, "summary-1"},
		{"assistant, complete turn", chat.Assistant, complete, "summary-1 u7"},
		{"system, open turn", chat.System, open, "summary-1 ask call res"},
		{"assistant, open turn", chat.Assistant, open, "summary-1 ask call res"},
		{"system, asked", chat.System, asked, "summary-1 ask"},
		{"assistant, asked", chat.Assistant, asked, "summary-1 ask"},
		{"system, complete turn, a protected message", chat.System, join(chat.Transcript{guarded(as("p", user("keep me")))}, complete), "p summary-1"},
	} {
		for _, noPin := range []bool{false, true} {
			cfg := tiercompact.Defaults(tiercompact.Default)
			cfg.Window, cfg.Emergency.KeepLast, cfg.SummaryRole, cfg.Policy.NoPinFirstUser = 100000, 0, test.role, noPin
			s := loaded(t, cfg, test.in...)
			r := compactTo(t, s, levels.Emergency)
			if err := sameIDs(s.Messages(), test.want); err != nil || len(r.Warnings) > 0 {
				t.Errorf("%s, pin off %t: %v, warnings %q", test.name, noPin, err, r.Warnings)
			}
		}
	}
}

func TestWarningOfASystemSummaryAfterASystemMessage(t *testing.T) {
	cfg := tiercompact.Defaults(tiercompact.Default)
	cfg.Window, cfg.Emergency.KeepLast, cfg.SummaryRole = 100000, 0, chat.System
	heard := hearing(&cfg)
	s := loaded(t, cfg, join(chat.Transcript{as("sys", said(chat.System, 50, 1))}, turns("", 8, 200))...)
	r := compactTo(t, s, levels.Emergency)
	if err := sameIDs(s.Messages(), "sys summary-1"); err != nil {
		t.Error(err)
	}
	if w := eventsOf[trace.Warning](*heard); len(r.Warnings) != 1 || len(w) != 1 || !strings.Contains(w[0].Message, "second system message") || w[0].Remedy == "" {
		t.Errorf("warnings %q, told %v", r.Warnings, w)
	}
}

func TestASummaryIsABlockAndHasTwoFormsOnTheWire(t *testing.T) {
	for role, head := range map[chat.Role]string{chat.Assistant: "<COMPACT-SUMMARY v1>", chat.System: "[Compressed Message Summary]"} {
		cfg := tiercompact.Config{Window: 100000, SummaryRole: role}
		heard := hearing(&cfg)
		s := loaded(t, cfg, turns("", 10, 200)...)
		compactTo(t, s, levels.Emergency)
		sum := summaries(s.Messages())
		if len(sum) != 1 || sum[0].Role != role || len(sum[0].Parts) != 1 || sum[0].Parts[0].Kind != "compress" || !strings.HasPrefix(sum[0].Text(), head) {
			t.Fatalf("%s: summaries %v", role, sum)
		}
		var block struct{ Type, Content string }
		if err := json.Unmarshal(eventsOf[trace.SummaryCreated](*heard)[0].Payload, &block); err != nil || block.Type != "compress" || !strings.Contains(sum[0].Text(), block.Content) || block.Content == "" {
			t.Errorf("%s: as a block it is %+v, %v", role, block, err)
		}
		var sent []struct{ Role, Content string }
		text := written(t, wire.Conversation{}, s.Messages(), "openai")
		if err := json.Unmarshal([]byte(text), &sent); err != nil || sent[1].Role != string(role) || !strings.HasPrefix(sent[1].Content, head) {
			t.Errorf("%s: on the wire it is %.300s, %v", role, text, err)
		}
		if back := summaries(decoded(t, text).Messages); len(back) != 1 || back[0].Role != role {
			t.Errorf("%s: read back, the summaries are %v", role, back)
		}
	}
}

func TestASummaryThatAClientSendsBackIsReplacedByTheNext(t *testing.T) {
	for _, role := range []chat.Role{chat.Assistant, chat.System} {
		s := loaded(t, tiercompact.Config{Window: 100000, SummaryRole: role}, turns("", 10, 200)...)
		compactTo(t, s, levels.Emergency)
		back := decoded(t, written(t, wire.Conversation{}, s.Messages(), "openai")).Messages
		c, err := tiercompact.New(tiercompact.Config{Window: 100000, SummaryRole: role, Count: quarter})
		if err != nil {
			t.Fatal(err)
		}
		out, _, err := c.Compact(t.Context(), "", join(back, turns("n", 10, 200)), "")
		if sum := summaries(out); err != nil || len(sum) != 1 || !strings.Contains(strings.SplitN(sum[0].Text(), "\n", 2)[0], "v2") {
			t.Errorf("%s: %v; summaries %.200s", role, err, fmt.Sprint(sum))
		}
	}
}

func TestOneSummaryIsLeftIfTheOldOneIsAmongTheNewest(t *testing.T) {
	old := loaded(t, tiercompact.Config{Window: 100000}, turns("", 10, 200)...)
	compactTo(t, old, levels.Emergency)
	for _, level := range []levels.Name{levels.Emergency, levels.LayerName} {
		s := loaded(t, tiercompact.Config{Window: 100000, Policy: tiercompact.PolicyConfig{KeepRecentTurns: 1}}, join(turns("o", 6, 300), summaries(old.Messages()), turns("n", 1, 100))...)
		if level == levels.LayerName {
			s.Compact(t.Context(), "")
		} else {
			compactTo(t, s, level)
		}
		if sum := summaries(s.Messages()); len(sum) != 1 || sum[0].ID == "summary-1" {
			t.Errorf("%s: summaries\n%s", level, show(s.Messages()))
		}
	}
}

func TestImagesAmongTheSummarisedAreCountedAndNamed(t *testing.T) {
	in := turns("", 10, 200)
	in[2].Parts = append(in[2].Parts, chat.Part{Kind: chat.Image, Image: &chat.Picture{MediaType: "image/png", Data: "AAAA", Width: 64, Height: 64}})
	s := loaded(t, tiercompact.Config{Window: 100000}, in...)
	compactTo(t, s, levels.Emergency)
	if sum := summaries(s.Messages())[0].Text(); !strings.Contains(sum, "image") {
		t.Errorf("no image is told of:\n%.600s", sum)
	}
}
