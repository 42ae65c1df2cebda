package edit_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/chattest"
	"github.com/tiercompact/tiercompact/internal/edit"
)

// FuzzApply checks that random edits of random conversations are rejected, or keep
// the invariants.
func FuzzApply(f *testing.F) { f.Fuzz(rapid.MakeFuzz(applyRandom)) }

func TestApplyOfRandomEdits(t *testing.T) { rapid.Check(t, applyRandom) }

func applyRandom(t *rapid.T) {
	before := chattest.Transcript(t, 25)
	for i := range before {
		before[i].ID = fmt.Sprintf("m%d", i)
	}
	edits := drawEdits(t, before)
	if rapid.Bool().Draw(t, "separate") {
		if separated, err := edit.Separate(before, edits, mark); err == nil {
			edits = separated
		}
	}
	copied := slices.Clone(before)
	rules := edit.Rules{
		Locked: func(i int) bool { return before[i].Protected },
		NoUser: rapid.Bool().Draw(t, "no user"),
	}
	if rapid.Bool().Draw(t, "sized") {
		rules.Size = size
	}
	after, err := edit.Apply(before, edits, rules)
	if !slices.EqualFunc(before, copied, edit.Same) {
		t.Fatal("the input was changed")
	}
	if err != nil {
		if after != nil {
			t.Fatalf("an error and %d messages", len(after))
		}
		return
	}
	checkApplied(t, before, after, rules)
}

// drawEdits draws up to four edits that may be invalid, mostly of whole groups, so
// that some are valid.
func drawEdits(t *rapid.T, in chat.Transcript) (edits []edit.Edit) {
	groups, _ := chat.Groups(in)
	for range rapid.IntRange(0, 4).Draw(t, "edits") {
		g := groups[rapid.IntRange(0, len(groups)-1).Draw(t, "group")]
		e := edit.Edit{Start: g[0], End: g[len(g)-1] + 1}
		switch rapid.IntRange(0, 5).Draw(t, "form") {
		case 0: // any run, or none
			e.Start = rapid.IntRange(-1, len(in)+1).Draw(t, "start")
			e.End = rapid.IntRange(-1, len(in)+1).Draw(t, "end")
		case 1:
			e.End = e.Start
			e.New = []chat.Message{drawNew(t, in)}
		case 2:
			e.New = []chat.Message{drawNew(t, in)}
		case 3:
			e.End = e.Start + 1
			e.New = []chat.Message{drawChanged(t, in[e.Start])}
		}
		edits = append(edits, e)
	}
	return edits
}

func drawNew(t *rapid.T, in chat.Transcript) chat.Message {
	if rapid.IntRange(0, 9).Draw(t, "old") == 0 {
		return rapid.SampledFrom(in).Draw(t, "message")
	}
	role := rapid.SampledFrom([]chat.Role{chat.User, chat.Assistant, chat.System}).Draw(t, "role")
	return named(rapid.StringMatching("n[0-9]").Draw(t, "id"), chat.NewText(role, rapid.SampledFrom([]string{"so far", "", "\xff"}).Draw(t, "text")))
}

func drawChanged(t *rapid.T, m chat.Message) chat.Message {
	parts := slices.Clone(m.Parts)
	p := &parts[rapid.IntRange(0, len(parts)-1).Draw(t, "part")]
	switch {
	case rapid.IntRange(0, 4).Draw(t, "what") == 0:
		p.Kind = chat.Text
	case p.Kind == chat.Call:
		p.Args = rapid.SampledFrom([]string{"{}", `{"path":`, ""}).Draw(t, "args")
	default:
		p.Text = p.Text[:len(p.Text)/2]
	}
	return m.With(chat.Outlined, parts...)
}

// checkApplied checks the invariants by other means than Apply.
func checkApplied(t *rapid.T, before, after chat.Transcript, rules edit.Rules) {
	for _, p := range chat.New(chat.Check(before), chat.Check(after)) {
		switch p.Kind {
		case chat.Orphan, chat.Unanswered, chat.BadArguments:
			if p.Kind != chat.BadArguments || !wasBroken(before, after[p.Index].ID) {
				t.Fatalf("message %d: %s", p.Index, p.Text)
			}
		}
	}
	was, is := 0, 0
	now := make(map[string]chat.Message)
	for _, m := range after {
		now[m.ID] = m
		is += size(m)
		if len(m.Parts) == 0 || !utf8.ValidString(m.Text()) {
			t.Fatalf("message %s: empty or no UTF-8", m.ID)
		}
	}
	if len(now) != len(after) {
		t.Fatal("two messages have one id")
	}
	for i, m := range before {
		was += size(m)
		if kept, present := now[m.ID]; rules.Locked(i) && (!present || !edit.Same(kept, m)) {
			t.Fatalf("protected message %d did not stay", i)
		}
	}
	if rules.Size != nil && is > was {
		t.Fatalf("%d tokens were %d", is, was)
	}
	latest := chat.Newest(before, chat.Message.Typed)
	if _, stays := now[fmt.Sprintf("m%d", latest)]; latest >= 0 && !stays && !rules.NoUser {
		t.Fatalf("the latest user message %d is gone", latest)
	}
}

// wasBroken reports whether message id had arguments that are not JSON.
func wasBroken(t chat.Transcript, id string) bool {
	i := chat.Newest(t, func(m chat.Message) bool { return m.ID == id })
	return i >= 0 && slices.ContainsFunc(t[i].Parts, func(p chat.Part) bool { return p.Kind == chat.Call && !json.Valid([]byte(p.Args)) })
}

func BenchmarkApply(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		t := talk(strings.Repeat("u c1 r1 a ", n/4))
		for i := range t {
			t[i].ID = fmt.Sprintf("m%d", i)
		}
		edits := []edit.Edit{drop(4, n*2/5)}
		b.Run(fmt.Sprint("messages=", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				separated, err := edit.Separate(t, edits, mark)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := edit.Apply(t, separated, edit.Rules{Size: size}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
