package summarize_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/summarize"
)

// What a summary says of how a command ended, by its output.
func TestHowACommandEnded(t *testing.T) {
	const (
		waits = "\n[The command has no new output after 10 seconds. You may wait longer to see additional output by sending empty command '', send other commands to interact with the current process, or send keys to interrupt/kill the command.]"
		cargo = "running 9 tests\ntest result: ok. 9 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.02s\n\n   Doc-tests shop\n\nrunning 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s"
		log   = "=== RUN   TestFetch\nFailed to fetch metadata: remote not found\n--- PASS: TestFetch (0.01s)\nPASS\nok  \tshop/fetch\t0.2s"
	)
	for _, test := range []struct{ command, output, want string }{
		{"python app.py", " * Debugger PIN: 368" + waits, "still running"},
		{"npm run dev", "Command running in background with ID: bx1. Output is being written to: /tmp/x", "running in the background"},
		{"python -m pytest", "[Below is the output of the previous command.]\n\n[Your command \"python -m pytest\" is NOT executed. The previous command is still running - You CANNOT send new commands until the previous command is completed.]", "failed: not executed: the previous command was still running"},
		{"go test -v ./fetch/", log, "PASS"},
		{"go test -v ./fetch/ | tail -5", log, "PASS"},
		{"go test -v ./fetch/", log + "\n--- FAIL: TestStore (0.01s)\n    store_test.go:4: no\nFAIL", "failed: TestStore"},
		{"make deploy", log, "failed: Failed to fetch metadata: remote not found"},
		{"cargo test --workspace", cargo, "test result: ok. 9 passed; 0 failed; 1 ignored"},
		{"cargo fmt --all -- --check && cargo clippy", "Diff in /shop/src/lib.rs:3:\n-    let a = 1;\n+    let a = 2;\n     Some(left)", "failed: Diff in /shop/src/lib.rs:3:"},
		{"cargo fmt --all -- --check", "Script completed\nWall time 0.4 seconds\nOutput:\n\nDiff in /shop/src/lib.rs:3:\n     Some(left)", "failed: Diff in /shop/src/lib.rs:3:"},
		{"gh pr checks || gh run list --limit 5", "completed failure refactor Lint main", "completed failure refactor Lint main"},
		{"git ls-files docs/ | xargs -I {} bash -c 'echo {} && head -5 {}'", "docs/a.md\nthe call failed: an error", ""},
		{"mise run lint", "Exit code 1\n[lint:go] ERROR task failed\n\n[lint:go] rewind.go:34:9: error returned from external package is unwrapped\n[lint:go] \treturn nil, f(x)\n[lint:go] \t       ^\n[lint:go] 1 issues:", "failed: exit code 1: [lint:go] rewind.go:34:9: error returned"},
		{"mise run fmt", "Exit code 1\n[fmt] ERROR task failed", "failed: exit code 1"},
		{"npm test -- a.test.ts", "Debugger attached.\nError in the js-debug bootloader, please report\n\n\nCommand aborted", "failed: Command aborted"},
		{"vitest run", "Tests  31 passed (31)\n   Duration  221ms (transform 27ms, setup 0ms)", "Tests 31 passed (31)"},
		{"pwd; git status; rustc --version", "/shop\nfatal: not a git repository\nrustc 1.95.0", ""},
		{"make install", "(Bash completed with no output)", ""},
		{`npm run lint; echo "LINT_EXIT:$?"`, "> shop@1.0.0 lint\n> eslint src\n\nLINT_EXIT:0", "exit code 0"},
		{`node verify.cjs; echo "EXIT: $?"`, "phase 2 is not complete\nEXIT: 1", "failed: exit code 1: phase 2 is not complete"},
		{`cat missing; echo "EXIT: 1"`, "EXIT: 1", ""},
		{"shop help", "shop is a tool\n\nAvailable Commands:\nShell cwd was reset to /work/shop", "shop is a tool"},
		{"git reset HEAD", "Unstaged changes after reset:\nM\tcart.go", ""},
		{"npm uninstall left-pad", "removed 1 package in 279ms\n\n9 packages are looking for funding\n  run `npm fund` for details", "removed 1 package in 279ms"},
		{"./verify", "3 files verified\n=== Step 2 ===", "3 files verified"},
	} {
		facts := summarize.FactsOf(sessionOf(ran{test.command, test.output}), "", 500, nil)
		line := ""
		for l := range strings.SplitSeq(facts, "\n") {
			if rest, ok := strings.CutPrefix(l, "- "+test.command); ok {
				line = strings.TrimPrefix(rest, " → ")
			}
		}
		if !strings.HasPrefix(line, strings.ReplaceAll(test.want, "\t", " ")) || test.want == "" && line != "" {
			t.Errorf("%s: %q, want %q in\n%s", test.command, line, test.want, facts)
		}
	}
}

// The user's refusal is one in either of Claude Code's forms.
func TestARefusedCallIsNoError(t *testing.T) {
	facts := summarize.FactsOf(sessionOf(ran{"make fmt", "The user doesn't want to take this action right now. STOP what you are doing and wait for the user to tell you how to proceed."}), "", 500, nil)
	if lastErrors(facts) != "" || !strings.Contains(facts, "- make fmt → failed: rejected by the user") || strings.Contains(facts, "STOP") {
		t.Error(facts)
	}
}

// A command is the same after another removal of temporary files.
func TestCleaningIsNoPartOfACommand(t *testing.T) {
	red := ran{"rm -rf /var/folders/gz/T/tmp.QoKh && ./scripts/e2e.sh", "Exit code 1\nERROR: session 1 is in the metadata"}
	green := ran{"rm -f /tmp/e2e.log 2>/dev/null; ./scripts/e2e.sh", "all steps passed"}
	facts := summarize.FactsOf(sessionOf(red, green), "", 500, nil)
	if lastErrors(facts) != "" || !strings.Contains(facts, "\n- ./scripts/e2e.sh → all steps passed") || strings.Contains(facts, "rm -") {
		t.Error(facts)
	}
	if facts := summarize.FactsOf(sessionOf(ran{"rm -rf build && make", "done"}), "", 500, nil); !strings.Contains(facts, "- rm -rf build && make → done") {
		t.Error(facts)
	}
}

// A command that ran on ends with the input that stops it, or with the one that waits
// for it, also in the next summary.
func TestACommandThatRanOnEndsLater(t *testing.T) {
	const waits = "[The command has no new output after 10 seconds.]"
	for _, test := range []struct{ input, output, want string }{
		{"C-c", "^C\n[The command completed with exit code 130. CTRL+C was sent.]", "- python app.py → stopped by Ctrl-C"},
		{"", "3 passed in 0.1s\n[The command completed with exit code 0.]", "- python app.py → 3 passed in 0.1s"},
		{"", "[The command has no new output after 10 seconds.]", "- python app.py → still running"},
	} {
		start := sessionOf(ran{"python app.py", waits})
		var s sessionWriter
		s.call("", "execute_bash", fmt.Sprintf(`{"command":%q,"is_input":"true"}`, test.input), test.output)
		once := summarize.FactsOf(append(start, s.messages...), "", 500, nil)
		twice := summarize.FactsOf(s.messages, summarize.FactsOf(start, "", 500, nil), 500, nil)
		for _, facts := range []string{once, twice} {
			if !strings.Contains(facts+"\n", test.want+"\n") {
				t.Errorf("no %q in\n%s", test.want, facts)
			}
		}
	}
}

// A command in the background ends as the call says that asks for its output, or stops it.
func TestACommandInTheBackgroundEndsLater(t *testing.T) {
	task := func(status, more string) string {
		return "<retrieval_status>success</retrieval_status>\n\n<task_id>b12</task_id>\n\n<status>" + status + "</status>\n\n" + more
	}
	for _, test := range []struct{ tool, args, output, want string }{
		{"TaskOutput", `{"task_id":"b12","block":true}`, task("running", ""), "- make e2e → running in the background"},
		{"TaskOutput", `{"task_id":"b12","block":true}`, task("completed", "<exit_code>0</exit_code>\n\n<output>\n12 flows passed\n</output>"), "- make e2e → 12 flows passed"},
		{"BashOutput", `{"bash_id":"b12"}`, task("failed", "<exit_code>2</exit_code>\n\n<output>\nflow 3: no answer\n</output>"), "- make e2e → failed: exit code 2: flow 3: no answer"},
		{"TaskStop", `{"task_id":"b12"}`, `{"message":"Successfully stopped task: b12 (make e2e)","task_id":"b12"}`, "- make e2e → stopped"},
		{"TaskOutput", `{"task_id":"b99"}`, task("completed", ""), "- make e2e → running in the background"},
	} {
		var s sessionWriter
		s.user("Run the flows.")
		s.run("", "make e2e", "Command running in background with ID: b12. Output is being written to: /tmp/b12.output")
		s.call("", test.tool, test.args, test.output)
		if facts := summarize.FactsOf(s.messages, "", 500, nil); !strings.Contains(facts+"\n", test.want+"\n") {
			t.Errorf("no %q in\n%s", test.want, facts)
		}
	}
}

// A tool with several commands that only reads has no outcome to tell; one that writes
// has.
func TestAToolThatReadsTellsNoOutcome(t *testing.T) {
	var s sessionWriter
	s.user("Validate the task.")
	s.call("", "store", `{"command":"read","entity":"task"}`, `{"taskId":"T1"}`)
	s.call("", "store", `{"command":"update-status","entity":"task"}`, "OK")
	if facts := summarize.FactsOf(s.messages, "", 500, nil); strings.Contains(facts, "T1") || !strings.Contains(facts, "- store command update-status, entity task → OK") {
		t.Error(facts)
	}
}

// A call of another tool that failed is listed once, and one that was only started has no
// outcome.
func TestCallsOfOtherTools(t *testing.T) {
	var s sessionWriter
	s.user("Validate the task.")
	s.call("", "store", `{"command":"set-summary"}`, "store failed: Command failed: node store.cjs\nno summary")
	s.call("", "Skill", `{"skill":"shop:deploy"}`, "Launching skill: shop:deploy")
	s.call("", "comment", `{"body":"done"}`, "{}")
	facts := summarize.FactsOf(s.messages, "", 500, nil)
	if strings.Count(facts, "- store command set-summary") != 1 || !strings.Contains(lastErrors(facts), "- store command set-summary → failed: no summary") || !strings.Contains(facts, "- Skill skill shop:deploy\n") || !strings.Contains(facts, "- comment body done\n") {
		t.Error(facts)
	}
}

// What a person answers to the assistant's questions is decided.
func TestAnswersToQuestionsAreDecisions(t *testing.T) {
	var s sessionWriter
	s.user("Add readmes.")
	s.call("", "AskUserQuestion", `{"questions":[{"question":"Embed the files?"}]}`, `User has answered your questions: "Embed the files?"="Inline strings (Recommended)", "Which folders?"="Only new ones". You can now continue with the user's answers in mind.`)
	if facts := summarize.FactsOf(s.messages, "", 500, nil); !strings.Contains(facts, "Decided:\n- Embed the files? Inline strings (Recommended)\n- Which folders? Only new ones") || strings.Contains(facts, "AskUserQuestion") {
		t.Error(facts)
	}
}

// A slash command is a request; what the client makes of it is none. A command of the
// client alone asks for nothing.
func TestSlashCommands(t *testing.T) {
	const review = "\n      You are an expert code reviewer. Follow these steps:\n\n      1. If no PR number is provided in the args, use Bash(\"gh pr list\") to show open PRs\n      2. Never skip a step."
	for _, test := range []struct {
		messages []chat.Message
		want     string
	}{
		{[]chat.Message{chat.NewText(chat.User, "<command-message>review</command-message>\n<command-name>/review</command-name>"), chat.NewText(chat.User, review), chat.NewText(chat.Assistant, "Which pull request?")}, "Asked by the user:\n- /review → Which pull request?"},
		{[]chat.Message{chat.NewText(chat.User, "<command-name>/clear</command-name>"), chat.NewText(chat.User, "<local-command-stdout>"+strings.Repeat("x", 200)+"</local-command-stdout>"), chat.NewText(chat.User, "Fix the rounding of the cart.")}, "Asked by the user:\n- Fix the rounding of the cart."},
		{[]chat.Message{chat.NewText(chat.User, "<command-name>/model</command-name>"), chat.NewText(chat.User, "<system-reminder>"+strings.Repeat("x", 200)+"</system-reminder>"), chat.NewText(chat.User, "Fix the rounding of the cart.")}, "Asked by the user:\n- Fix the rounding of the cart."},
		{[]chat.Message{chat.NewText(chat.User, "<command-name>/clear</command-name>"), chat.NewText(chat.User, "Fix the rounding of the cart.")}, "Asked by the user:\n- Fix the rounding of the cart."},
	} {
		if facts := summarize.FactsOf(test.messages, "", 500, nil); facts != test.want {
			t.Errorf("%q, want %q", facts, test.want)
		}
	}
}

// A run of which only the beginning is shown settles nothing, a whole one does.
func TestARunCutByHead(t *testing.T) {
	red := ran{"./scripts/e2e.sh | tail -5", "step 3\nERROR: session 1 is in the metadata"}
	for command, settled := range map[string]bool{"./scripts/e2e.sh | head -3": false, "./scripts/e2e.sh | head -n 3": false, "./scripts/e2e.sh | head -40": true, "./scripts/e2e.sh | head": true} {
		facts := summarize.FactsOf(sessionOf(red, ran{command, "step 1\nstep 2\nstep 3"}), "", 500, nil)
		if (lastErrors(facts) == "") != settled {
			t.Errorf("%s: settled %v in\n%s", command, !settled, facts)
		}
	}
}

// A request that is only a rule is listed as one.
func TestARequestThatIsOnlyARule(t *testing.T) {
	var s sessionWriter
	s.user("Find what triggers the collection.")
	s.says("It is gc.auto. Should I set it to 0?")
	s.user("no don't set it, let's see if it keeps happening")
	if facts := summarize.FactsOf(s.messages, "", 500, nil); strings.Count(facts, "don't set it") != 2 {
		t.Errorf("the newest request is not listed:\n%s", facts)
	}
	s.user("Log an issue for it.")
	if facts := summarize.FactsOf(s.messages, "", 500, nil); strings.Count(facts, "don't set it") != 1 {
		t.Errorf("said twice:\n%s", facts)
	}
}

// A filtered run settles the failed tests that it shows as passed, and no others.
func TestAFilteredRunThatShowsTheTestPassed(t *testing.T) {
	red := ran{"go test ./billing/", "--- FAIL: TestRound (0.00s)\n    round_test.go:41: got 2.5\nFAIL"}
	shown := ran{"go test -v ./billing/ | grep -A 5 RUN", "=== RUN   TestRound\n--- PASS: TestRound (0.00s)"}
	if facts := summarize.FactsOf(sessionOf(red, shown), "", 500, nil); lastErrors(facts) != "" {
		t.Error(facts)
	}
	shown.output = "=== RUN   TestTotal\n--- PASS: TestTotal (0.00s)"
	if facts := summarize.FactsOf(sessionOf(red, shown), "", 500, nil); !strings.Contains(lastErrors(facts), "TestRound") {
		t.Error(facts)
	}
}

// A file outside of the project that was made and removed again says nothing; one of the
// project does.
func TestRemovedTemporaryFilesSayNothing(t *testing.T) {
	var s sessionWriter
	s.user("Fix the rounding of the cart.")
	s.call("", "Write", `{"file_path":"/tmp/probe.go","content":"package main"}`, "ok")
	s.call("", "Write", `{"file_path":"/tmp/kept.go","content":"package main"}`, "ok")
	s.call("", "Write", `{"file_path":"/work/shop/probe_test.go","content":"package cart"}`, "ok")
	s.run("", "rm -f /tmp/probe.go /var/folders/gz/h7/T/tmp.gBAZw4iBib /work/shop/probe_test.go", "")
	s.run("", "cd /tmp/trial && rm tracked.txt && git status", "clean")
	facts := summarize.FactsOf(s.messages, "", 500, nil)
	for _, bad := range []string{"/tmp/probe.go", "T/tmp.", "tracked.txt"} {
		if changed, _, _ := strings.Cut(facts, "Commands and how they ended:"); strings.Contains(changed, bad) {
			t.Errorf("%s in\n%s", bad, facts)
		}
	}
	if !strings.Contains(facts, "- /tmp/kept.go") || !strings.Contains(facts, "probe_test.go → removed") {
		t.Error(facts)
	}
	s.call("", "Write", `{"file_path":"/tmp/probe.go","content":"package main"}`, "ok")
	if facts := summarize.FactsOf(s.messages, "", 500, nil); !strings.Contains(facts, "- /tmp/probe.go") {
		t.Errorf("a file that was made again is missing:\n%s", facts)
	}
}

// SWE-agent's editor changes the file that it shows; an edit that it refuses changes none.
func TestEditsOfTheOpenFile(t *testing.T) {
	edit := func(result string) string {
		var s sessionWriter
		s.user("Round to the nearest integer.")
		s.call("", "edit", `{"search":"return int(x)","replace":"return int(round(x))"}`, result)
		return summarize.FactsOf(s.messages, "", 500, nil)
	}
	if facts := edit("Text replaced. Please review the changes and make sure they are correct\n[File: /testbed/src/fields.py (1998 lines total)]\n1:x"); !strings.Contains(facts, "Files changed:\n- /testbed/src/fields.py") || strings.Contains(facts, "Text replaced") {
		t.Error(facts)
	}
	var s sessionWriter
	s.call("", "create", `{"filename":"reproduce.py"}`, "[File: reproduce.py (1 lines total)]\n1:")
	s.call("", "insert", `{"text":"print(1)"}`, "[File: /testbed/reproduce.py (2 lines total)]\n1:print(1)")
	s.run("", "rm reproduce.py", "")
	if facts := summarize.FactsOf(s.messages, "", 500, nil); strings.Count(facts, "reproduce.py → removed") != 1 {
		t.Error(facts)
	}
	if facts := edit("Your proposed edit has introduced new syntax error(s).\n\nERRORS:\n- E999 SyntaxError\n[File: /testbed/src/fields.py (1997 lines total)]"); strings.Contains(facts, "Files changed") {
		t.Error(facts)
	}
}

// The state names what was done last, each command with its last outcome, and no edit
// that failed before it was made.
func TestLastDoneIsHowItIs(t *testing.T) {
	var s sessionWriter
	s.user("Fix the cart.")
	for i := range 8 {
		s.call("", "Write", fmt.Sprintf(`{"file_path":"/work/shop/f%d.go","content":"package shop"}`, i), "ok")
	}
	s.call("", "Edit", `{"file_path":"/work/shop/cart.go","old_string":"a","new_string":"b"}`, "<tool_use_error>String to replace not found in file.</tool_use_error>")
	s.call("", "Edit", `{"file_path":"/work/shop/cart.go","old_string":"ab","new_string":"b"}`, "ok")
	s.run("", "make test | tail -20", "FAIL shop/cart 2.6s")
	s.run("", "make test | tail -15", "ok  \tshop/cart\t1.7s")
	text := extract(t, summarize.Request{Messages: s.messages, MaxTokens: 500})
	if !strings.Contains(text, "shop/f7.go; edited shop/cart.go; make test | tail -15 → ok shop/cart 1.7s") || strings.Contains(text, "not found") || strings.Contains(text, "FAIL shop") {
		t.Error(text)
	}
}

// What another assistant was asked is its task, and its answer what it found.
func TestADelegatedTask(t *testing.T) {
	var s sessionWriter
	s.user("Find the bug.")
	s.call("", "Task", `{"description":"Implement the lookup","prompt":"You are implementing task 2 of the plan."}`, "The lookup reads the trailer of the commit. Let me provide a summary of what was implemented:\n\n## Summary")
	if facts := summarize.FactsOf(s.messages, "", 500, nil); !strings.Contains(facts, "- Task Implement the lookup → The lookup reads the trailer of the commit.") || strings.Contains(facts, "## Summary") {
		t.Error(facts)
	}
}
