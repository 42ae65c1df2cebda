package files

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
)

// body is a Go file of more than the smallest size.
const body = "package store\n\n// Open opens what is there, and says what is wrong with it otherwise.\nfunc Open(dir string) error {\n\treturn openFolder(dir)\n}\n\nfunc closeAll() {\n\tfmt.Println(\"closing everything that is open\")\n}\n"

func numberedWith(format string) string {
	var b strings.Builder
	for i, line := range strings.Split(strings.TrimSuffix(body, "\n"), "\n") {
		fmt.Fprintf(&b, format+"%s\n", i+1, line)
	}
	return b.String()
}

func TestWrappersAreStripped(t *testing.T) {
	plainBody := strings.TrimSuffix(body, "\n")
	reminder := "\n\n<system-reminder>\nBe good.\n</system-reminder>\n"
	tests := []struct {
		name, text string
		first      int
		part       bool
	}{
		{"raw", plainBody, 0, false},
		{"arrow", numberedWith("%6d→") + reminder, 1, false},
		{"tab", numberedWith("%6d\t"), 1, false},
		{"opencode", "<path>/a/store.go</path>\n<type>file</type>\n<content>\n" + numberedWith("%d: ") + "\n(End of file - total 10 lines)\n</content>", 1, false},
		{"pi", plainBody + "\n\n[Showing lines 1-10 of 2377 (50.0KB limit). Use offset=11 to continue]", 1, true},
		{"gemini", "IMPORTANT: The file content has been truncated.\nStatus: Showing lines 5-14 of 99 total lines.\nAction: read on\n\n--- FILE CONTENT (truncated) ---\n" + plainBody, 5, true},
		{"codex", "Exit code: 0\nWall time: 0.3 seconds\nOutput:\n" + plainBody, 0, false},
		{"cline", "[read_file for 'store.go'] Result:\n" + numberedWith("%d | "), 1, false},
		{"swe-agent", "[File: store.go (94 lines total)]\r\n" + strings.ReplaceAll(numberedWith("%d:"), "\n", "\r\n") + "(84 more lines below)", 1, true},
		{"cat -n", "Here's the result of running `cat -n` on /a/store.go:\n" + numberedWith("%6d\t"), 1, false},
		{"mini-swe-agent", "<returncode>0</returncode>\n<output>\n" + plainBody + "\n</output>", 0, false},
		{"reminder alone", plainBody + reminder, 0, false},
	}
	for _, test := range tests {
		got := unwrapText(test.text)
		if strings.TrimSpace(got.text) != plainBody || got.first != test.first || got.part != test.part {
			t.Errorf("%s: first %d, part %v, text\n%q", test.name, got.first, got.part, got.text)
		}
	}
}

func TestNumbersThatBelongToATextStay(t *testing.T) {
	for _, text := range []string{"1: one\n3: three\n", "12:30 lunch\nand then home\n", "42\n", "2024: a year\n2023: another\n"} {
		if got := unwrapText(text).text; got != text {
			t.Errorf("strip(%q) = %q", text, got)
		}
	}
}

func result(text string) chat.Message { return chat.NewResult("1", text) }

func call(tool string, args any) *chat.Part {
	data, err := json.Marshal(args)
	if err != nil {
		panic(err)
	}
	return &chat.Part{Kind: chat.Call, ID: "1", Name: tool, Args: string(data)}
}

type args = map[string]any

func TestScanOfResults(t *testing.T) {
	long := strings.Repeat("a line that counts for nothing much\n", 50)
	tests := []struct {
		name  string
		call  *chat.Part
		text  string
		kind  RefKind
		path  string
		lines [2]int
		whole bool
	}{
		{"whole", call("Read", args{"file_path": "/r/a.go"}), body, Read, "/r/a.go", [2]int{1, 10}, true},
		{"range", call("Read", args{"file_path": "/r/a.go", "offset": 40, "limit": 50}), long, Read, "/r/a.go", [2]int{40, 89}, false},
		{"limit beyond the end", call("read", args{"path": "a.go", "limit": 2000}), body, Read, "a.go", [2]int{1, 10}, true},
		{"view_range", call("str_replace_editor", args{"command": "view", "path": "a.go", "view_range": []int{3, 52}}), long, Read, "a.go", [2]int{3, 52}, false},
		{"start and end line", call("read_file", args{"path": "a.go", "start_line": 3, "end_line": 52}), long, Read, "a.go", [2]int{3, 52}, false},
		{"sed", call("shell", args{"command": "cd /r && sed -n '11,60p' a.go"}), long, Read, "/r/a.go", [2]int{11, 60}, false},
		{"nl and sed", call("exec_command", args{"cmd": "nl -ba a.go | sed -n '2,51p'"}), long, Read, "a.go", [2]int{2, 51}, false},
		{"head", call("Bash", args{"command": "head -n 50 a.go"}), long, Read, "a.go", [2]int{1, 50}, false},
		{"head of a pipe", call("Bash", args{"command": "cat a.go | head -50"}), long, Read, "a.go", [2]int{1, 50}, false},
		{"Get-Content", call("shell", args{"command": "Get-Content a.go"}), body, Read, "a.go", [2]int{1, 10}, true},
		{"a wrapper that names the file", nil, "[File: a.go (10 lines total)]\n" + numberedWith("%d:"), Read, "a.go", [2]int{1, 10}, true},
		{"two files", call("Bash", args{"command": "cat a.go b.go"}), long, Output, "", [2]int{}, false},
		{"another command", call("Bash", args{"command": "go test ./... | tee log"}), long, Output, "", [2]int{}, false},
		{"command after a read", call("Bash", args{"command": "cat a.go; rm a.go"}), long, Output, "", [2]int{}, false},
		{"grep", call("Grep", args{"pattern": "x", "path": "src"}), long, Output, "", [2]int{}, false},
		{"no call", nil, long, Output, "", [2]int{}, false},
		{"answer to an edit", call("Edit", args{"file_path": "a.go", "old_string": "a", "new_string": "b"}), "The file a.go has been updated. Here's the result of running `cat -n` on a snippet of the edited file:\n" + numberedWith("%6d→"), Edit, "a.go", [2]int{1, 10}, false},
	}
	for _, test := range tests {
		f := ScanMessage(result(test.text), test.call)
		if len(f.Copies) != 1 {
			t.Errorf("%s: %d copies", test.name, len(f.Copies))
			continue
		}
		c := f.Copies[0]
		if c.Kind != test.kind || c.Path != test.path || [2]int{c.First, c.Last} != test.lines || c.Whole != test.whole {
			t.Errorf("%s: %+v", test.name, c)
		}
	}
	if c := ScanMessage(chat.Message{Role: chat.Tool, Parts: []chat.Part{{Kind: chat.Result, Text: long, Error: true}}}, call("Read", args{"path": "a.go"})).Copies; c[0].Kind != Output {
		t.Error("a failed read is a copy of the file")
	}
}

func TestScanOfCalls(t *testing.T) {
	tests := []struct {
		name string
		call *chat.Part
		want string // kind path arg, of each copy
	}{
		{"Edit", call("Edit", args{"file_path": "a.go", "old_string": body, "new_string": "x"}), "3 a.go new_string; 3 a.go old_string old"},
		{"MultiEdit", call("MultiEdit", args{"path": "a.go", "edits": []args{{"oldText": "x", "newText": "y"}, {"oldText": "v", "newText": "w"}}}),
			"3 a.go edits.0.newText; 3 a.go edits.0.oldText old; 3 a.go edits.1.newText; 3 a.go edits.1.oldText old"},
		{"Write", call("Write", args{"file_path": "a.go", "content": body}), "2 a.go content whole"},
		{"create", call("str_replace_editor", args{"command": "create", "path": "a.go", "file_text": body}), "2 a.go file_text whole"},
		{"patch", call("apply_patch", args{"input": "*** Begin Patch\n*** Update File: src/a.go\n-x\n+y\n*** End Patch"}), "3 src/a.go input"},
		{"heredoc", call("Bash", args{"command": "cat > a.go <<'EOF'\n" + body + "EOF\ngo build"}), "2 a.go command whole"},
		{"tee", call("Bash", args{"command": "tee a.go << EOF\n" + body + "EOF"}), "2 a.go command whole"},
		{"heredoc for a program", call("Bash", args{"command": "python3 - <<'EOF'\n" + body + "EOF"}), ""},
		{"search", call("Grep", args{"pattern": body, "path": "src"}), ""},
		{"no object", &chat.Part{Kind: chat.Call, Args: `["a"]`}, ""},
		{"no JSON", &chat.Part{Kind: chat.Call, Args: `{"path":"a.go","content":"x`}, ""},
	}
	for _, test := range tests {
		var got []string
		for _, c := range ScanMessage(chat.Message{Role: chat.Assistant, Parts: []chat.Part{*test.call}}, nil).Copies {
			s := fmt.Sprintf("%d %s %s", c.Kind, c.Path, c.Arg)
			if c.Old {
				s += " old"
			}
			if c.Whole {
				s += " whole"
			}
			got = append(got, s)
		}
		slices.Sort(got)
		if strings.Join(got, "; ") != test.want {
			t.Errorf("%s: %q", test.name, got)
		}
	}
}

func TestScanOfTexts(t *testing.T) {
	fenced := "See this:\n```go src/a.go\n" + body + "```\nand this:\n\n**src/b.go**\n\n```\n" + body + "```\n<file path=\"c &quot;d.go\">\n" + body + "</file>\n```sh\n" + body + "```\nuse openFolder() and `closed` in x/y.go"
	m := chat.NewText(chat.User, fenced)
	f := ScanMessage(m, nil)
	var paths []string
	for _, c := range f.Copies {
		if c.Kind != Block || c.Text(m) != body {
			t.Errorf("%+v: %q", c, c.Text(m))
		}
		paths = append(paths, c.Path)
	}
	if got := strings.Join(paths, "|"); got != `src/a.go|src/b.go|c "d.go` {
		t.Error(got)
	}
	if !slices.Contains(f.Mentions, "x/y.go") || !slices.Contains(f.Idents, hashIdent("closed")) {
		t.Errorf("%q", f.Mentions)
	}
	attached := chat.NewText(chat.User, AttachText(`q"r.go`, body))
	attached.Machine = true
	if c := ScanMessage(attached, nil).Copies; len(c) != 1 || c[0].Kind != Attached || !c[0].Whole || c[0].Path != `q"r.go` || c[0].Text(attached) != body {
		t.Errorf("%+v", c)
	}
	observed := chat.NewText(chat.User, "<returncode>0</returncode>\n<output>\n"+strings.Repeat("all is well\n", 50)+"</output>")
	observed.Machine = true
	if c := ScanMessage(observed, nil).Copies; len(c) != 1 || c[0].Kind != Output {
		t.Errorf("%+v", c)
	}
}

func TestOneTextHasOneHashHoweverItIsWrapped(t *testing.T) {
	raw := ScanMessage(result(strings.TrimSuffix(body, "\n")), call("read", args{"path": "a.go"})).Copies[0]
	numbered := ScanMessage(result(strings.TrimSuffix(numberedWith("%6d→"), "\n")), call("Read", args{"file_path": "/r/a.go"})).Copies[0]
	if raw.Hash != numbered.Hash {
		t.Error("hashes differ")
	}
}

func TestCallsAreThoseThatResultsAnswer(t *testing.T) {
	two := chat.Message{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, ID: "1", Name: "a"}, {Kind: chat.Call, ID: "2", Name: "b"}}}
	got := Calls(chat.Transcript{two, chat.NewResult("2", ""), chat.NewResult("1", ""), chat.NewResult("1", "orphan")})
	if got[0] != nil || got[1].Name != "b" || got[2].Name != "a" || got[3] != nil {
		t.Errorf("%v", got)
	}
}

func TestShortenArgs(t *testing.T) {
	in := `{"a":"long","b":{"c":["long","kept"]},"n":1}`
	got := ShortenArgs(in, func(key, value string) string { return strings.Replace(value, "long", "\"s\"<", 1) })
	if got != `{"a":"\"s\"<","b":{"c":["\"s\"<","kept"]},"n":1}` {
		t.Error(got)
	}
	for _, same := range []string{"", "{", "[1]", in} {
		if got := ShortenArgs(same, func(_, v string) string { return v }); got != same {
			t.Errorf("%q became %q", same, got)
		}
	}
}

func TestReplaceRejectsWrongPlaces(t *testing.T) {
	if _, err := Replace(chat.Part{Kind: chat.Text, Text: "short"}, []Change{{Copy: Ref{Start: 3, End: 99}}}); err == nil {
		t.Error("no error")
	}
}

func FuzzScan(f *testing.F) {
	f.Add(`{"path":"a.go","content":"x","edits":[{"oldText":"a","newText":"b"}]}`, body, "cat a.go")
	f.Add(`{"command":"cat > a <<E\nx\nE"}`, numberedWith("%6d→"), "sed -n '1,2p' a")
	f.Add(`{"a":{"b":[[{"input":"*** Begin Patch\n*** Update File: x"}]]}}`, "```go a.go\n"+body+"```", "nl x | head -3")
	f.Fuzz(func(t *testing.T, arguments, text, command string) {
		c := chat.Part{Kind: chat.Call, ID: "1", Name: "read", Args: arguments}
		m := chat.Message{ID: "m", Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Text, Text: text}, c}}
		r := result(text)
		transcript := chat.Transcript{m, r, result(text)}
		facts := []Scan{ScanMessage(m, nil), ScanMessage(r, &c), ScanMessage(r, call("sh", args{"command": command}))}
		x := NewIndex(transcript, facts)
		for i, f := range facts {
			for _, c := range f.Copies {
				now := x.Current(i, c)
				x.Stale(i, c, 1)
				x.Superseded(i, c)
				now.Copy.Outline(now.Text, OutlineOptions{Max: 50, Recall: "id", Edited: now.Edited})
				p, err := Replace(transcript[i].Parts[c.Part], []Change{{c, "short"}})
				if err != nil {
					t.Fatal(err)
				}
				if p.Kind == chat.Call && !json.Valid([]byte(p.Args)) {
					t.Fatalf("%q", p.Args)
				}
			}
		}
	})
}

func BenchmarkScan(b *testing.B) {
	text := strings.Repeat(body, 100)
	b.SetBytes(int64(len(text)))
	c := call("Read", args{"path": "a.go"})
	for b.Loop() {
		ScanMessage(result(text), c)
	}
}
