package tui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/filetools"
	"github.com/tiercompact/tiercompact/internal/model"
	"github.com/tiercompact/tiercompact/internal/screen"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/summarize"
)

// A Chatter has a model continue a conversation. It calls onDelta with each piece
// of the answer, in order, and stops at its error.
type Chatter interface {
	Chat(ctx context.Context, r model.Request, onDelta func(model.Delta) error) (model.Answer, error)
}

// A Model is a model for a chat.
type Model struct {
	Name    string
	Window  int    // tokens
	Source  string // how the window is known, in a few words
	Warning string // about the window; "" for none
	Unsure  bool   // the window is only assumed, as Warning says
	NoTools bool   // it cannot call tools
}

// A Status is the state of a chat, for its status lines.
type Status struct {
	Model      Model
	Usage      tiercompact.Usage
	Thresholds levels.Thresholds
	Level      string // the strongest level of the newest round, "" before the first
	Cooldown   int    // messages that are still skipped
	Skipped    int    // messages that the cooldown skips in total
	Freed      int    // tokens, by all rounds of this process
	Speed      Speed  // of the newest answer
}

// A Talk is a conversation with a model, saved to disk message by message. Its
// methods are not safe for concurrent use.
type Talk struct {
	o       Options
	session *tiercompact.Session
	model   Model
	ask     func(Question) // asks the user, in the same goroutine, without a wait; nil: nobody can be asked
	receive func(Event)    // receives the events, in the goroutine of the caller; nil: they are dropped
	close   []func() error // last first
	notes   []string       // see Notes

	level  string
	freed  int
	rounds int                // number of compacting rounds
	round  tiercompact.Report // the newest that changed something
	check  tiercompact.Report // the newest
	typed  []int              // tokens of the newest messages that the user sent

	permitted   []filetools.Kind // for which the user is not asked again
	temperature *float64         // nil: the server's
	speed       Speed            // of the newest answer
	earlier     []chat.Message   // what was there when the session was opened
	said        []chat.Message   // since then

	toldSlow  bool
	preparing *atomic.Bool // the session plans a round while the user reads
}

// Limits on a model's tool calls.
const (
	maxTurns = 8  // requests for one answer; the last is without tools
	maxCalls = 16 // of a turn
)

// Marks at the end of an incomplete answer.
const (
	stoppedMark = "[stopped by the user]"
	brokenMark  = "[cut off: the server did not finish]"
)

// isIncomplete reports whether m is an incomplete answer.
func isIncomplete(m chat.Message) bool {
	text := m.Text()
	return m.Role == chat.Assistant && !m.HasCalls() && (strings.HasSuffix(text, "\n"+stoppedMark) || strings.HasSuffix(text, "\n"+brokenMark))
}

// errSilent reports an empty answer, which is not added to the conversation.
var errSilent = errors.New("the model said nothing; /retry asks it again")

// silentAnswer returns the error of an empty answer. Ollama drops a tool call that it
// cannot read, and counts its tokens.
func silentAnswer(a model.Answer) error {
	if a.Tokens > endTokens {
		return fmt.Errorf("the server sent nothing of the %s that the model wrote, perhaps a tool call that it could not read; /retry asks again", screen.Plural(a.Tokens, "token"))
	}
	return errSilent
}

// endTokens is the maximum number of tokens of an answer that only ends.
const endTokens = 4

// Name returns the name of the session.
func (t *Talk) Name() string { return t.session.ID() }

// Model returns the present model.
func (t *Talk) Model() Model { return t.model }

// Messages returns the current conversation.
func (t *Talk) Messages() chat.Transcript { return t.session.Messages() }

// Status returns the current state of the chat.
func (t *Talk) Status() Status {
	left, of := t.session.Cooldown()
	return Status{
		Model: t.model, Usage: t.session.Usage(), Thresholds: t.o.thresholds(), Level: t.level,
		Cooldown: left, Skipped: of, Freed: t.freed, Speed: t.speed,
	}
}

func (t *Talk) emitEvent(e Event) {
	if t.receive == nil {
		return
	}
	e.Status = t.Status()
	t.receive(e)
}

func (t *Talk) emitNote(format string, args ...any) {
	t.emitEvent(Event{Kind: Noted, Text: fmt.Sprintf(format, args...)})
}

// Send adds the user's text and the files that it names, and has it answered. The text
// stays in the conversation after an error in the answer. If it cannot fit, the error is
// a [tooLarge], and nothing is added.
func (t *Talk) Send(ctx context.Context, text string) error {
	if err := t.settleCalls(ctx); err != nil {
		return err
	}
	attached, err := t.readAttached(ctx, text)
	if err != nil {
		return err
	}
	typed := chat.NewText(chat.User, text)
	if err := t.checkRoom(typed); err != nil {
		return err
	}
	for _, f := range attached {
		if err := t.addFile(ctx, f); err != nil {
			return err
		}
	}
	before := t.session.Usage().Tokens
	if err := t.addMessage(ctx, typed); err != nil {
		return err
	}
	const newest = 3
	t.typed = append(t.typed, t.session.Usage().Tokens-before)
	t.typed = t.typed[max(0, len(t.typed)-newest):]
	return t.Answer(ctx)
}

// Answer has the model continue the conversation until it makes no more tool calls;
// then a round follows if one is due. If ctx ends, the text of the model so far is
// kept, marked as stopped.
func (t *Talk) Answer(ctx context.Context) error {
	for n := 1; n <= maxTurns; n++ {
		if err := cmp.Or(t.settleCalls(ctx), ctx.Err()); err != nil {
			return err
		}
		if err := t.preflight(ctx); err != nil {
			return err
		}
		a, err := t.askModel(ctx, !t.model.NoTools && n < maxTurns)
		if err != nil {
			return withRetry(ctx, err)
		}
		m := t.answered(a.Message, n < maxTurns)
		if !m.Says() && !m.HasCalls() {
			return silentAnswer(a)
		}
		if err := t.addAnswer(ctx, m, a.Done); err != nil {
			return err
		}
		if !m.HasCalls() {
			return nil
		}
	}
	return nil
}

// withRetry adds to the error of a request how the user asks again. The message is in
// the conversation.
func withRetry(ctx context.Context, err error) error {
	if ctx.Err() != nil || errors.Is(err, model.ErrTooLong) || strings.Contains(err.Error(), "/retry") {
		return err
	}
	return fmt.Errorf("%w; /retry asks again", err)
}

// addAnswer adds the model's message. If it has no calls, a round follows while the
// user reads: if one is due, or if the user's next message would otherwise have to
// wait for one. A stopped round changes nothing, and is not an error.
func (t *Talk) addAnswer(ctx context.Context, m chat.Message, done model.Done) error {
	rounds := t.rounds
	err := t.addMessage(ctx, m, endNotes[done])
	u := t.session.Usage()
	tight := u.Tokens+t.nextMessage() > u.Budget
	if err == nil && tight && !m.HasCalls() && t.rounds == rounds && t.o.Config.Trigger == tiercompact.AssistantOnly {
		var report tiercompact.Report
		report, err = t.session.MakeRoom(ctx, t.nextMessage())
		t.noteReport(report)
	}
	if err != nil && errors.Is(err, ctx.Err()) && !m.HasCalls() {
		t.emitNote("the compaction was stopped and changed nothing; the answer is kept")
		return nil
	}
	return err
}

// prepareRound has the session plan its next round while the user reads, if a model
// writes summaries. The returned function cancels that, and waits for its end: the
// model is needed for an answer.
func (t *Talk) prepareRound(ctx context.Context) (stop func()) {
	if _, builtIn := t.o.Config.Summary.Summarizer.(summarize.Extractive); builtIn || t.o.Config.Summary.Summarizer == nil {
		return func() {}
	}
	if t.o.Summarizes != nil && t.o.Summarizes(t.model.Name) { // the next message would end it, and the server would read the whole conversation again
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	t.preparing.Store(true)
	go func() {
		defer close(done)
		_, _ = t.session.Prepare(ctx) // without its result, the round is planned when it is due
	}()
	return func() {
		cancel()
		<-done
		t.preparing.Store(false)
	}
}

// nextMessage returns the expected tokens of the user's next message: the maximum
// of the newest ones, within bounds.
func (t *Talk) nextMessage() int {
	n := t.model.Window / 16
	for _, tokens := range t.typed {
		n = max(n, tokens)
	}
	return min(n, t.model.Window/4)
}

// preflight compacts the conversation if the next request would not fit. If it
// cannot be made to fit, that is an error, and it is not sent: a server would cut
// it silently.
func (t *Talk) preflight(ctx context.Context) error {
	report, err := t.session.Preflight(ctx)
	if report.Reason != tiercompact.BelowThreshold {
		t.noteReport(report)
	}
	if err != nil {
		return err
	}
	if u := t.session.Usage(); u.Tokens > u.Window { // automatic compaction is off
		return fmt.Errorf("%w: the conversation has %s tokens, the window %s; /compact makes it smaller", model.ErrTooLong, screen.Grouped(u.Tokens), screen.Grouped(u.Window))
	}
	return nil
}

// answered returns m in the form for the conversation: a limited number of calls,
// each with an id, and thinking only if it has calls.
func (t *Talk) answered(m chat.Message, tools bool) chat.Message {
	var parts []chat.Part
	calls := 0
	for _, p := range m.Parts {
		switch {
		case p.Kind == chat.Call && (!tools || calls == maxCalls):
			continue
		case p.Kind == chat.Call:
			calls++
			if p.ID == "" {
				p.ID = fmt.Sprintf("call_%d_%d", len(t.Messages()), calls)
			}
		case p.Kind == chat.Thinking && !m.HasCalls(), p.Kind != chat.Thinking && strings.TrimSpace(p.Text) == "":
			continue
		}
		parts = append(parts, p)
	}
	m.Role, m.Parts = chat.Assistant, parts
	return m
}

// endNotes explain the end of an answer that is not whole.
var endNotes = map[model.Done]string{
	model.CutOff: "the answer was cut off: its limit, or the window, was reached",
	model.Looped: "the answer was cut off: the model repeated itself, and the server ended it",
}

// addMessage adds m, and emits the notes about it, and then the result of the check
// after it.
func (t *Talk) addMessage(ctx context.Context, m chat.Message, notes ...string) error {
	t.said = append(t.said, m)
	t.emitEvent(Event{Kind: Said, Message: m})
	for _, n := range notes {
		if n != "" {
			t.emitNote("%s", n)
		}
	}
	report, err := t.session.AddMessage(ctx, m)
	t.noteReport(report)
	return err
}

// noteReport records and emits the report of a check or a round.
func (t *Talk) noteReport(r tiercompact.Report) {
	t.check = r
	if r.Compacted() {
		t.round, t.freed, t.level = r, t.freed+r.Freed(), ""
		t.rounds++
		for _, a := range r.Applied {
			if t.level == "" || levels.Stronger(a.Level, levels.Name(t.level)) {
				t.level = string(a.Level)
			}
		}
		t.emitEvent(Event{Kind: Compacted, Report: r})
	}
	if r.Reason != tiercompact.ByRole || r.Usage.Tokens <= r.Usage.Budget { // otherwise preflight follows the warning
		for _, w := range r.Warnings {
			t.emitEvent(Event{Kind: Warned, Text: w})
		}
	}
	t.emitEvent(Event{Kind: Checked})
}

// askModel asks the model once. If the prompt was too long, or the server cut it
// silently, the conversation is compacted one level harder and sent once more.
func (t *Talk) askModel(ctx context.Context, tools bool) (model.Answer, error) {
	again := false
	for {
		a, err := t.requestOnce(ctx, tools)
		if tools && errors.Is(err, model.ErrCannot) {
			t.withoutTools()
			tools = false
			continue
		}
		cause := t.overlongReason(a, err)
		if cause == "" || again && err != nil {
			return a, err
		}
		if !again {
			again = true
			hopeless := t.compactAgain(ctx, a)
			if hopeless == nil {
				t.emitEvent(Event{Kind: Voided, Text: cause + "; compacted harder, asking once more"})
				continue
			}
			if err != nil || !errors.Is(hopeless, model.ErrTooLong) {
				return a, hopeless
			}
		}
		t.emitEvent(Event{Kind: Warned, Text: cause + "; the answer may miss what was cut"})
		return a, nil
	}
}

// overlongReason returns why the prompt did not fit the model's window, "" if it
// did. It calibrates the session by the server's count before the answer joins the
// conversation.
func (t *Talk) overlongReason(a model.Answer, err error) string {
	if errors.Is(err, model.ErrTooLong) {
		return err.Error()
	}
	if err != nil {
		return ""
	}
	s := t.session.Observe(a.PromptTokens)
	if s.ToolsLeftOut {
		t.withoutTools()
	}
	switch {
	case s.Truncated:
		return s.Reason
	case s.Taken && t.o.Learn != nil:
		t.o.Learn(t.model.Name, t.session.Calibration())
	}
	return ""
}

// compactAgain makes the conversation smaller after a server refused the prompt, or
// cut it. If its count shows a smaller window than the known one, that is the window
// from now on; otherwise a harder level compacts.
func (t *Talk) compactAgain(ctx context.Context, a model.Answer) error {
	counted, was := a.PromptTokens, t.model.Window
	if a.Uncut || counted < minWindow || !isSmallerWindow(counted, was) {
		return t.compactHarder(ctx)
	}
	if err := t.session.SetWindow(counted); err != nil {
		return err
	}
	t.model.Window, t.model.Source = counted, "counted by the server"
	t.emitEvent(Event{Kind: Warned, Text: fmt.Sprintf("the server read only %s tokens of the prompt and cut the rest silently: its window is %s, not %s; start it with a larger context, or, if it is Ollama, give its address with --ollama-url, which sets the window",
		screen.Grouped(counted), screen.Grouped(counted), screen.Grouped(was))})
	report, err := t.session.Preflight(ctx)
	t.noteReport(report)
	return err
}

// minWindow is the minimum window of a chat: a smaller count is that of a prompt
// of which the server dropped messages.
const minWindow = 1024

// isSmallerWindow reports whether a count of a cut prompt shows a smaller window:
// not the known one, and not the half of it and two to which newer versions of
// Ollama cut.
func isSmallerWindow(counted, window int) bool {
	half := counted - window/2
	return counted < window*49/50 && (half < 1 || half > 3)
}

// compactHarder compacts by the level above the due one, or by the first stronger
// level that frees anything.
func (t *Talk) compactHarder(ctx context.Context) error {
	due := t.o.thresholds().Select(t.session.Usage().Share)
	all := levels.All()
	for i, level := range all {
		if i < len(all)-1 && !levels.Stronger(level.Name, due) {
			continue
		}
		report, err := t.session.CompactLevel(ctx, level.Name)
		t.noteReport(report)
		if err != nil || report.Compacted() {
			return err
		}
	}
	return fmt.Errorf("%w, and nothing is left that could be made smaller; use a larger window, or start a new session", model.ErrTooLong)
}

// withoutTools continues without tools, because the model cannot call them.
func (t *Talk) withoutTools() {
	t.model.NoTools = true
	t.session.SetTools(nil)
	t.emitNote("%s cannot call tools, so it cannot recall by itself; /recall does", t.model.Name)
}

// requestOnce asks the model once. It keeps the text of an interrupted answer.
func (t *Talk) requestOnce(ctx context.Context, tools bool) (model.Answer, error) {
	r := model.Request{Model: t.model.Name, Messages: t.session.Messages(), Window: t.model.Window, Sampling: t.sampling()}
	if tools {
		r.Tools = t.toolSchemas()
	}
	var said strings.Builder
	began := time.Now()
	t.emitEvent(Event{Kind: Asked})
	a, err := t.streamAnswer(ctx, r, func(d model.Delta) {
		said.WriteString(d.Text)
		t.emitEvent(Event{Kind: Streamed, Delta: d})
	})
	if err == nil {
		t.speed = speedOf(a, time.Since(began))
		t.tellSlow(a)
		return a, nil
	}
	if stopped := ctx.Err(); stopped != nil {
		err = stopped
	}
	if strings.TrimSpace(said.String()) == "" || errors.Is(err, model.ErrTooLong) {
		return a, err
	}
	mark := brokenMark
	if ctx.Err() != nil {
		mark = stoppedMark
	}
	kept := t.addMessage(ctx, chat.NewText(chat.Assistant, strings.TrimRight(said.String(), "\n ")+"\n\n"+mark))
	if errors.Is(kept, context.Canceled) {
		kept = nil // the message was added; only its check was skipped
	}
	return a, errors.Join(err, kept)
}

// slowPrompt is the time for reading a prompt from which the user is shown why the
// answer began late.
const slowPrompt = 20 * time.Second

// tellSlow notes, once in a chat, that the model reads slowly, and the remedy.
func (t *Talk) tellSlow(a model.Answer) {
	if t.toldSlow || a.PromptTime < slowPrompt {
		return
	}
	t.toldSlow = true
	t.emitNote("%s took %s to read the prompt: the machine is slow, or busy; stop other programs that use its cores, set --num-thread to the cores that are free, or use a smaller model (tiercompact doctor measures it)", t.model.Name, a.PromptTime.Round(time.Second))
}

// Close ends the chat; its session can be resumed. The error reports what is not on disk.
func (t *Talk) Close() error {
	var errs []error
	if t.session != nil {
		errs = append(errs, t.session.Close())
	}
	for _, c := range slices.Backward(t.close) {
		errs = append(errs, c())
	}
	if t.o.Folder != nil {
		errs = append(errs, t.o.Folder.Close())
	}
	return errors.Join(errs...)
}

// A Kind is the kind of an event.
type Kind uint8

// The kinds of event.
const (
	Said      Kind = iota // Message enters the conversation
	Asked                 // the model was asked; pieces of an answer follow
	Streamed              // Delta came in
	Waiting               // the server is silent; Text describes the wait
	Voided                // what streamed since Asked does not count, for the reason in Text
	Compacted             // Report is the result of a round
	Summaries             // Progress of a summary by a model
	Noted                 // Text is for the user
	Warned                // the same, but important
	Checked               // a check was made: Status is new
	Switched              // another session continues: Transcript, for the reason in Text
	Copied                // Text is for the clipboard of the terminal
)

// An Event is something that happened in a chat, with the status after it.
type Event struct {
	Kind       Kind
	Text       string
	Message    chat.Message
	Transcript chat.Transcript
	Session    string // the name of the session that continues
	Delta      model.Delta
	Report     tiercompact.Report
	Progress   summarize.Progress
	Silent     time.Duration // of the server
	Status     Status
}
