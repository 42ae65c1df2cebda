package ollama

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ollama/ollama/api"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/model"
)

// toAPI returns messages in Ollama's form. Several results in one message
// become one message each, as the server wants them.
func toAPI(messages []chat.Message) ([]api.Message, error) {
	out := make([]api.Message, 0, len(messages))
	names := make(map[string]string) // of the tools, by the ids of their newest calls
	for i, m := range messages {
		main := api.Message{Role: role(m.Role), Content: said(m)}
		results := 0
		for _, p := range m.Parts {
			switch p.Kind {
			case chat.Thinking:
				main.Thinking += p.Text
			case chat.Call:
				names[p.ID] = p.Name
				main.ToolCalls = append(main.ToolCalls, toCall(p, len(main.ToolCalls)))
			case chat.Result:
				results++
				r := api.Message{Role: string(chat.Tool), Content: p.Text, ToolCallID: p.ID, ToolName: p.Name}
				if r.ToolName == "" {
					r.ToolName = names[p.ID]
				}
				if err := addImage(&r, p.Image); err != nil {
					return nil, fmt.Errorf("message %d: %w", i, err)
				}
				out = append(out, r)
				continue
			}
			if err := addImage(&main, p.Image); err != nil {
				return nil, fmt.Errorf("message %d: %w", i, err)
			}
		}
		if results == 0 || main.Content != "" || len(main.Images) > 0 || len(main.ToolCalls) > 0 {
			out = append(out, main)
		}
	}
	return out, nil
}

// role returns a role that Ollama's templates know.
func role(r chat.Role) string {
	if r == chat.Developer {
		return string(chat.System)
	}
	return string(r)
}

// said returns the text of a message that is no result.
func said(m chat.Message) string {
	var texts []string
	for _, p := range m.Parts {
		if (p.Kind == chat.Text || p.Kind == chat.Summary) && p.Text != "" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// toCall returns a call in Ollama's form, whose arguments are an object.
// Arguments that are none, as models write them now and then, go under a name
// that says so.
func toCall(p chat.Part, index int) api.ToolCall {
	call := api.ToolCall{ID: p.ID, Function: api.ToolCallFunction{Index: index, Name: p.Name}}
	if json.Unmarshal([]byte(p.Args), &call.Function.Arguments) != nil {
		call.Function.Arguments = api.NewToolCallFunctionArguments()
		if text := strings.TrimSpace(p.Args); text != "" {
			call.Function.Arguments.Set("not_an_object", text)
		}
	}
	return call
}

// addImage adds the bytes of a picture. A server fetches none by itself.
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
		return fmt.Errorf("image is not in base64; send it anew: %w", err)
	}
	m.Images = append(m.Images, image)
	return nil
}
