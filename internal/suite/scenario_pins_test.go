package suite

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	tiercompact "github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/summarize"
)

func TestProtectedMessagesAreNeitherChangedNorDroppedNorShownToTheSummarizer(t *testing.T) {
	marked := decoded(t, `{"role":"user","content":"start","id":"u"}
{"role":"assistant","content":"the secret plan `+prose(300, 5)+`","id":"p","meta":{"protected":true}}
`).Messages
	plan := as("p", reply("the secret plan "+prose(300, 5)))
	for _, test := range []struct {
		name    string
		cfg     tiercompact.Config
		p       chat.Message
		protect bool
	}{
		{name: "by role", cfg: tiercompact.Config{Policy: tiercompact.PolicyConfig{RolesNeverPrune: []chat.Role{chat.Developer}}}, p: as("p", chat.NewText(chat.Developer, "the secret plan "+prose(300, 5)))},
		{name: "by meta.protected", p: marked[1]},
		{name: "by id", p: plan, protect: true},
		{name: "by a matcher", cfg: tiercompact.Config{Policy: tiercompact.PolicyConfig{Protect: func(m chat.Message) bool { return strings.Contains(m.Text(), "secret plan") }}}, p: plan},
	} {
		for _, level := range []levels.Name{levels.SoftName, levels.HardName, levels.Emergency, levels.LayerName} {
			told := ""
			test.cfg.Window = 100000
			test.cfg.Summary.Summarizer = summarizer(func(ctx context.Context, r summarize.Request) (string, error) {
				told += fmt.Sprint(r.Messages, r.Facts, r.Previous)
				return summarize.Extractive{}.Summarize(ctx, r)
			})
			s := loaded(t, test.cfg, join(turns("o", 1, 100), chat.Transcript{test.p}, turns("", 10, 100))...)
			if test.protect {
				if err := s.Protect("p"); err != nil {
					t.Fatal(err)
				}
			}
			was, _ := byID(s, "p")
			for range 2 {
				if level == levels.LayerName {
					s.Compact(t.Context(), "")
				} else {
					compactTo(t, s, level)
				}
				fill(t, s, 0, turns(fmt.Sprint("n", len(s.Messages())), 8, 100)...)
			}
			if err := held(chat.Transcript{was}, s.Messages()); err != nil || strings.Contains(told, "secret plan") {
				t.Errorf("%s, %s: %v; shown to the summarizer: %t", test.name, level, err, strings.Contains(told, "secret plan"))
			}
		}
	}
}

func TestWithoutProtectionTheSamePlanGoes(t *testing.T) {
	s := loaded(t, tiercompact.Config{Window: 100000, Policy: tiercompact.PolicyConfig{RolesNeverPrune: []chat.Role{}}}, join(turns("o", 1, 100), chat.Transcript{as("p", chat.NewText(chat.Developer, "the secret plan"))}, turns("", 10, 100))...)
	compactTo(t, s, levels.Emergency)
	if _, ok := byID(s, "p"); ok {
		t.Error("a developer message stays although no role is protected")
	}
}

func TestProtectedMessagesKeepTheirOrder(t *testing.T) {
	in := turns("", 12, 100)
	var want chat.Transcript
	for i := 3; i < len(in); i += 4 {
		in[i] = guarded(in[i])
		want = append(want, in[i])
	}
	for _, level := range []levels.Name{levels.HardName, levels.Emergency} {
		s := loaded(t, tiercompact.Config{Window: 100000}, in...)
		compactTo(t, s, level)
		if err := held(want, s.Messages()); err != nil {
			t.Errorf("%s: %v", level, err)
		}
	}
	s, _ := compacted(t, tiercompact.Config{Window: 100000}, in...)
	if err := held(want, s.Messages()); err != nil {
		t.Errorf("three layers: %v", err)
	}
}

func TestProtectionOfOneMessageKeepsItsGroupAndTheOthersMayBeOutlined(t *testing.T) {
	group := reads("alpha", 1500)
	group[0] = guarded(group[0])
	in := join(turns("o", 3, 100), group, turns("", 8, 100))
	for _, level := range []levels.Name{levels.HardName, levels.Emergency, levels.LayerName} {
		s := loaded(t, tiercompact.Config{Window: 100000, Embed: tiercompact.EmbedConfig{Embedder: scored{}}}, in...)
		if level == levels.LayerName {
			s.Compact(t.Context(), "")
		} else {
			compactTo(t, s, level)
		}
		got := ids(s.Messages())
		if i := slices.Index(got, "alpha-call"); i < 0 || got[i+1] != "alpha" {
			t.Errorf("%s: the group is torn: %v", level, got)
		}
	}
	s := loaded(t, tiercompact.Config{Window: 100000}, in...)
	if compactTo(t, s, levels.SoftName); outlines(s) != "alpha" {
		t.Errorf("soft outlined %q of a group whose call is protected", outlines(s))
	}
}

func TestTheFirstUserMessageThatAPersonTypedIsPinned(t *testing.T) {
	in := decoded(t, `[{"role":"user","content":"<environment_context>\n  <cwd>/work</cwd>\n</environment_context>"},{"role":"user","content":"<system-reminder>be brief</system-reminder>"},{"role":"assistant","content":"hello"},{"role":"user","content":"port it to Go"}]`).Messages
	for i, id := range []string{"env", "reminder", "hello", "task"} {
		in[i].ID = id
	}
	for _, noPin := range []bool{false, true} {
		for _, level := range []levels.Name{levels.HardName, levels.Emergency, levels.LayerName} {
			s := loaded(t, tiercompact.Config{Window: 100000, Policy: tiercompact.PolicyConfig{NoPinFirstUser: noPin}, Embed: tiercompact.EmbedConfig{Embedder: scored{}}}, join(in, alternating(.9, .9, .9, .9, .9, .9, .9, .9)[1:], turns("", 8, 50))...)
			if level == levels.LayerName {
				s.Compact(t.Context(), "")
			} else {
				compactTo(t, s, level)
			}
			_, env := byID(s, "env")
			if _, task := byID(s, "task"); task == noPin || env {
				t.Errorf("pin off %t, %s: the task stays %t, the environment %t\n%s", noPin, level, task, env, show(s.Messages()))
			}
		}
	}
}

func TestTheFirstTypedMessageIsPinnedEvenIfProtected(t *testing.T) {
	in := join(chat.Transcript{guarded(as("task", user("port it to Go"))), as("a", reply("yes"))}, turns("", 10, 100))
	s := loaded(t, tiercompact.Config{Window: 100000}, in...)
	compactTo(t, s, levels.Emergency)
	if err := sameIDs(s.Messages(), "task summary-1 u8 a8 u9 a9"); err != nil {
		t.Error(err)
	}
}
