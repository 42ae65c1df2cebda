package summarize_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/summarize"
)

// A sessionWriter builds a session.
type sessionWriter struct{ messages []chat.Message }

func (t *sessionWriter) user(text string) {
	t.messages = append(t.messages, chat.NewText(chat.User, text))
}
func (t *sessionWriter) says(text string) {
	t.messages = append(t.messages, chat.NewText(chat.Assistant, text))
}

// call adds a call with a text before it, and its result.
func (t *sessionWriter) call(text, tool, args, result string) {
	id := fmt.Sprint("call_", len(t.messages))
	m := chat.Message{Role: chat.Assistant}
	if text != "" {
		m.Parts = append(m.Parts, chat.Part{Kind: chat.Text, Text: text})
	}
	m.Parts = append(m.Parts, chat.Part{Kind: chat.Call, ID: id, Name: tool, Args: args})
	t.messages = append(t.messages, m, chat.NewResult(id, result))
}

func (t *sessionWriter) run(text, command, result string) {
	t.call(text, "Bash", fmt.Sprintf(`{"command":%q}`, command), result)
}

// madeSessions are four sessions as people have them, in our own words.
func madeSessions() map[string][]chat.Message {
	var fix, export, plan, deploy sessionWriter

	fix.user("The invoice total is off by one cent for half values, see BILL-77. Please fix it.")
	fix.call("Let me look at the rounding.", "Read", `{"file_path":"/home/dev/shop/billing/round.go"}`, "     1→package billing\n     2→\n     3→func Round(v float64) int { return int(v + 0.5) }\n")
	fix.run("I run its tests first.", "cd /home/dev/shop && go test ./billing/ -run TestRoundHalfEven", "--- FAIL: TestRoundHalfEven (0.00s)\n    round_test.go:41: got 3, want 2\nFAIL")
	fix.call("The root cause is that Round always rounds half up.", "Edit", `{"file_path":"/home/dev/shop/billing/round.go","old_string":"return int(v + 0.5)","new_string":"return int(math.RoundToEven(v))"}`, "ok")
	fix.run("", "cd /home/dev/shop && go test ./...", "ok  \tshop/billing\t0.2s\nok  \tshop/util\t0.1s")
	fix.says("Perfect! Round uses math.RoundToEven now, and all tests pass.")
	fix.user("- thanks. Does the importer round too?")
	fix.call("", "Grep", `{"pattern":"Round\\(","path":"/home/dev/shop"}`, "importer/read.go:12: total += billing.Round(v)")
	fix.says("Yes: importer/read.go calls billing.Round, so it is fixed by the same change.")

	export.user("Build the export service. Store everything in Postgres. Always delete the old export files from /srv/exports before a run.")
	export.says("I start with the schema.")
	export.user("Stop, I was wrong about the files: customers still download them. Keep the old exports, move them to /srv/exports/old. And SQLite, the ops people have no Postgres.")
	export.says("Understood: SQLite, and old exports go to /srv/exports/old.")
	export.user("Passwords of the download page: use bcrypt with cost 12 because of SEC-411. The page https://example.com/crypto says:\n> You must always use argon2 and never bcrypt.")
	export.call("I write the hashing.", "Write", `{"file_path":"/home/dev/export/internal/auth/hash.go","content":"package auth\n\nfunc HashPassword(p string) ([]byte, error) { return bcrypt.GenerateFromPassword([]byte(p), 12) }\n"}`, "ok")
	export.says("HashPassword uses bcrypt with cost 12.")

	plan.user("Split report.py into three modules and keep the public names.")
	plan.call("", "TodoWrite", `{"todos":[{"content":"move the reader","status":"completed"},{"content":"move the writer","status":"in_progress"},{"content":"update the imports","status":"pending"}]}`, "ok")
	plan.run("The reader is moved. I run its tests.", "pytest -q tests/test_reader.py", "FAILED tests/test_reader.py::test_empty - KeyError: 'rows'\n1 failed, 11 passed in 0.3s")
	plan.call("The default was lost in the move.", "Edit", `{"file_path":"report/reader.py","old_string":"x","new_string":"def read_rows(path, default=None): pass"}`, "ok")
	plan.run("", "pytest", "38 passed in 1.2s")
	plan.says("There are no remaining issues in the reader.")
	plan.user("good, go on with the writer")
	plan.call("I move the writer next.", "Write", `{"file_path":"report/writer.py","content":"def write_rows(rows): pass\n"}`, "ok")

	deploy.user("Release 1.4 to staging. Never deploy on a Friday.")
	deploy.call("I build and deploy.", "shell", `{"command":["bash","-lc","make deploy"]}`, "Exit code: 1\nWall time: 31.2 seconds\nOutput:\nbuilding image\nrelease 1.4 uploaded to staging")
	deploy.call("The unit tests are independent of that.", "shell", `{"command":["bash","-lc","make test"]}`, "Exit code: 0\nWall time: 3 seconds\nOutput:\n12 passed")
	deploy.user("did the deploy go through?")
	deploy.says("No: make deploy ended with exit code 1 after the upload. The health check of staging did not answer.")
	deploy.user("The rule about Fridays no longer applies, the freeze is over.")
	deploy.says("Noted.")

	return map[string][]chat.Message{"notes-fix": fix.messages, "notes-export": export.messages, "notes-plan": plan.messages, "notes-deploy": deploy.messages}
}

// Summaries of made sessions: what is done is done, what is open is open, and each
// thing is said once.
func TestNotesOfMadeSessions(t *testing.T) {
	for name, session := range madeSessions() {
		facts := summarize.FactsOf(session, "", 500, nil)
		text := extract(t, summarize.Request{Messages: session, Facts: facts, MaxTokens: 900})
		content := summarize.Finish(text, facts, nil, 0, nil)
		golden(t, name, content)
		seen := make(map[string]bool)
		for line := range strings.SplitSeq(content, "\n") {
			if line != "" && seen[line] {
				t.Errorf("%s says twice: %s", name, line)
			}
			seen[line] = true
		}
	}
	for name, want := range map[string][]string{
		"notes-fix":    {"go test ./... → ok"},
		"notes-export": {" — changed later: Stop, I was wrong", "bcrypt with cost 12 because of SEC-411"},
		"notes-plan":   {"Open todos:\n- move the writer\n- update the imports", "pytest → 38 passed"},
		"notes-deploy": {"Last errors:\n- make deploy → failed: exit code 1", " — changed later: The rule about Fridays no longer applies"},
	} {
		facts := summarize.FactsOf(madeSessions()[name], "", 500, nil)
		for _, w := range want {
			if !strings.Contains(facts, w) {
				t.Errorf("%s lacks %q:\n%s", name, w, facts)
			}
		}
		if name != "notes-deploy" && strings.Contains(facts, "Last errors") || strings.Contains(facts, "argon2") || strings.Contains(facts, "Perfect") {
			t.Errorf("%s:\n%s", name, facts)
		}
	}
}
