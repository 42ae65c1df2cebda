package tui

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/internal/screen"
)

// numbered returns so many lines, which say their numbers.
func numbered(lines int) string {
	var b strings.Builder
	for i := range lines {
		fmt.Fprintf(&b, "line %d of the log: the harbour is as it was\n", i+1)
	}
	return b.String()
}

func TestWhatCannotFitIsRefusedBeforeItIsSent(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("log.txt", []byte(numbered(400)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, line, want string }{
		{"a message", numbered(400), "the message is too large, and not sent: about 6,4"},
		{"a message, what to do", numbered(400), "put it into a file and send a part of it by @FILE:1-200, or use a larger --window"},
		{"a large message with a file", numbered(400) + "@log.txt:1-2", "the message is too large"},
	} {
		for _, turns := range []int{0, 3} {
			x := assistantOnly(t, 2048, tiercompact.Config{Preset: tiercompact.Steady}, says("noted"))
			for range turns {
				if err := x.Do(t.Context(), prose(150)); err != nil {
					t.Fatal(err)
				}
			}
			before, asked := strings.Join(x.said(), "\n"), len(x.chat.asked)
			rounds := len(x.texts(Compacted))
			err := x.Do(t.Context(), test.line)
			if !errors.As(err, new(*tooLarge)) || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "of the window of 2,048 can be free") {
				t.Errorf("%s after %d turns: %v", test.name, turns, err)
			}
			if strings.Join(x.said(), "\n") != before || len(x.chat.asked) != asked || len(x.texts(Compacted)) != rounds {
				t.Errorf("%s after %d turns: the conversation has changed", test.name, turns)
			}
			if err := x.Do(t.Context(), "what of @log.txt:11-12?"); err != nil {
				t.Errorf("%s after %d turns, then a part of the file: %v", test.name, turns, err)
			}
			x.checkDisk(t)
		}
	}
}

// A file that cannot fit is cut before the next answer, and the chat says so.
func TestAFileThatCannotFitIsCut(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("log.txt", []byte(numbered(400)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"/add log.txt", "what of @log.txt?", "what of @log.txt:1-390?"} {
		x := assistantOnly(t, 2048, tiercompact.Config{Preset: tiercompact.Steady}, says("noted"), says("noted"))
		if err := x.Do(t.Context(), line); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if err := x.Do(t.Context(), "what does its first line say?"); err != nil {
			t.Errorf("%s, then a question: %v", line, err)
		}
		if notes := strings.Join(x.texts(Noted), "\n"); !strings.Contains(notes, "of the window of 2,048 can be free, so it will be cut; @log.txt:1-200 adds a part of it instead") {
			t.Errorf("%s: the notes are\n%s", line, notes)
		}
		if said := strings.Join(x.said(), "\n"); !strings.Contains(said, "line 1 of the log") || strings.Contains(said, "line 200 of the log: the harbour is as it was\nline 201 of") {
			t.Errorf("%s: the file is not cut, or gone:\n%.600s", line, said)
		}
		x.checkDisk(t)
	}
}

func TestAPartOfAFileIsAdded(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{"log.txt": numbered(20) + "the end", "odd:1-2": "a file of this name", "long.txt": strings.Repeat("x", maxFile) + "\n" + "short\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		"log.txt:2-3":   "line 2 of the log: the harbour is as it was\nline 3 of the log: the harbour is as it was",
		"log.txt:20-99": "line 20 of the log: the harbour is as it was\nthe end",
		"log.txt:0-1":   "line 1 of the log: the harbour is as it was",
		"odd:1-2":       "a file of this name",
		"long.txt:2-2":  "short",
	} {
		x := open(t, 8192, says("fine"))
		if err := x.Do(t.Context(), "what is in @"+path+"?"); err != nil {
			t.Fatal(path, err)
		}
		if got := x.said()[0]; got != "user: <file path=\""+path+"\">\n"+want+"\n</file>" {
			t.Errorf("%s is %.300q", path, got)
		}
		if told, err := x.does(t, "/files"); err != nil || !strings.Contains(told, path) {
			t.Errorf("/files tells %q, %v", told, err)
		}
	}
	if err := os.WriteFile("wide.txt", []byte(strings.Repeat("x", maxFile+2)), 0o600); err != nil {
		t.Fatal(err)
	}
	x := open(t, 8192, says("fine"))
	if err := x.Do(t.Context(), "/add "+filepath.Join(".", "wide.txt:1-1")); err == nil || !strings.Contains(err.Error(), "larger than 1,048,576 bytes") {
		t.Errorf("a range that is too large: %v", err)
	}
}

// What was refused is in the input again; what is typed meanwhile stays, and then the
// refused input waits.
func TestARefusedMessageStaysInTheInput(t *testing.T) {
	for _, typing := range []string{"", "and more"} {
		d := drive(screen.Screen{}, 80, 24)
		d.send(tea.PasteMsg{Content: numbered(500)})
		d.keys("enter")
		d.typed(typing)
		d.send(finished{&tooLarge{tokens: 9000, room: 800, window: 2048}})
		if s := d.screenshot(t); !strings.Contains(s, "about 9,000 tokens, but at most 800 of\n") {
			t.Errorf("not said:\n%s", s)
		}
		if typing != "" {
			if got := d.input.Value(); got != typing || !d.queue.held || len(d.queue.inputs) != 1 {
				t.Errorf("the input is %q, %d wait, held %v", got, len(d.queue.inputs), d.queue.held)
			}
			d.input.Reset()
			d.keys("up")
		}
		if got := d.input.Value(); got != "[LongText#1]" {
			t.Errorf("the input is %q", got)
		}
		d.keys("enter")
		if n := len(d.lines); n != 2 || d.lines[1] != numbered(500) {
			t.Errorf("%d lines were sent", n)
		}
	}
}
