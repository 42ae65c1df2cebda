package tui

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
)

// recallTool is the only tool of a model.
var recallTool = "[" + string(tiercompact.RecallTool().Ollama()) + "]"

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
	if call.Name != tiercompact.RecallTool().Name {
		return "", fmt.Errorf("there is no tool %q; the only one is recall", call.Name)
	}
	return t.session.HandleRecall(ctx, call.Args)
}
