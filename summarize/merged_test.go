package summarize_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/summarize"
)

// rounds summarizes a session in rounds, each with the record and with what the round
// before wrote, as a session does, and returns the last summary.
func rounds(t *testing.T, s summarize.Strategy, parts ...[]chat.Message) string {
	t.Helper()
	record, previous := summarize.NewRecord(""), ""
	for _, part := range parts {
		for _, m := range part {
			record.Add(m)
		}
		facts := record.Facts(part, func(string) bool { return false }, 500, nil)
		text := extract(t, summarize.Request{Messages: part, Previous: previous, Strategy: s, Facts: facts, Work: record, MaxTokens: 900})
		previous = summarize.Finish(text, facts, nil, 0, nil)
	}
	return previous
}

// What was so in an earlier round is not said any more once it has changed.
func TestMergedRoundsSayHowThingsAreNow(t *testing.T) {
	var red, green, next sessionWriter
	red.user("Round half values to even in billing, see BILL-77.")
	red.call("", "TodoWrite", `{"todos":[{"content":"round to even","status":"in_progress"},{"content":"write the note","status":"pending"}]}`, "ok")
	red.run("I run the tests.", "go test ./...", "--- FAIL: TestRoundHalfEven (0.00s)\n    round_test.go:41: got 3, want 2\nFAIL")
	green.call("The cause is the half.", "Edit", `{"file_path":"billing/round.go","old_string":"a","new_string":"func Round() {}"}`, "ok")
	green.run("", "go test ./...", "ok  \tshop/billing\t0.2s")
	green.call("", "TodoWrite", `{"todos":[{"content":"round to even","status":"completed"},{"content":"write the note","status":"pending"}]}`, "ok")
	green.says("Round rounds to even. Shall I also write the note in CHANGES.md?")
	next.user("Yes, do that.")
	next.call("", "Write", `{"file_path":"CHANGES.md","content":"# Changes\n"}`, "ok")
	next.call("", "TodoWrite", `{"todos":[{"content":"round to even","status":"completed"},{"content":"write the note","status":"completed"}]}`, "ok")
	next.says("CHANGES.md has the note.")
	parts := [][]chat.Message{red.messages, green.messages, next.messages}
	for _, s := range []summarize.Strategy{summarize.TaskState, summarize.CodeDelta, summarize.Brief} {
		if got := rounds(t, s, parts[:2]...); strings.Contains(got, "failed") || strings.Contains(got, "Still failing") || strings.Count(got, "last done: ") > 1 || !strings.Contains(got, "write the note") {
			t.Errorf("%s after two rounds:\n%s", s, got)
		}
		got := rounds(t, s, parts...)
		if strings.Contains(got, "failed") || strings.Contains(got, "Outstanding") || strings.Contains(got, "Follow-up") || strings.Contains(got, "todos") || strings.Count(got, "last done: ") > 1 || !strings.Contains(got, "BILL-77") {
			t.Errorf("%s after three rounds:\n%s", s, got)
		}
		if strings.Contains(got, "Yes, do that") || !strings.Contains(got, "agreed to: Shall I also write the note in CHANGES.md?") {
			t.Errorf("%s: what the user agreed to:\n%s", s, got)
		}
	}
}

// Done steps are listed beside open ones.
func TestDoneTodosStandBesideOpenOnes(t *testing.T) {
	var s sessionWriter
	s.user("Split the report.")
	s.call("", "TodoWrite", `{"todos":[{"content":"move the reader","status":"completed"},{"content":"drop the cache","status":"cancelled"},{"content":"move the writer","status":"pending"}]}`, "ok")
	facts := summarize.FactsOf(s.messages, "", 300, nil)
	if !strings.Contains(facts, "Open todos:\n- move the writer\nDone todos:\n- move the reader") || strings.Contains(facts, "cache") {
		t.Error(facts)
	}
	if again := summarize.NewRecord(facts).Text(); again != facts {
		t.Errorf("read back:\n%s", again)
	}
}

// An assent is no goal: what it agrees to is one. Thanks ask for nothing.
func TestAssents(t *testing.T) {
	for _, test := range []struct{ said, typed, want, not string }{
		{"The parser is done. Shall I also fix the printer?", "Yes, do that.", "agreed to: Shall I also fix the printer?", "Yes, do"},
		{"I can move the cache to Redis. Should I do it?", "yes please", "agreed to: I can move the cache to Redis. Should I do it?", "yes please"},
		{"I suggest a table of prices. That is all.", "ok, sounds good!", "agreed to: I suggest a table of prices.", "sounds good"},
		{"Ich habe zwei Wege. Soll ich den Drucker reparieren?", "ja bitte, mach das", "agreed to: Soll ich den Drucker reparieren?", "mach das"},
		{"The parser is done.", "thanks, great", "Write the parser.", "thanks"},
		{"The parser is done. Shall I fix the printer?", "yes, and the scanner in scan.go too", "yes, and the scanner in scan.go too", "agreed"},
		{"The parser is done. Shall I fix the printer?", "no", "- no", "agreed"},
	} {
		session := []chat.Message{chat.NewText(chat.User, "Write the parser."), chat.NewText(chat.Assistant, test.said), chat.NewText(chat.User, test.typed)}
		facts := summarize.FactsOf(session, "", 300, nil)
		if !strings.Contains(facts, test.want) || strings.Contains(facts, test.not) {
			t.Errorf("%q after %q:\n%s", test.typed, test.said, facts)
		}
	}
}

// A plan that the user rejected is nothing that was done; what the user said is asked.
func TestRejectedPlans(t *testing.T) {
	const rejected = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file). To tell you how to proceed, the user said:\n"
	var s sessionWriter
	s.user("Move the sessions to a store.")
	s.call("I have a plan.", "ExitPlanMode", `{"plan":"# Plan\nUse Memcached."}`, rejected+"use SQLite in store.go, no server")
	got := rounds(t, summarize.TaskState, s.messages)
	if strings.Contains(got, "ExitPlanMode") || strings.Contains(got, "Memcached") || !strings.Contains(got, "- use SQLite in store.go, no server") {
		t.Error(got)
	}
}

// A removed file is not one that was changed.
func TestRemovedFiles(t *testing.T) {
	for _, remove := range []string{"rm /srv/shop/old_test.go", "git rm -f old_test.go && go vet ./...", "cd /srv/shop && rm ./old_test.go"} {
		var s sessionWriter
		s.user("Merge the two tests.")
		s.call("", "Write", `{"file_path":"/srv/shop/old_test.go","content":"func TestOld() {}\n"}`, "ok")
		s.run("", remove, "")
		facts := summarize.FactsOf(s.messages, "", 300, nil)
		if !strings.Contains(facts, "- /srv/shop/old_test.go → removed") {
			t.Errorf("%s:\n%s", remove, facts)
		}
		if again := summarize.NewRecord(facts).Text(); again != facts {
			t.Errorf("%s: read back:\n%s", remove, again)
		}
	}
}

// Runs of one command are one line, however much of their output was shown; a check
// that passes everywhere settles what it reported for some files.
func TestCommandsAreListedOnce(t *testing.T) {
	var s sessionWriter
	s.user("Make everything green.")
	for i, filter := range []string{"", " | head -30", " | tail -5", ""} {
		s.run("", "go build ./cmd/shop"+filter, fmt.Sprint("built ", i))
	}
	s.run("", "golangci-lint run ./cart/price.go", "Exit code: 3\nOutput:\nlevel=error msg=named files must be in one directory")
	s.run("", "go test ./...", "ok  \tshop\t0.1s")
	if facts := summarize.FactsOf(s.messages, "", 300, nil); strings.Count(facts, "go build") != 1 || !strings.Contains(facts, "Last errors:\n- golangci-lint") {
		t.Errorf("a test settles a check:\n%s", facts)
	}
	s.run("", "golangci-lint run ./cart/", "0 issues.")
	if facts := summarize.FactsOf(s.messages, "", 300, nil); strings.Contains(facts, "Last errors") {
		t.Errorf("settled:\n%s", facts)
	}
}

// What a person says of oneself, and a complaint, is no rule.
func TestComplaintsAreNoRules(t *testing.T) {
	for _, typed := range []string{"I don't see it in the footer, can you check?", "i don't think the cache works correctly.", "It crashed again, that should never happen.", "I never used the old importer."} {
		if facts := summarize.FactsOf([]chat.Message{chat.NewText(chat.User, "Fix the footer."), chat.NewText(chat.User, typed)}, "", 300, nil); strings.Contains(facts, "Rules:") {
			t.Errorf("%q:\n%s", typed, facts)
		}
	}
	if facts := summarize.FactsOf([]chat.Message{chat.NewText(chat.User, "The cache must never be written by the reader.")}, "", 300, nil); !strings.Contains(facts, "Rules:") {
		t.Error(facts)
	}
}

// What a command prints says nothing about how it ended, if others wrote it; reading
// from a server is no work, and neither are keys.
func TestPrintedContentIsNoFailure(t *testing.T) {
	for _, command := range []string{"curl -sS http://localhost:8080/api/snapshot", "curl -X POST -d a=b http://localhost:8080/api", "gh api repos/shop/pulls/7/comments", "python3 -c 'print(open(\"log\").read())'", "kubectl logs shop-1", "printf '%s\\n' a; sed -n 1,9p log"} {
		var s sessionWriter
		s.user("Why are orders rejected?")
		s.run("", command, "{\"action\":\"rejected\",\n\"error\": \"order failed\"}\nError: order failed\nFAILED 3")
		if facts := summarize.FactsOf(s.messages, "", 300, nil); strings.Contains(facts, "Last errors") || strings.Contains(facts, "failed") && strings.Contains(facts, "→ failed") {
			t.Errorf("%s:\n%s", command, facts)
		}
		s.run("", command, "Exit code: 22\nOutput:\nnothing")
		if facts := summarize.FactsOf(s.messages, "", 300, nil); !strings.HasPrefix(command, "curl -sS") && !strings.HasPrefix(command, "printf") && !strings.Contains(facts, "Last errors") {
			t.Errorf("%s with an exit code:\n%s", command, facts)
		}
	}
	var s sessionWriter
	s.user("hi")
	s.user("Stop the server of the shop.")
	s.call("", "execute_bash", `{"command":"C-c","is_input":"true"}`, "[The command completed with exit code 130. CTRL+C was sent.]")
	s.call("", "WebFetch", `{"url":"https://example.com/docs","prompt":"list the flags"}`, "# Flags")
	s.run("", "make lint", "[lint] $ golangci-lint run ./...\n")
	if facts := summarize.FactsOf(s.messages, "", 300, nil); facts != "Asked by the user:\n- Stop the server of the shop.\nCommands and how they ended:\n- make lint" {
		t.Error(facts)
	}
}

// The name of a standard is no ticket, and the second of several no issue.
func TestDetailsAreValues(t *testing.T) {
	session := []chat.Message{chat.NewText(chat.User, "The export writes UTF-8 with SHA-256 sums, see SHOP-412 and issue 388 on branch release/2.4. I found issue 2 on branch 3, too. It adds PATH=\"${dir}:\\$PATH\" and PATH=\\${dir}:\\$PATH.")}
	if facts := summarize.FactsOf(session, "", 300, nil); !strings.HasSuffix(facts, "Details:\n- SHOP-412\n- issue 388\n- branch release/2.4") {
		t.Error(facts)
	}
}
