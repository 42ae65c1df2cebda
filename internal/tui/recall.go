package tui

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/clip"
	"github.com/tiercompact/tiercompact/internal/screen"
)

// recallTool is the only tool of a model.
const recallTool = `[{"type":"function","function":{"name":"recall","description":"Get back what was moved out of this conversation. Give the id that stands behind the word recall in an outline, a marker or a summary, or words to search for.","parameters":{"type":"object","properties":{"id":{"type":"string","description":"a recall id"},"text":{"type":"string","description":"words to search for"}}}}}]`

// recallLine explains outlines, markers and summaries to a model.
const recallLine = "Older parts of this conversation may be replaced by outlines, markers or a summary that show a recall id. Nothing is lost: the tool recall gives the whole text back, by that id or by words."

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
	if call.Name != "recall" {
		return "", fmt.Errorf("there is no tool %q; the only one is recall", call.Name)
	}
	var args struct{ ID, Text string }
	if err := json.Unmarshal([]byte(call.Args), &args); err != nil {
		return "", fmt.Errorf("arguments of recall must be an object with id or text, as strings: %w", err)
	}
	what := strings.TrimSpace(args.ID)
	if what == "" {
		what = strings.TrimSpace(args.Text)
	}
	if what == "" {
		return "", errors.New("recall needs an id or a text")
	}
	return t.recalled(ctx, what, t.model.Window) // at four bytes a token, a quarter of the window
}

// recalled returns the entry with an id, or else the best hits of a search for the
// words, in at most size bytes.
func (t *Talk) recalled(ctx context.Context, what string, size int) (string, error) {
	const most = 3 // hits
	e, err := t.session.Recall(ctx, what)
	if err == nil {
		return clipWithNote(screen.Entry(e), size), nil
	}
	if !errors.Is(err, tiercompact.ErrNotFound) {
		return "", err
	}
	hits, err := t.session.Search(ctx, what, most)
	if err != nil {
		return "", err
	}
	if len(hits) == 0 {
		return "", fmt.Errorf("nothing that was removed has the id or the words %q", screen.Clip(what, 60))
	}
	var b strings.Builder
	for _, h := range hits {
		fmt.Fprintf(&b, "recall %s:\n%s\n\n", h.ID, clipWithNote(h.Text, size/most))
	}
	return strings.TrimSpace(b.String()), nil
}

// clipWithNote cuts text to size bytes, between characters, and notes the cut.
func clipWithNote(text string, size int) string {
	if len(text) <= size {
		return text
	}
	text, rest := clip.Bytes(text, size), len(text)
	return fmt.Sprintf("%s\n[%d more bytes; search for words to see other parts]", text, rest-len(text))
}
