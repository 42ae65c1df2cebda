package summarize_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/summarize"
)

// A ran is a command with its output.
type ran struct{ command, output string }

// sessionOf is a session in which the commands were run.
func sessionOf(runs ...ran) []chat.Message {
	session := []chat.Message{chat.NewText(chat.User, "Make everything green.")}
	for i, r := range runs {
		id := fmt.Sprint("c", i)
		session = append(session,
			chat.Message{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, ID: id, Name: "bash", Args: fmt.Sprintf(`{"command":%q}`, r.command)}}},
			chat.NewResult(id, r.output))
	}
	return session
}

// lastErrors returns the section of errors.
func lastErrors(facts string) string {
	_, errors, _ := strings.Cut("\n"+facts, "\nLast errors:\n")
	return errors
}

// A failure ends by a later run of the same command or of the same tests that
// passes, and by nothing else.
func TestWhatSettlesAFailure(t *testing.T) {
	const (
		goRed   = "--- FAIL: TestRoundHalfEven (0.00s)\n    round_test.go:41: got 2.5, want 2\nFAIL"
		pyRed   = "FAILED tests/test_pricing.py::test_pricing - assert 3 == 4\n1 failed, 11 passed in 0.3s"
		jestRed = "Tests:       3 failed, 9 passed, 12 total\nTime:        2.1 s"
	)
	for _, test := range []struct {
		name string
		runs []ran
		open string // of the errors; "" for none
	}{
		{"the same again", []ran{{"go test ./billing/", goRed}, {"go test ./billing/", "ok  \tshop/billing\t0.1s"}}, ""},
		{"another flag", []ran{{"pytest tests/test_pricing.py", pyRed}, {"pytest -q tests/test_pricing.py", "12 passed in 0.3s"}}, ""},
		{"a flag with a value", []ran{{"go test ./billing/ -run TestRoundHalfEven", goRed}, {"go test -count=1 -run 'TestRound' ./billing/", "ok  \tshop/billing\t0.1s"}}, ""},
		{"the whole suite", []ran{{"pytest tests/test_pricing.py::test_pricing", pyRed}, {"pytest", "38 passed in 1.3s"}}, ""},
		{"the whole suite of Go", []ran{{"go test ./billing/...", goRed}, {"go test ./...", "ok  \tshop/billing\t0.1s\nok  \tshop/util\t0.1s"}}, ""},
		{"the whole suite by make", []ran{{"cd /x && go test ./billing/...", goRed}, {"make test", "ok  \tshop/billing\t0.1s"}}, ""},
		{"a wider folder", []ran{{"python -m pytest tests/unit/test_pricing.py", strings.ReplaceAll(pyRed, "tests/", "tests/unit/")}, {"uv run pytest tests/ -x", "38 passed"}}, ""},
		{"a chain", []ran{{"go vet ./...", "Exit code 1\nbilling.go:3: unreachable code"}, {"go vet ./... && go test ./...", "ok  \tshop/billing\t0.1s"}}, ""},
		{"a red run of the whole suite that passes it", []ran{{"go test ./billing/...", goRed}, {"go test ./...", "ok  \tshop/billing\t0.1s\n--- FAIL: TestTypo (0.00s)\n    u_test.go:1: x\nFAIL"}}, "go test ./... → failed: TestTypo: u_test.go:1: x"},
		{"a build with another flag", []ran{{"npm run build", "Exit code 2\nsrc/a.ts(3,5): error TS2304: Cannot find name 'cart'."}, {"npm run build --silent", "built in 2 s"}}, ""},
		{"a push by force", []ran{{"git push", " ! [rejected]        main -> main (fetch first)"}, {"git push --force-with-lease", "main -> main (forced update)"}}, ""},

		{"a merge that a commit ends", []ran{{"git merge origin/main", "Exit code 1\nCONFLICT (content): Merge conflict in a.go\nAutomatic merge failed"}, {"git add -A && git commit --no-edit", "[topic 12ab34f] Merge branch 'main'"}}, ""},
		{"a rebase that goes on", []ran{{"git rebase main", "Exit code 1\nCONFLICT (content): Merge conflict in a.go"}, {"GIT_EDITOR=true git rebase --continue", "Successfully rebased and updated refs/heads/topic."}}, ""},
		{"a merge that is given up", []ran{{"git merge origin/main", "Exit code 1\nCONFLICT (content): Merge conflict in a.go"}, {"git merge --abort", ""}}, ""},
		{"a commit that a hook refused", []ran{{"git commit -m 'first'", "Exit code 1\nlint: 3 errors"}, {"git commit -am 'second, without the typo'", "[main 1ab23cd] second"}}, ""},
		{"another push", []ran{{"git push", " ! [rejected]        main -> main (fetch first)"}, {"git push -u origin topic", "new branch"}}, ""},
		{"a program called rightly", []ran{{`node tools/store.cjs emit S-1 '{"a":1}'`, "Exit code 1\neventId: missing required field"}, {`node tools/store.cjs emit S-1 '{"eventId":2}'`, "ok"}}, ""},
		{"tests whose output a script reads", []ran{{"go test -json ./cart/... | python3 -c \"\nimport sys\nprint('a; b')\"", "Passed: 89, Failed: 1"}, {"go test -json ./cart/... | tee /tmp/o | python3 -c \"\nimport sys; x = 1\nprint('c')\"", "Passed: 90, Failed: 0"}}, ""},
		{"a build that grep hid", []ran{{"npm run build | grep -i error", "src/a.ts(3,5): error TS2304: Cannot find name 'cart'."}, {"npm run build", "built in 2 s"}}, ""},
		{"a command after one that reads", []ran{{"ls dist && make deploy", "Exit code 2\ndist\nno route to host"}, {"ls dist", "dist"}}, "make deploy"},
		{"another merge", []ran{{"git merge origin/main", "Exit code 1\nCONFLICT (content): Merge conflict in a.go"}, {"git status", "You have unmerged paths."}}, "git merge"},
		{"another program after a wrong call", []ran{{"npm run build", "Exit code 127\nsh: tsc: command not found"}, {"npm run lint", "0 problems"}}, "npm run build"},

		{"another package", []ran{{"go test ./billing/...", goRed}, {"go test ./util/...", "ok  \tshop/util\t0.004s"}}, "TestRoundHalfEven"},
		{"another runner", []ran{{"npm test", jestRed}, {"go test ./...", "ok  \tshop/util\t0.004s"}}, "npm test"},
		{"another program", []ran{{"make deploy", "Exit code 1\nno route to host"}, {"make test", "12 passed"}}, "make deploy"},
		{"other tests of the package", []ran{{"go test ./billing/", goRed}, {"go test ./billing/ -run TestTotal", "ok  \tshop/billing\t0.1s"}}, "TestRoundHalfEven"},
		{"the name in another package", []ran{{"go test ./billing/ -run TestNew", strings.ReplaceAll(goRed, "TestRoundHalfEven", "TestNew")}, {"go test ./util/ -run TestNew", "ok  \tshop/util\t0.1s"}}, "TestNew"},
		{"a red run", []ran{{"npm test", jestRed}, {"npm test -- --silent", jestRed}}, "npm test"},
		{"a filtered run", []ran{{"go test ./...", goRed}, {"go test ./... | grep -c ok", "2"}}, "TestRoundHalfEven"},
		{"a run without a result", []ran{{"go test ./...", goRed}}, "TestRoundHalfEven"},
		{"another folder of make", []ran{{"make -C billing lint", "Exit code 2\nlint: 3 errors"}, {"make -C util lint", "0 issues"}}, "make -C billing"},
	} {
		session := sessionOf(test.runs...)
		if test.name == "a run without a result" {
			session = append(session, chat.Message{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, ID: "x", Name: "bash", Args: `{"command":"go test ./..."}`}}})
		}
		once := summarize.FactsOf(session, "", 500, nil)
		former := summarize.FactsOf(sessionOf(test.runs[0]), "", 500, nil)
		twice := summarize.FactsOf(sessionOf(test.runs[1:]...), former, 500, nil)
		for how, facts := range map[string]string{"in one summary": once, "in two": twice} {
			if got := lastErrors(facts); (got != "") != (test.open != "") || !strings.Contains(got, test.open) {
				t.Errorf("%s, %s: errors %q, want %q in\n%s", test.name, how, got, test.open, facts)
			}
		}
	}
}

// Only the plan tool says what is still to do.
func TestTodosComeFromThePlanAlone(t *testing.T) {
	plan := func(id, status string) []chat.Message {
		return []chat.Message{
			{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, ID: id, Name: "todowrite", Args: `{"todos":[{"content":"round half even","status":"` + status + `"},{"content":"write the release note","status":"completed"}]}`}}},
			chat.NewResult(id, "ok"),
		}
	}
	for _, says := range []string{
		"There are no remaining issues in billing.", "Nothing is outstanding.", "No next steps are left to do.", "I removed the TODO comment in round.go as asked.",
		"The release is no longer blocked.", "todos os testes passam", "The remaining budget is 40 tokens.", "Es bleibt nichts zu tun; keine TODOs.",
	} {
		facts := summarize.FactsOf([]chat.Message{chat.NewText(chat.User, "Fix rounding."), chat.NewText(chat.Assistant, says)}, "", 400, nil)
		if strings.Contains(facts, "Open todos:") {
			t.Errorf("%q is a todo:\n%s", says, facts)
		}
	}
	open := summarize.FactsOf(plan("1", "pending"), "", 400, nil)
	if !strings.Contains(open, "Open todos:\n- round half even") || !strings.HasSuffix(open, "Done todos:\n- write the release note") {
		t.Errorf("open:\n%s", open)
	}
	if done := summarize.FactsOf(plan("2", "completed"), open, 400, nil); strings.Contains(done, "Open todos:") {
		t.Errorf("a done todo is open again:\n%s", done)
	}
	if kept := summarize.FactsOf([]chat.Message{chat.NewText(chat.Assistant, "It goes on.")}, open, 400, nil); !strings.Contains(kept, "Open todos:\n- round half even") {
		t.Errorf("an open todo is lost:\n%s", kept)
	}
}
