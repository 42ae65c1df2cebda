package files_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/files"
)

// called returns a call, in the form of Claude Code, and its result.
func called(id, name, result string, args map[string]any) chat.Transcript {
	text, _ := json.Marshal(args)
	return chat.Transcript{
		{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, ID: id, Name: name, Args: string(text)}}},
		chat.NewResult(id, result),
	}
}

var storeText = "package store\n\n" + strings.Repeat("// A store keeps what it is given, by name, until it is closed.\n", 4) + "func openStore(path string) error {\n\treturn checkStore(path)\n}\n"

func indexOf(t chat.Transcript) (*files.Index, []files.Scan) {
	var facts []files.Scan
	calls := files.Calls(t)
	for i, m := range t {
		facts = append(facts, files.ScanMessage(m, calls[i]))
	}
	return files.NewIndex(t, facts), facts
}

func TestRemovedFiles(t *testing.T) {
	read := called("r", "Read", storeText, map[string]any{"file_path": "/w/pkg/store.go"})
	bash := func(command string) chat.Transcript {
		return called("b", "Bash", "", map[string]any{"command": command})
	}
	for _, test := range []struct {
		name    string
		events  chat.Transcript
		removed bool
	}{
		{"read", read, false},
		{"rm", slices.Concat(read, bash("rm /w/pkg/store.go")), true},
		{"rm in a folder", slices.Concat(read, bash("cd /w && go vet ./... ; rm -f pkg/store.go")), true},
		{"the folder", slices.Concat(read, bash("rm -rf /w/pkg/")), true},
		{"git mv", slices.Concat(read, bash("git mv /w/pkg/store.go /w/pkg/kept.go")), true},
		{"moved to it", slices.Concat(read, bash("mv /w/pkg/old.go /w/pkg/store.go")), false},
		{"a patch", slices.Concat(read, called("b", "shell", "ok", map[string]any{"command": "apply_patch <<'EOF'\n*** Begin Patch\n*** Delete File: /w/pkg/store.go\n*** End Patch\nEOF"})), true},
		{"a failed command", slices.Concat(read, called("b", "Bash", "Error: refused", map[string]any{"command": "rm /w/pkg/store.go"})), false},
		{"another file", slices.Concat(read, bash("rm /w/pkg/other.go")), false},
		{"a text that names it", slices.Concat(read, bash("echo 'rm /w/pkg/store.go'")), false},
		{"a document with such a line", slices.Concat(read, bash("cat > notes.sh <<'EOF'\nrm /w/pkg/store.go\nEOF")), false},
		{"written again", slices.Concat(read, bash("rm /w/pkg/store.go"), called("w", "Write", "ok", map[string]any{"file_path": "/w/pkg/store.go", "content": storeText})), false},
	} {
		x, _ := indexOf(test.events)
		if got := x.Removed("/w/pkg/store.go"); got != test.removed {
			t.Errorf("%s: removed is %t", test.name, got)
		}
	}
}

func TestFailedEditsAreNoFileText(t *testing.T) {
	args := map[string]any{"file_path": "/w/pkg/store.go", "old_string": "\treturn checkStore(path)\n", "new_string": strings.Repeat("\treturn verifyStore(path, true)\n", 8)}
	read := called("r", "Read", storeText, map[string]any{"file_path": "/w/pkg/store.go"})
	for name, test := range map[string]struct {
		result string
		failed bool
	}{
		"made":      {"The file /w/pkg/store.go has been updated successfully.", false},
		"refused":   {"The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file).\nTo tell you how to proceed, the user said:\nuse the other function", true},
		"not found": {"<tool_use_error>String to replace not found in file.</tool_use_error>", true},
	} {
		all := slices.Concat(read, called("e", "Edit", test.result, args))
		x, facts := indexOf(all)
		for k, c := range facts[2].Copies {
			if got := x.Failed(2, c); got != test.failed {
				t.Errorf("%s: copy %d is of a failed edit: %t", name, k, got)
			}
		}
		for _, c := range facts[3].Copies {
			if c.Kind == files.Edit {
				t.Errorf("%s: the answer is shown as a part of the file", name)
			}
		}
		if now := x.Current(1, facts[1].Copies[0]); strings.Contains(now.Text, "verifyStore") == test.failed {
			t.Errorf("%s: the file is now\n%s", name, now.Text)
		}
	}
}

// An edit may remove more than a copy shows of the file. The lines that both have are
// left out of the copy.
func TestLinesOfALargerEditAreLeftOut(t *testing.T) {
	lines := strings.SplitAfter(strings.TrimSuffix(storeText, "\n"), "\n")
	part := strings.Join(lines[2:], "")
	all := slices.Concat(
		called("r", "Read", part, map[string]any{"file_path": "/w/pkg/store.go", "offset": 3, "limit": 7}),
		called("e", "Edit", "ok", map[string]any{"file_path": "/w/pkg/store.go", "old_string": "package store\n\n" + strings.Join(lines[2:6], ""), "new_string": "package store\n\n"}),
	)
	x, facts := indexOf(all)
	now := x.Current(1, facts[1].Copies[0])
	got := now.Left(now.Text)
	if len(got) != 1 || !strings.HasPrefix(got[0], "func openStore") {
		t.Errorf("left %q", got)
	}
}
