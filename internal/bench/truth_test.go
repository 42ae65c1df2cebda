package bench

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
)

const storeText = "package store\n\nfunc openStore(path string) error {\n\treturn checkStore(path)\n}\n\nfunc closeStore() error {\n\treturn nil\n}\n"

// done returns a call and its result.
func done(name, result string, args map[string]any) chat.Transcript {
	text, _ := json.Marshal(args)
	id := name + string(text)
	return chat.Transcript{
		{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, ID: id, Name: name, Args: string(text)}}},
		chat.NewResult(id, result),
	}
}

func summaryOf(text string) chat.Message {
	m := chat.NewText(chat.Assistant, text)
	m.State, m.Parts[0].Kind = chat.Summarized, chat.Summary
	return m
}

func TestTruthFollowsFiles(t *testing.T) {
	const file = "<file path=\"/w/pkg/store.go\">\n@@ 3\nfunc openStore(path string) error {\n\treturn checkStore(path)\n}\n</file>\n[recall 12345678]"
	read := done("Read", storeText, map[string]any{"file_path": "/w/pkg/store.go"})
	edit := func(result string) chat.Transcript {
		return done("Edit", result, map[string]any{"file_path": "/w/pkg/store.go", "old_string": "\treturn checkStore(path)\n", "new_string": "\treturn verifyStore(path)\n"})
	}
	bash := func(command string) chat.Transcript {
		return done("Bash", "", map[string]any{"command": command})
	}
	for _, test := range []struct {
		name           string
		events         []chat.Transcript
		lines          int
		stale, removed int
	}{
		{"read", []chat.Transcript{read}, 2, 0, 0},
		{"edited", []chat.Transcript{read, edit("The file has been updated.")}, 2, 1, 0},
		{"an edit that failed", []chat.Transcript{read, edit("<tool_use_error>String to replace not found</tool_use_error>")}, 2, 0, 0},
		{"an edit that the user refused", []chat.Transcript{read, edit("The user doesn't want to proceed with this tool use.")}, 2, 0, 0},
		{"edited without a read", []chat.Transcript{edit("ok")}, 1, 1, 0},
		{"removed", []chat.Transcript{read, bash("cd /w && rm -f pkg/store.go")}, 2, 0, 2},
		{"its folder removed", []chat.Transcript{read, bash("rm -rf /w/pkg")}, 2, 0, 2},
		{"moved", []chat.Transcript{read, bash("git mv /w/pkg/store.go /w/pkg/kept.go")}, 2, 0, 2},
		{"another removed", []chat.Transcript{read, bash("rm /w/pkg/store_test.go")}, 2, 0, 0},
		{"removed and written again", []chat.Transcript{read, bash("rm pkg/store.go"), done("Write", "ok", map[string]any{"file_path": "/w/pkg/store.go", "content": storeText})}, 2, 0, 0},
		{"written", []chat.Transcript{read, done("Write", "ok", map[string]any{"file_path": "/w/pkg/store.go", "content": "package store\n"})}, 2, 2, 0},
		{"changed by a command", []chat.Transcript{read, edit("ok"), bash("sed -i s/x/y/ pkg/store.go")}, 1, 0, 0},
		{"restored", []chat.Transcript{read, edit("ok"), bash("git checkout -- .")}, 1, 0, 0},
		{"patched", []chat.Transcript{read, done("apply_patch", "Success", map[string]any{"input": "*** Begin Patch\n*** Update File: pkg/store.go\n@@\n-\treturn checkStore(path)\n+\treturn verifyStore(path)\n*** End Patch"})}, 2, 1, 0},
		{"deleted by a patch", []chat.Transcript{read, done("shell", "Success", map[string]any{"command": "apply_patch <<'EOF'\n*** Begin Patch\n*** Delete File: pkg/store.go\n*** End Patch\nEOF"})}, 2, 0, 2},
		{"read in part", []chat.Transcript{done("Read", "func closeStore() error {\n", map[string]any{"file_path": "/w/pkg/store.go", "offset": 7, "limit": 1})}, 0, 0, 0},
		{"unknown", nil, 0, 0, 0},
	} {
		var before chat.Transcript
		for _, e := range test.events {
			before = append(before, e...)
		}
		got := followFiles(before).truthOf(chat.Transcript{summaryOf("## State\n- done\n\n" + file)})
		if want := (Shown{test.lines, test.stale, test.removed}); got.Excerpts != want || got.Lines != want.Lines || got.Share != (Share{want.Stale + want.Removed, want.Lines}).Of() {
			t.Errorf("%s: %+v, want %+v", test.name, got, want)
		}
	}
}

func TestTruthOfOutlinesAndOfLinesOnRecord(t *testing.T) {
	before := append(done("Read", storeText, map[string]any{"file_path": "pkg/store.go"}),
		done("Edit", "ok", map[string]any{"file_path": "pkg/store.go", "old_string": "func closeStore() error {\n", "new_string": "func (s *Store) Close() error {\n"})...)
	outline := chat.NewResult("x", "[outline pkg/store.go: go, 9 lines, hash 12345678; recall 12345678]\nimports os fmt\n3: func openStore(path string) error\n7: func closeStore() error\n4:\n\treturn checkStore(path)\n(left out: 1 exported, 0 other declarations, 3 lines)\nalso: closeStore\n")
	outline.State = chat.Outlined
	record := summaryOf("## Lines on record\nfunc closeStore() error {\nreturn checkStore(path)\nno line of any file\n\n## Facts on record\nfunc closeStore() error {")
	got := followFiles(before).truthOf(chat.Transcript{outline, record, chat.NewText(chat.Assistant, "func closeStore() error {")})
	if want := (Shown{3, 1, 0}); got.Outlines != want {
		t.Errorf("outlines %+v, want %+v", got.Outlines, want)
	}
	if want := (Shown{2, 1, 0}); got.Record != want {
		t.Errorf("lines on record %+v, want %+v", got.Record, want)
	}
}

func TestSectionsAreLeftOutInTurn(t *testing.T) {
	s := summaryOf("intro\n## State\n- done\n## Names\nopenStore\n\n<file path=\"a.go\">\n## not a heading\n</file>\n[recall 12345678]")
	if got := strings.Join(sectionNames(chat.Transcript{s}), "|"); got != "State|Names|parts of files" {
		t.Errorf("sections %q", got)
	}
	for name, want := range map[string]string{
		"State":      "intro\n## Names\nopenStore\n\n<file path=\"a.go\">\n## not a heading\n</file>\n[recall 12345678]",
		filesSection: "intro\n## State\n- done\n## Names\nopenStore\n\n[recall 12345678]",
	} {
		if got := withoutSection(chat.Transcript{s}, name)[0].Text(); got != want {
			t.Errorf("without %s: %q, want %q", name, got, want)
		}
	}
	if s.Text() == withoutSection(chat.Transcript{s}, "State")[0].Text() {
		t.Error("the message itself was changed")
	}
}
