// Package summarizetest checks implementations of [summarize.Summarizer] in their
// tests.
package summarizetest

import (
	"context"
	"errors"
	"fmt"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/summarize"
)

// Check returns every violation of [summarize.Summarizer] by s on a short coding
// session, in each strategy; nil if there is none.
func Check(ctx context.Context, s summarize.Summarizer) error {
	var errs []error
	for _, strategy := range summarize.Strategies() {
		r := summarize.Request{Messages: Session(), Strategy: strategy, MaxTokens: 256}
		text, err := s.Summarize(ctx, r)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", strategy, err))
			continue
		}
		if reason := summarize.Accept(text, r, 1<<20); reason != "" {
			errs = append(errs, fmt.Errorf("%s: not acceptable: %s", strategy, reason))
		}
		if again, err := s.Summarize(ctx, r); err != nil || again != text {
			errs = append(errs, fmt.Errorf("%s: another text for the same request (error %v)", strategy, err))
		}
	}
	done, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := s.Summarize(done, summarize.Request{Messages: Session()}); err == nil {
		errs = append(errs, errors.New("a cancelled context gives no error"))
	}
	return errors.Join(errs...)
}

// Session returns a short coding session: a task with a rule, a file read and
// changed, a test that fails, a topic that changes.
func Session() []chat.Message {
	n := 0
	add := func(m chat.Message) chat.Message {
		n++
		m.ID = fmt.Sprintf("m%d", n)
		return m
	}
	text := func(role chat.Role, s string) chat.Message { return add(chat.NewText(role, s)) }
	call := func(say, id, name, args string) chat.Message {
		m := chat.Message{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, ID: id, Name: name, Args: args}}}
		if say != "" {
			m.Parts = append([]chat.Part{{Kind: chat.Text, Text: say}}, m.Parts...)
		}
		return add(m)
	}
	result := func(id, s string) chat.Message { return add(chat.NewResult(id, s)) }
	return []chat.Message{
		text(chat.User, "The gateway on port 8443 drops sessions after a deploy (ticket OPS-412). Please fix it. You must never log session tokens."),
		call("Let me read the session store.", "c1", "read_file", `{"path":"internal/store/session_store.go"}`),
		result("c1", "package store\n\n// Restore loads sessions.\nfunc Restore(dir string) error { return nil }\n"),
		call("The root cause is that Restore ignores the directory, so sessions are lost. I'll use a snapshot file instead of memory because deploys restart the process.", "c2", "edit_file",
			`{"path":"internal/store/session_store.go","old_string":"func Restore(dir string) error { return nil }","new_string":"func Restore(dir string) error { return loadSnapshot(dir) }\n\nfunc loadSnapshot(dir string) error { return nil }"}`),
		result("c2", "ok"),
		call("Now run the tests.", "c3", "bash", `{"command":"go test ./internal/store/..."}`),
		result("c3", "--- FAIL: TestRestoreAfterDeploy (0.01s)\n    session_store_test.go:41: got 0 sessions, want 3\nFAIL\nFAIL\texample.com/gateway/internal/store\t0.012s"),
		text(chat.Assistant, "TestRestoreAfterDeploy still fails because loadSnapshot does not read the file yet. The next step is to parse snapshot.json in loadSnapshot."),
		text(chat.User, "Good. Before that: rename the flag --keep to --retain in cmd/gateway/main.go, and don't touch the public API."),
		call("I'll rename the flag.", "c4", "edit_file", `{"path":"cmd/gateway/main.go","old_string":"flag.Bool(\"keep\", false, \"\")","new_string":"flag.Bool(\"retain\", false, \"\")"}`),
		result("c4", "ok"),
		text(chat.Assistant, "The flag is renamed to --retain in cmd/gateway/main.go; the public API is unchanged."),
	}
}
