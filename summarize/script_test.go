package summarize_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/summarize"
)

// scriptCalls returns a session of calls in the form of Codex 0.144: the tool exec has
// a script as its input, and its output begins with how the script ended. The forms
// are those of its session files.
func scriptCalls(pairs ...[2]string) []chat.Message {
	session := []chat.Message{chat.NewText(chat.User, "Release the service and keep the tests green.")}
	for i, p := range pairs {
		id, tool := string(rune('a'+i)), "exec"
		args, _ := json.Marshal(map[string]string{"input": p[0]})
		if strings.HasPrefix(p[0], "{") {
			tool, args = "wait", []byte(p[0])
		}
		session = append(session,
			chat.Message{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, ID: id, Name: tool, Args: string(args)}}},
			chat.NewResult(id, p[1]))
	}
	return session
}

// A call from a script is the command in it, with the exit code in its output.
func TestCommandsInScripts(t *testing.T) {
	const head = "Script completed\nWall time 0.4 seconds\nOutput:\n"
	run := func(command string) string {
		quoted, _ := json.Marshal(command)
		return `const r = await tools.exec_command({"cmd":` + string(quoted) + `,"workdir":"/srv/shop"}); text(r.output);`
	}
	for _, test := range []struct {
		name    string
		session []chat.Message
		want    string
		not     string
	}{
		{"whole result, red", scriptCalls([2]string{run("make deploy"), head + `{"chunk_id":"a","exit_code":2,"output":"release uploaded"}`}), "Last errors:\n- make deploy → failed: exit code 2", "tools."},
		{"whole result, green", scriptCalls([2]string{run("make deploy"), head + `{"chunk_id":"a","exit_code":0,"output":"error: none of it matters"}`}), "- make deploy → error: none of it matters", "Last errors"},
		{"printed code", scriptCalls([2]string{"const r = await tools.exec_command({cmd: 'make deploy'}); text(r.output); text(`exit=${r.exit_code}`)", head + "release uploaded\nexit=1"}), "make deploy → failed: exit code 1", "Script"},
		{"output only", scriptCalls([2]string{run("cargo test"), head + "running 12 tests\ntest result: ok. 12 passed; 0 failed"}), "- cargo test → test result: ok. 12 passed; 0 failed", "Script"},
		{"red, then green", scriptCalls([2]string{run("cargo test"), head + "test cart::total ... FAILED\ntest result: FAILED. 11 passed; 1 failed"}, [2]string{run("cargo test --workspace"), head + "test result: ok. 12 passed; 0 failed"}), "cargo test --workspace → test result: ok", "Last errors"},
		{"runs on", scriptCalls([2]string{run("cargo test"), "Script running with cell ID 7\nWall time 10.0 seconds\nOutput:\n"}, [2]string{`{"cell_id":"7"}`, head + "test cart::total ... FAILED\ntest result: FAILED. 11 passed; 1 failed"}), "Last errors:\n- cargo test → failed: cart::total", "cell"},
		{"failed", scriptCalls([2]string{run("make deploy"), "Script failed\nWall time 0.0 seconds\nOutput:\nScript error:\ncommand is not allowed"}), "make deploy → failed: command is not allowed", "Script"},
		{"patch", scriptCalls([2]string{`const patch = "*** Begin Patch\n*** Update File: cart/total.rs\n@@\n+fn total() {}\n*** Delete File: cart/old.rs\n*** End Patch"; text(await tools.apply_patch(patch));`, head + "{}"}), "- cart/total.rs → total\n- cart/old.rs → removed", "await"},
		{"plan", scriptCalls([2]string{`const r = await tools.update_plan({"plan":[{"step":"write the parser","status":"completed"},{"step":"write the printer","status":"pending"}]}); text(r);`, head + "{}"}), "Open todos:\n- write the printer\nDone todos:\n- write the parser", "await"},
	} {
		facts := summarize.FactsOf(test.session, "", 500, nil)
		if !strings.Contains(facts, test.want) || strings.Contains(facts, test.not) {
			t.Errorf("%s: want %q, without %q:\n%s", test.name, test.want, test.not, facts)
		}
	}
}
