package summarize_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/summarize"
)

// decided returns the lines under the heading of decisions.
func decided(facts string) []string {
	_, rest, _ := strings.Cut(facts, "Decided:\n")
	var lines []string
	for line := range strings.SplitSeq(rest, "\n") {
		item, ok := strings.CutPrefix(line, "- ")
		if !ok {
			break
		}
		lines = append(lines, item)
	}
	return lines
}

func TestFactsHaveDecisionsAndReasons(t *testing.T) {
	for _, test := range []struct {
		role chat.Role
		text string
		want string // "" is not a decision
	}{
		{chat.Assistant, "I read it all. Decision: the leases stay in Redis rather than in a table, because the worker polls them.", "Decision: the leases stay in Redis rather than in a table, because the worker polls them."},
		{chat.Assistant, "The fix is to take the lock before the map is read.", "The fix is to take the lock before the map is read."},
		{chat.Assistant, "I'll use a snapshot file instead of memory.", "I'll use a snapshot file instead of memory."},
		{chat.Assistant, "Root cause: the cursor was closed twice.", "Root cause: the cursor was closed twice."},
		{chat.Assistant, "The limit stays where it is. Let me look at the callers instead of the tests.", ""},
		{chat.Assistant, "Let's use find_file to see where it is.", ""},
		{chat.Assistant, "The fix is complete.", ""},
		{chat.Assistant, "Updated the assertions to expect 5 instead of 0.", ""},
		{chat.Assistant, "Found the root cause.", ""},
		{chat.Assistant, "Should we go with Redis instead of a table?", ""},
		{chat.User, strings.Repeat("The queue is slow when many workers poll it at once. ", 12) + "We decided on one table for each tenant, because of the backups.", "We decided on one table for each tenant, because of the backups."},
		{chat.User, "We decided on one table for each tenant.", ""}, // the request says it
		{chat.User, "agreed, go on", ""},
		{chat.User, strings.Repeat("A log line that someone pasted into the question. ", 60) + "We decided on one table.", ""},
	} {
		got := strings.Join(decided(summarize.FactsOf([]chat.Message{chat.NewText(test.role, test.text)}, "", 400, nil)), "; ")
		if got != test.want {
			t.Errorf("%.60s: %q, want %q", test.text, got, test.want)
		}
	}
}

func TestADecisionIsSaidOnce(t *testing.T) {
	const choice = "Decision: we keep the leases in Redis, because the worker polls them."
	session := append(plantedSession(), chat.NewText(chat.Assistant, choice))
	facts := summarize.FactsOf(session, "", 600, nil)
	for _, s := range []summarize.Strategy{summarize.TaskState, summarize.Brief, summarize.CodeDelta} {
		text := extract(t, summarize.Request{Messages: session, Facts: facts, MaxTokens: 1600, Strategy: s})
		_, decisions, _ := strings.Cut(text, "## Decisions")
		decisions, _, _ = strings.Cut(decisions, "## ")
		if !strings.Contains(facts, choice) || strings.Contains(decisions, choice) {
			t.Errorf("%s:\n%s\n%s", s, text, facts)
		}
	}
}

func TestDecisionsAreCarriedOver(t *testing.T) {
	const choice = "Decision: we keep the leases in Redis, because the worker polls them."
	content := ""
	for i := range 4 {
		says := fmt.Sprintf("Step %d is done.", i)
		if i == 0 {
			says = choice
		}
		facts := summarize.FactsOf([]chat.Message{chat.NewText(chat.User, "go on"), chat.NewText(chat.Assistant, says)}, content, 400, nil)
		if got := decided(facts); len(got) != 1 || got[0] != choice {
			t.Fatalf("summary %d: %q in\n%s", i, got, facts)
		}
		content = summarize.Finish("- it goes on", facts, nil, 0, nil)
	}
}

// If room is short, rules, requests and files stay.
func TestDecisionsAreCutBeforeRules(t *testing.T) {
	session := plantedSession()
	for i := range 60 {
		session = append(session, chat.NewText(chat.Assistant, fmt.Sprintf("Decision: part %d is kept in a table of its own, because part %d is read by others too.", i, i+1)))
	}
	facts := summarize.FactsOf(session, "", 500, nil)
	for _, want := range []string{"never commit to main directly", "internal/billing/invoice_total.go", "Fix the rounding", "TestInvoiceRounding", "migrate the archive table"} {
		if !strings.Contains(facts, want) {
			t.Errorf("no %q:\n%s", want, facts)
		}
	}
	if n := len(decided(facts)); n == 0 || n == 60 {
		t.Errorf("%d decisions:\n%s", n, facts)
	}
}
