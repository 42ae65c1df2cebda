package tui

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/files"
	"github.com/tiercompact/tiercompact/internal/filetools"
	"github.com/tiercompact/tiercompact/internal/model"
	"github.com/tiercompact/tiercompact/internal/screen"
	"github.com/tiercompact/tiercompact/levels"
)

// does runs a line, and returns the text that it emitted.
func (x *opened) does(t *testing.T, line string) (string, error) {
	t.Helper()
	x.events = nil
	err := x.Do(t.Context(), line)
	return strings.Join(append(x.texts(Noted), x.texts(Warned)...), "\n"), err
}

func TestCommands(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "main.go")
	for name, text := range map[string]string{
		"main.go": "package main\n\n" + strings.Repeat("// what it does\nfunc f() int { return 1 }\n\n", 30),
		"binary":  "a\x00b", "latin1": "\xe9t\xe9", "large": strings.Repeat("x", maxFile+1),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	x := open(t, 8192, says("fine"))
	for _, test := range []struct{ line, told, err string }{
		{"  ", "", ""},
		{"/retry", "", "nothing to answer"},
		{"/pin last", "", "no message yet"},
		{"/why", "no check has been made", ""},
		{"/undo", "", "no compaction is there to undo"},
		{"/files", "no file is in", ""},
		{"/system\n", "the system prompt is", ""},
		{"/bogus\nnow", "", "no command /bogus;"},
		{"/bogus now", "", "no command /bogus"},
		{"//etc/hosts is what?", "", ""},
		{"/help", "/compact [NOTE]", ""},
		{"/pin last", "message m3 is pinned", ""},
		{"/pin", "* m3    assistant  fine", ""},
		{"/pin m99", "", "not found"},
		{"/add", "", "needs the path"},
		{"/add " + dir, "", "not a plain file"},
		{"/add " + filepath.Join(dir, "gone"), "", "no such file"},
		{"/add " + filepath.Join(dir, "binary"), "", "not text in UTF-8"},
		{"/add " + filepath.Join(dir, "latin1"), "", "not text in UTF-8"},
		{"/add " + filepath.Join(dir, "large"), "", "larger than 1,048,576 bytes"},
		{"/add " + file, "main.go: ", ""},
		{"/add " + file + ":95-99", "", "it has only 92 lines"},
		{"/add " + file + ":3-2", "", "begins with its smaller number, such as 2-3"},
		{"/add " + filepath.Join(dir, "gone") + ":1-2", "", "no such file"},
		{"/add " + filepath.Join(dir, "binary") + ":1-2", "", "not text in UTF-8"},
		{"/add " + filepath.Join(dir, "large") + ":1-2", "", "larger than 1,048,576 bytes"},
		{"/files", "whole     m4  " + file, ""},
		{"what is in it?", "", ""},
		{"/why", "below the threshold", ""},
		{"/recall", "", "needs an id"},
		{"/recall 12345678", "", "nothing was removed"},
		{"/dropped", "", "no compaction has removed messages"},
		{"/model", "smol, window 8,192 tokens (test)", ""},
		{"/model other", "", "cannot list its models"},
		{"/compact remember f", "nothing was compacted: no message can be made smaller", ""},
		{"/undo", "", "no compaction is there to undo"},
		{"/WHY", "newest check", ""},
		{"/?", "/compact [NOTE]", ""},
		{"/new test", "", "session test is this one"},
		{"/sessions gone", "", "no session gone is there; /sessions lists them"},
		{"/sessions ../x", "", "plain file name"},
		{"/add ~/no such file", "", "no such file"},
		{"is it in @missing.go:1-9?", "there is no file missing.go:1-9, so none is added", ""},
		{"is it in @missing.go or @" + dir + " or @nobody?", "there is no file missing.go, so none is added\n" + dir + " is a folder", ""},
		{"/exit", "", ErrQuit.Error()},
		{"/quit", "", ErrQuit.Error()},
	} {
		told, err := x.does(t, test.line)
		if !strings.Contains(told, test.told) {
			t.Errorf("%s tells %q, want %q", test.line, told, test.told)
		}
		if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
			t.Errorf("%s: err = %v, want %q", test.line, err, test.err)
		}
		x.checkDisk(t)
	}
	if got := x.said()[0]; got != "user: /etc/hosts is what?" {
		t.Errorf("two slashes send %q", got)
	}
}

func TestUndoneIsAsItWas(t *testing.T) {
	x := open(t, 8192, says(strings.Repeat("an answer of some length ", 20)))
	for range 10 {
		if _, err := x.does(t, strings.Repeat("a question of some length ", 20)); err != nil {
			t.Fatal(err)
		}
	}
	before := strings.Join(x.said(), "\n")
	for _, line := range []string{"/compact", "/undo"} {
		if told, err := x.does(t, line); err != nil {
			t.Fatal(told, err)
		}
		if told, err := x.does(t, "/why"); err != nil || !strings.Contains(told, map[string]string{"/compact": "picked level layers", "/undo": "round 1 was taken back"}[line]) {
			t.Errorf("/why after %s tells %q, %v", line, told, err)
		}
		if same := strings.Join(x.said(), "\n") == before; same != (line == "/undo") {
			t.Errorf("after %s the conversation is as it was: %v", line, same)
		}
		x.checkDisk(t)
	}
	if s := x.Status(); s.Freed != 0 || s.Cooldown != 2 {
		t.Errorf("status %+v", s)
	}
	if told, err := x.does(t, "/compact"); err != nil || len(x.texts(Compacted)) != 1 {
		t.Errorf("told %q, %v", told, err)
	}
}

func TestChangeOfModel(t *testing.T) {
	x := open(t, 8192, says("fine"))
	x.o.List = func(context.Context) ([]string, error) { return []string{"smol", "tall"}, nil }
	x.o.Find = func(_ context.Context, name string) (Model, error) {
		if name != "tall" {
			return Model{}, model.ErrNoModel
		}
		return Model{Name: name, Window: 2048, Source: "elsewhere", Warning: "it is small", NoTools: true}, nil
	}
	if told, err := x.does(t, "/model"); err != nil || !strings.Contains(told, "* smol\n  tall") {
		t.Errorf("told %q, %v", told, err)
	}
	if _, err := x.does(t, "/model wide"); !errors.Is(err, model.ErrNoModel) || x.Status().Model.Name != "smol" {
		t.Errorf("err = %v, model %s", err, x.Status().Model.Name)
	}
	told, err := x.does(t, "/model tall")
	if s := x.Status(); err != nil || !strings.Contains(told, "continuing with tall, window 2,048 tokens (elsewhere)\nit is small") || s.Usage.Window != 2048 || s.Usage.Tools != 0 {
		t.Errorf("told %q, %v, %+v", told, err, s)
	}
	if _, err := x.does(t, "hello"); err != nil || x.chat.asked[0].Model != "tall" || x.chat.asked[0].Window != 2048 {
		t.Errorf("asked %+v, %v", x.chat.asked, err)
	}
}

func TestPlain(t *testing.T) {
	x := open(t, 8192, says("an \x1b[31manswer"), fails(model.ErrUnreachable))
	x.model.Warning = "the window is small"
	var out, notes bytes.Buffer
	err := Plain(t.Context(), x.Talk, strings.NewReader("hello\r\n\nagain\n/bogus\n/model"), &out, &notes, false, true)
	if err == nil || err.Error() != "2 of 5 lines failed, as reported above" {
		t.Errorf("err = %v", err)
	}
	if got, want := out.String(), "an [31manswer\n"; got != want {
		t.Errorf("out is %q, want %q", got, want)
	}
	for _, want := range []string{"warning: the window is small\n", "server is not reachable; /retry asks again\n", "no command /bogus", "smol, window"} {
		if !strings.Contains(notes.String(), want) {
			t.Errorf("no %q in the notes:\n%s", want, notes.String())
		}
	}
}

func TestPlainEnds(t *testing.T) {
	for in, want := range map[string]string{
		"":                               "",
		"/quit\nhello\n":                 "",
		strings.Repeat("x", maxLine+100): "longer than 1,048,576 bytes",
	} {
		x := open(t, 8192, says("fine"))
		var out bytes.Buffer
		err := Plain(t.Context(), x.Talk, strings.NewReader(in), &out, &out, true, true)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("err = %v, want %q", err, want)
		}
		screen := "> \n" // the shell's prompt follows on a line of its own
		if strings.HasPrefix(in, "/quit") {
			screen = "> " // after it, the terminal shows the Enter
		}
		if len(x.chat.asked) > 0 || out.String() != screen {
			t.Errorf("asked %d times, out is %q, want %q", len(x.chat.asked), out.String(), screen)
		}
	}
}

// The first path that a text names is not that of the file.
func TestFilesHaveTheirOwnPaths(t *testing.T) {
	text := "package z\n\nimport \"a/b/first.go\"\n\n// see a/other.go\n" + strings.Repeat("func F() {}\n", 40)
	attached := chat.NewText(chat.User, files.AttachText("./sub/z \"q\".go", text))
	attached.Machine = true
	outlined := attached
	outlined.State = chat.Outlined
	outlined.Parts = []chat.Part{{Kind: chat.Text, Text: files.AttachText("./sub/z \"q\".go", "a/b/first.go is imported, see a/other.go")}}
	small := chat.NewText(chat.User, files.AttachText("small.txt", "x"))
	small.Machine = true
	call := chat.Part{Kind: chat.Call, ID: "c", Name: "read_file", Args: `{"path":"./sub/../y.go"}`}
	read := chat.Part{Kind: chat.Call, ID: "d", Name: "read_file", Args: `{"path":"./sub/y.go"}`}
	for i, c := range []struct {
		m    chat.Message
		call *chat.Part
		want string
	}{
		{attached, nil, `sub/z "q".go`}, {outlined, nil, `sub/z "q".go`}, {small, nil, "small.txt"},
		{chat.NewResult("d", text), &read, "sub/y.go"}, {chat.NewResult("d", "short"), &read, "sub/y.go"},
		{chat.NewResult("c", "path leads out"), &call, ""}, {chat.NewText(chat.User, "see a/b.go"), nil, ""},
	} {
		if c.want == "" {
			c.m.Parts[0].Error = true
		}
		var got []string
		for path, size := range filesInMessage(c.m, c.call) {
			got = append(got, path)
			if size == 0 || path == "small.txt" && size != len("x\n") {
				t.Errorf("%d: %s has %d bytes", i, path, size)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%d: the files are %q, want %q", i, got, c.want)
		}
	}
}

func TestWhyHasNoColourCodes(t *testing.T) {
	x := reopen(t, Options{Dir: filepath.Join(t.TempDir(), ".compact"), Name: "test", Model: Model{Name: "smol", Window: 2048}, Screen: screen.Screen{Width: 80, Colour: true},
		Config: tiercompact.Config{Preset: tiercompact.Default}}, says(prose(600)))
	for range 6 {
		x.Do(t.Context(), "tell me "+prose(100))
	}
	if err := x.Do(t.Context(), "/why"); err != nil {
		t.Fatal(err)
	}
	why := x.texts(Noted)[len(x.texts(Noted))-1]
	if !strings.Contains(why, "picked level") || strings.Contains(why, "\x1b") || strings.Contains(why, "[90m") {
		t.Errorf("/why is %q", why)
	}
	for _, e := range x.events {
		if e.Kind == Compacted {
			if lines := strings.Join(roundLines(x.o.Screen, e.Report), "\n"); strings.Contains(lines, "\x1b") || !strings.Contains(lines, " tokens freed") {
				t.Errorf("a round is %q", lines)
			}
		}
	}
}

func TestAnExtractSaysWhy(t *testing.T) {
	r := tiercompact.Report{Before: 900, After: 500, Applied: []tiercompact.Applied{
		{Level: levels.Emergency, Before: 900, After: 500, Engine: levels.FallbackExtractive, Why: "the server has no llama3.2:3b"},
		{Level: levels.HardName, Before: 900, After: 900, Engine: "lexical", Why: "no embedding model"},
		{Level: levels.LayerName, Before: 900, After: 900, Engine: levels.FallbackExtractive, Why: "it is a refusal",
			Attempts: []tiercompact.Attempt{{Engine: "ollama/x", Reason: "it is a refusal", Then: levels.FallbackExtractive}}},
	}}
	lines := roundLines(screen.Screen{}, r)
	if want := "emergency −400 tokens · extractive · no model wrote it: the server has no llama3.2:3b"; !slices.Contains(lines, want) || !slices.Contains(lines, "hard −0 tokens · lexical") {
		t.Errorf("%q, want %q", lines, want)
	}
	if n := strings.Count(strings.Join(lines, "\n"), "it is a refusal"); n != 1 {
		t.Errorf("the reason of a failed attempt is there %d times: %q", n, lines)
	}
	if last := lines[len(lines)-1]; !strings.HasSuffix(last, "of the window, 400 tokens freed") {
		t.Errorf("%q", last)
	}
}

func TestTheDocumentHasEachCommand(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "docs", "CHAT.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range commands() {
		if !strings.Contains(string(raw), "`/"+c.name) {
			t.Errorf("docs/CHAT.md does not have /%s", c.name)
		}
	}
	for _, k := range filetools.Kinds() {
		if !strings.Contains(string(raw), "`"+string(k)+"`") {
			t.Errorf("docs/CHAT.md does not have %s", k)
		}
	}
}
