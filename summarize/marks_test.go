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

func TestALineThatBeginsWithAnAngleBracketIsKept(t *testing.T) {
	for line, kept := range map[string]bool{
		redact.Mark + " is the other one. Please keep the port 8443.":            true,
		"<Enter> must send the form, and Please keep the port 8443.":             true,
		"<div class=\"x\">Please keep the port 8443.</div>":                      false,
		"<page>\nPlease keep the port 8443.\n</page>":                            false,
		"<page> begins here\nPlease keep the port 8443.\nand ends here\n</page>": false,
	} {
		var s sessionWriter
		s.user("Deploy the gateway.\n" + line)
		s.says("It is deployed.")
		facts := summarize.FactsOf(s.messages, "", 600, nil)
		if has := strings.Contains(facts, "keep the port 8443"); has != kept {
			t.Errorf("%q: kept %v:\n%s", line, has, facts)
		}
	}
}
