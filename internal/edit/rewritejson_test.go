package edit_test

import (
	"encoding/json"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
)

func TestAStoredRewriteDoesTheSame(t *testing.T) {
	r := layered(t)
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var again edit.Rewrite
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	for _, words := range []string{"s0 u1 a1 u2 a2 u3 a3 u4", "s9 u1 a1 u2 a2 u3 a3 u4 a4 u5", "s0 u1 a1 u2 a9 u3 a3 u4"} {
		want, n := edit.Reapply(sent(words), []edit.Rewrite{r})
		got, m := edit.Reapply(sent(words), []edit.Rewrite{again})
		if said(got) != said(want) || len(n) != len(m) {
			t.Errorf("%s: %s, stored %s", words, said(want), said(got))
		}
	}
}

func TestADamagedRewriteIsRefused(t *testing.T) {
	for _, text := range []string{
		`{"was":[{"sum":"00","role":"user"}]}`, `{"was":[{"sum":"zz","role":"user"}]}`, `{"was":[],"after":[{"was":0}]}`, `{"was":[],"after":[{"was":-2}]}`, `{"was":[],"after":[{"was":-1}]}`,
		`{"was":[{"sum":"00000000000000000000000000000000","role":"user"}],"after":[{"was":0}]}`, `{"was":1}`,
	} {
		if err := json.Unmarshal([]byte(text), new(edit.Rewrite)); err == nil {
			t.Errorf("%s is accepted", text)
		}
	}
}

// TestARewrittenMessageBelongsToTheObjectThatWasSent has a stored round repeated on a
// request whose objects are new: a rewritten result stays beside the one that it shares
// an object with.
func TestARewrittenMessageBelongsToTheObjectThatWasSent(t *testing.T) {
	results := func(source *chat.Source) chat.Transcript {
		t := sent("u1 a1 u2")
		for i, id := range []string{"x", "y"} {
			m := chat.NewResult(id, "text of "+id)
			m.Source, m.Index = source, i
			t = append(t, m)
		}
		return t
	}
	first := results(&chat.Source{JSON: "1", Count: 2})
	before := numbered(first)
	small := before[3].With(chat.Outlined, chat.Part{Kind: chat.Result, ID: "x", Text: "x"})
	r, ok := edit.NewRewrite(first, before, [][]edit.Edit{{{Start: 3, End: 4, New: []chat.Message{small}}}})
	if !ok {
		t.Fatal("the round does not fit")
	}
	now := &chat.Source{JSON: "2", Count: 2}
	for name, history := range map[string]chat.Transcript{"grown": append(results(now), sent("a3 u4")...), "with a clock": append(sent("s9"), results(now)...)} {
		got, fit := edit.Reapply(history, []edit.Rewrite{r})
		if len(fit) != 1 {
			t.Fatalf("%s: the round was dropped", name)
		}
		for _, m := range got {
			if m.Role == chat.Tool && m.Source != now {
				t.Errorf("%s: %q belongs to the former request", name, m.Text())
			}
		}
	}
}
