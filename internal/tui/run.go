package tui

import (
	"context"
	"errors"
	"io"
	"sync"

	tea "charm.land/bubbletea/v2"

	"github.com/tiercompact/tiercompact/chat"
)

// Run shows a chat on a full screen until the user leaves. Leaving stops the
// current action and keeps its text. The chat is not closed.
func Run(ctx context.Context, t *Talk, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // the program handles signals
	defer cancel()
	var working sync.WaitGroup
	a := newChatApp(t.o.Screen, t.Status())
	p := tea.NewProgram(a, tea.WithInput(in), tea.WithOutput(out))
	t.receive = func(e Event) { p.Send(e) }
	a.start = func(line string) func() {
		ctx, stop := context.WithCancel(ctx)
		working.Go(func() {
			err := t.Do(ctx, line)
			stop()
			p.Send(finished{err})
		})
		return stop
	}
	a.showGreeting(t)
	_, err := p.Run()
	cancel()
	working.Wait()
	t.receive = nil
	if errors.Is(err, tea.ErrInterrupted) {
		return nil
	}
	return err
}

// showGreeting shows the earlier conversation, or how to begin.
func (a *app) showGreeting(t *Talk) {
	all := t.Messages()
	for _, m := range all {
		a.page.addMessage(m)
	}
	for _, m := range all {
		if m.Typed() {
			a.past.addLine(m.Text())
		}
	}
	if len(a.page.blocks) == 0 {
		a.page.addBlock(noted, "session "+t.Name()+" with "+t.model.Name+"; /help lists the commands")
	} else {
		a.page.addBlock(noted, "session "+t.Name()+" goes on"+unanswered(all))
	}
	if t.model.Warning != "" {
		a.page.addBlock(warned, t.model.Warning)
	}
}

// unanswered returns a hint if the last message waits for an answer.
func unanswered(t chat.Transcript) string {
	if n := len(t); n > 0 && t[n-1].Role != chat.Assistant && t[n-1].Role != chat.System {
		return "; /retry has the last message answered"
	}
	return ""
}
