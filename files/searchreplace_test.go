package files

import (
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
)

const (
	aiderEdit = "I change it.\n\nsrc/store.go\n```go\n<<<<<<< SEARCH\nfunc Open() error { return nil }\n=======\nfunc OpenFile() error { return nil }\n>>>>>>> REPLACE\n```\n\nDone, see `closeAll`.\n"
	clineEdit = "------- SEARCH\nfunc Open() error { return nil }\n=======\nfunc OpenFile() error { return nil }\n+++++++ REPLACE\n"
	rooEdit   = "<<<<<<< SEARCH\n:start_line:12\n-------\nfunc Open() error { return nil }\n=======\nfunc OpenFile() error { return nil }\n>>>>>>> REPLACE\n"
)

// The blocks are in the forms of aider, Cline and Roo.
func TestTextEditsAreFoundInAllForms(t *testing.T) {
	old, put := "func Open() error { return nil }\n", "func OpenFile() error { return nil }\n"
	block := func(path string) string { return path + ":old\n" + old + "new\n" + put }
	for name, c := range map[string]struct{ in, want string }{
		"aider":                      {aiderEdit, block("src/store.go")},
		"aider, bold name":           {strings.Replace(aiderEdit, "src/store.go", "**`src/store.go`**:", 1), block("src/store.go")},
		"aider, name in the fence":   {strings.Replace(aiderEdit, "src/store.go\n```go", "```src/store.go", 1), block("src/store.go")},
		"aider, two fences":          {strings.Replace(aiderEdit, "src/store.go\n```go", "```go\nsrc/store.go\n```\n```go", 1), block("src/store.go")},
		"aider, no fence":            {strings.NewReplacer("```go\n", "", "```\n", "").Replace(aiderEdit), block("src/store.go")},
		"aider, CRLF":                {strings.ReplaceAll(aiderEdit, "\n", "\r\n"), block("src/store.go")},
		"aider, nine and five signs": {strings.NewReplacer("<<<<<<<", "<<<<<<<<<", "=======", "=====").Replace(aiderEdit), block("src/store.go")},
		"aider, SEARCH with a sign":  {strings.Replace(aiderEdit, "SEARCH", "SEARCH>", 1), block("src/store.go")},
		"aider of 2023":              {strings.NewReplacer("SEARCH", "ORIGINAL", "REPLACE", "UPDATED").Replace(aiderEdit), block("src/store.go")},
		"Makefile":                   {strings.Replace(aiderEdit, "src/store.go", "Makefile", 1), block("Makefile")},
		"a new file":                 {"a.go\n```\n<<<<<<< SEARCH\n=======\nnew\n>>>>>>> REPLACE\n```\n", "a.go:old\nnew\nnew\n"},
		"a deletion":                 {"a.go\n```\n<<<<<<< SEARCH\nold\n=======\n>>>>>>> REPLACE\n```\n", "a.go:old\nold\nnew\n"},
		"Cline in tags":              {"<replace_in_file>\n<path>src/store.go</path>\n<diff>\n" + clineEdit + "</diff>\n</replace_in_file>", block("src/store.go")},
		"Roo in tags":                {"<apply_diff>\n<path>src/store.go</path>\n<diff>\n" + rooEdit + "</diff>\n</apply_diff>", block("src/store.go")},
		"two blocks of one file":     {aiderEdit + "\nAnd\n```go\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n```\n", block("src/store.go") + "src/store.go:old\na\nnew\nb\n"},
		"fences inside of a block":   {"README.md\n````\n<<<<<<< SEARCH\n```\nold\n```\n=======\n```\nnew\n```\n>>>>>>> REPLACE\n````\n", "README.md:old\n```\nold\n```\nnew\n```\nnew\n```\n"},
		"no file":                    {"Like this:\n```\n<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE\n```\n", ""},
		"no end":                     {"a.go\n```\n<<<<<<< SEARCH\nold\n=======\nnew\n```\n", ""},
		"no middle":                  {"a.go\n<<<<<<< SEARCH\nold\n>>>>>>> REPLACE\n", ""},
		"a conflict of git":          {"a.go\n<<<<<<< HEAD\nold\n=======\nnew\n>>>>>>> main\n", ""},
		"talk of them":               {"Use <<<<<<< SEARCH and >>>>>>> REPLACE in a.go.", ""},
	} {
		edits, rest := TextEdits(c.in, "")
		var got strings.Builder
		for _, e := range edits {
			got.WriteString(e.Path + ":old\n" + e.Old + "new\n" + e.New)
		}
		if got.String() != c.want {
			t.Errorf("%s: %q, want %q", name, got.String(), c.want)
		}
		if c.want == "" && rest != c.in || c.want != "" && (strings.Contains(rest, "func Open") || strings.Contains(rest, "REPLACE")) {
			t.Errorf("%s leaves %q", name, rest)
		}
	}
}

// sidesOf returns the copies found on both sides, one line a copy.
func sidesOf(m chat.Message) string {
	var b strings.Builder
	for _, c := range ScanMessage(m, nil).Copies {
		side := "new"
		if c.Old {
			side = "old"
		}
		if c.Kind != Edit {
			side = "no edit"
		}
		b.WriteString(side + " " + c.Path + " " + c.Text(m))
	}
	return b.String()
}

func TestBothSidesOfATextEditAreCopiesOfTheFile(t *testing.T) {
	want := "old src/store.go func Open() error { return nil }\nnew src/store.go func OpenFile() error { return nil }\n"
	for name, m := range map[string]chat.Message{
		"aider, in a text":      chat.NewText(chat.Assistant, aiderEdit),
		"Cline, in a call":      {Role: chat.Assistant, Parts: []chat.Part{*call("replace_in_file", args{"path": "src/store.go", "diff": clineEdit})}},
		"Roo, in a call":        {Role: chat.Assistant, Parts: []chat.Part{*call("apply_diff", args{"path": "src/store.go", "diff": rooEdit})}},
		"in the second of two":  {Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Text, Text: "Now."}, {Kind: chat.Text, Text: aiderEdit}}},
		"Roo, of many files":    {Role: chat.Assistant, Parts: []chat.Part{*call("apply_diff", args{"args": args{"file": []args{{"path": "src/store.go", "diff": []args{{"content": rooEdit}}}}}})}},
		"an older Cline's call": {Role: chat.Assistant, Parts: []chat.Part{*call("replace_in_file", args{"path": "src/store.go", "diff": strings.NewReplacer("-------", "<<<<<<<", "+++++++", ">>>>>>>").Replace(clineEdit)})}},
	} {
		if got := sidesOf(m); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	doc := chat.Message{Role: chat.Assistant, Parts: []chat.Part{*call("write", args{"path": "a.md", "content": "# How to edit\n" + aiderEdit})}}
	if got := sidesOf(doc); !strings.HasPrefix(got, "no edit a.md # How") {
		t.Errorf("a file with such blocks is written: %q", got)
	}
	if got := sidesOf(chat.NewText(chat.User, aiderEdit)); strings.Contains(got, "old ") {
		t.Errorf("a user edits: %q", got)
	}
	f := ScanMessage(chat.NewText(chat.Assistant, aiderEdit), nil)
	if len(f.Mentions) != 1 || f.Mentions[0] != "src/store.go" {
		t.Errorf("mentions %v", f.Mentions)
	}
}

// The content of a file is what the newest edit wrote, in a call or in a text.
func TestTextEditsChangeTheFile(t *testing.T) {
	file := "package store\n\n" + strings.Repeat("// one of many lines that stay as they are\n", 8) + "func Open() error { return nil }\nfunc Openness() {}\n"
	for name, edit := range map[string]chat.Message{
		"in a text": chat.NewText(chat.Assistant, aiderEdit),
		"in a call": {Role: chat.Assistant, Parts: []chat.Part{*call("replace_in_file", args{"path": "src/store.go", "diff": clineEdit})}},
	} {
		k := new(talk)
		k.does("read", args{"path": "src/store.go"}, file)
		k.add(edit, nil)
		k.add(chat.NewText(chat.Assistant, strings.NewReplacer("func Open()", "func OpenFile()", "func OpenFile()", "func OpenAll()").Replace(aiderEdit)), nil)
		x, _ := k.index()
		now := x.Current(1, k.facts[1].Copies[0])
		if want := strings.Replace(file, "func Open() ", "func OpenAll() ", 1); now.Text != want || now.Note != "shown as edited since" {
			t.Errorf("%s: %q: %s", name, now.Note, now.Text)
		}
		if !x.Edited("src/store.go") || x.ChangedSince(1, k.facts[1].Copies[0]) != 3 {
			t.Errorf("%s: not edited", name)
		}
		first := x.Current(2, k.facts[2].Copies[1])
		if first.Text != "func OpenAll() error { return nil }\n" {
			t.Errorf("%s: what the first edit put in is shown as %q", name, first.Text)
		}
	}
}

func TestTextEditIsOfWholeLines(t *testing.T) {
	for _, c := range []struct{ text, took, put, want string }{
		{"x = 10\nx = 1\n", "x = 1", "x = 2", "x = 10\nx = 2\n"},
		{"a\nb\nc\n", "b", "", "a\nc\n"},
		{"a\nb", "b", "", "a\n"},
		{"a\nb", "a\nb", "c", "c"},
		{"ab", "b", "c", "ab"},
		{"bb", "b", "c", "bb"},
	} {
		got, ok := textSwap{took: c.took, put: c.put, lines: true}.applyEdit(c.text)
		if got != c.want || ok != (c.want != c.text) {
			t.Errorf("%q: %q, %v", c.text, got, ok)
		}
	}
}

func TestTextEditsAreReplacedInPlace(t *testing.T) {
	for _, m := range []chat.Message{
		chat.NewText(chat.Assistant, aiderEdit),
		{Role: chat.Assistant, Parts: []chat.Part{*call("replace_in_file", args{"path": "src/store.go", "diff": clineEdit + clineEdit})}},
	} {
		var changes []Change
		for _, c := range ScanMessage(m, nil).Copies {
			if c.Old {
				changes = append(changes, Change{c, "GONE\n"})
			}
		}
		p, err := Replace(m.Parts[0], changes)
		if text := p.Text + p.Args; err != nil || strings.Contains(text, "func Open()") || strings.Count(text, "func OpenFile()") != len(changes) || strings.Count(text, "GONE") != len(changes) {
			t.Errorf("%v: %s", err, text)
		}
	}
}

func TestTextEditsAreFoundInLinearTime(t *testing.T) {
	for _, text := range []string{"<<<<<<< SEARCH\n", "a.go\n<<<<<<< SEARCH\n=======\n", "=======\n SEARCH\n", "a.go\n<<<<<<< SEARCH\n=======\n>>>>>>> REPLACE\n", "------- SEARCH\n:start_line:1\n"} {
		TextEdits(strings.Repeat(text, 1<<15), "") // the search would not end otherwise
	}
}
