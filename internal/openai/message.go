package openai

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/sashabaranov/go-openai"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/model"
	"github.com/tiercompact/tiercompact/internal/remote"
)

// nothing means an empty text: the library omits that, and servers reject messages
// without one.
const nothing = " "

// toOpenAI returns a message in OpenAI's form: several results in one message
// become one message each.
func toOpenAI(m chat.Message) ([]openai.ChatCompletionMessage, error) {
	var out []openai.ChatCompletionMessage
	main := openai.ChatCompletionMessage{Role: remote.Role(m.Role)}
	text := remote.Said(m)
	var thinking strings.Builder
	var images []*chat.Picture
	for _, p := range m.Parts {
		switch p.Kind {
		case chat.Thinking:
			thinking.WriteString(p.Text)
		case chat.Call:
			main.ToolCalls = append(main.ToolCalls, openai.ToolCall{
				ID: p.ID, Type: openai.ToolTypeFunction,
				Function: openai.FunctionCall{Name: p.Name, Arguments: remote.Arguments(p.Args)},
			})
		case chat.Result:
			r := openai.ChatCompletionMessage{Role: openai.ChatMessageRoleTool, ToolCallID: p.ID, Name: p.Name}
			var pictures []*chat.Picture
			if p.Image != nil {
				pictures = append(pictures, p.Image)
			}
			if err := fillContent(&r, p.Text, pictures); err != nil {
				return nil, err
			}
			out = append(out, r)
		default:
			if p.Image != nil {
				images = append(images, p.Image)
			}
		}
	}
	if len(out) > 0 && text == "" && len(images) == 0 && len(main.ToolCalls) == 0 {
		return out, nil
	}
	if len(main.ToolCalls) > 0 {
		main.ReasoningContent = thinking.String() // some models continue it; without calls, some servers reject it
	}
	err := fillContent(&main, text, images)
	return append(out, main), err
}

// fillContent gives a message its text and pictures.
func fillContent(m *openai.ChatCompletionMessage, text string, images []*chat.Picture) error {
	if len(images) == 0 {
		m.Content = text
		if text == "" && len(m.ToolCalls) == 0 {
			m.Content = nothing
		}
		return nil
	}
	if text != "" {
		m.MultiContent = append(m.MultiContent, openai.ChatMessagePart{Type: openai.ChatMessagePartTypeText, Text: text})
	}
	for _, p := range images {
		url := p.URL
		if p.Data != "" {
			url = "data:" + cmp.Or(p.MediaType, "image/png") + ";base64," + p.Data
		}
		if url == "" {
			return fmt.Errorf("%w: an image has neither bytes nor an address", model.ErrCannot)
		}
		m.MultiContent = append(m.MultiContent, openai.ChatMessagePart{
			Type:     openai.ChatMessagePartTypeImageURL,
			ImageURL: &openai.ChatMessageImageURL{URL: url, Detail: openai.ImageURLDetail(p.Detail)},
		})
	}
	return nil
}
