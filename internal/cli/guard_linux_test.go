package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/tiercompact/tiercompact/internal/fault"
	"github.com/tiercompact/tiercompact/internal/screen"
)

// steering has every kind of control sequence that a terminal would obey: a title,
// clearing, a link, the clipboard, a device string, the same with C1 controls, a
// blinking colour, an overwritten line, a changed writing direction, tags.
const steering = "\x1b]0;owned\x07\x1b[2J\x1b[H\x1b]8;;http://evil.test\x1b\\link\x1b]8;;\x1b\\\x1b]52;c;aGk=\x07\x1bPq#0\x1b\\\u009b2J\u009d0;owned\u009c\x1b[35;5mred\x1b[0m ok\rno \x08\u202eturned\u2066\U000e0041\U000e0042 \x7fend"

// openTerminal returns both ends of a pseudo-terminal.
func openTerminal(t *testing.T) (ours, theirs *os.File) {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no pseudo-terminals here: ", err)
	}
	t.Cleanup(func() { ours.Close() })
	if err := unix.IoctlSetPointerInt(int(ours.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(ours.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err = os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return ours, theirs
}

// onTerminal runs tiercompact with stdout and stderr on a terminal, and returns the
// bytes that the terminal received.
func onTerminal(t *testing.T, dir string, env []string, stdin string, args ...string) string {
	t.Helper()
	ours, theirs := openTerminal(t)
	cmd := exec.Command("tiercompact", args...)
	cmd.Dir, cmd.Env, cmd.Stdin = dir, append(os.Environ(), env...), strings.NewReader(stdin)
	cmd.Stdout, cmd.Stderr = theirs, theirs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	var got bytes.Buffer
	if _, err := io.Copy(&got, ours); err != nil && !errors.Is(err, syscall.EIO) { // the end of a terminal
		t.Fatal(err)
	}
	var failed *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	return got.String()
}

// own matches the program's own control sequences: its colours, and the end of a
// progress line.
var own = regexp.MustCompile("\x1b\\[(0|1|90|31|32|33|35)m|\r\x1b\\[K|\r\n")

// obeyed returns the control sequences in text, "" for none.
func obeyed(text string) string {
	rest := own.ReplaceAllString(text, "\n")
	for i, r := range rest {
		if r != '\n' && r != '\t' && screen.Steers(r) || r == utf8.RuneError && !strings.HasPrefix(rest[i:], "\uFFFD") {
			return rest[max(0, i-40):min(len(rest), i+40)]
		}
	}
	return ""
}

// steeringSession writes a conversation full of control sequences to a file.
func steeringSession(t *testing.T, dir string) string {
	t.Helper()
	type message map[string]any
	messages := []message{{"role": "system", "content": "You help. " + steering}}
	for i := range 14 {
		id := fmt.Sprint("c", i)
		args, err := json.Marshal(map[string]string{"path": "src/" + steering + fmt.Sprint(i) + ".go"})
		if err != nil {
			t.Fatal(err)
		}
		messages = append(messages,
			message{"role": "user", "content": fmt.Sprintf("Please read file number %d %s and tell me what it does.", i, steering)},
			message{"role": "assistant", "content": "I read it. " + steering, "tool_calls": []any{message{"id": id, "type": "function", "function": message{"name": "read_file", "arguments": string(args)}}}},
			message{"role": "tool", "tool_call_id": id, "content": strings.Repeat(fmt.Sprintf("func part%d() error { return nil } // %s\n", i, steering), 40)},
			message{"role": "assistant", "content": fmt.Sprintf("File %d returns nil. %s", i, steering)})
	}
	text, err := json.Marshal(messages)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "talk.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestNoCommandSteersATerminal(t *testing.T) {
	dir := t.TempDir()
	steeringSession(t, dir)
	server := fault.Fake(t)
	server.Models = []fault.Model{{Name: "small" + steering, Capabilities: []string{fault.Completion}, Window: 8192}, {Name: "talker", Capabilities: []string{fault.Completion}, Window: 8192}}
	env := []string{"OLLAMA_HOST=" + server.URL, "XDG_CACHE_HOME=" + dir, "HOME=" + dir, "TERM=xterm-256color", "COLUMNS=100"}
	if err := os.WriteFile(filepath.Join(dir, "odd.yaml"), []byte("window: "+strings.ReplaceAll(steering, "\n", "")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	odd := filepath.Join(dir, "x"+strings.ReplaceAll(steering, "/", "_")+".json")
	if err := os.WriteFile(odd, []byte(`[{"role":"`+"\x1b]0;t\x07"+`"}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	compact := func(level string) []string {
		return []string{"compact", "talk.json", "-w", "12000", "--level", level, "--archive", "kept", "--session", level, "--out", level + ".json"}
	}
	for _, args := range [][]string{compact("soft"), compact("hard"), compact("emergency")} {
		if got := onTerminal(t, dir, env, "", args...); obeyed(got) != "" {
			t.Errorf("%q sends %q", args, obeyed(got))
		}
	}
	id := recallID(t, filepath.Join(dir, "emergency.json"))
	for _, args := range [][]string{
		{"check", "talk.json"}, {"check", odd}, {"check", "missing" + steering}, {steering}, {"check", "--" + steering},
		{"plan", "talk.json", "-w", "12000"}, {"plan", "talk.json", "-w", "12000", "--json"}, {"replay", "talk.json", "-w", "12000"}, {"replay", "talk.json", "-w", "12000", "--color", "always"},
		{"compact", "talk.json", "-w", "12000", "--out", "-"}, {"compact", "talk.json", "-w", "12000", "--trace", "console", "--out", "-"}, {"compact", "talk.json", "-w", "12000", "--out", "/dev/tty"}, {"compact", "talk.json", "-w", "100", "--out", "-"},
		{"recall", id, "--archive", "kept"}, {"recall", id, "--archive", "kept", "--json"}, {"recall", "file number", "--archive", "kept"}, {"recall", steering, "--archive", "kept"},
		{"archive", "list", "--archive", "kept"}, {"archive", "show", "1", "--archive", "kept", "--session", "hard"}, {"archive", "show", "1", "--archive", "kept", "--session", "hard", "--transcript"},
		{"archive", "show", "1", "--archive", "kept", "--session", "emergency", "--summary"}, {"archive", "show", "1", "--archive", "kept", "--session", "hard", "--edits"}, {"archive", "show", "1", "--archive", "kept", "--session", "hard", "--json"},
		{"archive", "verify", "--archive", "kept"}, {"undo", "hard.json", "--archive", "kept", "--session", "hard", "--out", "-"},
		{"config", "show", "--config", "odd.yaml"}, {"config", "check", "odd.yaml"}, {"doctor"}, {"doctor", "--model", "none" + steering}, {"version"}, {"help"},
	} {
		if got := onTerminal(t, dir, env, "", args...); obeyed(got) != "" || got == "" {
			t.Errorf("%q sends %q", args, obeyed(got))
		}
	}
	chat := onTerminal(t, dir, env, "hello "+steering+"\n/why\n/files\n", "chat", "--plain", "--model", "talker")
	if obeyed(chat) != "" || chat == "" {
		t.Errorf("the chat sends %q", obeyed(chat))
	}
}

// recallID returns the first recall id in a file.
func recallID(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	id := regexp.MustCompile(`recall ([0-9a-f]{8,})`).FindSubmatch(text)
	if id == nil {
		t.Fatalf("no recall id in %s", file)
	}
	return string(id[1])
}

// A program that reads the output gets it unchanged.
func TestAPipeGetsTheBytesAsTheyAre(t *testing.T) {
	dir := t.TempDir()
	file := steeringSession(t, dir)
	cmd := exec.Command("tiercompact", "compact", file, "-w", "12000", "--level", "emergency", "--archive", "kept", "--session", "s", "--out", "small.json")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd = exec.Command("tiercompact", "recall", recallID(t, filepath.Join(dir, "small.json")), "--archive", "kept", "--full")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil || !bytes.Contains(out, []byte(steering)) {
		t.Errorf("%v, the text does not come as it was: %.300q", err, out)
	}
}

func TestAConversationIsNotWrittenToATerminalUnlessOutNamesIt(t *testing.T) {
	dir := t.TempDir()
	steeringSession(t, dir)
	got := onTerminal(t, dir, nil, "", "compact", "talk.json", "-w", "12000", "--engine", "built-in", "--archive", "kept")
	if text := strings.Join(strings.Fields(got), " "); !strings.Contains(text, "stdout is a terminal; give --out FILE (-o FILE), or a pipe") || strings.Contains(got, "{") {
		t.Errorf("got %q", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "kept")); err == nil {
		t.Error("an archive was written for a conversation that was not")
	}
	if got := onTerminal(t, dir, nil, "", "compact", "talk.json", "-w", "12000", "--engine", "built-in", "--out", "-"); !strings.Contains(got, `"role"`) {
		t.Errorf("got %q", got)
	}
}

func TestUndoDoesNotWriteToATerminalUnlessOutNamesIt(t *testing.T) {
	dir := t.TempDir()
	file := steeringSession(t, dir)
	cmd := exec.Command("tiercompact", "compact", file, "-w", "12000", "--level", "emergency", "--engine", "built-in", "--archive", "kept", "--out", "small.json")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for range 2 { // the refused undo changes nothing
		got := onTerminal(t, dir, nil, "", "undo", "small.json", "--archive", "kept")
		if text := strings.Join(strings.Fields(got), " "); !strings.Contains(text, "stdout is a terminal; give --out FILE (-o FILE), or a pipe") || strings.Contains(got, "{") {
			t.Errorf("got %q", got)
		}
	}
	if got := onTerminal(t, dir, nil, "", "undo", "small.json", "--archive", "kept", "--out", "-"); !strings.Contains(got, `"role"`) || !strings.Contains(got, "round 1 ") {
		t.Errorf("got %q", got)
	}
}
