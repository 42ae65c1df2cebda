//go:build unix

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/fault"
)

// A terminal is one of tmux, with a command in it.
type terminal struct {
	t      *testing.T
	socket string
	dir    string
	screen bytes.Buffer // what was recorded
}

// newTerminal returns the tmux of a test. Nothing runs in it yet.
func newTerminal(t *testing.T) *terminal {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed; the tests of the chat's screen need it: apt-get install tmux")
	}
	x := &terminal{t: t, socket: fmt.Sprintf("tiercompact-%d", os.Getpid()), dir: t.TempDir()}
	t.Cleanup(func() { exec.Command("tmux", "-L", x.socket, "kill-server").Run() })
	return x
}

func (x *terminal) tmux(args ...string) string {
	x.t.Helper()
	cmd := exec.Command("tmux", append([]string{"-u", "-L", x.socket, "-f", "/dev/null"}, args...)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "NO_COLOR=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		x.t.Fatalf("tmux %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// run runs a command on a screen of 80x24, and records that it did.
func (x *terminal) run(command string) {
	x.t.Helper()
	fmt.Fprintf(&x.screen, "$ %s\n\n", command)
	x.tmux("new-session", "-d", "-x", "80", "-y", "24", "-c", x.dir, "exec "+command)
}

func (x *terminal) keys(names ...string) { x.tmux(append([]string{"send-keys"}, names...)...) }

func (x *terminal) typed(line string) {
	x.t.Helper()
	x.tmux("send-keys", "-l", line)
	x.keys("Enter")
}

// paste pastes text the way a terminal does, in brackets.
func (x *terminal) paste(text string) {
	x.t.Helper()
	file := filepath.Join(x.t.TempDir(), "paste")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		x.t.Fatal(err)
	}
	x.tmux("load-buffer", file)
	x.tmux("paste-buffer", "-p", "-d")
}

func (x *terminal) shown() string {
	x.t.Helper()
	lines := strings.Split(strings.TrimRight(x.tmux("capture-pane", "-p"), "\n"), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " ")
	}
	return strings.Join(lines, "\n")
}

// until waits for a text to be shown, and for the program to be idle.
func (x *terminal) until(text string) string {
	x.t.Helper()
	var now string
	for range 500 {
		now = x.shown()
		if strings.Contains(now, text) && !strings.Contains(now, "Ctrl+C stops") {
			return now
		}
		time.Sleep(20 * time.Millisecond)
	}
	x.t.Fatalf("%q is not shown, but:\n%s", text, now)
	return ""
}

// record adds what is shown to the recording.
func (x *terminal) record(what string) {
	x.t.Helper()
	const rule = "--------------------------------------------------------------------------------"
	fmt.Fprintf(&x.screen, "%s:\n%s\n%s\n%s\n\n", what, rule, x.shown(), rule)
}

// kill ends the program as a crash would.
func (x *terminal) kill() {
	x.t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(x.tmux("display-message", "-p", "#{pane_pid}")))
	if err != nil {
		x.t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		x.t.Fatal(err)
	}
	x.gone()
}

// gone waits for the program to have ended.
func (x *terminal) gone() {
	x.t.Helper()
	for range 500 {
		if exec.Command("tmux", "-L", x.socket, "has-session").Run() != nil {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	x.t.Fatal("the program goes on")
}

// session returns the session file, and what is in it.
func (x *terminal) session(name string) ([]byte, chat.Transcript) {
	x.t.Helper()
	path := filepath.Join(x.dir, ".compact", "sessions", name+".jsonl")
	raw, err := os.ReadFile(path)
	if err != nil {
		x.t.Fatal(err)
	}
	s, err := archive.ReadSession(path)
	if err != nil {
		x.t.Fatal(err)
	}
	return raw, s.Messages
}

// lastTyped returns the last message that the user typed.
func lastTyped(t chat.Transcript) string {
	text := ""
	for _, m := range t {
		if m.Typed() {
			text = m.Text()
		}
	}
	return text
}

// answerer answers with what was asked last; what begins with "wait" it never
// answers, until the test ends.
func answerer(ended <-chan struct{}) func(prompt string) string {
	return func(prompt string) string {
		lines := strings.Split(strings.TrimSpace(prompt), "\n")
		last := lines[len(lines)-1]
		if strings.HasPrefix(last, "wait") {
			<-ended
		}
		if len(last) > 60 {
			last = last[:60]
		}
		return "You said: " + last + "\nIt is noted, and will be kept in mind for the rest of the session."
	}
}

// goFile is a file of some functions.
func goFile(n int) string {
	var b strings.Builder
	b.WriteString("package shop\n\nimport \"fmt\"\n")
	for i := range n {
		fmt.Fprintf(&b, "\n// Price%d returns the price of n items of kind %d.\nfunc Price%d(n int) (int, error) {\n\tif n < 0 {\n\t\treturn 0, fmt.Errorf(\"no price for %%d items\", n)\n\t}\n\treturn %d * n, nil\n}\n", i, i, i, i+7)
	}
	return b.String()
}

func TestChatOnATerminal(t *testing.T) {
	x := newTerminal(t)
	ended := make(chan struct{})
	server := fault.Fake(t, fault.Model{Name: "llama3.2:1b", Capabilities: []string{fault.Completion}, Window: 8192})
	server.Answer = answerer(ended)
	t.Cleanup(func() { close(ended) }) // before the server is closed
	t.Setenv("OLLAMA_HOST", server.URL)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	if err := os.WriteFile(filepath.Join(x.dir, "price.go"), []byte(goFile(24)), 0o600); err != nil {
		t.Fatal(err)
	}

	x.run("tiercompact chat llama3.2:1b --window 4096 --preset default --session demo")
	x.until("session demo with llama3.2:1b")
	x.record("A new chat")

	short, long := strings.Repeat("abcdefghi ", 20), strings.Repeat("ABCDEFGHI ", 20)+"!"
	x.paste(short)
	if s := x.until("abcdefghi"); strings.Contains(s, "LongText") {
		t.Errorf("200 characters are a placeholder:\n%s", s)
	}
	x.record("A paste of 200 characters shows as it is")
	x.keys("Enter")
	x.until("You said: abcdefghi")
	if _, m := x.session("demo"); lastTyped(m) != short {
		t.Errorf("sent was %q, not the paste", lastTyped(m))
	}

	x.keys("s", "e", "e", "Space")
	x.paste(long)
	x.until("> see [LongText#1]")
	x.keys("Space")
	x.paste("first line\nsecond line " + long)
	x.until("> see [LongText#1] [LongText#2]")
	x.record("Two longer pastes are placeholders, each its own")
	x.keys("Enter")
	x.until("You said: second line")
	if _, m := x.session("demo"); lastTyped(m) != "see "+long+" first line\nsecond line "+long {
		t.Errorf("sent was %q, not both pastes", lastTyped(m))
	}

	x.typed("/add price.go")
	x.until("price.go: ")
	for _, text := range []string{"what is Price3?", "and Price4?"} {
		x.typed(text)
		x.until("You said: " + text)
	}
	x.fill("soft", 40)
	x.record("Soft: a file that nothing refers to any more is an outline")
	x.typed("/files")
	x.until("bytes  outlined")
	x.typed("/why")
	x.until("picked level soft")
	x.record("/files and /why")
	x.fill("hard", 40)
	x.record("Hard: what matters least for the question at hand goes")
	x.paste(strings.Repeat("all that is left of the window is filled by this text. ", 168))
	x.keys("Enter")
	x.until("↓ emergency")
	x.until("You said: ")
	x.record("Emergency: a long paste fills the window, and a summary takes the place of the rest")

	_, before := x.session("demo")
	x.typed("/undo")
	x.until("is taken back")
	_, undone := x.session("demo")
	if len(undone) <= len(before) {
		t.Errorf("%d messages after /undo, %d before", len(undone), len(before))
	}
	x.record("/undo takes it back")

	x.typed("wait for me")
	for range 500 {
		if strings.Contains(x.shown(), "waiting for the answer") {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	raw, stood := x.session("demo")
	if lastTyped(stood) != "wait for me" {
		t.Errorf("on disk the last message is %q", lastTyped(stood))
	}
	x.kill()
	fmt.Fprint(&x.screen, "Then the chat is killed (kill -9) while it waits for an answer.\n\n")
	if now, _ := x.session("demo"); !bytes.Equal(now, raw) {
		t.Error("the kill changed the session file")
	}

	x.run("tiercompact chat --resume --preset default --window 4096")
	x.until("session demo goes on; /retry")
	x.record("It goes on where it was")
	now, again := x.session("demo")
	if !bytes.Equal(now, raw) || !reflect.DeepEqual(again, stood) {
		t.Error("resuming changed the session")
	}
	second := exec.Command("tiercompact", "chat", "--resume=demo", "--plain")
	second.Dir = x.dir
	if out, err := second.CombinedOutput(); err == nil || !strings.Contains(string(out), "in use by another process") {
		t.Errorf("a second process: %v, %s", err, out)
	}
	x.typed("thank you")
	x.until("You said: thank you")
	if now, _ := x.session("demo"); !bytes.HasPrefix(now, raw) {
		t.Error("the session file does not go on where it ended")
	}
	x.keys("C-c")
	x.until("Ctrl+C once more leaves")
	x.keys("C-c")
	x.gone()
	golden(t, filepath.Join("..", "..", "docs", "chat.txt"), append([]byte(recordedBy), x.screen.Bytes()...))
}

const recordedBy = `A chat, as it was recorded by

    go test ./cmd/tiercompact -run TestChatOnATerminal -update

The model is a scripted server that repeats what it was told; the screen has 80
columns and 24 lines, and no colours.

`

// fill sends messages until a level was at work.
func (x *terminal) fill(level string, most int) {
	x.t.Helper()
	for i := range most {
		text := fmt.Sprintf("%s %d: %s", level, i, strings.Repeat("the harbour, its ships and their cargo ", 8))
		x.typed(text)
		if s := x.until("You said: " + fmt.Sprintf("%s %d:", level, i)); strings.Contains(s, "↓ "+level) {
			return
		}
	}
	x.t.Fatalf("%d messages, and %s was not at work:\n%s", most, level, x.shown())
}
