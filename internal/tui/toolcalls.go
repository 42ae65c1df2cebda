package tui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/filetools"
)

// A Consent is the user's answer to the question whether a model may use a tool.
type Consent uint8

// The answers.
const (
	Refused   Consent = iota
	Once              // only this call
	Permitted         // every call of this kind, until the chat ends
)

// A Question asks the user for a consent.
type Question struct {
	Text string       // what the model wants
	Kind string       // what is permitted, if the answer is Permitted
	Call chat.Part    // of the tool
	to   chan Consent // gets the answer
}

// answerOf returns the consent that a line of input means; ok is false if it is
// none.
func answerOf(line string) (c Consent, ok bool) {
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return Permitted, true
	case "o", "once":
		return Once, true
	case "n", "no":
		return Refused, true
	}
	return Refused, false
}

// questionHint is the instruction below a question.
const questionHint = "y: yes, until the chat ends; o: once; n: no"

// toolSchemas returns the tools of the model, as JSON.
func (t *Talk) toolSchemas() []byte {
	schemas := string(tiercompact.RecallTool().Ollama())
	if t.o.Folder != nil {
		schemas += "," + filetools.Tools()
	}
	return []byte("[" + schemas + "]")
}

// settleCalls answers every call at the end of the conversation that has no result
// yet, even after an error.
func (t *Talk) settleCalls(ctx context.Context) error {
	var errs []error
	for _, call := range openCalls(t.session.Messages()) {
		result := chat.NewResult(call.ID, "")
		p := &result.Parts[0]
		p.Name = call.Name
		var err error
		if p.Text, err = t.callResult(ctx, call); err != nil {
			p.Text, p.Error = err.Error(), true
		}
		if p.Text == "" {
			p.Text = "(empty)"
		}
		errs = append(errs, t.addMessage(ctx, result))
	}
	return errors.Join(errs...)
}

// openCalls returns the calls without a result in the last assistant message, if
// only results follow it.
func openCalls(t chat.Transcript) []chat.Part {
	var done []string
	for _, m := range slices.Backward(t) {
		if m.Role != chat.Tool {
			return slices.DeleteFunc(slices.Clone(m.Parts), func(p chat.Part) bool {
				return m.Role != chat.Assistant || p.Kind != chat.Call || slices.Contains(done, p.ID)
			})
		}
		for _, p := range m.Parts {
			done = append(done, p.ID)
		}
	}
	return nil
}

// callResult returns the result of a call.
func (t *Talk) callResult(ctx context.Context, call chat.Part) (string, error) {
	switch {
	case call.Name == tiercompact.RecallTool().Name:
		return t.session.HandleRecall(ctx, call.Args)
	case t.o.Folder != nil && slices.Contains(filetools.Kinds(), filetools.Kind(call.Name)):
		return t.readFolder(ctx, call)
	}
	return "", fmt.Errorf("there is no tool %q; there are: %s", call.Name, strings.Join(t.toolNames(), ", "))
}

func (t *Talk) toolNames() []string {
	names := []string{tiercompact.RecallTool().Name}
	if t.o.Folder != nil {
		for _, k := range filetools.Kinds() {
			names = append(names, string(k))
		}
	}
	return names
}

// readFolder runs a tool that reads the folder, if the user permits it. A call that
// would be refused anyway is not asked for.
func (t *Talk) readFolder(ctx context.Context, call chat.Part) (string, error) {
	c, err := filetools.ParseCall(call.Name, call.Args)
	if err != nil {
		return "", err
	}
	if err := t.askConsent(ctx, c, call); err != nil {
		return "", err
	}
	return t.o.Folder.Run(ctx, c, t.resultBytes())
}

// resultBytes returns the maximum size of a result: of text in English or of code, a
// fifth of the window.
func (t *Talk) resultBytes() int { return t.model.Window * 3 / 4 }

var errNotPermitted = errors.New("the user does not permit this; answer without it, or ask the user")

// askConsent asks the user before the first call of a kind.
func (t *Talk) askConsent(ctx context.Context, c filetools.Call, call chat.Part) error {
	if slices.Contains(t.permitted, c.Kind) {
		return nil
	}
	if t.ask == nil {
		return errNotPermitted
	}
	kind := map[filetools.Kind]string{filetools.List: "list folders", filetools.Read: "read files", filetools.Search: "search files"}[c.Kind]
	q := Question{Text: t.model.Name + " wants to " + c.String(), Kind: kind + " in " + t.o.Folder.Name(), Call: call, to: make(chan Consent, 1)}
	t.ask(q)
	select {
	case <-ctx.Done():
		return errors.New("the user stopped it")
	case answer := <-q.to:
		switch answer {
		case Refused:
			return errNotPermitted
		case Permitted:
			t.permitted = append(t.permitted, c.Kind)
		}
	}
	return nil
}
