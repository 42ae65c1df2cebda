package levels_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/protection"
	"github.com/tiercompact/tiercompact/levels"
)

// required are the arguments without which tools refuse a call, by the schemas
// that they publish: Claude Code's Write, Edit and MultiEdit, the text editor of
// Anthropic, the shell of Codex (an array) and of the others (a string).
var required = map[string][]string{
	"Write": {"file_path", "content"}, "Edit": {"file_path", "old_string", "new_string"}, "MultiEdit": {"file_path", "edits"},
	"str_replace_based_edit_tool": {"command", "path"}, "bash": {"command"}, "shell": {"command"}, "apply_patch": {"input"},
}

// refused reports whether the tool of a call refuses its arguments before it
// does anything.
func refused(t *testing.T, p chat.Part) bool {
	t.Helper()
	var args map[string]any
	if err := json.Unmarshal([]byte(p.Args), &args); err != nil {
		t.Fatal(err)
	}
	names := required[p.Name]
	if args["command"] == "create" {
		names = append(names, "file_text")
	}
	for _, name := range names {
		if args[name] == nil {
			return true
		}
	}
	edits, _ := args["edits"].([]any)
	for _, e := range edits {
		e := e.(map[string]any)
		if e["old_string"] == nil || e["new_string"] == nil {
			return true
		}
	}
	// The parser of apply_patch: "The first line of the patch must be '*** Begin Patch'".
	return p.Name == "apply_patch" && !strings.HasPrefix(strings.TrimSpace(fmt.Sprint(args["input"])), "*** Begin Patch")
}

func TestACallThatImitatesAShortenedOneIsRefused(t *testing.T) {
	patch := "*** Begin Patch\n*** Update File: a.go\n@@\n-" + strings.ReplaceAll(goFile(3000), "\n", "\n-") + "\n*** End Patch"
	heredoc := "cat > a.go <<'EOF'\n" + goFile(6000) + "EOF\ngo build ./..."
	for _, test := range []struct {
		tool string
		args map[string]any
	}{
		{"Write", map[string]any{"file_path": "a.go", "content": goFile(6000)}},
		{"Edit", map[string]any{"file_path": "a.go", "old_string": goFile(3000), "new_string": goFile(6000)}},
		{"Edit", map[string]any{"file_path": "a.go", "old_string": "x", "new_string": goFile(6000)}},
		{"Edit", map[string]any{"file_path": "a.go", "old_string": goFile(6000), "new_string": "x"}},
		{"MultiEdit", map[string]any{"file_path": "a.go", "edits": []any{map[string]any{"old_string": "x", "new_string": "y"}, map[string]any{"old_string": "x", "new_string": goFile(6000)}}}},
		{"str_replace_based_edit_tool", map[string]any{"command": "create", "path": "a.go", "file_text": goFile(6000)}},
		{"bash", map[string]any{"command": heredoc}},
		{"bash", map[string]any{"command": "apply_patch <<'EOF'\n" + patch + "\nEOF"}},
		{"shell", map[string]any{"command": []any{"bash", "-lc", heredoc}}},
		{"apply_patch", map[string]any{"input": patch}},
	} {
		in := new(script).say(chat.User, "do it").call(test.tool, test.args, "done").talk(6).t
		for i := range in {
			in[i].ID = fmt.Sprint("m", i)
		}
		whole := in[1].Parts[len(in[1].Parts)-1]
		if refused(t, whole) {
			t.Fatalf("%s refuses %s", test.tool, whole.Args)
		}
		v := viewOf(in)
		fitted := chat.Transcript(nil)
		v.Count, v.Size = four, sizeOfFour
		v.Protections = protection.Policy{}.Protections(in)
		for i, m := range in {
			v.Sizes[i] = sizeOfFour(m)
		}
		for _, limit := range []int{600, 200, 100} {
			fitted = append(fitted, applied(t, v, levels.Truncate(v, limit))...)
		}
		shortened := 0
		for _, m := range append(fitted, soften(t, levels.Soft{}, in)...) {
			for _, p := range m.Parts {
				if p.Kind != chat.Call || p.Args == whole.Args {
					continue
				}
				shortened++
				if !refused(t, p) {
					t.Errorf("%s does as it is told by %.300s", test.tool, p.Args)
				}
			}
		}
		if shortened < 2 {
			t.Errorf("%s: %d calls were shortened", test.tool, shortened)
		}
	}
}
