//go:build unix

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tiercompact/tiercompact/internal/fault"
)

const harbour = "package harbour\n\n// Piers returns the number of piers.\nfunc Piers() int { return 2 }\n"

// harbourAnswer is an answer in Markdown.
const harbourAnswer = "The harbour has **two** piers, as `Piers` says:\n\n" +
	"```go\nfor i := range harbour.Piers() {\n\tfmt.Println(\"pier\", i) // 漢字\n}\n```\n\n" +
	"1. It is *constant*.\n2. No other file names it.\n\n| pier | ships |\n|---|---|\n| north | 12 |\n| south | 3 |\n"

// harbourServer is a server whose model reads harbour.go to answer a question about
// piers, and a file outside of the folder for one about secrets. Answers to messages
// that begin with "wait" come after a send to the channel.
func harbourServer(t *testing.T) (server *fault.Server, write chan struct{}) {
	t.Helper()
	server = fault.Fake(t,
		fault.Model{Name: "llama3.2:1b", Capabilities: []string{fault.Completion, fault.Tools}, Window: 8192},
		fault.Model{Name: "writer:3b", Capabilities: []string{fault.Completion}, Window: 8192})
	ended := make(chan struct{})
	write = make(chan struct{})
	server.Reads = func(last string) string {
		switch {
		case strings.HasPrefix(last, "how many piers"):
			return "harbour.go"
		case strings.HasPrefix(last, "what is the secret"):
			return "../secret.txt"
		}
		return ""
	}
	said := answerer(ended)
	server.Answer = func(prompt string) string {
		text := strings.TrimSpace(prompt)
		last := text[strings.LastIndex(text, "\n")+1:]
		switch {
		case strings.HasPrefix(last, "wait"):
			select {
			case <-write:
			case <-ended:
			}
			return "You said: " + last + ", and so it was."
		case strings.HasPrefix(last, "func Piers"):
			return harbourAnswer
		}
		return said(prompt)
	}
	t.Cleanup(func() { close(ended) })
	t.Setenv("OLLAMA_HOST", server.URL)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("DISPLAY", "") // the clipboard is that of the terminal
	t.Setenv("WAYLAND_DISPLAY", "")
	return server, write
}

// The model reads a file after a question, and its answer is drawn as Markdown.
func TestChatReadsAFileOfTheFolder(t *testing.T) {
	x := newTerminal(t)
	x.colours = true
	server, write := harbourServer(t)
	x.server = server.URL
	outer := x.dir
	x.dir = filepath.Join(outer, "project")
	if err := os.Mkdir(x.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{filepath.Join(x.dir, "harbour.go"): harbour, filepath.Join(outer, "secret.txt"): "the secret of the outer folder"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// The shell keeps the terminal open after the chat.
	x.runAs("tiercompact chat --window 8192 --session demo; echo the shell again; exec sleep 1000")
	x.while("> llama3.2:1b")
	x.keys("Down")
	x.while("> writer:3b")
	x.keys("Up")
	x.while("> llama3.2:1b")
	x.keys("Enter")
	x.until("session demo with llama3.2:1b")
	x.tmux("set-option", "-g", "set-clipboard", "on")

	x.typed("how many piers has it?")
	x.while("llama3.2:1b wants to read harbour.go")
	x.while("y: yes, until the chat ends")
	x.typed("y")
	x.until("│ 3")
	picture := filepath.Join("..", "..", "docs", "chat-tools.svg")
	kept, _ := os.ReadFile(picture)
	picturedNow := func() string { return string(screenPicture(folderless(x.painted()))) }
	s := x.settled(func(string) bool { return picturedNow() == string(kept) })
	for _, want := range []string{"The harbour has two piers, as Piers says:", "  for i := range harbour.Piers() {", "      fmt.Println(\"pier\", i) // 漢字", "1. It is constant.", "north │ 12"} {
		if !strings.Contains(s, want) {
			t.Errorf("no %q in\n%s", want, s)
		}
	}
	if strings.Contains(s, "```") {
		t.Errorf("a fence is shown:\n%s", s)
	}
	golden(t, picture, []byte(picturedNow()))

	x.typed("/copy 1")
	x.until("block 1 of code was sent to the terminal's clipboard")
	x.inClipboard("for i := range harbour.Piers() {\n\tfmt.Println(\"pier\", i) // 漢字\n}\n")

	x.typed("what is the secret?")
	if s := x.until("leads out of the folder"); strings.Contains(s, "wants to read ../") {
		t.Errorf("a path that leads out was asked for:\n%s", s)
	}

	x.typed("wait, one")
	x.while("waiting for the answer")
	x.typed("wait, two")
	x.while("your message waits")
	x.typed("wait, three")
	x.while("2 messages wait")
	for _, n := range []string{"one", "two", "three"} {
		write <- struct{}{}
		x.while("You said: wait, " + n)
	}
	x.until("You said: wait, three")
	x.tmux("send-keys", "-l", "/sess")
	x.keys("Tab")
	x.while("> /sessions")
	x.keys("Enter")
	x.until("* demo")
	other := exec.Command("tiercompact", "chat", "--plain", "--session", "other", "llama3.2:1b")
	other.Dir, other.Stdin = x.dir, strings.NewReader("hello\n")
	if out, err := other.CombinedOutput(); err != nil || !strings.Contains(string(out), "You said: hello") {
		t.Errorf("a second chat in the folder: %v, %s", err, out)
	}
	x.typed("/sessions other")
	x.until("session other continues: other with llama3.2:1b")
	x.typed("/save chat.md")
	x.until("chat.md: ")
	if saved, err := os.ReadFile(filepath.Join(x.dir, "chat.md")); err != nil || !strings.Contains(string(saved), "## You\n\nhello\n") {
		t.Errorf("saved was %q, %v", saved, err)
	}
	x.typed("thank you")
	x.until("You said: thank you")
	x.keys("C-d")
	x.while("the shell again")
	if s := x.scrollback(); !strings.Contains(s, "You said: thank you") || !strings.Contains(s, "session other is kept") {
		t.Errorf("in the terminal remains\n%s", s)
	}
	for i, a := range server.Asked() {
		if a.Tokens > 8192 {
			t.Errorf("request %d has %d tokens", i, a.Tokens)
		}
	}
}

// inClipboard waits until the terminal's clipboard has a text: the program sends it on a
// way of its own, and may draw what it has done before.
func (x *terminal) inClipboard(want string) {
	x.t.Helper()
	for end := time.Now().Add(hang); ; time.Sleep(20 * time.Millisecond) {
		got, err := exec.Command("tmux", "-L", x.socket, "show-buffer").Output()
		if err == nil && strings.TrimSpace(string(got)) == strings.TrimSpace(want) {
			return
		}
		if time.Now().After(end) {
			x.t.Fatalf("in the clipboard is %q, %v", got, err)
		}
	}
}

// runAs runs a line of a shell, on a screen of 100x40.
func (x *terminal) runAs(line string) {
	x.t.Helper()
	x.newServer()
	x.tmux("new-session", "-d", "-x", "100", "-y", "40", "-c", x.dir, line)
}

// folderless replaces the folder of a test, which may take lines, in a screen that is
// kept.
func folderless(screen string) string {
	before, rest, ok := strings.Cut(screen, "read files in ")
	if at := strings.Index(rest, "\n  y: yes"); ok && at >= 0 {
		return before + "read files in ~/project?" + rest[at:]
	}
	return screen
}
