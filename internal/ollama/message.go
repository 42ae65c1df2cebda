package ollama

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ollama/ollama/api"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/model"
	"github.com/tiercompact/tiercompact/internal/remote"
)

// toAPIMessages returns messages in Ollama's form. Several results in one message
// become one message each, as the server requires.
func toAPIMessages(messages []chat.Message) ([]api.Message, error) {
	w := writer{names: make(map[string]string)}
	for i, m := range messages {
		if err := w.writeMessage(m); err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
	}
	return w.out, nil
}

// A writer writes messages one after the other.
type writer struct {
	out   []api.Message
	names map[string]string // of the tools, by the ids of their newest calls
}

func (w *writer) writeMessage(m chat.Message) error {
	main := api.Message{Role: remote.Role(m.Role), Content: remote.Said(m)}
	results := 0
	for _, p := range m.Parts {
		var err error
		switch p.Kind {
		case chat.Thinking:
			main.Thinking += p.Text
		case chat.Call:
			err = w.writeToolCall(&main, p)
		case chat.Result:
			results++
			err = w.writeToolResult(p)
		default:
			err = addImage(&main, p.Image)
		}
		if err != nil {
			return err
		}
	}
	if results == 0 || main.Content != "" || len(main.Images) > 0 || len(main.ToolCalls) > 0 {
		w.out = append(w.out, main)
	}
	return nil
}

func (w *writer) writeToolCall(m *api.Message, p chat.Part) error {
	w.names[p.ID] = p.Name
	call := api.ToolCall{ID: p.ID, Function: api.ToolCallFunction{Index: len(m.ToolCalls), Name: p.Name}}
	err := json.Unmarshal([]byte(remote.Arguments(p.Args)), &call.Function.Arguments)
	m.ToolCalls = append(m.ToolCalls, call)
	return err
}

// writeToolResult writes a result with the name of its tool, for the templates.
func (w *writer) writeToolResult(p chat.Part) error {
	r := api.Message{Role: string(chat.Tool), Content: p.Text, ToolCallID: p.ID, ToolName: cmp.Or(p.Name, w.names[p.ID])}
	err := addImage(&r, p.Image)
	w.out = append(w.out, r)
	return err
}

// addImage adds the bytes of a picture. A server does not download pictures.
func addImage(m *api.Message, p *chat.Picture) error {
	if p == nil {
		return nil
	}
	data := p.Data
	if _, inline, ok := strings.Cut(p.URL, ";base64,"); data == "" && ok {
		data = inline
	}
	if data == "" {
		return fmt.Errorf("%w: Ollama takes no image by its address; send its bytes", model.ErrCannot)
	}
	image, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return fmt.Errorf("image is not in base64; send it again: %w", err)
	}
	m.Images = append(m.Images, image)
	return nil
}
