package tui

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/tiercompact/tiercompact/internal/model"
	"github.com/tiercompact/tiercompact/internal/screen"
)

// chatIn returns a driven app with the inputs of a session in dir.
func chatIn(t *testing.T, dir, session string) *driven {
	t.Helper()
	if err := os.MkdirAll(sessions(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	d := drive(screen.Screen{}, 80, 24)
	d.dir = dir
	d.offerUnsent(session)
	return d
}

func (d *driven) enter(lines ...string) {
	for _, line := range lines {
		d.typed(line)
		d.keys("enter")
	}
}

// left returns what remains in the terminal.
func (d *driven) left() string {
	var out bytes.Buffer
	d.printTranscript(&out)
	return out.String()
}

func unsentIn(t *testing.T, dir, session string) []string {
	t.Helper()
	kept, err := readUnsent(unsentPath(dir, session))
	if err != nil {
		t.Fatal(err)
	}
	return kept
}

func TestWhatWaitsIsKeptWhenTheUserLeaves(t *testing.T) {
	dir := t.TempDir()
	long := strings.Repeat("a long paste ", 40)
	d := chatIn(t, dir, "one")
	d.enter("first", "second")
	d.input.InsertString(d.pastes.Add(long))
	d.keys("enter")
	equal(t, unsentIn(t, dir, "one"), []string{"second", long}) // a kill would leave this
	d.typed("draft")
	text := d.left()
	for _, want := range []string{"3 messages were not sent; --resume offers", "> second", "> a long paste a long paste", "> draft"} {
		if !strings.Contains(text, want) {
			t.Errorf("the terminal does not show %q:\n%s", want, text)
		}
	}
	equal(t, unsentIn(t, dir, "one"), []string{"second", long, "draft"})

	d = chatIn(t, dir, "one")
	if shown := d.screenshot(t); !strings.Contains(shown, "3 messages of the earlier chat were not sent; Enter sends") || !strings.Contains(shown, "3 messages wait: Enter sends") || !strings.Contains(shown, "> draft") {
		t.Errorf("not offered:\n%s", shown)
	}
	d.keys("up") // the newest comes back
	if d.input.Value() != "draft" {
		t.Errorf("up took back %q", d.input.Value())
	}
	d.input.Reset()
	equal(t, d.lines, nil)
	d.keys("enter")
	d.send(finished{})
	equal(t, d.lines, []string{"second", long})
	if _, err := os.Stat(unsentPath(dir, "one")); err == nil {
		t.Error("the file stays after all was sent")
	}
	d.send(finished{})
	if text := d.left(); strings.Contains(text, "--resume offers") {
		t.Errorf("all was sent, but:\n%s", text)
	}
}

// The action that leaving stops may end before the program does.
func TestLeavingSendsNothing(t *testing.T) {
	for name, leave := range map[string]func(d *driven){
		"/quit":  func(d *driven) { d.enter("/quit") },
		"Ctrl+D": func(d *driven) { d.keys("ctrl+d") },
	} {
		dir := t.TempDir()
		d := chatIn(t, dir, "one")
		d.enter("first", "second")
		leave(d)
		d.send(finished{context.Canceled})
		if len(d.lines) != 1 || !d.quit {
			t.Errorf("%s: %q were run, quit %v", name, d.lines, d.quit)
		}
		equal(t, unsentIn(t, dir, "one"), []string{"second"})
	}
}

func TestAnErrorHoldsWhatWaits(t *testing.T) {
	dir := t.TempDir()
	d := chatIn(t, dir, "one")
	d.enter("first", "/why", "second")
	d.send(finished{errors.New("the server is gone")})
	if shown := d.screenshot(t); !strings.Contains(shown, "2 messages wait: Enter sends, Up takes back") {
		t.Errorf("not held:\n%s", shown)
	}
	d.enter("/retry") // comes before what is held
	d.send(finished{})
	equal(t, d.lines, []string{"first", "/retry"})
	d.keys("enter")
	d.send(finished{})
	d.send(finished{})
	equal(t, d.lines, []string{"first", "/retry", "/why", "second"})

	d.enter("third", "fourth")
	d.send(finished{context.Canceled}) // the user stopped the answer, not what follows
	equal(t, d.lines[4:], []string{"third", "fourth"})
}

func TestWhatWaitsIsOfItsSession(t *testing.T) {
	dir := t.TempDir()
	d := chatIn(t, dir, "one")
	d.enter("hello", "/new", "to the new one")
	d.send(finished{}) // runs /new
	d.send(Event{Kind: Switched, Text: "a new session", Session: "two", Status: d.status})
	equal(t, unsentIn(t, dir, "one"), nil)
	d.send(finished{})
	equal(t, d.lines, []string{"hello", "/new", "to the new one"})

	d.enter("waits", "waits too")
	d.left()
	equal(t, unsentIn(t, dir, "two"), []string{"waits", "waits too"})
	d = chatIn(t, dir, "two")
	d.enter("/sessions one")
	d.send(Event{Kind: Switched, Text: "session one continues", Session: "one", Status: d.status}, finished{})
	if len(d.queue.inputs) != 0 {
		t.Errorf("session one got %v", d.queue.inputs)
	}
	d.enter("/sessions two")
	d.send(Event{Kind: Switched, Text: "session two continues", Session: "two", Status: d.status}, finished{})
	if shown := d.screenshot(t); !strings.Contains(shown, "2 messages wait: Enter sends") {
		t.Errorf("session two lost its inputs:\n%s", shown)
	}
}

func TestTheUserIsToldWhatCannotBeKept(t *testing.T) {
	dir := t.TempDir()
	d := chatIn(t, dir, "one")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	d.enter("first", "second")
	if text := d.left(); !strings.Contains(text, "1 message was not sent, and cannot be kept on disk") || !strings.Contains(text, "> second") {
		t.Errorf("not told:\n%s", text)
	}

	dir = t.TempDir()
	chatIn(t, dir, "one")
	file := unsentPath(dir, "one")
	if err := os.WriteFile(file, []byte("[\"half"), 0o600); err != nil {
		t.Fatal(err)
	}
	d = chatIn(t, dir, "one")
	if shown := d.screenshot(t); !strings.Contains(shown, "read the messages that were not sent") {
		t.Errorf("a damaged file is not reported:\n%s", shown)
	}
	d.enter("first", "second")
	if text := d.left(); !strings.Contains(text, "cannot be kept on disk") {
		t.Errorf("not told:\n%s", text)
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != "[\"half" {
		t.Errorf("the damaged file is now %q, %v", data, err)
	}
}

// Ollama 0.17.4 drops a call that it cannot read, and counts its tokens (its parser of
// calls keeps them back until they are whole).
func TestAnAnswerWithoutContentIsExplained(t *testing.T) {
	for count, want := range map[int]string{0: "said nothing", 1: "said nothing", 56: "nothing of the 56 tokens that the model wrote"} {
		if err := silentAnswer(model.Answer{Tokens: count}); !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "/retry") {
			t.Errorf("%d tokens: %v, want %q", count, err, want)
		}
	}
}

func TestPlainShowsWhatWasNotSent(t *testing.T) {
	file := filepath.Join(t.TempDir(), "one.unsent.json")
	if err := writeUnsent(file, []queued{{"a", "first"}, {"b", "second"}}); err != nil {
		t.Fatal(err)
	}
	for _, read := range []bool{false, true} {
		var notes bytes.Buffer
		l := lineChat{notes: &notes}
		l.printUnsent(file, read)
		if want := "2 messages of the earlier chat were not sent:\nfirst\nsecond\n"; notes.String() != want {
			t.Errorf("notes are %q, want %q", notes.String(), want)
		}
		if _, err := os.Stat(file); (err == nil) == read {
			t.Errorf("read %v: the file: %v", read, err)
		}
	}
}

func TestTheStatusFitsANarrowScreen(t *testing.T) {
	for width := 1; width <= 40; width++ {
		s := screen.Screen{Colour: true, Width: width}
		for i, line := range statusLines(s, status(0.42, "emergency"), "") {
			if w := lipgloss.Width(line); w > width {
				t.Errorf("%d columns: line %d has %d: %q", width, i, w, line)
			}
			if strings.Contains(ansi.Strip(line), "[") {
				t.Errorf("%d columns: line %d has the text of a code: %q", width, i, line)
			}
		}
	}
}
