package summarize_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/summarize"
)

// An exitForm is how an assistant reports an exit code: the forms are those of Codex,
// Claude Code, mini-swe-agent, Gemini CLI, OpenHands and pi, as their sessions have them.
type exitForm struct {
	name, tool string
	write      func(output string, code int) (text string, failed bool)
}

func exitForms() []exitForm {
	return []exitForm{
		{"Codex", "shell_command", func(out string, code int) (string, bool) {
			return fmt.Sprintf("Exit code: %d\nWall time: 0.4 seconds\nOutput:\n%s", code, out), false
		}},
		{"Codex exec", "exec_command", func(out string, code int) (string, bool) {
			return fmt.Sprintf("Chunk ID: a1\nWall time: 0.4 seconds\nProcess exited with code %d\nOriginal token count: 9\nOutput:\n%s", code, out), false
		}},
		{"Codex, an object", "shell", func(out string, code int) (string, bool) {
			return fmt.Sprintf(`{"output":%q,"metadata":{"exit_code":%d,"duration_seconds":0.4}}`, out, code), false
		}},
		{"Claude Code", "Bash", func(out string, code int) (string, bool) {
			if code == 0 {
				return out, false
			}
			return fmt.Sprintf("Exit code %d\n%s", code, out), true
		}},
		{"mini-swe-agent", "bash", func(out string, code int) (string, bool) {
			return fmt.Sprintf("<returncode>%d</returncode>\n<output>\n%s\n</output>", code, out), false
		}},
		{"Gemini CLI", "run_shell_command", func(out string, code int) (string, bool) {
			return fmt.Sprintf("Command: x\nDirectory: (root)\nOutput: %s\nError: (none)\nExit Code: %d\nSignal: 0\nBackground PIDs: (none)\nProcess Group PGID: 7", out, code), false
		}},
		{"OpenHands", "execute_bash", func(out string, code int) (string, bool) {
			return fmt.Sprintf("%s\n[The command completed with exit code %d.]\n[Current working directory: /w]", out, code), false
		}},
		{"pi", "bash", func(out string, code int) (string, bool) {
			if code == 0 {
				return out, false
			}
			return fmt.Sprintf("%s\n\nCommand exited with code %d", out, code), true
		}},
	}
}

// A generatedRun is a run of a command and what is true of it.
type generatedRun struct {
	command string
	code    int
}

// drawRun draws a command whose exit code is its own.
func drawRun(t *rapid.T) generatedRun {
	command := rapid.SampledFrom([]string{
		"make deploy", "make build", "npm run build", "npm test", "pytest -q tests/test_cart.py", "cargo test --workspace", "go vet ./...", "tsc --noEmit",
		"docker compose up -d", "node scripts/seed.mjs", "terraform apply -auto-approve", "git push", "git commit -m 'a; b | c'", "./gradlew test",
		"cd /w && make build", "set -o pipefail; make build | tail -3", "export CI=1; make deploy", "# deploy\nmake deploy", "python3 -c \"\nimport a; b = 1\n\"",
	}).Draw(t, "command")
	return generatedRun{command, rapid.SampledFrom([]int{0, 0, 0, 1, 2, 127}).Draw(t, "code")}
}

// drawOutput draws an output that may say the contrary of the exit code.
func drawOutput(t *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{
		"building", "release 1.4 uploaded", "error: retry 1 of 3", "12 passed, 0 failed", "WARNING: 3 problems", "done", "3 tests failed in an earlier run", "[1:1:0101/000000.1:ERROR:gpu.cc(1)] x", "    Downloaded serde v1.0.2", "(Some(a), _) => a,",
	}), 1, 4).Draw(t, "output"), "\n")
}

// The last run of each command is reported as it ended, in every form of exit code,
// whatever its output says and whatever other commands do; and a failure that is listed
// as open is one of a last run.
func TestCommandsAreReportedAsTheyEnded(t *testing.T) {
	forms := exitForms()
	rapid.Check(t, func(t *rapid.T) {
		form := forms[rapid.IntRange(0, len(forms)-1).Draw(t, "form")]
		session := []chat.Message{chat.NewText(chat.User, "Release the cart.")}
		last := make(map[string]int)
		marked := false
		for i := range rapid.IntRange(1, 10).Draw(t, "runs") {
			run := drawRun(t)
			text, failed := form.write(drawOutput(t), run.code)
			id := fmt.Sprint("c", i)
			result := chat.NewResult(id, text)
			result.Parts[0].Error = failed
			marked = marked || failed
			session = append(session, chat.Message{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, ID: id, Name: form.tool, Args: fmt.Sprintf(`{"command":%q}`, run.command)}}}, result)
			last[shownCommand(run.command)] = run.code
		}
		if !marked && (form.name == "Claude Code" || form.name == "pi") {
			return // the client has not shown yet that it marks failures
		}
		facts := summarize.FactsOf(session, "", 1<<20, nil)
		for line := range strings.SplitSeq(facts, "\n") {
			call, end, _ := strings.Cut(strings.TrimPrefix(line, "- "), " → ")
			code, ran := last[call]
			if !strings.HasPrefix(line, "- ") || !ran {
				continue
			}
			if failed := strings.HasPrefix(end, "failed"); failed != (code != 0) {
				t.Fatalf("%s: %q ended with %d, reported %q in\n%s", form.name, call, code, end, facts)
			}
		}
	})
}

// shownCommand returns a command as facts show it.
func shownCommand(command string) string {
	switch command {
	case "cd /w && make build":
		return "make build"
	case "# deploy\nmake deploy":
		return "make deploy"
	}
	return strings.Join(strings.Fields(command), " ")
}
