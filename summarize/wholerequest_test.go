package summarize_test

import (
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/summarize"
)

// A request in several points keeps all of them while there is room, also after its turn,
// and its beginning where there is none.
func TestARequestInPointsIsKeptWhole(t *testing.T) {
	points := []string{
		"1. the listing should name who made each checkpoint; the commit that saved it already knows that, so look there before a new field is added anywhere",
		"2. yes, explain --commit HASH should print the checkpoint that the commit belongs to, or say that it has none",
		"3. I do not know what --session does today, but it should be a filter of the listing",
		"4. the detail view should list the commits that belong to the checkpoint as well",
	}
	messages := chat.Transcript{
		chat.NewText(chat.User, "Have a look at the issue about explain, and let us discuss it."),
		chat.NewText(chat.Assistant, "It wants three changes of the command."),
		chat.NewText(chat.User, strings.Join(points, "\n")),
		chat.NewText(chat.Assistant, "The three views are changed and tested."),
		chat.NewText(chat.User, "Now write the release note."),
	}
	words := func(s string) int { return len(strings.Fields(s)) }
	got := summarize.FactsOf(messages, "", 400, words)
	for _, p := range points {
		if !strings.Contains(got, p[len("1. "):]) {
			t.Errorf("with room, the facts lack %q:\n%s", p, got)
		}
	}
	got = summarize.FactsOf(messages, "", 60, words)
	if !strings.Contains(got, "the listing should name who made each checkpoint") || strings.Contains(got, points[3][3:]) || words(got) > 60 {
		t.Errorf("in 60 words, the beginning of the request is due:\n%s", got)
	}
}
