package levels_test

import (
	"context"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/protection"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/summarize"
)

// The names of a later summary are those of what was said, not of what the summary
// before left of it: a name that was left out comes back if it has room.
func TestNamesOfALaterSummaryAreThoseOfWhatWasSaid(t *testing.T) {
	s := (&script{}).say(chat.User, "Please repair the parser.")
	for range 12 {
		s.say(chat.Assistant, "I read the parser. It drops the last token in closeTokenStream when the input ends without a line feed.")
		s.say(chat.User, "Good, then go on with the tests of it, one after the other please.")
	}
	s.say(chat.Assistant, "Done.")
	before := viewOf(s.t)
	first := protection.NewSummary(1, chat.Assistant, "The parser was read.", "0123abcd")
	first.ID = "first"
	now := append(chat.Transcript{s.t[0], first}, s.t[13:]...)
	for i := 2; i < len(now)-1; i++ {
		now[i] = chat.NewText(now[i].Role, strings.Repeat("The tests go on as before. ", 4))
		now[i].ID = s.t[11+i].ID
	}
	v := viewOf(now)
	for _, test := range []struct {
		original func() levels.View
		want     bool
	}{{nil, false}, {func() levels.View { return before }, true}} {
		v.Original = test.original
		w := levels.Writer{Summarizer: summarize.Extractive{}, Max: 400, Text: 60, Ledger: 100, Number: 2}
		got, err := w.Write(context.Background(), v, levels.EmergencyCut(v, 1, chat.Assistant))
		if err != nil || got.Message == nil {
			t.Fatal(got, err)
		}
		if text := got.Message.Text(); strings.Contains(text, "closeTokenStream") != test.want {
			t.Errorf("with the original %v, the summary is\n%s", test.want, text)
		}
	}
}
