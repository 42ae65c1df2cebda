package summarize_test

import (
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/summarize"
)

// Text that a client writes into a user's message is neither a goal nor a rule; the
// arguments of a slash command are.
func TestGoalsAndRulesAreTypedByAPerson(t *testing.T) {
	got := extract(t, summarize.Request{Messages: chat.Transcript{
		{Role: chat.User, Parts: []chat.Part{{Kind: chat.Text, Text: "<command-message>review is running…</command-message>\n<command-name>/review</command-name>\n<command-args>Review the lexer first. You must never log tokens.</command-args>"}}},
		chat.NewText(chat.Assistant, "The lexer drops the last digit."),
		{Role: chat.User, Parts: []chat.Part{
			{Kind: chat.Text, Text: "<feedback>\nKeep the old error codes.\n</feedback>"},
			{Kind: chat.Text, Text: "\n\n\t\t\t\t# TODO LIST UPDATE REQUIRED - You MUST include the task_progress parameter in your NEXT tool call.\n\n- [ ] fix"},
			{Kind: chat.Text, Text: "<environment_details>\nYou must always be in ACT MODE.\n</environment_details>"},
		}},
		chat.NewText(chat.Assistant, "They stay as they are."),
	}})
	for _, want := range []string{"Review the lexer first.", "You must never log tokens.", "Keep the old error codes."} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	for _, not := range []string{"<command", "review is running", "/review", "TODO LIST", "task_progress", "ACT MODE", "<feedback>"} {
		if strings.Contains(got, not) {
			t.Errorf("%q in\n%s", not, got)
		}
	}
}

// An edit in a text is a change of its file, described by the new text; its code is
// not a statement of the assistant.
func TestEditsInATextAreChanges(t *testing.T) {
	block := "<<<<<<< SEARCH\n// must never be called twice\nfunc Open() error { return nil }\n=======\n// must never be called twice\nfunc OpenFile() error { return nil }\n>>>>>>> REPLACE\n"
	for name, m := range map[string]chat.Message{
		"aider": chat.NewText(chat.Assistant, "I rename it, since the name misleads.\n\nsrc/store.go\n```go\n"+block+"```\n"),
		"Cline": {Role: chat.Assistant, Parts: []chat.Part{
			{Kind: chat.Text, Text: "I rename it, since the name misleads."},
			{Kind: chat.Call, ID: "a", Name: "replace_in_file", Args: `{"path":"src/store.go","diff":"------- SEARCH\nfunc Open() error { return nil }\n=======\nfunc OpenFile() error { return nil }\n+++++++ REPLACE\n"}`},
		}},
		"Roo": {Role: chat.Assistant, Parts: []chat.Part{
			{Kind: chat.Text, Text: "I rename it, since the name misleads."},
			{Kind: chat.Call, ID: "a", Name: "apply_diff", Args: `{"path":"src/store.go","diff":"<<<<<<< SEARCH\n:start_line:3\n-------\nfunc Open() error { return nil }\n=======\nfunc OpenFile() error { return nil }\n>>>>>>> REPLACE\n"}`},
		}},
	} {
		got := extract(t, summarize.Request{Messages: chat.Transcript{chat.NewText(chat.User, "Rename Open, the name misleads."), m, chat.NewText(chat.User, "Thank you, that is all.")}})
		if !strings.Contains(got, "src/store.go") || !strings.Contains(got, "OpenFile") {
			t.Errorf("%s: the change is missing in\n%s", name, got)
		}
		for _, not := range []string{"<<<<<<<", "SEARCH", "REPLACE", "func Open()", "must never be called"} {
			if strings.Contains(got, not) {
				t.Errorf("%s: %q in\n%s", name, not, got)
			}
		}
	}
}
