//go:build unix

package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tiercompact/tiercompact/internal/fault"
)

// runShell starts a shell on a screen, in which a chat can be suspended.
func (x *terminal) runShell(width, height int) {
	x.t.Helper()
	shell, err := exec.LookPath("bash")
	if err != nil {
		x.t.Skip("bash is not installed")
	}
	x.newServer()
	x.tmux("new-session", "-d", "-x", fmt.Sprint(width), "-y", fmt.Sprint(height), "-c", x.dir, shell+" --norc --noprofile -i")
	x.typed("PS1='ready: '")
	x.while("ready: ")
}

// A narrow terminal shows the whole of each line, whatever the width of its characters.
// The mouse is the terminal's, Ctrl+Z is the shell's, and a long paste is a placeholder.
func TestChatOnANarrowTerminal(t *testing.T) {
	x := newTerminal(t)
	server, write := harbourServer(t)
	x.server = server.URL
	x.runShell(40, 24)
	x.typed("tiercompact chat llama3.2:1b -w 8192 --session narrow")
	x.until("a message, or /help")
	x.typed("漢字かな 한글 👩‍👩‍👧‍👦👩‍👩‍👧‍👦 שלום عليكم e\u0301 one two three four, the end")
	s := x.until("for the rest of the session.")
	if strings.Count(s, "the end") != 1 { // the answer has the first 60 bytes
		t.Errorf("the end of a line is not shown:\n%s", s)
	}
	for line := range strings.SplitSeq(s, "\n") {
		if n := len([]rune(line)); n > 40 {
			t.Errorf("%q has %d characters", line, n)
		}
	}
	if got := strings.TrimSpace(x.tmux("display-message", "-p", "#{mouse_any_flag}#{mouse_button_flag}#{mouse_standard_flag}#{mouse_all_flag}")); got != "0000" {
		t.Errorf("the mouse is taken: %s", got)
	}
	x.typed("wait, one")
	x.while("waiting for the answer")
	x.keys("C-z")
	x.while("Stopped")
	x.typed("echo in the $((40 + 2)) shell; fg")
	x.while("waiting for the answer")
	write <- struct{}{}
	x.until("and so it was.")
	x.paste(strings.Repeat("a line of a long paste\n", 10_000))
	x.until("> [LongText#1]")
	x.keys("C-u")
	x.until("a message, or /help")
	x.keys("C-d")
	x.while("session narrow is kept")
}

// However the process is ended: what was answered so far is on disk.
func TestAnEndedChatKeepsTheAnswerSoFar(t *testing.T) {
	x := newTerminal(t)
	server, _ := harbourServer(t)
	server.Answer = func(string) string { return strings.Repeat("word ", 1000) }
	p := fault.New(t, server.URL)
	p.At("/api/chat", fault.Stall())
	t.Setenv("OLLAMA_HOST", p.URL)
	x.server = p.URL
	for name, end := range map[string]syscall.Signal{"term": syscall.SIGTERM, "hangup": syscall.SIGHUP} {
		for _, term := range []string{"screen", "dumb"} {
			session := name + "-" + term
			x.runAs("TERM=" + term + " tiercompact chat llama3.2:1b -w 8192 --session " + session + " ; echo the shell again; exec sleep 1000")
			x.while("\n>")
			x.typed("hello")
			x.while("word")
			x.signal(end)
			x.while("the shell again")
			_, m := x.session(session)
			if last := m[len(m)-1].Text(); !strings.HasPrefix(last, "word") || !strings.HasSuffix(last, "[stopped by the user]") {
				t.Errorf("%s: kept is %q", session, last)
			}
		}
	}
}

// A full disk is an error that names the file, and nothing that was answered is lost
// from the screen.
func TestChatOnAFullDisk(t *testing.T) {
	server, _ := harbourServer(t)
	dir := t.TempDir()
	cmd := exec.Command("sh", "-c", "ulimit -f 8; exec tiercompact chat llama3.2:1b -w 8192 --session full 2>notes")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "OLLAMA_HOST="+server.URL)
	cmd.Stdin = strings.NewReader("hello\n" + strings.Repeat("x", 9000) + "\nagain\n")
	out, err := cmd.Output()
	notes, readErr := os.ReadFile(filepath.Join(dir, "notes"))
	if readErr != nil {
		t.Fatal(readErr)
	}
	if err == nil || !strings.Contains(string(out), "You said: hello") || !strings.Contains(string(notes), "full.jsonl") || !strings.Contains(string(notes), "free space") || !strings.Contains(string(notes), "is not wholly on disk") {
		t.Errorf("%v, answered %q, reported %s", err, out, notes)
	}
}
