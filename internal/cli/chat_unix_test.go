//go:build unix

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/fault"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/trace"
)

// A terminal is a tmux terminal that runs a command.
type terminal struct {
	t      *testing.T
	socket string // of the running server
	dir    string
	screen bytes.Buffer // the recording

	recorded string // the recording as it was

	pictured string // the screen that the documents show, with its colours
	colours  bool   // the chat has colours
	server   string // the address of the model's server, which differs each time
}

// newTerminal returns the tmux of a test. It runs nothing yet.
func newTerminal(t *testing.T) *terminal {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed; the tests of the chat's screen need it: apt-get install tmux")
	}
	return &terminal{t: t, dir: t.TempDir()}
}

// servers counts the servers of tmux.
var servers atomic.Int32

// newServer starts each program in a server of its own: a server ends with its last
// program, and refuses for a moment what comes then.
func (x *terminal) newServer() {
	socket := fmt.Sprintf("tiercompact-%d-%d", os.Getpid(), servers.Add(1))
	x.t.Cleanup(func() { exec.Command("tmux", "-L", socket, "kill-server").Run() })
	x.socket = socket
}

func (x *terminal) tmux(args ...string) string {
	x.t.Helper()
	cmd := exec.Command("tmux", append([]string{"-u", "-L", x.socket, "-f", "/dev/null"}, args...)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "COLORTERM=", "NO_COLOR="+map[bool]string{false: "1"}[x.colours])
	out, err := cmd.CombinedOutput()
	if err != nil {
		x.t.Fatalf("tmux %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// run runs a command on a screen of 80x24, and records the screen.
func (x *terminal) run(command string) {
	x.t.Helper()
	fmt.Fprintf(&x.screen, "$ %s\n\n", command)
	x.newServer()
	x.tmux("new-session", "-d", "-x", "80", "-y", "24", "-c", x.dir, "exec "+command)
}

func (x *terminal) keys(names ...string) { x.tmux(append([]string{"send-keys"}, names...)...) }

func (x *terminal) typed(line string) {
	x.t.Helper()
	x.tmux("send-keys", "-l", line)
	x.keys("Enter")
}

// paste pastes text as a terminal does, in brackets.
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
	return x.captured("capture-pane", "-p")
}

// painted returns the screen with its colours.
func (x *terminal) painted() string {
	x.t.Helper()
	return x.captured("capture-pane", "-e", "-p")
}

// scrollback returns the screen and what has scrolled out of it.
func (x *terminal) scrollback() string {
	x.t.Helper()
	return x.captured("capture-pane", "-p", "-S", "-")
}

func (x *terminal) captured(args ...string) string {
	x.t.Helper()
	screen := x.tmux(args...)
	if x.server != "" { // a port has five digits, so that lines break where they would
		screen = strings.ReplaceAll(screen, x.server, "http://127.0.0.1:11434")
	}
	lines := strings.Split(strings.TrimRight(screen, "\n"), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " ")
	}
	return strings.Join(lines, "\n")
}

// A step of a program on a terminal may take so long, on any machine.
const hang = 5 * time.Minute

// screenWith waits until the screen is as expected. what is for people.
func (x *terminal) screenWith(what string, expected func(screen string) bool) string {
	x.t.Helper()
	for end := time.Now().Add(hang); ; time.Sleep(20 * time.Millisecond) {
		now := x.shown()
		if expected(now) {
			return now
		}
		if time.Now().After(end) {
			x.t.Fatalf("%s is not shown, but:\n%s", what, now)
		}
	}
}

// idle reports whether a screen is that of a program that waits for input.
func idle(screen string) bool { return !strings.Contains(screen, "Ctrl+C stops") }

// until waits until a text is shown and the program is idle.
func (x *terminal) until(text string) string {
	x.t.Helper()
	return x.screenWith(strconv.Quote(text), func(s string) bool { return strings.Contains(s, text) && idle(s) })
}

// while waits until a text is shown, even if the program is busy.
func (x *terminal) while(text string) string {
	x.t.Helper()
	return x.screenWith(strconv.Quote(text), func(s string) bool { return strings.Contains(s, text) })
}

// settled returns the screen once it is drawn: a screen may be read while tmux has
// half of the program's output. It waits for the screen that is expected, if there is
// one, for some time, and else until the screen has not changed for a moment.
func (x *terminal) settled(expected func(screen string) bool) string {
	x.t.Helper()
	last, same := "", 0
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		now := x.shown()
		if same++; now != last {
			last, same = now, 0
		}
		if expected(now) || same >= 3 && time.Now().After(end) || same >= 3 && *update {
			return now
		}
	}
}

// record adds the screen to the recording, and returns it with its colours.
func (x *terminal) record(what string) string {
	x.t.Helper()
	const rule = "--------------------------------------------------------------------------------"
	entry := func(screen string) string {
		return fmt.Sprintf("%s:\n%s\n%s\n%s\n\n", what, rule, screen, rule)
	}
	shown := x.settled(func(s string) bool { return strings.Contains(x.recorded, entry(s)) })
	x.screen.WriteString(entry(shown))
	return x.painted()
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

// gone waits until the program has ended.
func (x *terminal) gone() {
	x.t.Helper()
	for end := time.Now().Add(hang); exec.Command("tmux", "-L", x.socket, "has-session").Run() == nil; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			x.t.Fatal("the program goes on")
		}
	}
}

// session returns the session file and its messages.
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

// answerer answers the newest message: one that begins with "wait" not before the
// test ends, one that begins with "tell" or "list" at length.
func answerer(ended <-chan struct{}) func(prompt string) string {
	return func(prompt string) string {
		lines := strings.Split(strings.TrimSpace(prompt), "\n")
		last := lines[len(lines)-1]
		if strings.HasPrefix(last, "wait") {
			<-ended
		}
		if times := map[string]int{"tell": 40, "list": 110}[last[:min(4, len(last))]]; times > 0 {
			return "You said: " + last + "\n" + strings.Repeat("There is much to be told of the harbour, and of all who came there. ", times) + "\n" + endOf(last)
		}
		if len(last) > 60 {
			last = last[:60]
		}
		return "You said: " + last + "\nIt is noted, and will be kept in mind for the rest of the session."
	}
}

// endOf is the last line of a long answer to a message.
func endOf(message string) string { return "That is all to “" + message + "”." }

// goFile returns a Go file with n functions.
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
	x.colours = true // of the pictures
	kept, err := os.ReadFile(filepath.Join("testdata", "chat.txt"))
	if err != nil && !*update {
		t.Fatal(err)
	}
	x.recorded = string(kept)
	ended := make(chan struct{})
	server := fault.Fake(t, fault.Model{Name: "llama3.2:1b", Capabilities: []string{fault.Completion}, Window: 8192})
	server.Answer, x.server = answerer(ended), server.URL
	t.Cleanup(func() { close(ended) }) // before the server is closed
	t.Setenv("OLLAMA_HOST", server.URL)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	if err := os.WriteFile(filepath.Join(x.dir, "price.go"), []byte(goFile(24)), 0o600); err != nil {
		t.Fatal(err)
	}

	x.run("tiercompact chat llama3.2:1b --window 4096 --preset default --session demo --trace trace.jsonl")
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
	x.pictured = x.record("/files and /why")
	x.fill("hard", 40)
	x.record("Hard: what matters least for the question at hand goes")
	x.typed("list all you know of it")
	x.until("↓ emergency")
	compacted := x.record("Emergency: a long answer fills the window, and a summary takes the place of the rest")
	x.paste(strings.Repeat("all that is left of the window is filled by this text. ", 168))
	x.keys("Enter")
	x.until("You said: ")
	x.record("A paste that would not fit: room is made before it is sent, as it must be")
	x.checkRounds(server, 4096)

	_, before := x.session("demo")
	x.typed("/undo")
	x.until("is taken back")
	_, undone := x.session("demo")
	if len(undone) <= len(before) {
		t.Errorf("%d messages after /undo, %d before", len(undone), len(before))
	}
	x.record("/undo takes it back")

	x.typed("wait for me")
	x.while("waiting for the answer")
	raw, stood := x.session("demo")
	if lastTyped(stood) != "wait for me" {
		t.Errorf("on disk the last message is %q", lastTyped(stood))
	}
	x.kill()
	fmt.Fprint(&x.screen, "Then the chat is killed (kill -9) while it waits for an answer.\n\n")
	if now, _ := x.session("demo"); !bytes.Equal(now, raw) {
		t.Error("the kill changed the session file")
	}

	x.run("tiercompact chat --resume --preset default --window 4096 --trace trace.jsonl")
	x.until("session demo continues; /retry")
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
	golden(t, filepath.Join("testdata", "chat.txt"), append([]byte(recordedBy), x.screen.Bytes()...))
	golden(t, filepath.Join("..", "..", "docs", "chat.svg"), screenPicture(x.pictured))
	golden(t, filepath.Join("..", "..", "docs", "chat-round.svg"), screenPicture(compacted))
}

// checkRounds checks by the events that rounds followed answers, and that no
// request exceeded the window. The check of a user's message is followed by the
// preflight of its request, the check of an answer by the next user message.
func (x *terminal) checkRounds(server *fault.Server, window int) {
	x.t.Helper()
	raw, err := os.ReadFile(filepath.Join(x.dir, "trace.jsonl"))
	if err != nil {
		x.t.Fatal(err)
	}
	made, preflight := 0, ""
	for line := range bytes.Lines(raw) {
		var e trace.Event
		if err := json.Unmarshal(line, &e); err != nil {
			x.t.Fatal(err)
		}
		d, ok := e.Data.(trace.TriggerDecision)
		switch {
		case !ok:
			continue
		case d.Level == string(levels.LayerName) && d.Triggered && d.Reason != "over the budget":
			x.t.Errorf("a preflight compacted for the reason %q", d.Reason)
		case d.Level != string(levels.LayerName) && d.Triggered:
			made++
			if preflight != string(levels.LayerName) && d.Reason != "room for the next message" {
				x.t.Errorf("a round of %s, by %s, did not follow an answer", d.Level, d.Reason)
			}
		}
		preflight = d.Level
	}
	if made < 3 {
		x.t.Errorf("%d rounds followed answers", made)
	}
	for i, a := range server.Asked() {
		if a.Tokens > window {
			x.t.Errorf("request %d has %d tokens, the window %d", i, a.Tokens, window)
		}
	}
}

// roundShown is the status while a model writes a summary.
const roundShown = "summarising"

// tells sends messages that have long answers until a round follows one of them,
// and returns that message.
func (x *terminal) tells(text string) string {
	x.t.Helper()
	for i := range 10 {
		line := fmt.Sprintf("%s, part %d", text, i)
		x.typed(line)
		s := x.screenWith("the answer", func(s string) bool {
			return strings.Contains(s, endOf(line)) && (strings.Contains(s, roundShown) || idle(s))
		})
		if strings.Contains(s, roundShown) {
			return line
		}
	}
	x.t.Fatalf("no round was made:\n%s", x.shown())
	return ""
}

// released lets summaries be written until a text is shown and the program is idle.
func (x *terminal) released(write chan<- struct{}, text string) string {
	x.t.Helper()
	return x.screenWith(strconv.Quote(text), func(s string) bool {
		select {
		case write <- struct{}{}:
		default:
		}
		return strings.Contains(s, text) && idle(s)
	})
}

// A round after an answer is made while the user reads: input that is typed
// meanwhile is sent after it, the round can be stopped and undone, and leaving is safe.
func TestChatCompactsWhileTheUserReads(t *testing.T) {
	x := newTerminal(t)
	server := fault.Fake(t,
		fault.Model{Name: "llama3.2:1b", Capabilities: []string{fault.Completion}, Window: 8192},
		fault.Model{Name: "writer:3b", Capabilities: []string{fault.Completion}, Window: 8192})
	ended, write := make(chan struct{}), make(chan struct{})
	chatted := answerer(ended)
	server.Answer = func(prompt string) string {
		if strings.Contains(prompt, "helpful assistant") {
			return chatted(prompt)
		}
		select {
		case <-write:
		case <-ended:
		}
		return fault.Outline(prompt)
	}
	t.Cleanup(func() { close(ended) })
	t.Setenv("OLLAMA_HOST", server.URL)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("COMPACT_LEVEL", "emergency") // at 60 %, so that the next message still fits
	x.run("tiercompact chat llama3.2:1b --window 4096 --preset default --session demo --embed-model lexical --summary-model writer:3b")
	x.until("session demo with llama3.2:1b")
	for _, text := range []string{"one", "two", "three"} {
		x.typed(text + " " + strings.Repeat("of the harbour ", 20))
		x.until("You said: " + text)
	}

	first := x.tells("tell me all")
	if s := x.while(roundShown); !strings.Contains(s, endOf(first)) {
		t.Errorf("the answer is not there to be read:\n%s", s)
	}
	x.typed("and then?")
	x.while("your message waits")
	if _, m := x.session("demo"); lastTyped(m) != first {
		t.Errorf("sent during the round was %q", lastTyped(m))
	}
	if s := x.released(write, "You said: and then?"); !strings.Contains(s, "↓ emergency") {
		t.Errorf("no round is shown:\n%s", s)
	}

	x.tells("tell me more")
	_, before := x.session("demo")
	x.keys("C-c")
	x.until("the compaction was stopped")
	if _, after := x.session("demo"); !reflect.DeepEqual(after, before) {
		t.Error("a round that was stopped changed the session")
	}

	x.typed("go on")
	x.while(roundShown) // a round is due now more than before
	x.typed("/undo")
	x.while("your message waits")
	x.released(write, "is taken back")
	if _, after := x.session("demo"); len(after) <= len(before) || lastTyped(after) != "go on" {
		t.Errorf("%d messages after /undo, the last of them %q", len(after), lastTyped(after))
	}

	x.tells("tell me the rest")
	x.typed("/quit")
	x.gone()
	raw, left := x.session("demo")
	x.run("tiercompact chat --resume --window 4096 --preset default --summary-model extractive")
	x.until("session demo continues")
	if now, again := x.session("demo"); !bytes.Equal(now, raw) || !reflect.DeepEqual(again, left) {
		t.Error("to resume changed the session")
	}
	x.typed("thank you")
	x.until("You said: thank you")
	for i, a := range server.Asked() {
		if a.Tokens > 4096 && a.Model == "llama3.2:1b" {
			t.Errorf("request %d has %d tokens", i, a.Tokens)
		}
	}
}

const recordedBy = `A chat, as it was recorded by

    go test ./internal/cli -run TestChatOnATerminal -update

The model is a scripted server that repeats what it was told; the screen has 80
columns and 24 lines, and no colours.

`

// fill sends messages until a level has been applied.
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
