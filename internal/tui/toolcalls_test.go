package tui

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/filetools"
	"github.com/tiercompact/tiercompact/internal/screen"
)

// reading opens a chat whose model may read a folder with the file notes.txt, if the
// user gives the consents.
func reading(t *testing.T, consents []Consent, turns ...turn) (*opened, *[]Question) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("the harbour has two piers\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	folder, err := filetools.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	x := reopen(t, Options{Dir: filepath.Join(t.TempDir(), ".compact"), Name: "test", Model: Model{Name: "smol", Window: 8192, Source: "test"}, Folder: folder}, turns...)
	var asked []Question
	x.ask = func(q Question) {
		asked = append(asked, q)
		q.to <- consents[len(asked)-1]
	}
	return x, &asked
}

func readCall(args string) chat.Part { return chat.Part{Name: "read_file", Args: args} }

func TestAModelReadsAFileAfterAQuestion(t *testing.T) {
	read := readCall(`{"path":"notes.txt"}`)
	x, asked := reading(t, []Consent{Permitted, Refused}, calls(read), calls(read, chat.Part{Name: "list_files", Args: "{}"}), says("two"))
	if err := x.Do(t.Context(), "how many piers?"); err != nil {
		t.Fatal(err)
	}
	equal(t, x.said(), []string{
		"user: how many piers?",
		"assistant: ", "tool: the harbour has two piers\n",
		"assistant: ", "tool: the harbour has two piers\n", "tool: " + errNotPermitted.Error(),
		"assistant: two",
	})
	if len(*asked) != 2 { // reading is permitted until the chat ends
		t.Fatalf("%d questions: %v", len(*asked), *asked)
	}
	if q := (*asked)[0]; q.Text != "smol wants to read notes.txt" || !strings.HasPrefix(q.Kind, "read files in /") {
		t.Errorf("asked was %+v", q)
	}
	for _, name := range []string{"recall", "list_files", "read_file", "search_files"} {
		if !strings.Contains(string(x.chat.asked[0].Tools), `"name":"`+name+`"`) {
			t.Errorf("the request has no tool %s: %s", name, x.chat.asked[0].Tools)
		}
	}
	x.checkDisk(t)
}

func TestAConsentForOneCallIsForOne(t *testing.T) {
	read := readCall(`{"path":"notes.txt"}`)
	x, asked := reading(t, []Consent{Once, Refused}, calls(read), calls(read), says("two"))
	if err := x.Do(t.Context(), "how many piers?"); err != nil {
		t.Fatal(err)
	}
	if all := x.Messages(); len(*asked) != 2 || !all[5].Parts[0].Error {
		t.Errorf("%d questions, and %v", len(*asked), x.said())
	}
}

func TestACallThatLeadsOutIsNotAskedFor(t *testing.T) {
	x, asked := reading(t, nil, calls(readCall(`{"path":"../secret"}`), readCall(`{"path":"/etc/passwd"}`), readCall(`{`), chat.Part{Name: "rm", Args: "{}"}), says("sorry"))
	if err := x.Do(t.Context(), "read it"); err != nil {
		t.Fatal(err)
	}
	all := x.said()
	for i, want := range []string{"leads out", "absolute", "not a JSON object", "there are: recall, list_files, read_file, search_files"} {
		if !strings.Contains(all[i+2], want) {
			t.Errorf("result %d: %s", i, all[i+2])
		}
	}
	if len(*asked) > 0 {
		t.Errorf("asked was %v", *asked)
	}
}

func TestAQuestionCanBeStopped(t *testing.T) {
	x, _ := reading(t, nil, calls(readCall(`{"path":"notes.txt"}`)), says("two"))
	ctx, stop := context.WithCancel(t.Context())
	x.ask = func(Question) { stop() }
	if err := x.Do(ctx, "how many piers?"); !errors.Is(err, context.Canceled) {
		t.Errorf("a stopped question: %v", err)
	}
	if got := x.said(); len(got) != 3 || got[2] != "tool: the user stopped it" {
		t.Errorf("in the conversation is %q", got)
	}
	x.checkDisk(t)
}

// A result is counted and compacted as any other message is.
func TestAResultIsCounted(t *testing.T) {
	x, _ := reading(t, []Consent{Permitted}, calls(readCall(`{"path":"long.txt"}`)), says("ok"))
	if err := os.WriteFile(filepath.Join(x.o.Folder.Name(), "long.txt"), []byte(strings.Repeat("one line of many words\n", 5000)), 0o600); err != nil {
		t.Fatal(err)
	}
	before := x.Status().Usage.Tokens
	if err := x.Do(t.Context(), "read it"); err != nil {
		t.Fatal(err)
	}
	added := x.Status().Usage.Tokens - before
	if text := x.Messages()[3].Text(); added < 1000 || added > 8192/4 || !strings.Contains(text, "the rest begins at start_line") {
		t.Errorf("%d tokens, ending with %q", added, text[len(text)-60:])
	}
}

func TestAnAppAsksBeforeItReads(t *testing.T) {
	d := drive(screen.Screen{}, 80, 24)
	d.typed("how many piers?")
	d.keys("enter")
	d.typed("and the yards?")
	q := Question{Text: "smol wants to read notes.txt", Kind: "read files in /x", to: make(chan Consent, 1)}
	d.send(q)
	d.typed("yes, and")
	d.keys("enter")
	select {
	case <-q.to:
		t.Error("a message is an answer")
	default:
	}
	if s := d.screenshot(t); !strings.Contains(s, "smol wants to read notes.txt") || !strings.Contains(s, "answer y, o or n") {
		t.Errorf("no question is shown:\n%s", s)
	}
	d.input.Reset()
	d.typed("o")
	d.keys("enter")
	if answer := <-q.to; answer != Once {
		t.Errorf("the answer is %d", answer)
	}
	if got := d.input.Value(); got != "and the yards?" {
		t.Errorf("the draft is %q", got)
	}
	d.send(Question{Text: "again", to: make(chan Consent, 1)})
	d.keys("ctrl+c")
	d.send(finished{context.Canceled})
	if d.stopped != 1 || d.question != nil || d.input.Value() != "and the yards?" {
		t.Errorf("after a stop: %d, %v, %q", d.stopped, d.question, d.input.Value())
	}
}

func TestPlainAsksTheNextLine(t *testing.T) {
	for input, want := range map[string]string{
		"piers?\nwhat?\ny\n": "the harbour has two piers",
		"piers?\nn\n":        errNotPermitted.Error(),
		"piers?\n":           errNotPermitted.Error(),
	} {
		x, _ := reading(t, nil, calls(readCall(`{"path":"notes.txt"}`)), says("two"))
		var out, notes bytes.Buffer
		if err := Plain(t.Context(), x.Talk, strings.NewReader(input), &out, &notes, true, true); err != nil {
			t.Errorf("%q: %v", input, err)
		}
		if got := x.said(); len(got) != 4 || !strings.Contains(got[2], want) {
			t.Errorf("%q: %q", input, got)
		}
		if !strings.Contains(notes.String(), "smol wants to read notes.txt\nread files in ") {
			t.Errorf("%q: no question in %q", input, notes.String())
		}
	}
	x, _ := reading(t, nil, calls(readCall(`{"path":"notes.txt"}`)), says("two"))
	x.ask = nil
	if err := Plain(t.Context(), x.Talk, strings.NewReader("piers?\ny\n"), &bytes.Buffer{}, &bytes.Buffer{}, false, true); err != nil {
		t.Fatal(err)
	}
	if got := x.said(); !strings.Contains(got[2], errNotPermitted.Error()) {
		t.Errorf("without a prompt, a line of input was the answer: %q", got)
	}
}

// What is in a file, or in its name, cannot steer the terminal: neither in the question,
// nor in the call and its result, nor in /files.
func TestNothingInAFileSteersTheTerminal(t *testing.T) {
	const steering = "a\x1b]52;c;b3duZWQ=\x07b\x1b[2J\u009b2Jc\u202ed\u2028e\rf"
	x, asked := reading(t, []Consent{Permitted, Permitted, Permitted},
		calls(readCall(`{"path":"evil.txt"}`), chat.Part{Name: "list_files", Args: "{}"}, chat.Part{Name: "search_files", Args: `{"text":"a\u001b[2J\u009b\u202e"}`}), says("done"))
	for name, text := range map[string]string{"evil.txt": steering + "\nthe harbour\n", "\x1b[2J\u202egpj.exe": "the harbour\n"} {
		if err := os.WriteFile(filepath.Join(x.o.Folder.Name(), name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a := newChatApp(screen.Screen{Width: 80}, status(0.1, ""))
	x.receive = a.showEvent
	if err := errors.Join(x.Do(t.Context(), "what is in evil.txt?"), x.Do(t.Context(), "/files")); err != nil {
		t.Fatal(err)
	}
	for _, q := range *asked {
		a.showQuestion(q)
	}
	shown := strings.Join(a.page.lastLines(maxPrinted), "\n")
	for _, want := range []string{"evil.txt", "gpj.exe", "wants to search"} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is not shown:\n%s", want, shown)
		}
	}
	for _, r := range shown {
		if r != '\n' && screen.Steers(r) {
			t.Fatalf("%q in %q", r, shown)
		}
	}
}
