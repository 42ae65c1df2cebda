// Command coding_session is a coding assistant that works on a small project: it
// reads, searches, edits and tests files, and its conversation never exceeds the
// window of its model. The model is a script, so that nothing else is needed.
// Events go to the Ariadne server at ARIADNE_ENDPOINT, else to one in this process.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/ariadnetest"
	"github.com/tiercompact/tiercompact/trace"
	"github.com/tiercompact/tiercompact/trace/ariadne"
)

func main() {
	if err := runSession(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func runSession(ctx context.Context) error {
	server := ariadnetest.New()
	to := ariadne.Config{URL: os.Getenv("ARIADNE_ENDPOINT")}
	if to.URL == "" {
		to.URL, to.Client = "http://ariadne.invalid", server.Client() // without a network
	}
	sink, err := ariadne.New(to)
	if err != nil {
		return err
	}
	clock := time.Date(2026, 7, 1, 9, 0, 0, 0, time.UTC)
	compactor, err := tiercompact.New(tiercompact.Config{
		Window: 3300, Trace: sink.Emit, Now: func() time.Time { clock = clock.Add(time.Millisecond); return clock },
	})
	if err != nil {
		return err
	}
	defer compactor.Close()

	a := assistant{session: compactor.Session("meters"), files: projectFiles()}
	for _, t := range sessionScript() {
		if err := a.playTurn(ctx, t); err != nil {
			return err
		}
	}
	before := a.session.Usage().Tokens
	if _, err := a.session.Undo(ctx); err != nil {
		return err
	}
	fmt.Printf("\nundo of the newest round: %d -> %d tokens, %d messages\n", before, a.session.Usage().Tokens, len(a.session.Messages()))

	if err := sink.Close(ctx); err != nil {
		return err
	}
	if to.Client == nil {
		fmt.Printf("events: sent to %s, %d were dropped\n", to.URL, sink.Lost())
		return nil
	}
	arrived := make(map[string]int)
	for _, span := range server.Spans() {
		arrived[span.Name]++
	}
	fmt.Printf("events: %d arrived in this process, %d were dropped\n", len(server.Spans()), sink.Lost())
	for _, name := range trace.Names() {
		fmt.Printf("  %-26s %3d\n", name, arrived[name])
	}
	return nil
}

// An assistant answers the turns of a script, with tools that work on files.
type assistant struct {
	session *tiercompact.Session
	files   map[string]string
	calls   int
}

// playTurn adds the messages of one turn: a text, or a call with its result.
func (a *assistant) playTurn(ctx context.Context, t turn) error {
	if t.tool == "" {
		return a.addMessage(ctx, chat.NewText(t.role, t.text))
	}
	a.calls++
	id := fmt.Sprintf("call_%02d", a.calls)
	args, err := json.Marshal(map[string]string{"path": t.path, "text": t.text, "new": t.new})
	if err != nil {
		return err
	}
	call := chat.Message{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, ID: id, Name: t.tool, Args: string(args)}}}
	if err := a.addMessage(ctx, call); err != nil {
		return err
	}
	result, err := a.callTool(ctx, t)
	if err != nil {
		result = err.Error()
	}
	return a.addMessage(ctx, chat.NewResult(id, result))
}

// addMessage adds a message, and prints the effect.
func (a *assistant) addMessage(ctx context.Context, m chat.Message) error {
	report, err := a.session.AddMessage(ctx, m)
	if m.Role == chat.User {
		fmt.Printf("\nuser: %s\n", m.Text())
	}
	for _, done := range report.Applied {
		fmt.Printf("  %3.0f %% full: %s, %d -> %d tokens, %d messages remain\n",
			100*float64(report.Before)/float64(report.Usage.Window), done.Level, done.Before, done.After, len(a.session.Messages()))
	}
	for _, e := range report.Edits {
		fmt.Printf("      %s (recall %s)\n", strings.TrimSpace(e.Why), e.Recall)
	}
	return err
}

// recallText returns removed text to the model.
func (a *assistant) recallText(ctx context.Context, words string) (string, error) {
	hits, err := a.session.Search(ctx, words, 1)
	if err != nil || len(hits) == 0 {
		return "nothing was found", err
	}
	fmt.Printf("  recall of %q found %s: %.60q\n", words, hits[0].ID, hits[0].Text)
	return hits[0].Text, nil
}
