package levels_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/edit"
	"github.com/tiercompact/tiercompact/internal/protection"
	"github.com/tiercompact/tiercompact/levels"
)

func TestSeparatorsQuoteOnlyAnswersInTheirPlace(t *testing.T) {
	asked, said := func(text string) chat.Message { return chat.NewText(chat.User, text) }, func(text string) chat.Message { return chat.NewText(chat.Assistant, text) }
	calls := func(text string) chat.Message {
		m := said(text)
		m.Parts = append(m.Parts, chat.Part{Kind: chat.Call, ID: "c", Name: "run", Args: "{}"})
		return m
	}
	marked := func(m chat.Message) chat.Message { m.State = chat.Marked; return m }
	stays := func(m chat.Message) chat.Message { m.ID = "stays"; return m }
	machine := func(m chat.Message) chat.Message { m.Machine = true; return m }
	const left, gap = "-1 [marker the reply that stood here was left out]", "-1 [marker a gap]"
	long := "# Report\n\nThe export runs. " + strings.Repeat("It has many parts. ", 30) + "\n```sh\nrun it\n```\nNothing is left to do."
	for _, test := range []struct {
		name string
		role chat.Role
		gap  chat.Transcript
		want string
	}{
		{"a short answer", chat.Assistant, chat.Transcript{said("Done.")}, "0 Done."},
		{"the last text of the turn", chat.Assistant, chat.Transcript{said("I begin."), calls("now"), said("Done.")}, "2 Done."},
		{"a reminder does not end the turn", chat.Assistant, chat.Transcript{said("I begin."), machine(asked("a reminder")), said("Done.")}, "2 Done."},
		{"one answer to two requests", chat.Assistant, chat.Transcript{asked("and this"), said("Done.")}, "1 Done."},
		{"behind a call that stays", chat.Assistant, chat.Transcript{stays(calls("now")), said("Done.")}, "1 Done."},
		{"before a call that stays", chat.Assistant, chat.Transcript{said("Done."), stays(calls("now"))}, "0 Done."},
		{"an earlier round left it", chat.Assistant, chat.Transcript{marked(said("Done."))}, "0 Done."},
		{"a long answer", chat.Assistant, chat.Transcript{said(long)}, "0 The export runs. … Nothing is left to do."},
		{"the old answer is not the newest", chat.Assistant, chat.Transcript{said("Done."), asked("more"), said("More is done.")}, "0 Done.|1 [marker a gap]|2 More is done."},
		{"nor over three turns", chat.Assistant, chat.Transcript{said("Done."), asked("more"), said("More is done."), asked("and"), calls("so"), said("All.")}, "0 Done.|1 [marker a gap]|5 All."},
		{"nor where a marker replaced turns", chat.Assistant, chat.Transcript{said("Done."), marked(asked("[marker 3 messages left out; recall 0123abcd]")), said("All.")}, "0 Done.|1 [marker a gap]|2 All."},
		{"later requests have no answer", chat.Assistant, chat.Transcript{said("Done."), asked("more"), calls("so")}, left},
		{"the newest request has no answer", chat.Assistant, chat.Transcript{said("Done."), asked("more"), said("More is done."), asked("and"), calls("so")}, "0 Done.|1 [marker a gap]|2 More is done."},
		{"the request that stays has no answer", chat.Assistant, chat.Transcript{calls("so"), asked("more"), said("More is done.")}, left},
		{"a call that stays is of another turn", chat.Assistant, chat.Transcript{said("Done."), asked("more"), stays(calls("so")), said("More is done.")}, "0 Done.|1 [marker a gap]|3 More is done."},
		{"what announces a call is no answer", chat.Assistant, chat.Transcript{calls("I look at it.")}, left},
		{"a record is no answer", chat.Assistant, chat.Transcript{marked(said("[marker 3 messages left out; recall 0123abcd]"))}, left},
		{"a summary is no answer", chat.Assistant, chat.Transcript{protection.NewSummary(1, chat.Assistant, "all of it", "")}, left},
		{"nothing was said", chat.Assistant, nil, left},
		{"a request that costs no more than the record", chat.User, chat.Transcript{asked("the first of all the requests"), said("Yes."), asked("go on please")}, "2 go on please"},
		{"a longer request", chat.User, chat.Transcript{asked("go on with the tests please")}, gap},
		{"no request", chat.User, chat.Transcript{said("Done.")}, gap},
	} {
		v := levels.View{Count: func(s string) int { return len(strings.Fields(s)) }}
		g := edit.Gap{Messages: test.gap}
		for _, m := range test.gap {
			g.Gone = append(g.Gone, m.ID != "stays")
		}
		next := asked("next")
		next.ID = "m7"
		var got []string
		for i, mark := range v.Separator(levels.HardName)(test.role, next, g) {
			got = append(got, fmt.Sprint(mark.At, " ", mark.Message.Text()))
			if want := []chat.Role{chat.Assistant, chat.User, chat.Assistant}[i]; test.role == chat.Assistant && mark.Message.Role != want || mark.Message.State != chat.Marked || mark.Message.ID != "marker-m7" {
				t.Errorf("%s: %+v", test.name, mark.Message)
			}
		}
		if strings.Join(got, "|") != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
		if small := v.Separator(levels.FitName)(test.role, next, g); len(small) != 1 {
			t.Errorf("%s: fit has %d separators", test.name, len(small))
		}
	}
}
