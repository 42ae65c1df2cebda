//go:build unix

package cli

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// Messages that wait when the chat ends, however it ends, are offered at its next
// beginning.
func TestChatKeepsWhatWasNotSent(t *testing.T) {
	ends := []struct {
		name string
		by   func(x *terminal)
		told bool // the terminal shows what was not sent
	}{
		{"ctrl-d", func(x *terminal) { x.keys("C-d") }, true},
		{"hangup", func(x *terminal) { x.signal(syscall.SIGHUP) }, true},
		{"kill", func(x *terminal) { x.signal(syscall.SIGKILL) }, false},
	}
	x := newTerminal(t)
	server, _ := harbourServer(t)
	x.server = server.URL
	for _, end := range ends {
		x.runAs("tiercompact chat llama3.2:1b --window 8192 --session " + end.name + " ; echo the shell again; exec sleep 1000")
		x.until("session " + end.name + " with llama3.2:1b")
		x.typed("wait, one")
		x.while("waiting for the answer")
		x.typed("thank you")
		x.while("your message waits")
		end.by(x)
		x.while("the shell again")
		if s := x.scrollback(); end.told && (!strings.Contains(s, "1 message was not sent; --resume offers what was not sent:") || !strings.Contains(s, "> thank you")) {
			t.Errorf("%s: in the terminal remains\n%s", end.name, s)
		}
		x.runAs("tiercompact chat --resume=" + end.name)
		x.while("1 message of the earlier chat was not sent; Enter sends")
		x.keys("Enter")
		x.until("You said: thank you")
		x.keys("C-d")
		x.gone()
	}
}

// signal sends a signal to the chat, not to the shell around it.
func (x *terminal) signal(s syscall.Signal) {
	x.t.Helper()
	shell := strings.TrimSpace(x.tmux("display-message", "-p", "#{pane_pid}"))
	out, err := exec.Command("ps", "-o", "pid=", "--ppid", shell).Output()
	if err != nil {
		x.t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		x.t.Fatal(err)
	}
	if err := syscall.Kill(pid, s); err != nil {
		x.t.Fatal(err)
	}
}
