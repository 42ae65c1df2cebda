package summarize_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/redact"
	"github.com/tiercompact/tiercompact/summarize"
)

// A mark of redaction is whole in every line of a summary, wherever a line is cut.
func TestMarksStayWholeInSummaries(t *testing.T) {
	for pad := range 60 {
		before := strings.Repeat("w ", pad) + strings.Repeat("x", pad)
		var s sessionWriter
		s.user(fmt.Sprintf("Deploy with API_KEY=%s and token %s.\n%s is the other one. Please keep the port 8443. %s %s%s", redact.Mark, redact.Mark, redact.Mark, strings.Repeat(before, 5), redact.Mark, redact.Mark))
		s.run("I log in with `"+redact.Mark+"` because the host needs it.", "curl -X POST -H 'X-Token: "+before+redact.Mark+"' https://user:"+redact.Mark+"@example.com/deploy"+strings.Repeat(redact.Mark, 12), "Exit code: 1\nOutput:\n"+before+"error: bad token "+redact.Mark+redact.Mark)
		s.says("The deploy failed with " + strings.Repeat(before+redact.Mark, 4) + ".")
		facts := summarize.FactsOf(s.messages, "", 600, nil)
		text := extract(t, summarize.Request{Messages: s.messages, Facts: facts, MaxTokens: 900})
		if all := facts + text; strings.ContainsAny(strings.ReplaceAll(all, redact.Mark, ""), "<>") || strings.Contains(strings.ReplaceAll(all, redact.Mark, ""), "REDACT") {
			t.Fatalf("%d: a mark is torn:\n%s", pad, all)
		}
	}
}
