package summarize_test

import (
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/summarize"
)

// A red run of the tests of any runner is open, a green run of the same command ends it.
// The outputs are in the forms of the runners.
func TestFailuresOfManyRunners(t *testing.T) {
	for _, r := range []struct{ command, red, green string }{
		{"bundle exec rspec spec/cart_spec.rb", "1 example, 1 failure\n\nFailed examples:\n\nrspec ./spec/cart_spec.rb:4 # Cart adds", "12 examples, 0 failures"},
		{"mix test test/cart_test.exs", "  1) test adds (CartTest)\n     test/cart_test.exs:4\n1 test, 1 failure", "12 tests, 0 failures"},
		{"dotnet test Cart.Tests", "Failed!  - Failed:     1, Passed:     3, Skipped:     0, Total:     4", "Passed!  - Failed:     0, Passed:     4, Skipped:     0, Total:     4"},
		{"./gradlew :cart:test", "CartTest > adds() FAILED\nBUILD FAILED in 3s", "BUILD SUCCESSFUL in 3s"},
		{"mvn -q test -Dtest=CartTest", "[ERROR] CartTest.adds:12 expected 3\n[INFO] BUILD FAILURE", "[INFO] BUILD SUCCESS"},
		{"vendor/bin/phpunit tests/CartTest.php", "There was 1 failure:\n\n1) CartTest::testAdds\nFAILURES!\nTests: 3, Assertions: 3, Failures: 1.", "OK (3 tests, 3 assertions)"},
		{"swift test --filter CartTests", "Test Case '-[CartTests testAdds]' failed (0.1 seconds).", "Executed 3 tests, with 0 failures"},
		{"flutter test", "00:02 +3 -1: adds [E]\nSome tests failed.", "00:02 +4: All tests passed!"},
		{"npx playwright test cart.spec.ts", "  1) [chromium] › cart.spec.ts:3:5 › adds\n  1 failed\n  3 passed (4s)", "  4 passed (4s)"},
		{"zig build test", "error: the following test command failed with exit code 1", "All 3 tests passed."},
		{"bazel test //cart:all", "//cart:cart_test    FAILED in 0.3s\nExecuted 1 out of 1 test: 1 fails locally.", "//cart:cart_test   PASSED in 0.3s\nExecuted 1 out of 1 test: 1 test passes."},
		{"ctest --output-on-failure", "1/2 Test #1: cart ....***Failed 0.01 sec\n50% tests passed, 1 tests failed out of 2", "100% tests passed, 0 tests failed out of 2"},
		{"./scripts/check-all.sh --fast", "FAILED tests/test_cart.py::test_adds - assert 3 == 4", "all checks passed"},
	} {
		red := summarize.FactsOf(sessionOf(ran{r.command, r.red}), "", 500, nil)
		green := summarize.FactsOf(sessionOf(ran{r.command, r.red}, ran{r.command, r.green}), "", 500, nil)
		later := summarize.FactsOf(sessionOf(ran{r.command, r.green}), red, 500, nil)
		if !strings.Contains(red, "Last errors:") || strings.Contains(green, "failed:") || strings.Contains(later, "Last errors:") {
			t.Errorf("%s: red\n%s\ngreen\n%s\nin two\n%s", r.command, red, green, later)
		}
	}
}

// A rule that the user takes back shows it, in the words that people use.
func TestARuleTakenBackInOtherWords(t *testing.T) {
	for _, says := range [][2]string{
		{"Du darfst nie direkt auf main pushen.", "Die Regel mit main gilt nicht mehr."},
		{"Ne pousse jamais sur main.", "La règle sur main ne s'applique plus."},
		{"Nunca hagas push a main.", "Olvida lo de main, ya no aplica."},
		{"Nunca faça push para main.", "Esqueça a regra sobre main, não vale mais."},
		{"Non fare mai push su main.", "La regola su main non vale più."},
		{"Никогда не пушь в main.", "Правило про main больше не действует."},
		{"Nooit naar main pushen.", "De regel over main geldt niet meer."},
		{"mainに直接プッシュしないでください。", "mainのルールはもう不要です。"},
		{"不要直接推送到 main。", "关于 main 的规则不再适用。"},
		{"Never push to main.", "Scrap the rule about main."},
		{"Never push to main.", "Pushing to main is fine now."},
		{"Never push to main.", "The main rule is void, go ahead."},
		{"Never push to main.", "The restriction on main is lifted."},
	} {
		facts := summarize.FactsOf([]chat.Message{chat.NewText(chat.User, says[0]), chat.NewText(chat.Assistant, "ok"), chat.NewText(chat.User, says[1]), chat.NewText(chat.Assistant, "Noted.")}, "", 900, nil)
		if _, rules, _ := strings.Cut(facts, "Rules:\n"); rules != "- "+says[0]+" — changed later: "+says[1] {
			t.Errorf("%s:\n%s", says[1], facts)
		}
	}
}

// The plan tools of clients say what is open, each in its own form.
func TestPlansOfManyClients(t *testing.T) {
	for name, calls := range map[string][][3]string{ // tool, arguments, result
		"Claude Code": {{"TodoWrite", `{"todos":[{"content":"move the reader","status":"completed","activeForm":"Moving"},{"content":"move the writer","status":"in_progress","activeForm":"Moving"}]}`, "Todos have been modified"}},
		"Claude Code, tasks": {
			{"TaskCreate", `{"subject":"move the reader"}`, "Task #1 created successfully: move the reader"}, {"TaskCreate", `{"subject":"move the writer"}`, "Task #2 created successfully: move the writer"},
			{"TaskUpdate", `{"taskId":"1","status":"completed"}`, "Updated task #1"},
		},
		"Codex":             {{"update_plan", `{"plan":[{"step":"move the reader","status":"completed"},{"step":"move the writer","status":"in_progress"}]}`, "Plan updated"}},
		"Gemini CLI":        {{"write_todos", `{"todos":[{"description":"move the reader","status":"completed"},{"description":"move the writer","status":"pending"}]}`, "ok"}},
		"OpenCode":          {{"todowrite", `{"todos":[{"id":"1","content":"move the reader","status":"completed","priority":"high"},{"id":"2","content":"move the writer","status":"pending","priority":"low"}]}`, "ok"}},
		"OpenHands":         {{"task_tracker", `{"command":"plan","task_list":[{"id":"1","title":"move the reader","status":"done"},{"id":"2","title":"move the writer","status":"todo"}]}`, "ok"}},
		"Cline":             {{"execute_command", `{"command":"ls","task_progress":"- [x] move the reader\n- [ ] move the writer"}`, "a.py"}},
		"Roo":               {{"update_todo_list", `{"todos":"[x] move the reader\n[-] move the writer"}`, "ok"}},
		"Copilot":           {{"manage_todo_list", `{"operation":"write","todoList":[{"id":1,"title":"move the reader","status":"completed"},{"id":2,"title":"move the writer","status":"not-started"}]}`, "ok"}},
		"an older list":     {{"TodoWrite", `{"todos":[{"content":"write a novel","status":"pending"}]}`, "ok"}, {"TodoWrite", `{"todos":[{"content":"move the reader","status":"completed"},{"content":"move the writer","status":"pending"}]}`, "ok"}},
		"a cancelled entry": {{"todowrite", `{"todos":[{"content":"move the reader","status":"completed"},{"content":"move the writer","status":"pending"},{"content":"write a novel","status":"cancelled"}]}`, "ok"}},
	} {
		var w sessionWriter
		w.user("Split report.py.")
		for _, c := range calls {
			w.call("", c[0], c[1], c[2])
		}
		facts := summarize.FactsOf(w.messages, "", 500, nil)
		if !strings.Contains(facts, "Open todos:\n- move the writer\nDone todos:\n- move the reader") || strings.Contains(facts, "novel") {
			t.Errorf("%s:\n%s", name, facts)
		}
	}
}

// What a person typed is told apart from what clients and pages say.
func TestOnlyThePersonAsks(t *testing.T) {
	for name, test := range map[string]struct{ body, want, not string }{
		"arguments of a command":       {"<command-name>/fix</command-name>\n<command-message>fix is running…</command-message>\n<command-args>round half even in billing, never touch the lexer</command-args>", "round half even in billing", "is running"},
		"a client's list":              {"# TODO LIST UPDATE REQUIRED\nYou MUST update the list now.", "", "UPDATE REQUIRED"},
		"a page, imperative":           {"Port this to Go. The docs say:\n\n> Always run npm install first.\n> Never use yarn.", "Port this to Go.", "npm install"},
		"a page in a fence":            {"Port this to Go.\n~~~\nAlways run npm install first. You must never use yarn.\n~~~", "Port this to Go.", "yarn"},
		"an attached file":             {"Port this to Go.\n<file path=\"README.md\">\nAlways run npm install first.\n</file>", "Port this to Go.", "npm install"},
		"a pasted log":                 {"Why does it fail? Here is the output:\nerror: you must run npm install first\nerror: never use yarn", "Why does it fail?", "npm install"},
		"an email":                     {"Answer Ann. Her email says:\nYou must always ship on Friday.\n\nBe polite.", "Be polite.", "Friday"},
		"a reminder":                   {"Port this to Go.\n<system-reminder>\nYou must never mention this.\n</system-reminder>", "Port this to Go.", "mention this"},
		"a numbered diff":              {"Shorten this entry.\n 12 + - Always run npm install first.\n 13 + - Never use yarn.", "Shorten this entry.", "yarn"},
		"a text between triple quotes": {"Translate:\n'''\nYou must never use yarn.\n'''\nKeep it short.", "Keep it short.", "yarn"},
	} {
		facts := summarize.FactsOf([]chat.Message{chat.NewText(chat.User, test.body), chat.NewText(chat.Assistant, "I look at it.")}, "", 500, nil)
		_, rules, _ := strings.Cut(facts, "Rules:")
		if !strings.Contains(facts, test.want) || test.want == "" && facts != "" || strings.Contains(rules, test.not) {
			t.Errorf("%s:\n%s", name, facts)
		}
	}
}

// A question that was answered is not open, a correction stays beside what it corrects.
func TestAnswersAndCorrections(t *testing.T) {
	var w sessionWriter
	w.user("Which port does the gateway use?")
	w.says("8443.")
	w.user("Write the exporter to CSV.")
	w.says("Exporter writes CSV.")
	w.user("nein, lieber Parquet, die Leute von Ops haben kein Excel")
	w.says("Parquet it is.")
	w.user("Thanks!")
	got := summaryOf(t, w.messages)
	for _, want := range []string{"Which port does the gateway use? → 8443.", "nein, lieber Parquet"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "not answered") || strings.Contains(got, "Thanks") {
		t.Errorf("got\n%s", got)
	}
}
