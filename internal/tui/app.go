package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/screen"
)

// An app is the chat on a full screen.
type app struct {
	start  func(line string) (stop func()) // runs a line of input; finished follows
	dir    string                          // of the sessions
	page   transcriptPage
	input  textarea.Model
	pastes chat.Pastes
	past   history
	height int

	status   Status
	stop     func() // stops the current action; nil: there is none
	running  queued // the input of the current action
	doing    string
	queue    queue
	hint     string
	question *Question // not answered yet; nil: there is none
	draft    string    // the input before the question
	leaving  bool      // the last key was Ctrl+C, without an action to stop
	stopping bool      // the last key was Ctrl+C, with an action to stop
	left     bool      // the chat ends: what waits is not run
}

// finished says that the action has ended.
type finished struct{ err error }

const inputLines = 6 // shown at most

func newChatApp(s screen.Screen, st Status) *app {
	a := &app{page: transcriptPage{screen: s}, input: newInput(s), status: st}
	a.resizeScreen(80, 24)
	return a
}

func newInput(s screen.Screen) textarea.Model {
	in := textarea.New()
	in.Prompt = "> "
	in.Placeholder = "a message, or /help"
	in.ShowLineNumbers = false
	in.CharLimit = 0
	in.DynamicHeight, in.MinHeight, in.MaxHeight = true, 1, inputLines
	in.KeyMap.InsertNewline = key.NewBinding(key.WithKeys("alt+enter", "ctrl+j", "shift+enter"))
	in.KeyMap.Paste.SetEnabled(false) // only the terminal's own pastes get placeholders
	plain := textarea.StyleState{}
	if s.Colour {
		plain.Placeholder = lipgloss.NewStyle().Faint(true)
	}
	in.SetStyles(textarea.Styles{Focused: plain, Blurred: plain})
	in.SetVirtualCursor(false)
	in.Focus()
	return in
}

// Init implements [tea.Model].
func (a *app) Init() tea.Cmd { return nil }

// Update implements [tea.Model].
func (a *app) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		a.resizeScreen(msg.Width, msg.Height)
	case tea.KeyPressMsg:
		return a, a.handleKey(msg)
	case tea.PasteMsg:
		a.leaving, a.stopping, a.hint = false, false, "" // as after a key
		a.input.InsertString(a.pastes.Add(msg.Content))
	case Event:
		a.showEvent(msg)
		if msg.Kind == Copied {
			return a, tea.SetClipboard(msg.Text)
		}
	case Question:
		a.showQuestion(msg)
	case finished:
		return a, a.finishAction(msg.err)
	default:
		var cmd tea.Cmd
		a.input, cmd = a.input.Update(msg)
		return a, cmd
	}
	return a, nil
}

func (a *app) resizeScreen(width, height int) {
	a.page.screen.Width, a.height = width, height
	a.input.MaxHeight = max(1, min(inputLines, height/3))
	a.input.SetWidth(width)
}

func (a *app) handleKey(k tea.KeyPressMsg) tea.Cmd {
	leaving, stopping := a.leaving, a.stopping
	a.leaving, a.stopping, a.hint = false, false, ""
	switch k.String() {
	case "ctrl+c":
		return a.interrupt(leaving, stopping)
	case "ctrl+z":
		return tea.Suspend
	case "ctrl+d":
		if a.input.Length() == 0 {
			return a.leaveChat()
		}
	case "enter":
		return a.submitInput()
	case "pgup":
		a.page.up += max(1, a.transcriptLines()-1)
		return nil
	case "pgdown":
		a.page.up = max(0, a.page.up-max(1, a.transcriptLines()-1))
		return nil
	case "tab":
		a.completeInput()
		return nil
	case "ctrl+l":
		a.page.clear()
		return tea.ClearScreen
	case "up", "down":
		if k.String() == "up" && a.unqueueInput() {
			return nil
		}
		if a.recallInput(k.String() == "up") {
			return nil
		}
	}
	var cmd tea.Cmd
	a.input, cmd = a.input.Update(k)
	return cmd
}

// interrupt stops the current action, and again what waits, too: it is held. If there
// is no action, the second interrupt leaves.
func (a *app) interrupt(leaving, stopping bool) tea.Cmd {
	switch {
	case a.stop != nil:
		a.stop()
		a.doing, a.stopping = "stopping", true
		a.queue.held = stopping && len(a.queue.inputs) > 0
		return nil
	case stopping && len(a.queue.inputs) > 0:
		return nil // they are held
	case leaving:
		return a.leaveChat()
	}
	a.leaving, a.hint = true, "Ctrl+C once more leaves; the session can be resumed"
	return nil
}

func (a *app) leaveChat() tea.Cmd {
	a.left = true
	if a.stop != nil {
		a.stop()
	}
	return tea.Quit
}

// submitInput runs the input.
func (a *app) submitInput() tea.Cmd {
	typed := a.input.Value()
	switch {
	case isBlank(typed):
		a.releaseQueue()
		return nil
	case isQuit(typed):
		return a.leaveChat()
	case a.question != nil:
		a.answerQuestion(typed)
		return nil
	}
	a.past.addLine(typed)
	next := queued{typed, a.pastes.Expand(typed)}
	a.input.Reset()
	a.page.up = 0
	if a.stop != nil {
		a.queue.add(next)
		return nil
	}
	a.runInput(next)
	return nil
}

func isBlank(text string) bool { return strings.TrimSpace(text) == "" }

func isQuit(text string) bool {
	name, ok := strings.CutPrefix(strings.ToLower(strings.TrimSpace(text)), "/")
	return ok && (name == "quit" || otherNames[name] == "quit")
}

// releaseQueue runs the inputs that were held.
func (a *app) releaseQueue() {
	if a.queue.held && a.stop == nil {
		a.queue.held = false
		a.runInput(a.queue.first())
	}
}

// runInput runs a line of input.
func (a *app) runInput(q queued) {
	a.page.addBlock(yours, q.typed)
	a.doing, a.running = "working", q
	a.stop = a.start(q.expanded)
}

// unqueueInput takes the newest waiting input back, if nothing is being typed.
func (a *app) unqueueInput() bool {
	if len(a.queue.inputs) == 0 || a.input.Length() > 0 || a.question != nil {
		return false
	}
	a.input.SetValue(a.queue.last().typed)
	a.input.MoveToEnd()
	return true
}

// completeInput completes the word at the end of the input.
func (a *app) completeInput() {
	line, candidates := completeLine(a.input.Value(), a.dir)
	a.input.SetValue(line)
	a.input.MoveToEnd()
	a.hint = safeForTerminal(strings.Join(candidates, "  "))
}

// showQuestion asks the user. What was being typed waits until the question is
// answered, so that it cannot be taken for the answer.
func (a *app) showQuestion(q Question) {
	a.question, a.draft = &q, a.input.Value()
	a.input.Reset()
	a.page.up = 0
	a.page.addBlock(asks, q.Text+"\n"+q.Kind+"?\n"+questionHint)
	a.doing = "waiting for your answer"
}

func (a *app) answerQuestion(typed string) {
	answer, ok := answerOf(typed)
	if !ok {
		a.hint = "answer y, o or n; Ctrl+C stops"
		return
	}
	a.page.addBlock(yours, typed)
	a.question.to <- answer
	a.endQuestion()
	a.doing = "working"
}

// endQuestion brings back the input from before the question.
func (a *app) endQuestion() {
	if a.question == nil {
		return
	}
	a.question = nil
	a.input.SetValue(a.draft)
	a.input.MoveToEnd()
}

// recallInput replaces the input by an earlier or later one, if the cursor is at its edge.
func (a *app) recallInput(up bool) bool {
	edge := a.input.Line() == 0
	if !up {
		edge = a.input.Line() == a.input.LineCount()-1
	}
	if !edge {
		return false
	}
	text, ok := a.past.moveInHistory(up, a.input.Value())
	if ok {
		a.input.SetValue(text)
		a.input.MoveToEnd()
	}
	return ok
}

// showEvent shows an event.
func (a *app) showEvent(e Event) {
	a.status = e.Status
	switch e.Kind {
	case Said:
		if e.Message.Role != chat.User { // the typed text is there already
			a.page.addMessage(e.Message)
		}
		a.doing = "working"
		if e.Message.Role == chat.Assistant && !e.Message.HasCalls() {
			a.doing = "compacting if it is due"
		}
	case Asked:
		a.doing = "waiting for the answer"
	case Streamed:
		a.doing = "answering"
		if e.Delta.Thinking != "" {
			a.page.countThinking(e.Delta.Thinking)
		}
		a.page.streamText(e.Delta.Text)
	case Waiting:
		a.doing = fmt.Sprintf("no answer for %.0f seconds", e.Silent.Seconds())
	case Voided:
		a.page.endStream("")
		a.page.addBlock(warned, e.Text)
	case Compacted:
		a.page.addBlock(rounds, strings.Join(roundLines(a.page.screen, e.Report), "\n"))
		a.doing = "working"
	case Summaries:
		a.doing = screen.Summarising(e.Progress)
	case Switched:
		a.page.clear()
		a.showMessages(e.Transcript)
		a.page.addBlock(noted, e.Text)
		a.offerUnsent(e.Session)
	case Noted:
		a.page.addBlock(noted, e.Text)
	case Warned:
		a.page.addBlock(warned, e.Text)
	}
}

// finishAction shows how the action ended.
func (a *app) finishAction(err error) tea.Cmd {
	a.stop, a.doing = nil, ""
	a.endQuestion()
	a.page.answer, a.page.thought = nil, nil
	switch {
	case errors.Is(err, ErrQuit):
		return a.leaveChat()
	case errors.Is(err, context.Canceled):
		a.page.addBlock(noted, "stopped")
	case err != nil:
		a.page.addBlock(failed, err.Error())
		if errors.As(err, new(*tooLarge)) {
			a.returnInput()
		}
		a.queue.held = len(a.queue.inputs) > 0 // after an error, it may no longer be what the user wants to send
	}
	if len(a.queue.inputs) > 0 && !a.queue.held && !a.left {
		a.runInput(a.queue.first())
	}
	return nil
}

// returnInput gives the user the input of the action back, which was not sent.
func (a *app) returnInput() {
	if a.input.Length() > 0 {
		a.queue.set(slices.Insert(a.queue.inputs, 0, a.running))
		return
	}
	a.input.SetValue(a.running.typed)
	a.input.MoveToEnd()
}

// transcriptLines returns the number of lines for the transcript.
func (a *app) transcriptLines() int { return max(0, a.height-2-a.ruledLines()-a.input.Height()) }

// ruledLines returns the number of lines that separate the transcript from the
// input: 0 if there is little room.
func (a *app) ruledLines() int {
	if a.height < 12 {
		return 0
	}
	return 1
}

// View implements [tea.Model].
func (a *app) View() tea.View {
	s := a.page.screen
	doing := a.doingText()
	status := statusLines(s, a.status, doing)
	switch {
	case a.hint != "":
		status[1] = s.Paint(screen.Yellow, s.Clip(a.hint, s.Width))
	case a.page.up > 0 && doing == "":
		status[1] = s.Paint(screen.Dim, s.Clip(screen.Plural(a.page.up, "line")+" below, PgDn", s.Width))
	}
	waiting := a.waitingLines()
	lines := append(a.page.visibleLines(a.transcriptLines()-len(waiting)), waiting...)
	if a.ruledLines() > 0 {
		lines = append(lines, s.Paint(screen.Dim, strings.Repeat(s.Sign("─", "-"), s.Width)))
	}
	lines = append(lines, status[0], status[1], a.input.View())
	v := tea.NewView(strings.Join(lines, "\n"))
	v.AltScreen = true
	if c := a.input.Cursor(); c != nil {
		c.Y += a.transcriptLines() + a.ruledLines() + 2
		v.Cursor = c
	}
	return v
}

// doingText describes the current action and what waits for its end.
func (a *app) doingText() string {
	doing := a.doing
	if a.stop != nil {
		doing += a.page.screen.Sign("…", "...") + " Ctrl+C stops"
	}
	n := len(a.queue.inputs)
	waits := "your message waits"
	if n > 1 {
		waits = fmt.Sprintf("%d messages wait", n)
	}
	switch {
	case n == 0:
		return doing
	case a.queue.held && a.stop == nil:
		return waits + ": Enter sends, Up takes back"
	}
	return waits + ": " + doing
}

// waitingLines shows the newest inputs that wait.
func (a *app) waitingLines() []string {
	const most = 3
	var lines []string
	for _, q := range a.queue.inputs[max(0, len(a.queue.inputs)-min(most, a.transcriptLines())):] {
		lines = append(lines, a.page.screen.Paint(screen.Dim, a.page.screen.Clip("> "+safeForTerminal(q.typed), a.page.screen.Width)))
	}
	return lines
}

// A history holds the earlier inputs. The zero value is empty.
type history struct {
	lines []string
	at    int    // index of the shown line; len(lines) if none is shown
	draft string // the input before the first move up
}

// addLine appends a line.
func (h *history) addLine(line string) {
	if n := len(h.lines); n == 0 || h.lines[n-1] != line {
		h.lines = append(h.lines, line)
	}
	h.at, h.draft = len(h.lines), ""
}

// moveInHistory returns the line before or after the shown one; now is the current
// input. After the last line comes the draft.
func (h *history) moveInHistory(up bool, now string) (string, bool) {
	switch {
	case up && h.at == 0, !up && h.at == len(h.lines):
		return "", false
	case up:
		if h.at == len(h.lines) {
			h.draft = now
		}
		h.at--
	default:
		h.at++
	}
	if h.at == len(h.lines) {
		return h.draft, true
	}
	return h.lines[h.at], true
}

// Run shows a chat on a full screen until the user leaves. Leaving stops the
// current action and keeps its text. The chat is not closed.
func Run(ctx context.Context, t *Talk, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // the program handles signals
	defer cancel()
	var working sync.WaitGroup
	a := newChatApp(t.o.Screen, t.Status())
	a.dir = t.o.Dir
	p := tea.NewProgram(a, tea.WithInput(in), tea.WithOutput(out))
	t.receive, t.ask = func(e Event) { p.Send(e) }, func(q Question) { p.Send(q) }
	stopPreparing := func() {}
	a.start = func(line string) func() {
		all := ctx
		ctx, stop := context.WithCancel(ctx)
		working.Go(func() {
			stopPreparing()
			err := t.Do(ctx, line)
			stop()
			stopPreparing = t.prepareRound(all)
			p.Send(finished{err})
		})
		return stop
	}
	a.showGreeting(t)
	a.offerUnsent(t.Name())
	defer quitAtHangup(p)()
	_, err := p.Run()
	cancel()
	working.Wait()
	stopPreparing()
	t.receive, t.ask = nil, nil
	a.printTranscript(out)
	if errors.Is(err, tea.ErrInterrupted) {
		return nil
	}
	return err
}

// showGreeting shows the earlier conversation, or how to begin.
func (a *app) showGreeting(t *Talk) {
	all := t.Messages()
	a.showMessages(all)
	if len(a.page.blocks) == 0 {
		a.page.addBlock(noted, "session "+t.Name()+" with "+t.model.Name+"; /help lists the commands")
	} else {
		a.page.addBlock(noted, "session "+t.Name()+" continues"+unanswered(all))
	}
	if t.o.Notice != "" {
		a.page.addBlock(noted, t.o.Notice)
	}
	if t.model.Warning != "" {
		a.page.addBlock(warned, t.model.Warning)
	}
}

// offerUnsent shows what was not sent when the session was left.
func (a *app) offerUnsent(session string) {
	waiting := len(a.queue.inputs)
	if a.queue.held {
		waiting = 0
	}
	err := a.queue.openSession(unsentPath(a.dir, session))
	if n := len(a.queue.inputs) - waiting; n > 0 {
		a.page.addBlock(noted, unsentText(n)+"; Enter sends, Up takes the newest back")
	}
	if err != nil {
		a.page.addBlock(warned, err.Error())
	}
}

// showMessages shows the messages of a session.
func (a *app) showMessages(all chat.Transcript) {
	for _, m := range all {
		a.page.addMessage(m)
	}
	for _, m := range all {
		if m.Typed() {
			a.past.addLine(m.Text())
		}
	}
}

// quitAtHangup ends a program in order if its terminal is closed. The returned
// function undoes that.
func quitAtHangup(p *tea.Program) (stop func()) {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	go func() {
		for range hangup {
			p.Quit()
		}
	}()
	return func() {
		signal.Stop(hangup)
		close(hangup)
	}
}

// maxPrinted is the maximum number of lines that remain in the terminal.
const maxPrinted = 5000

// printTranscript writes what was said below what was in the terminal before the chat.
func (a *app) printTranscript(out io.Writer) {
	if unsent := a.keepUnsent(); unsent != "" {
		a.page.addBlock(warned, unsent)
		for _, one := range a.queue.inputs {
			a.page.addBlock(unsentInput, one.expanded)
		}
	}
	lines := a.page.lastLines(maxPrinted)
	if len(lines) > 0 {
		fmt.Fprintln(out, strings.Join(lines, "\n"))
	}
}

// unanswered returns a hint if the last message waits for an answer.
func unanswered(t chat.Transcript) string {
	if n := len(t); n > 0 && t[n-1].Role != chat.Assistant && t[n-1].Role != chat.System {
		return "; /retry answers the last message"
	}
	return ""
}
