package summarize_test

import (
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/summarize"
)

// summaryOf is what a reader gets of a session: the built-in text and the facts.
func summaryOf(t *testing.T, session []chat.Message) string {
	t.Helper()
	facts := summarize.FactsOf(session, "", 600, nil)
	return summarize.Finish(extract(t, summarize.Request{Messages: session, Facts: facts, MaxTokens: 1500}), facts, nil, 0, nil)
}

// A finding is true until it is acted on; a choice is, until it is taken back; a rule of
// one turn, until the turn ends.
func TestWhatIsStaleIsNotTold(t *testing.T) {
	edit := func(w *sessionWriter, says, path, now string) {
		w.call(says, "Edit", `{"file_path":"`+path+`","old_string":"x","new_string":"`+now+`"}`, "ok")
	}
	for _, test := range []struct {
		name  string
		write func(*sessionWriter)
		gone  []string
		stays []string
	}{
		{"a defect that was fixed", func(w *sessionWriter) {
			w.user("The telemetry flag does nothing.")
			w.says("The issue is that runEnable doesn't receive noTelemetry because setup.go drops it.")
			w.user("ok, fix it")
			edit(w, "", "cli/setup.go", "func runEnable(noTelemetry bool) {}")
			w.says("runEnable takes noTelemetry now, and the tests pass.")
		}, []string{"- The issue is"}, []string{"runEnable takes noTelemetry now"}},
		{"an intention that was carried out", func(w *sessionWriter) {
			w.user("Record the ids of the turn.")
			edit(w, "I need to add TurnIDs to State in state.go because the hook reads them.", "session/state.go", "type State struct{ TurnIDs []string }")
			edit(w, "Now the hook.", "session/hook.go", "func hook(s *State) {}")
			w.says("State has TurnIDs, and hook fills them.")
		}, []string{"I need to add"}, nil},
		{"a defect that is not fixed yet", func(w *sessionWriter) {
			w.user("The telemetry flag does nothing.")
			edit(w, "I fix the typo first.", "cli/help.go", "const help = 1")
			w.says("The typo is gone. What is left: runEnable doesn't receive noTelemetry because setup.go drops it.")
		}, nil, []string{"runEnable doesn't receive noTelemetry"}},
		{"a cause, with its test still red", func(w *sessionWriter) {
			w.user("Fix the rounding.")
			edit(w, "The root cause is that Round rounds half up in round.go.", "billing/round.go", "func Round() {}")
			w.run("", "go test ./billing/", "--- FAIL: TestRound (0.00s)\n    round_test.go:4: got 3\nFAIL")
			w.says("TestRound is still red.")
		}, nil, []string{"The root cause is that Round rounds half up", "TestRound"}},
		{"a choice taken back by the assistant", func(w *sessionWriter) {
			w.user("Where do we keep the leases?")
			w.says("I'll use Redis instead of a table because the worker polls.")
			w.user("There is no server for that.")
			w.says("Then we'll use a SQLite table instead of Redis because it needs no server.")
		}, []string{"- I'll use Redis"}, []string{"because the worker polls. (taken back later)", "we'll use a SQLite table instead of Redis"}},
		{"a choice corrected by the user", func(w *sessionWriter) {
			w.user("Write the store.")
			w.says("I'll use Postgres for the store because it has transactions.")
			w.user("No, use SQLite, the ops people have no database server.")
			w.says("Understood.")
		}, []string{"- I'll use Postgres"}, []string{"it has transactions. (taken back later)", "use SQLite"}},
		{"a choice of the user", func(w *sessionWriter) {
			w.user("Write the login. We use bcrypt with cost 12 because of SEC-411, in hash.go.")
			edit(w, "", "auth/hash.go", "func Hash() {}")
			w.says("Hash is written, with cost 12.")
			w.user("and the page")
			edit(w, "", "auth/page.go", "func Page() {}")
			w.says("Page is written.")
		}, nil, []string{"bcrypt with cost 12 because of SEC-411"}},
		{"a decision about a file that is gone", func(w *sessionWriter) {
			w.user("Make the checks visible.")
			w.says("I'll keep the screenshots in visual-check.mjs because Playwright controls the browser.")
			w.run("", "node web/visual-check.mjs", "Exit code 1\nTimed out after 30 s")
			w.run("", "rm web/visual-check.mjs", "")
			w.says("The script is gone; the checks run in the browser.")
		}, []string{"I'll keep the screenshots", "Last errors", "Timed out"}, nil},
		{"a rule of one turn", func(w *sessionWriter) {
			w.user("Are the tests double? Don't change anything, just let me know.")
			w.says("Two of them are.")
			w.user("ok, merge them")
			w.says("They are one now.")
		}, []string{"Rules:", "Constraints"}, nil},
		{"a rule that goes on", func(w *sessionWriter) {
			w.user("Don't push yet. Write the exporter.")
			w.says("The exporter is written.")
		}, nil, []string{"Don't push yet."}},
		{"no change until one is wanted", func(w *sessionWriter) {
			w.user("Don't write any code, we plan first.")
			w.says("The plan has three steps.")
			w.user("Good, go on with step one.")
			edit(w, "", "a.go", "func A() {}")
			w.says("Step one is done.")
		}, []string{"Rules:", "Constraints"}, nil},
		{"a rule said twice", func(w *sessionWriter) {
			w.user("Mock cart.RepoMap and ensure it is never called.")
			w.says("ok")
			w.user("No, mock only cart.RepoMap and ensure it is never called.")
			w.says("Done.")
		}, []string{"Rules:\n- Mock"}, []string{"mock only cart.RepoMap"}},
		{"two rules that differ", func(w *sessionWriter) {
			w.user("Never log passwords in internal/auth. Never log passwords in internal/billing.")
			w.says("ok")
		}, nil, []string{"in internal/auth.", "in internal/billing."}},
		{"an announcement as an outcome", func(w *sessionWriter) {
			w.user("Add the section for tests to CLAUDE.md.")
			edit(w, "Good, I'll add a new section after line 43.", "CLAUDE.md", "## Tests")
			w.user("commit it")
		}, []string{"→ Good, I'll add", "→ I'll add"}, []string{"→ edited CLAUDE.md"}},
		{"code and boxes", func(w *sessionWriter) {
			w.user("╔════════════╗\n║ init done  ║\n╚════════════╝\n\nCheck the two gaps.\n + 8 - **Color**: respects the token\n   for text (beside the other one).\n + 9 - **More**: x")
			w.says("self.io.tool_output(f\"Added {name} because of x\")")
		}, []string{"╔", "**Color**", "tool_output", "beside the other"}, []string{"Check the two gaps."}},
	} {
		var w sessionWriter
		test.write(&w)
		got := summaryOf(t, w.messages)
		for _, not := range test.gone {
			if strings.Contains(got, not) {
				t.Errorf("%s: %q in\n%s", test.name, not, got)
			}
		}
		for _, want := range test.stays {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in\n%s", test.name, want, got)
			}
		}
	}
}

// A decision that is taken back, a rule of one turn and a wrong call end too if a record
// or a former summary has the first half of the session.
func TestWhatIsStaleEndsAcrossSummaries(t *testing.T) {
	var first, second sessionWriter
	first.user("Where do we keep the leases? Just let me know.")
	first.says("We'll use Redis because the worker polls.")
	second.user("There is no server. Write it without.")
	second.says("Then we'll use a table instead of Redis because it needs no server.")
	text := recordOf(first.messages).Text()
	r := summarize.NewRecord(text)
	for _, m := range second.messages {
		r.Add(m)
	}
	if got := r.Text(); strings.Contains(got, "- We'll use Redis") || !strings.Contains(text, "use Redis") || !strings.Contains(got, "a table instead of Redis") {
		t.Errorf("before\n%s\nafter\n%s", text, got)
	}
}

// Nothing is said twice: a command that failed is listed among the errors alone, what was
// done last does not repeat the commands.
func TestNothingIsSaidTwice(t *testing.T) {
	var w sessionWriter
	w.user("Release it.")
	w.run("", "make release VERSION=1.4 CHANNEL=staging REGION=eu-central-1 NOTES=docs/release-notes-1.4.md CONFIRM=yes DRY_RUN=no", "Exit code 2\nmake: *** [release] Error 2: no route to host")
	w.run("", "make test", "12 passed")
	w.run("", "rm dist/old.txt", "")
	got := summaryOf(t, w.messages)
	for _, once := range []string{"make release VERSION=1.4", "make test", "old.txt"} {
		if n := strings.Count(got, once); n != 1 {
			t.Errorf("%q is said %d times in\n%s", once, n, got)
		}
	}
}

// A summary whose facts say all has no text that denies it.
func TestASummaryOfFactsAloneDeniesNothing(t *testing.T) {
	var w sessionWriter
	w.run("", "node tools/store.cjs read task", `{"task":"S-1"}`)
	got := summaryOf(t, w.messages)
	if strings.Contains(got, "no request") || !strings.Contains(got, "node tools/store.cjs") {
		t.Errorf("got\n%s", got)
	}
}

// A finished request is verbatim if there is room for it, else its beginning remains.
func TestAFinishedRequestIsShortenedIfRoomIsTight(t *testing.T) {
	var w sessionWriter
	w.user("Please look at the importer and at everything that calls it, " + strings.Repeat("also at the places which nobody remembers, ", 4) + "and tell me who rounds.")
	w.says("Only billing.Round rounds.")
	w.user("And the exporter?")
	w.says("It does not round.")
	words := func(text string) int { return len(strings.Fields(text)) }
	const wanted = "nobody remembers, and tell me who rounds. → Only billing.Round rounds."
	if got := summarize.FactsOf(w.messages, "", 200, words); !strings.Contains(got, wanted) {
		t.Errorf("no %q in\n%s", wanted, got)
	}
	got := summarize.FactsOf(w.messages, "", 44, words)
	for _, want := range []string{"everything that calls it,", "… → Only billing.Round rounds.", "And the exporter? → It does not round."} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}
