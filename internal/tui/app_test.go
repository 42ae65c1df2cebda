package tui

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/model"
	"github.com/tiercompact/tiercompact/internal/screen"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/summarize"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata")

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal([]byte(got), want) {
		t.Errorf("%s differs; run go test -update and look at the difference:\n%s", file, got)
	}
}

// A driven app gets its input from a test, and records the lines that it would run.
type driven struct {
	*app
	lines   []string
	stopped int
	quit    bool
}

func drive(s screen.Screen, width, height int) *driven {
	d := &driven{app: newChatApp(s, status(0.42, ""))}
	d.start = func(line string) func() {
		d.lines = append(d.lines, line)
		return func() { d.stopped++ }
	}
	d.send(tea.WindowSizeMsg{Width: width, Height: height})
	return d
}

func status(share float64, level string) Status {
	return Status{
		Model: Model{Name: "smol:latest", Window: 8192, Source: "loaded on the server"}, Level: level, Skipped: 2,
		Thresholds: levels.Thresholds{levels.SoftName: 0.6, levels.HardName: 0.75, levels.Emergency: 0.9},
		Usage:      tiercompact.Usage{Tokens: int(8192 * share), Window: 8192, Budget: 7168, Share: share},
	}
}

func (d *driven) send(msgs ...tea.Msg) {
	for _, m := range msgs {
		_, cmd := d.Update(m)
		if cmd == nil {
			continue
		}
		if _, quits := cmd().(tea.QuitMsg); quits {
			d.quit = true
		}
	}
}

func (d *driven) typed(text string) {
	for _, r := range text {
		d.send(tea.KeyPressMsg{Code: r, Text: string(r)})
	}
}

func press(name string) tea.KeyPressMsg {
	codes := map[string]rune{"enter": tea.KeyEnter, "up": tea.KeyUp, "down": tea.KeyDown, "pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown}
	mod, last, ok := strings.Cut(name, "+")
	if !ok {
		return tea.KeyPressMsg{Code: codes[name]}
	}
	k := tea.KeyPressMsg{Code: codes[last], Mod: map[string]tea.KeyMod{"ctrl": tea.ModCtrl, "alt": tea.ModAlt}[mod]}
	if k.Code == 0 {
		k.Code = rune(last[0])
	}
	return k
}

func (d *driven) keys(names ...string) {
	for _, n := range names {
		d.send(press(n))
	}
}

// screenshot returns the screen, and checks that it fits.
func (d *driven) screenshot(t *testing.T) string {
	t.Helper()
	lines := strings.Split(d.View().Content, "\n")
	if len(lines) != d.height {
		t.Errorf("%d lines on a screen of %d", len(lines), d.height)
	}
	for i, l := range lines {
		if w := lipgloss.Width(l); w > d.page.screen.Width {
			t.Errorf("line %d is %d columns wide on a screen of %d: %q", i, w, d.page.screen.Width, l)
		}
		lines[i] = strings.TrimRight(l, " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

// told adds a conversation with everything that a screen can show.
func (d *driven) told() {
	at := func(e Event, s Status) Event { e.Status = s; return e }
	d.typed("what does main.go do? 漢字")
	d.keys("enter")
	d.send(at(Event{Kind: Said, Message: chat.NewText(chat.User, "what does main.go do? 漢字")}, status(0.58, "")))
	d.send(Event{Kind: Asked, Status: status(0.58, "")},
		at(Event{Kind: Streamed, Delta: model.Delta{Thinking: "let me see what it does"}}, status(0.58, "")))
	for _, w := range strings.SplitAfter("It prints \x1b[31mone\x1b[0m line:\n\n\tfmt.Println(\"漢字漢字漢字漢字漢字漢字\")\n\nand ends, as long as nobody stops it before the end of the line is reached.", " ") {
		d.send(at(Event{Kind: Streamed, Delta: model.Delta{Text: w}}, status(0.61, "")))
	}
	answer := chat.NewText(chat.Assistant, "It prints one line:\n\n\tfmt.Println(\"漢字漢字漢字漢字漢字漢字\")\n\nand ends, as long as nobody stops it before the end of the line is reached.")
	round := tiercompact.Report{Picked: levels.Emergency, Before: 7536, After: 3277, Step: 1,
		Usage: tiercompact.Usage{Tokens: 3277, Window: 8192, Share: 0.4},
		Applied: []tiercompact.Applied{
			{Level: levels.SoftName, Before: 7536, After: 7000},
			{Level: levels.Emergency, Before: 7000, After: 3277, Engine: "ollama/llama", Fallback: "brief", Removed: 2,
				Attempts: []tiercompact.Attempt{{Engine: "ollama/llama", Reason: "it is a refusal", Then: "brief"}}},
		},
		Edits: []tiercompact.Edit{
			{Level: levels.SoftName, Start: 1, End: 2, Put: 1, Why: "outline of main.go"},
			{Level: levels.Emergency, Start: 2, End: 9, Put: 1, Why: "summarised: 7 messages", New: []chat.Message{{State: chat.Summarized}}},
		},
	}
	after := status(0.4, "emergency")
	after.Cooldown, after.Freed = 2, 4259
	d.send(at(Event{Kind: Said, Message: answer}, status(0.92, "")), at(Event{Kind: Compacted, Report: round}, after),
		at(Event{Kind: Warned, Text: "usage is high"}, after), finished{})
}

func TestScreenLooksAsItDid(t *testing.T) {
	for name, s := range map[string]struct {
		screen        screen.Screen
		width, height int
	}{
		"80x24":     {screen.Screen{}, 80, 24},
		"40x16":     {screen.Screen{}, 40, 16},
		"ascii":     {screen.Screen{ASCII: true}, 80, 24},
		"coloured":  {screen.Screen{Colour: true}, 80, 24},
		"tiny-20x6": {screen.Screen{}, 20, 6},
	} {
		d := drive(s.screen, s.width, s.height)
		d.told()
		golden(t, "screen-"+name+".golden", d.screenshot(t))
	}
}

func TestAResizedScreenIsDrawnAnew(t *testing.T) {
	d := drive(screen.Screen{}, 20, 6)
	d.told()
	d.screenshot(t)
	d.send(tea.WindowSizeMsg{Width: 80, Height: 24})
	golden(t, "screen-80x24.golden", d.screenshot(t))
	for width := 1; width < 30; width++ {
		d.send(tea.WindowSizeMsg{Width: width, Height: 8})
		d.View() // nothing panics
	}
}

func TestStreamedTextIsDrawnAsIfItCameAtOnce(t *testing.T) {
	text := "One line that is longer than the screen is wide, and goes on.\n\n  - an  item with  blanks   \n\t- 漢字漢字漢字漢字漢字漢字漢字漢字 and-a-word-with-many-hyphens-in-it\n" + strings.Repeat("x", 100)
	for width := 8; width < 40; width++ {
		whole := transcriptPage{screen: screen.Screen{Width: width}}
		whole.addBlock(theirs, text)
		pieces := transcriptPage{screen: screen.Screen{Width: width}}
		for _, r := range text {
			pieces.streamText(string(r))
		}
		got, want := strings.Join(pieces.visibleLines(60), "\n"), strings.Join(whole.visibleLines(60), "\n")
		if got != want {
			t.Fatalf("at %d columns\n%s\nnot\n%s", width, got, want)
		}
	}
}

func TestNoControlCharacterReachesTheTerminal(t *testing.T) {
	p := transcriptPage{screen: screen.Screen{Width: 80}}
	p.streamText("a\x1b]0;title\x07b\u009b31m\r\x00\u202ec\u2028d\u200dé")
	p.addBlock(noted, "\x1b[2J")
	for _, l := range p.visibleLines(5) {
		for _, r := range l {
			if r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u202e' || r == '\u2028' {
				t.Errorf("%q has %q", l, r)
			}
		}
	}
}

func TestPastesIntoTheInput(t *testing.T) {
	d := drive(screen.Screen{}, 80, 24)
	long := strings.Repeat("x", 201)
	d.typed("see ")
	d.send(tea.PasteMsg{Content: long})
	d.typed(" and ")
	d.send(tea.PasteMsg{Content: "short"}, tea.PasteMsg{Content: long + "y"})
	if got, want := d.input.Value(), "see [LongText#1] and short[LongText#2]"; got != want {
		t.Errorf("the input shows %q, want %q", got, want)
	}
	d.keys("enter")
	equal(t, d.lines, []string{"see " + long + " and short" + long + "y"})
	if !strings.Contains(d.screenshot(t), "> see [LongText#1] and short[LongText#2]") {
		t.Error("the transcript does not show the placeholders")
	}
	d.send(finished{})
	d.keys("up", "enter")
	if len(d.lines) != 2 || d.lines[1] != d.lines[0] {
		t.Error("what is taken from the history is not sent as it was")
	}
}

func TestNewLinesInTheInput(t *testing.T) {
	d := drive(screen.Screen{}, 80, 24)
	d.typed("one")
	d.keys("alt+enter")
	d.typed("two")
	d.keys("ctrl+j")
	d.typed("three")
	if !strings.Contains(d.screenshot(t), "> one\n> two\n> three\n") {
		t.Errorf("the input is not three lines:\n%s", d.screenshot(t))
	}
	d.keys("enter")
	equal(t, d.lines, []string{"one\ntwo\nthree"})
}

func TestHistory(t *testing.T) {
	d := drive(screen.Screen{}, 80, 24)
	for _, text := range []string{"first", "second", "second"} {
		d.typed(text)
		d.keys("enter")
		d.send(finished{})
	}
	d.typed("draft")
	for _, step := range []struct{ key, want string }{
		{"up", "second"}, {"up", "first"}, {"up", "first"}, {"down", "second"}, {"down", "draft"}, {"down", "draft"},
	} {
		d.keys(step.key)
		if got := d.input.Value(); got != step.want {
			t.Errorf("after %s the input is %q, want %q", step.key, got, step.want)
		}
	}
}

func TestCtrlCStopsAnAnswerNotTheSession(t *testing.T) {
	d := drive(screen.Screen{}, 80, 24)
	d.typed("hello")
	d.keys("enter", "ctrl+c")
	if d.stopped != 1 || d.quit {
		t.Fatalf("stopped %d times, quit %v", d.stopped, d.quit)
	}
	d.typed("more")
	d.keys("enter")
	if len(d.lines) != 1 || !strings.Contains(d.screenshot(t), "your message waits") {
		t.Error("a message was sent before the answer had ended")
	}
	d.keys("up")
	if d.input.Value() != "more" || len(d.queue.inputs) != 0 {
		t.Errorf("not taken back: %q", d.input.Value())
	}
	d.input.Reset()
	d.send(finished{context.Canceled})
	d.keys("ctrl+c")
	if d.quit || !strings.Contains(d.screenshot(t), "once more leaves") {
		t.Error("no hint after the first Ctrl+C")
	}
	d.typed("x")
	if d.keys("ctrl+c"); d.quit {
		t.Error("left though a key was pressed between")
	}
	d.send(tea.PasteMsg{Content: "y"})
	if d.keys("ctrl+c"); d.quit {
		t.Error("left though something was pasted between")
	}
	if d.keys("ctrl+c"); !d.quit {
		t.Error("not left after the second Ctrl+C")
	}
}

// A paste without brackets is a message for each line: the second Ctrl+C holds them.
func TestTheSecondCtrlCHoldsWhatWaits(t *testing.T) {
	d := drive(screen.Screen{}, 80, 24)
	for _, line := range []string{"one", "two", "three"} {
		d.typed(line)
		d.keys("enter")
	}
	d.keys("ctrl+c")
	d.send(finished{context.Canceled})
	if len(d.lines) != 2 || d.lines[1] != "two" {
		t.Fatalf("after one Ctrl+C, sent are %q", d.lines)
	}
	if d.keys("ctrl+c"); !d.queue.held {
		t.Error("what waits is not held")
	}
	d.send(finished{context.Canceled})
	d.keys("ctrl+c")
	if len(d.lines) != 2 || d.quit || !strings.Contains(d.screenshot(t), "Enter sends, Up takes back") {
		t.Errorf("sent are %q, left is %v", d.lines, d.quit)
	}
	if d.keys("enter"); len(d.lines) != 3 {
		t.Errorf("sent are %q", d.lines)
	}
}

// The terminal selects text with the mouse, as it does outside of the chat.
func TestTheMouseIsTheTerminals(t *testing.T) {
	d := drive(screen.Screen{}, 80, 24)
	if v := d.View(); v.MouseMode != tea.MouseModeNone {
		t.Errorf("the mouse is taken: mode %v", v.MouseMode)
	}
}

func TestWaysToLeave(t *testing.T) {
	for name, act := range map[string]func(d *driven){
		"ctrl+d":              func(d *driven) { d.keys("ctrl+d") },
		"/quit":               func(d *driven) { d.typed("/quit"); d.keys("enter") },
		"/quit while it says": func(d *driven) { d.typed("hi"); d.keys("enter"); d.typed("/quit"); d.keys("enter") },
		"quit by a command":   func(d *driven) { d.send(finished{ErrQuit}) },
	} {
		d := drive(screen.Screen{}, 80, 24)
		if act(d); !d.quit {
			t.Errorf("%s does not leave", name)
		}
	}
	d := drive(screen.Screen{}, 80, 24)
	d.typed("x")
	if d.keys("ctrl+d"); d.quit {
		t.Error("Ctrl+D leaves though something was typed")
	}
}

func TestScrolling(t *testing.T) {
	d := drive(screen.Screen{}, 40, 14)
	for i := range 50 {
		d.page.addBlock(noted, fmt.Sprintf("line %d", i))
	}
	d.keys("pgup")
	before := d.screenshot(t)
	if strings.Contains(before, "line 49") || !strings.Contains(before, "below, PgDn") {
		t.Errorf("PgUp shows\n%s", before)
	}
	d.page.streamText("an answer\nof two lines")
	top := func(s string) string { first, _, _ := strings.Cut(s, "\n"); return first }
	if got, want := top(d.screenshot(t)), top(before); got != want {
		t.Errorf("the answer moves what is read from %q to %q", want, got)
	}
	d.keys("pgup", "pgup", "pgup", "pgup", "pgup", "pgup", "pgup", "pgup", "pgup")
	if s := d.screenshot(t); !strings.HasPrefix(s, "· line 0") {
		t.Errorf("the top shows\n%s", s)
	}
	for range 12 {
		d.keys("pgdown")
	}
	if s := d.screenshot(t); !strings.Contains(s, "of two lines") {
		t.Errorf("the bottom shows\n%s", s)
	}
}

func TestWhatIsGoingOnIsTold(t *testing.T) {
	d := drive(screen.Screen{}, 80, 24)
	d.typed("hi")
	d.keys("enter")
	for _, step := range []struct {
		event Event
		want  string
	}{
		{Event{Kind: Asked}, "waiting for the answer… Ctrl+C stops"},
		{Event{Kind: Streamed, Delta: model.Delta{Text: "x"}}, "answering…"},
		{Event{Kind: Voided, Text: "cut"}, "! cut"},
		{Event{Kind: Summaries, Progress: summarize.Progress{Step: "chunk", Call: 2, Of: 5, PerSecond: 12.34}}, "summarising: chunk 2 of 5, 12.3 tokens/s… Ctrl+C stops"},
		{Event{Kind: Noted, Text: "by the way"}, "· by the way"},
	} {
		step.event.Status = d.status
		d.send(step.event)
		if s := d.screenshot(t); !strings.Contains(s, step.want) {
			t.Errorf("no %q in\n%s", step.want, s)
		}
	}
	d.send(finished{errors.New("nobody answers")})
	if s := d.screenshot(t); !strings.Contains(s, "✗ nobody answers") || strings.Contains(s, "Ctrl+C") {
		t.Errorf("the error is not shown:\n%s", s)
	}
}

func TestAResumedChatShowsWhatThereWas(t *testing.T) {
	x := open(t, 4096)
	x.model.Warning = "the window is small"
	call := chat.Message{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, ID: "q", Name: "recall", Args: `{"text":"x"}`}}}
	x.session.Load([]chat.Message{
		chat.NewText(chat.User, strings.Repeat("a line\n", 30)), call, chat.NewResult("q", "found"),
		chat.NewText(chat.Assistant, "so it is"), {Role: chat.Assistant, State: chat.Summarized, Parts: []chat.Part{{Kind: chat.Summary, Text: "what was"}}},
		{Role: chat.User, Machine: true, Parts: []chat.Part{{Kind: chat.Text, Text: "a file"}}}, chat.NewText(chat.User, "and?"),
	})
	d := drive(screen.Screen{}, 60, 40)
	d.showGreeting(x.Talk)
	golden(t, "screen-resumed.golden", d.screenshot(t))
	d.keys("up")
	if got := d.input.Value(); got != "and?" {
		t.Errorf("the history begins with %q", got)
	}
}

func BenchmarkStream(b *testing.B) {
	for b.Loop() {
		p := transcriptPage{screen: screen.Screen{Width: 80}}
		for range 10000 {
			p.streamText("word ")
		}
	}
}
