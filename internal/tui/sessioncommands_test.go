package tui

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/filetools"
	"github.com/tiercompact/tiercompact/internal/model"
)

// do runs a line that must succeed, and returns the notes that it emitted.
func (x *opened) do(t *testing.T, line string) string {
	t.Helper()
	n := len(x.texts(Noted))
	if err := x.Do(t.Context(), line); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return strings.Join(x.texts(Noted)[n:], "\n")
}

func TestAnotherSessionContinues(t *testing.T) {
	x := open(t, 4096, says("one"), says("two"), says("three"), says("four"))
	x.do(t, "first")
	x.do(t, "/system be a pirate")
	x.do(t, "/new second")
	if x.Name() != "second" || len(x.said()) != 0 || x.systemPrompt() != defaultSystem {
		t.Fatalf("after /new: %s, %q, %q", x.Name(), x.said(), x.systemPrompt())
	}
	x.do(t, "hello")
	equal(t, x.said(), []string{"user: hello", "assistant: two"})
	x.checkDisk(t)
	list := x.do(t, "/sessions")
	if !strings.Contains(list, "* second  20") || !strings.Contains(list, "  test  20") {
		t.Errorf("the list is\n%s", list)
	}
	x.do(t, "/sessions test")
	if x.Name() != "test" || x.systemPrompt() != "be a pirate" {
		t.Errorf("after /sessions: %s, %q", x.Name(), x.systemPrompt())
	}
	x.do(t, "again")
	equal(t, x.said(), []string{"user: first", "assistant: one", "user: again", "assistant: three"})
	x.checkDisk(t)
	x.do(t, "/clear")
	if x.Name() == "test" || len(x.said()) != 0 || x.systemPrompt() != "be a pirate" {
		t.Errorf("after /clear: %s, %q, %q", x.Name(), x.said(), x.systemPrompt())
	}
	for line, want := range map[string]string{
		"/sessions nowhere": "nowhere", "/sessions ../x": "plain file name", "/new test": "/sessions test continues it", "/sessions " + x.Name(): "is this one",
	} {
		name := x.Name()
		if err := x.Do(t.Context(), line); err == nil || !strings.Contains(err.Error(), want) || x.Name() != name {
			t.Errorf("%s: %v; the session is %s", line, err, x.Name())
		}
	}
	x.do(t, "still here")
	x.checkDisk(t)
}

// A session that is left is closed: another process can open it at once, and the tools
// of the model still work.
func TestASessionThatIsLeftIsClosed(t *testing.T) {
	folder, err := filetools.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	x := reopen(t, Options{Dir: filepath.Join(t.TempDir(), ".compact"), Name: "test", Model: Model{Name: "smol", Window: 4096}, Folder: folder, Permitted: filetools.Kinds()},
		calls(chat.Part{Name: "list_files", Args: "{}"}), says("one"))
	x.do(t, "/new second")
	x.do(t, "list them")
	if got := x.said(); got[2] != "tool: the folder is empty" {
		t.Errorf("said was %q", got)
	}
	file, _, err := archive.OpenSession(sessionPath(x.o.Dir, "test"))
	if err != nil {
		t.Fatal(err)
	}
	file.Close()
	if err := errors.Join(x.Close(), nil); err != nil {
		t.Error(err)
	}
	if _, err := folder.Run(t.Context(), filetools.Call{Kind: filetools.List, Path: "."}, 1000); err == nil {
		t.Error("the folder is open after the chat")
	}
}

func TestTwoChatsInOneFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), ".compact")
	a := reopen(t, Options{Dir: dir, Name: "a", Model: Model{Name: "smol", Window: 4096}}, says("to a"))
	b := reopen(t, Options{Dir: dir, Name: "b", Model: Model{Name: "smol", Window: 4096}}, says("to b"))
	for range 2 {
		a.do(t, "hello")
		b.do(t, "hello")
	}
	for _, x := range []*opened{a, b} {
		x.do(t, "/compact")
		x.checkDisk(t)
	}
	for _, resume := range []bool{true, false} {
		_, err := Open(t.Context(), Options{Dir: dir, Name: "a", Resume: resume, Chat: a.chat, Model: Model{Name: "smol", Window: 4096}})
		if err == nil || resume && !errors.Is(err, archive.ErrLocked) {
			t.Errorf("session a was opened twice (resume %v): %v", resume, err)
		}
	}
	if err := b.Do(t.Context(), "/sessions a"); !errors.Is(err, archive.ErrLocked) || b.Name() != "b" {
		t.Errorf("session a is open twice: %v", err)
	}
}

func TestSaveWritesWhatWasSaid(t *testing.T) {
	x := open(t, 4096, calls(chat.Part{Name: "recall", Args: `{"text":"x"}`}), says("a `b`"))
	x.do(t, "hello")
	x.do(t, "/compact")
	path := filepath.Join(t.TempDir(), "chat.md")
	x.do(t, "/save "+path)
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"# Session test\n\nwith smol\n", "## System prompt\n\nYou are", "## You\n\nhello\n", "## Model\n\ncalls `recall` with `{\"text\":\"x\"}`\n", "## Result\n\n```\n", "## Model\n\na `b`\n"} {
		if !strings.Contains(string(got), want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if err := x.Do(t.Context(), "/save "+path); err == nil || !strings.Contains(err.Error(), "there already") {
		t.Errorf("a file was replaced: %v", err)
	}
	if err := x.Do(t.Context(), "/save"); err == nil {
		t.Error("saved without a name")
	}
	if got := fenced("a\n```\nb"); got != "````\na\n```\nb\n````" {
		t.Errorf("fenced is %q", got)
	}
}

func TestTemperatureIsOfTheNextAnswer(t *testing.T) {
	x := open(t, 4096, says("one"))
	x.do(t, "hello")
	x.do(t, "/temperature 0.3")
	x.do(t, "hello")
	x.do(t, "/temperature off")
	x.do(t, "hello")
	for i, want := range []float64{-1, 0.3, -1} {
		got := -1.0
		if s := x.chat.asked[i].Sampling; s != nil {
			got = s.Temperature
		}
		if got != want {
			t.Errorf("request %d has temperature %g, want %g", i, got, want)
		}
	}
	for _, bad := range []string{"hot", "-1", "2.1", "NaN"} {
		if err := x.Do(t.Context(), "/temperature "+bad); err == nil {
			t.Errorf("%s is a temperature", bad)
		}
	}
}

func TestSystemPromptIsReplaced(t *testing.T) {
	x := open(t, 4096, says("one"))
	if got := x.do(t, "/system"); got != "the system prompt is: "+defaultSystem {
		t.Errorf("%q", got)
	}
	before := x.Status().Usage.System
	x.do(t, "/system "+strings.Repeat("be a pirate ", 30))
	x.do(t, "hello")
	if got := x.chat.asked[0].Messages[0].Text(); !strings.HasPrefix(got, "be a pirate") || !strings.Contains(got, "recall") {
		t.Errorf("sent was %q", got)
	}
	if after := x.Status().Usage.System; after <= before {
		t.Errorf("it has %d tokens, the shorter one had %d", after, before)
	}
	x.checkDisk(t)
}

func TestCopyTakesTheAnswerOrItsCode(t *testing.T) {
	answer := "Run:\n\n1. first\n   ```sh\n   make\n     it\n   ```\n\n~~~\nx\n~~~\n"
	x := open(t, 4096, says(answer))
	if err := x.Do(t.Context(), "/copy"); err == nil {
		t.Error("copied before there was an answer")
	}
	x.do(t, "hello")
	var clipboard []string
	x.o.Clipboard = func(text string) error { clipboard = append(clipboard, text); return nil }
	x.do(t, "/copy")
	x.do(t, "/copy 1")
	x.do(t, "/copy 2")
	equal(t, clipboard, []string{answer, "make\n  it\n", "x\n"})
	for _, bad := range []string{"0", "3", "x"} {
		if err := x.Do(t.Context(), "/copy "+bad); err == nil || !strings.Contains(err.Error(), "2 blocks") {
			t.Errorf("/copy %s: %v", bad, err)
		}
	}
	x.o.Clipboard = func(string) error { return errors.New("there is no display") }
	if note := x.do(t, "/copy 2"); !strings.Contains(note, "OSC 52") {
		t.Errorf("%q", note)
	}
	equal(t, x.texts(Copied), []string{"x\n"})

	var out bytes.Buffer
	if err := Plain(t.Context(), x.Talk, strings.NewReader("/copy 2\n"), &out, &bytes.Buffer{}, false, true); err != nil || !strings.Contains(out.String(), "\x1b]52;c;eAo=\a") {
		t.Errorf("on a terminal %q, %v", out.String(), err)
	}
}

func TestFilesOfAMessageAreAdded(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("notes.txt", []byte("the harbour has two piers\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	x := open(t, 4096, says("two"))
	x.do(t, "how many piers are in @notes.txt? ask @harbourmaster, or mail@example.com @")
	if got := x.said(); len(got) != 3 || !strings.Contains(got[0], "the harbour has two piers") || !strings.HasPrefix(got[1], "user: how many piers are in @notes.txt?") {
		t.Errorf("said was %q", got)
	}
	if err := os.WriteFile("binary", []byte{0, 1}, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := x.Do(t.Context(), "what is @binary"); err == nil || len(x.said()) != 3 {
		t.Errorf("%v, and said was %q", err, x.said())
	}
}

func TestSpeedIsThatOfTheServer(t *testing.T) {
	for _, c := range []struct {
		answer model.Answer
		want   string
	}{
		{model.Answer{Tokens: 40, PromptTime: time.Second, Time: 2 * time.Second}, "answer: 40 tokens in 3.0 s, 20.0/s"},
		{model.Answer{Tokens: 1}, "answer: 1 token in 5.0 s"},
		{model.Answer{Tokens: 9, Time: time.Millisecond}, "answer: 9 tokens in under 0.1 s"},
		{model.Answer{}, "answer: 5.0 s"},
	} {
		if got := speedOf(c.answer, 5*time.Second).String(); got != c.want {
			t.Errorf("%+v is %q, want %q", c.answer, got, c.want)
		}
	}
	x := open(t, 4096, func(ctx context.Context, r model.Request, each func(model.Delta) error) (model.Answer, error) {
		return model.Answer{Message: chat.NewText(chat.Assistant, "x"), Tokens: 7, Time: time.Second}, nil
	})
	x.do(t, "hello")
	if got := x.Status().Speed.String(); got != "answer: 7 tokens in 1.0 s, 7.0/s" {
		t.Errorf("the status has %q", got)
	}
}
