package files

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
)

// statuses is an output of the given number of lines; one has a name that
// occurs nowhere else.
func statuses(lines int, name string) string {
	var b strings.Builder
	for i := range lines {
		if i == lines/2 {
			fmt.Fprintf(&b, "queue lease=%s owner=none state=idle\n", name)
			continue
		}
		fmt.Fprintf(&b, "queue depth=%d age=%dms\n", 100+i, 7*i)
	}
	return b.String()
}

func TestDigestKeepsUniqueNames(t *testing.T) {
	messages := chat.Transcript{
		chat.NewResult("a", statuses(16, "b450b717")),
		chat.NewResult("b", statuses(18, "0c5de1aa")),
		chat.NewText(chat.Assistant, "0c5de1aa is the one that I look for"),
	}
	facts := make([]Scan, len(messages))
	for i, m := range messages {
		facts[i] = ScanMessage(m, nil)
	}
	known := NewIndex(messages, facts).Known(func(message, _ int) bool { return message < 2 })
	for i, want := range []string{"b450b717", ""} {
		c := facts[i].Copies[0]
		text := c.Text(messages[i])
		lost := strings.Join(known.Lost(c, text, nil, 60), " ")
		if lost != want {
			t.Errorf("lost of message %d: %q, want %q", i, lost, want)
		}
		got := c.Digest(text, DigestOptions{Max: 60, Count: countBytes, Recall: "0123abcd", Ledger: strings.Fields(lost)})
		if !strings.Contains(got, want) {
			t.Errorf("digest of message %d:\n%s", i, got)
		}
	}
}

// The message of a failure is below its line, and goes before names.
func TestDigestKeepsTheMessageOfAFailure(t *testing.T) {
	log := strings.Repeat("=== RUN   TestFine\n--- PASS: TestFine (0.00s)\n", 8) +
		"--- FAIL: TestLease (0.42s)\n    lease/store.go:41: want 7523 sessions, got 857\n    a second remark\nFAIL\nFAIL\tlease\t6.790s\n"
	got := Digest(log, DigestOptions{Max: 60, Count: countBytes, Recall: "0123abcd", Ledger: []string{"TestFine", "TestOther", "TestThird"}})
	if !strings.Contains(got, "store.go:41: want 7523 sessions, got 857") {
		t.Errorf("got:\n%s", got)
	}
}

func TestLedgerLineIsAsLongAsItMayBe(t *testing.T) {
	for _, test := range []struct {
		ledger, body string
		size         int
		want         string
	}{
		{"a_name b_name", "", 19, "also: a_name b_name"},
		{"a_name b_name", "", 18, "also: a_name"},
		{"a_name b_name", "", 11, ""},
		{"a_name b_name", "see a_name", 12, "also: b_name"},
		{"a_longer_name b_name", "", 12, "also: b_name"},
		{"", "", 100, ""},
	} {
		ledger := strings.Fields(test.ledger)
		if got := ledgerLine(ledger, test.body, test.size); got != test.want {
			t.Errorf("%s in %d: %q, want %q", test.ledger, test.size, got, test.want)
		}
		if got := ledgerSize(unshownIdentifiers(ledger, test.body)); len(test.want) > 0 && got < len(test.want) {
			t.Errorf("%s has %d bytes", test.ledger, got)
		}
	}
}
