package tui

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/model"
	"github.com/tiercompact/tiercompact/internal/screen"
	"github.com/tiercompact/tiercompact/levels"
	"github.com/tiercompact/tiercompact/summarize"
	"github.com/tiercompact/tiercompact/trace"
)

// assistantOnly opens a chat with the defaults of the command chat.
func assistantOnly(t *testing.T, window int, cfg tiercompact.Config, turns ...turn) *opened {
	t.Helper()
	cfg.Trigger, cfg.Policy.TriggerPct = tiercompact.AssistantOnly, 1
	return reopen(t, Options{Dir: filepath.Join(t.TempDir(), ".compact"), Name: "test", Model: Model{Name: "smol", Window: window}, Config: cfg}, turns...)
}

// prose returns a text of so many words, with no two sentences alike.
func prose(words int) string {
	var b strings.Builder
	for i := range words {
		fmt.Fprintf(&b, "%s%d ", []string{"harbour", "cargo", "the", "ship", "of", "and", "captain", "storm"}[i%8], i/8)
	}
	return strings.TrimSpace(b.String())
}

// tokensOf returns the tokens of a request: those of Ollama's template, and one for
// each four bytes.
func tokensOf(r model.Request) int {
	n := 1 + len(r.Tools)/4
	for _, m := range r.Messages {
		n += 5 + len(m.Text())/4
	}
	return n
}

// A round follows an answer. A round comes before a request only if the request
// would not fit, which is rare. No request exceeds the window.
func TestRoundsFollowAnswers(t *testing.T) {
	const turns = 40
	for _, preset := range []tiercompact.Preset{tiercompact.Steady, tiercompact.Default} {
		for _, window := range []int{2048, 4096} {
			for name, words := range map[string]struct{ question, answer int }{
				"short questions": {20, 60}, "long answers": {60, 150}, "long questions": {150, 60},
			} {
				n, most := 0, 0
				answer := func(ctx context.Context, r model.Request, each func(model.Delta) error) (model.Answer, error) {
					n++
					most = max(most, tokensOf(r))
					return counts(prose(words.answer*(1+n%3)/2), tokensOf(r))(ctx, r, each)
				}
				x := assistantOnly(t, window, tiercompact.Config{Preset: preset}, answer)
				after, before := 0, 0
				var last chat.Role
				x.receive = func(e Event) {
					switch {
					case e.Kind == Said:
						last = e.Message.Role
					case e.Kind == Compacted && last == chat.Assistant:
						after++
					case e.Kind == Compacted:
						before++
						if e.Report.Before <= e.Report.Usage.Budget {
							t.Errorf("%s, %d, %s: a message of the user led to a round at %d tokens, within the budget of %d", preset, window, name, e.Report.Before, e.Report.Usage.Budget)
						}
					}
				}
				for i := range turns {
					if err := x.Do(t.Context(), fmt.Sprintf("%d: %s", i, prose(words.question*(1+i%3)/2))); err != nil {
						t.Fatal(err)
					}
				}
				if most > window {
					t.Errorf("%s, %d, %s: a request had %d tokens", preset, window, name, most)
				}
				if after == 0 && most > window/2 || before > turns/20 {
					t.Errorf("%s, %d, %s: %d rounds followed answers, %d came before a request", preset, window, name, after, before)
				}
			}
		}
	}
}

// A conversation above the window is compacted before it is sent, and is never sent
// if it cannot be made to fit.
func TestNoRequestIsAboveTheWindow(t *testing.T) {
	const window = 2048
	var sizes []int
	answer := func(ctx context.Context, r model.Request, each func(model.Delta) error) (model.Answer, error) {
		sizes = append(sizes, tokensOf(r))
		return counts("noted", tokensOf(r))(ctx, r, each)
	}
	x := assistantOnly(t, window, tiercompact.Config{}, answer)
	for _, text := range []string{"hello", prose(500), prose(200)} {
		if err := x.Do(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	asked := len(sizes)
	if err := x.Do(t.Context(), prose(4000)); !errors.Is(err, tiercompact.ErrInsufficientBudget) {
		t.Errorf("err = %v of a message that is longer than the window", err)
	}
	if len(sizes) > asked {
		t.Errorf("it was sent all the same, with %d tokens", sizes[len(sizes)-1])
	}
	if err := x.Do(t.Context(), "never mind"); err != nil {
		t.Errorf("the next message: %v", err)
	}
	for i, n := range sizes {
		if n > window {
			t.Errorf("request %d has %d tokens", i, n)
		}
	}
	for _, w := range x.texts(Warned) {
		if strings.Contains(w, "run Preflight") {
			t.Errorf("the user is told what the chat does: %s", w)
		}
	}
	x.checkDisk(t)
}

func TestWithoutAutomaticCompactionTooMuchIsNotSent(t *testing.T) {
	x := assistantOnly(t, 2048, tiercompact.Config{NoAuto: true}, says("noted"))
	if err := x.session.Load([]chat.Message{chat.NewText(chat.User, prose(800)), chat.NewText(chat.Assistant, prose(800))}); err != nil {
		t.Fatal(err)
	}
	err := x.Do(t.Context(), "and now?")
	if !errors.Is(err, model.ErrTooLong) || !strings.Contains(err.Error(), "/compact makes it smaller") || len(x.chat.asked) > 0 {
		t.Errorf("err = %v after %d requests", err, len(x.chat.asked))
	}
	if err := x.Do(t.Context(), "/compact"); err != nil {
		t.Fatal(err)
	}
	if err := x.Do(t.Context(), "/retry"); err != nil || len(x.chat.asked) != 1 {
		t.Errorf("err = %v after %d requests", err, len(x.chat.asked))
	}
}

// The events show for each round that it followed an answer: the newest message
// check before it is of the assistant's message.
func TestEventsTellThatRoundsFollowAnswers(t *testing.T) {
	var events []trace.Event
	x := assistantOnly(t, 4096, tiercompact.Config{Preset: tiercompact.Steady, Trace: func(e trace.Event) { events = append(events, e) }},
		says(prose(120)))
	byUser, rounds := 0, 0
	for i := range 30 {
		from := len(events)
		x.receive = func(e Event) {
			if e.Kind == Asked { // all requests of the user's message
				byUser += triggered(events[from:])
			}
		}
		if err := x.Do(t.Context(), fmt.Sprintf("%d: %s", i, prose(60))); err != nil {
			t.Fatal(err)
		}
		rounds += triggered(events[from:])
	}
	if byUser > 0 || rounds == 0 {
		t.Errorf("%d rounds, %d of them led to by a message of the user", rounds, byUser)
	}
}

// triggered counts the decisions that led to a round.
func triggered(events []trace.Event) int {
	n := 0
	for _, e := range events {
		if d, ok := e.Data.(trace.TriggerDecision); ok && d.Triggered {
			n++
		}
	}
	return n
}

// A slow summarizer waits for permission to write, and ends with its context.
type slow struct{ began, write chan struct{} }

func newSlow() slow { return slow{make(chan struct{}, 100), make(chan struct{})} }

func (s slow) Summarize(ctx context.Context, r summarize.Request) (string, error) {
	s.began <- struct{}{}
	select {
	case <-s.write:
		return summarize.Extractive{}.Summarize(ctx, r)
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// untilRound sends messages until one has its answer, and the summary of the round
// after it is being written. The channel gets the result of Do.
func (x *opened) untilRound(ctx context.Context, t *testing.T, s slow) <-chan error {
	t.Helper()
	done := make(chan error, 1)
	for range 60 {
		go func() { done <- x.Do(ctx, prose(60)) }()
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
		case <-s.began:
			return done
		}
	}
	t.Fatal("no summary was written")
	return nil
}

func TestARoundAfterAnAnswerIsStopped(t *testing.T) {
	s := newSlow()
	ctx, stop := context.WithCancel(t.Context())
	x := assistantOnly(t, 4096, tiercompact.Config{Preset: tiercompact.Default, Level: levels.Emergency, Summary: tiercompact.SummaryConfig{Summarizer: s, Name: "slow"}}, says(prose(150)))
	done := x.untilRound(ctx, t, s)
	all := x.Messages()
	if last := all[len(all)-1]; last.Role != chat.Assistant || last.Text() != prose(150) {
		t.Errorf("while the round is made, the last message is %s %q", last.Role, last.Text())
	}
	stop()
	if err := <-done; err != nil {
		t.Errorf("a round that is stopped: err = %v", err)
	}
	if !reflect.DeepEqual(x.Messages(), all) {
		t.Error("the conversation is not as it was")
	}
	if notes := x.texts(Noted); len(notes) == 0 || !strings.Contains(notes[len(notes)-1], "was stopped") {
		t.Errorf("noted is %q", notes)
	}
	x.checkDisk(t)
	close(s.write)
	for range 20 { // the round comes later
		if err := x.Do(t.Context(), prose(60)); err != nil {
			t.Fatal(err)
		}
	}
	if len(x.texts(Compacted)) == 0 {
		t.Error("no round was made afterwards")
	}
	x.checkDisk(t)
}

func TestAClosedChatHasNoHalfRound(t *testing.T) {
	s := newSlow()
	ctx, stop := context.WithCancel(t.Context())
	x := assistantOnly(t, 4096, tiercompact.Config{Preset: tiercompact.Default, Level: levels.Emergency, Summary: tiercompact.SummaryConfig{Summarizer: s, Name: "slow"}}, says(prose(150)))
	done := x.untilRound(ctx, t, s)
	stop() // as leaving does
	<-done
	all := x.Messages()
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	kept, err := archive.ReadSession(sessionPath(x.o.Dir, "test"))
	if err != nil || !reflect.DeepEqual(kept.Messages, all) || len(kept.Rounds) > 0 {
		t.Errorf("on disk are %d messages and %d rounds (%v), in the chat were %d", len(kept.Messages), len(kept.Rounds), err, len(all))
	}
}

// Input typed during a round after an answer is sent when the round has ended.
func TestWhatIsTypedDuringARoundIsSentAfterIt(t *testing.T) {
	answered := []tea.Msg{Event{Kind: Asked}, Event{Kind: Said, Message: chat.NewText(chat.Assistant, "so it is")}}
	during := func() *driven {
		d := drive(screen.Screen{}, 80, 24)
		d.typed("hello")
		d.keys("enter")
		d.send(answered...)
		return d
	}
	tests := []struct {
		name string
		act  func(d *driven)
		sent []string // after the first
		left string   // in the input
	}{
		{"a message", func(d *driven) { d.typed("more"); d.keys("enter"); d.send(finished{}) }, []string{"more"}, ""},
		{"a command", func(d *driven) { d.typed("/undo"); d.keys("enter"); d.send(finished{}) }, []string{"/undo"}, ""},
		{"two messages", func(d *driven) {
			d.typed("a")
			d.keys("enter")
			d.typed("b")
			d.keys("enter")
			d.send(finished{}, finished{})
		}, []string{"a", "b"}, ""},
		{"two messages, and the round fails", func(d *driven) {
			d.typed("a")
			d.keys("enter")
			d.typed("b")
			d.keys("enter")
			d.typed("c")
			d.send(finished{errors.New("no space left")})
		}, nil, "c"}, // the others wait for Enter
		{"Enter twice", func(d *driven) { d.typed("more"); d.keys("enter", "enter"); d.send(finished{}) }, []string{"more"}, ""},
		{"a message that is not ready", func(d *driven) { d.typed("mo"); d.send(finished{}) }, nil, "mo"},
		{"a message that is changed after Enter", func(d *driven) { d.typed("mo"); d.keys("enter", "up"); d.typed("re"); d.send(finished{}) }, nil, "more"},
		{"scrolled meanwhile", func(d *driven) { d.typed("more"); d.keys("enter", "pgup", "pgdown"); d.send(finished{}) }, []string{"more"}, ""},
		{"the round is stopped", func(d *driven) { d.typed("more"); d.keys("enter", "ctrl+c"); d.send(finished{context.Canceled}) }, []string{"more"}, ""},
		{"the round fails", func(d *driven) { d.typed("more"); d.keys("enter"); d.send(finished{errors.New("no space left")}) }, nil, ""},
		{"the round fails, and Enter sends it", func(d *driven) {
			d.typed("more")
			d.keys("enter")
			d.send(finished{errors.New("no space left")})
			d.keys("enter")
		}, []string{"more"}, ""},
		{"a paste", func(d *driven) { d.send(tea.PasteMsg{Content: prose(100)}); d.keys("enter"); d.send(finished{}) }, []string{prose(100)}, ""},
		{"blanks", func(d *driven) { d.typed("  "); d.keys("enter"); d.send(finished{}) }, nil, "  "},
	}
	for _, test := range tests {
		d := during()
		test.act(d)
		if got := d.lines[1:]; !slices.Equal(got, test.sent) || d.input.Value() != test.left {
			t.Errorf("%s: sent %q and left %q, want %q and %q", test.name, got, d.input.Value(), test.sent, test.left)
		}
	}
	d := during()
	d.typed("more")
	d.keys("enter")
	if s := d.screenshot(t); !strings.Contains(s, "your message waits: compacting if it is due… Ctrl+C stops") || !strings.Contains(s, "> more") {
		t.Errorf("it is not said to wait:\n%s", s)
	}
	for name, leave := range map[string]func(d *driven){
		"/quit": func(d *driven) { d.typed("/quit"); d.keys("enter") }, "Ctrl+D": func(d *driven) { d.keys("ctrl+d") },
	} {
		d := during()
		if leave(d); !d.quit || d.stopped != 1 {
			t.Errorf("%s during a round: left %v, stopped %d times", name, d.quit, d.stopped)
		}
	}
}

// While the user reads, a model writes the summary of the next round. The user's next
// line stops that at once, because the model is needed for the answer.
func TestPreparationStopsForTheUser(t *testing.T) {
	s := newSlow()
	x := assistantOnly(t, 4096, tiercompact.Config{Preset: tiercompact.Steady, Summary: tiercompact.SummaryConfig{Summarizer: s, Name: "slow"}}, says("noted"))
	for i := 0; x.session.Usage().Share < 0.8; i++ {
		turn := []chat.Message{chat.NewText(chat.User, fmt.Sprint(i, " ", prose(60))), chat.NewText(chat.Assistant, prose(60))}
		if err := x.session.Load(turn); err != nil {
			t.Fatal(err)
		}
	}
	stop, before := x.prepareRound(t.Context()), x.Messages()
	<-s.began
	x.progress(summarize.Progress{})
	stop()
	if !reflect.DeepEqual(x.Messages(), before) || len(x.texts(Summaries)) > 0 {
		t.Errorf("%d messages became %d, with %d events of a summary", len(before), len(x.Messages()), len(x.texts(Summaries)))
	}
	close(s.write)
	if err := x.Do(t.Context(), "and now?"); err != nil {
		t.Error(err)
	}
}

// A summary by the chat's own model would displace the conversation in the server.
func TestTheChatsOwnModelPreparesNothing(t *testing.T) {
	s := newSlow()
	x := assistantOnly(t, 4096, tiercompact.Config{Preset: tiercompact.Steady, Summary: tiercompact.SummaryConfig{Summarizer: s, Name: "slow"}}, says("noted"))
	x.o.Summarizes = func(model string) bool { return model == "smol" }
	x.prepareRound(t.Context())()
	if x.preparing.Load() {
		t.Error("a round is prepared")
	}
	close(s.write)
}
