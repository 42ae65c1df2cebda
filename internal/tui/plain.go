package tui

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/charmbracelet/x/ansi"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/screen"
)

// maxLine is the longest line that Plain reads, in bytes.
const maxLine = 1 << 20

// Plain runs a chat line by line: each line of in is a command or a message,
// answers go to out, everything else to notes. It ends at the end of in, or with
// /quit; the error is not nil if lines failed. An interrupt stops the current
// action, or ends the chat if there is none. The end of the terminal or of the process
// stops the action, keeps its text, and ends the chat.
//
// prompt turns a prompt on. watched shows an answer while it streams, even if the
// model has to be asked again later. Otherwise each answer is written once, when it
// is complete.
func Plain(ctx context.Context, t *Talk, in io.Reader, out, notes io.Writer, prompt, watched bool) error {
	ctx = context.WithoutCancel(ctx) // signals are handled here
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	ends := make(chan os.Signal, 1)
	signal.Notify(ends, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(ends)
	l := lineChat{screen: t.o.Screen, out: out, notes: notes, watched: watched, interrupts: interrupts, ends: ends}
	t.receive = l.printEvent
	questions := make(chan Question, 1)
	if prompt { // otherwise the next line is a message, not an answer
		t.ask = func(q Question) { questions <- q }
	}
	defer func() { t.receive, t.ask = nil, nil }()
	if t.o.Notice != "" {
		l.printLine(t.o.Notice)
	}
	if t.model.Warning != "" {
		l.printLine("warning: " + t.model.Warning)
	}
	l.printUnsent(unsentPath(t.o.Dir, t.Name()), prompt)
	input := make(chan typed)
	l.input = input
	quit := make(chan struct{})
	defer close(quit)
	go readLines(in, input, quit)
	asked, wrong := 0, 0
	for {
		if prompt {
			fmt.Fprint(out, "> ")
		}
		line, ok := l.nextLine()
		if prompt && (!ok || line.last) { // what follows begins a line: no Enter was echoed
			fmt.Fprintln(out)
		}
		if !ok {
			return nil
		}
		if line.err == nil {
			line.err = l.runLine(ctx, t, line.text, questions)
			asked++
		}
		switch {
		case l.failed != nil:
			return l.failed // answers are in the session
		case errors.Is(line.err, io.EOF):
			return failures(wrong, asked)
		case errors.Is(line.err, ErrQuit), l.ending:
			return failures(wrong, asked)
		case line.err != nil && line.last:
			return line.err
		case line.err != nil:
			wrong++
			l.printLine(failureText(line.err))
		}
	}
}

// nextLine returns the next line of input; ok is false after an interrupt.
func (l *lineChat) nextLine() (line typed, ok bool) {
	if l.ended != nil {
		return *l.ended, true
	}
	select {
	case <-l.interrupts:
		return line, false
	case <-l.ends:
		return line, false
	case line = <-l.input:
		return line, true
	}
}

// failureText is what a user reads of an error of a line.
func failureText(err error) string {
	if errors.Is(err, context.Canceled) {
		return "stopped"
	}
	return err.Error()
}

// failures returns how many lines failed, nil for none.
func failures(wrong, asked int) error {
	if wrong == 0 {
		return nil
	}
	return fmt.Errorf("%d of %s failed, as reported above", wrong, screen.Plural(asked, "line"))
}

// typed is a line of input, or the error of reading one.
type typed struct {
	text string
	err  error
	last bool // nothing more can be read
}

// readLines sends the lines of in until it ends, or quit is closed.
func readLines(in io.Reader, to chan<- typed, quit <-chan struct{}) {
	b := bufio.NewReaderSize(in, 1<<12)
	for {
		var x typed
		x.text, x.err = readLine(b)
		x.last = x.err != nil
		select {
		case to <- x:
		case <-quit:
			return
		}
		if x.last {
			return
		}
	}
}

// readLine returns the next line without its line feed, which the last line need not have.
func readLine(b *bufio.Reader) (string, error) {
	var line []byte
	for {
		part, err := b.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			return "", fmt.Errorf("a line of input is longer than %s bytes; put it into a file, and /add that", screen.Grouped(maxLine))
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && (len(line) == 0 || !errors.Is(err, io.EOF)):
			return "", err
		}
		return strings.TrimRight(string(line), "\r\n"), nil
	}
}

// A lineChat writes events line by line.
type lineChat struct {
	screen     screen.Screen
	out, notes io.Writer
	watched    bool  // show an answer while it streams
	shown      bool  // the current answer is on out, or a part of it
	streaming  bool  // out is in the middle of a line
	failed     error // of writing to out

	input      <-chan typed
	ended      *typed // the end of the input, if a question met it
	interrupts <-chan os.Signal
	ends       <-chan os.Signal // of the terminal, or of the process
	ending     bool             // one came
}

// printUnsent shows what was not sent when the session was left. It stays on disk,
// unless somebody has read it.
func (l *lineChat) printUnsent(path string, read bool) {
	inputs, err := readUnsent(path)
	if err != nil {
		l.printLine("warning: " + err.Error())
	}
	if len(inputs) == 0 {
		return
	}
	l.printLine(unsentText(len(inputs)) + ":\n" + strings.Join(inputs, "\n"))
	if read {
		_ = os.Remove(path)
	}
}

func (l *lineChat) printText(text string) {
	if _, err := io.WriteString(l.out, text); err != nil && l.failed == nil {
		l.failed = fmt.Errorf("write answer: %w", err)
	}
}

// runLine runs one line; an interrupt stops it.
func (l *lineChat) runLine(ctx context.Context, t *Talk, line string, questions <-chan Question) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- t.Do(ctx, line) }()
	for {
		select {
		case <-l.interrupts:
			stop()
		case <-l.ends:
			l.ending = true
			stop()
		case q := <-questions:
			l.askUser(q, stop)
		case err := <-done:
			l.endLine()
			return err
		}
	}
}

// askUser asks a question until a line of input answers it. The end of the input is
// a refusal, an interrupt stops the action.
func (l *lineChat) askUser(q Question, stop func()) {
	l.printLine(q.Text + "\n" + q.Kind + "?\n" + questionHint)
	for {
		fmt.Fprint(l.out, "? ")
		select {
		case <-l.interrupts:
			stop()
			return
		case <-l.ends:
			l.ending = true
			stop()
			return
		case line := <-l.input:
			if line.last {
				l.ended = &line
			}
			answer, ok := answerOf(line.text)
			if ok || line.err != nil {
				q.to <- answer
				return
			}
		}
	}
}

func (l *lineChat) printEvent(e Event) {
	switch e.Kind {
	case Asked:
		l.endLine()
		l.shown = false
	case Streamed:
		if e.Delta.Text != "" && l.watched {
			l.shown, l.streaming = true, true
			l.printText(safeForTerminal(e.Delta.Text))
		}
	case Waiting: // an answer on out continues on its line
		fmt.Fprintln(l.notes, safeForTerminal(e.Text))
	case Said:
		l.printAssistant(e.Message)
	case Compacted:
		for _, line := range roundLines(l.screen, e.Report) {
			l.printLine(line)
		}
	case Noted, Switched:
		l.printLine(e.Text)
	case Copied:
		if l.watched {
			l.printText(ansi.SetSystemClipboard(e.Text))
		}
	case Voided, Warned:
		l.printLine("warning: " + e.Text)
	}
}

// printAssistant shows the part of a message that did not stream.
func (l *lineChat) printAssistant(m chat.Message) {
	if m.Role == chat.Assistant && !l.shown && m.Text() != "" {
		l.printText(safeForTerminal(m.Text()))
		l.streaming = true
	}
	l.endLine()
	l.shown = false
	for _, p := range m.Parts {
		if p.Kind == chat.Call {
			l.printLine(screen.Clip(p.Name+" "+p.Args, 200))
		}
	}
}

func (l *lineChat) endLine() {
	if l.streaming {
		l.printText("\n")
	}
	l.streaming = false
}

func (l *lineChat) printLine(text string) {
	l.endLine()
	fmt.Fprintln(l.notes, safeForTerminal(text))
}
