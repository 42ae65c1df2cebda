package proxy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

const responsesFormat = "responses"

// A responsesDocument is a body of OpenAI's Responses API. Consecutive items of the
// model (reasoning, text, calls) are one message, as they belong together; each result
// and each other message is one of its own.
type responsesDocument struct {
	body         []byte
	start, end   int // of the input
	list         chat.Transcript
	instructions *chat.Source // of the message that stands for the instructions
	schemas      []byte
	modelName    string
}

func (d *responsesDocument) messages() chat.Transcript { return d.list }
func (d *responsesDocument) tools() []byte             { return d.schemas }
func (d *responsesDocument) model() string             { return d.modelName }

// A passes is the reason why a request cannot be compacted, and passes: no failure.
type passes string

func (p passes) Error() string { return string(p) }

func readResponses(body []byte, members map[string][]byte) (*responsesDocument, error) {
	if !json.Valid(body) {
		return nil, fmt.Errorf("the request is broken JSON")
	}
	held, err := topMembers(body, "previous_response_id", "conversation", "instructions")
	if err != nil {
		return nil, err
	}
	if key := serverHolds(held); key != "" {
		return nil, passes("the server holds the history (" + key + ")")
	}
	d := &responsesDocument{body: body, schemas: members["tools"], modelName: jsonText(members["model"])}
	if text := jsonText(held["instructions"]); text != "" {
		d.instructions = &chat.Source{Format: responsesFormat, Count: 1}
		m := chat.NewText(chat.System, text)
		m.Source = d.instructions
		d.list = append(d.list, m)
	}
	input := members["input"]
	d.start = cap(body) - cap(input)
	d.end = d.start + len(input)
	switch {
	case len(input) == 0:
		return nil, passes("the request has no input")
	case input[0] == '"':
		m := chat.NewText(chat.User, jsonText(input))
		m.Source = &chat.Source{Format: responsesFormat, JSON: `{"role":"user","content":` + string(input) + `}`, Count: 1}
		d.list = append(d.list, m)
		return d, nil
	}
	var items []json.RawMessage
	if err := json.Unmarshal(input, &items); err != nil {
		return nil, fmt.Errorf("the request's input is neither a string nor a list")
	}
	var output []json.RawMessage // of the model, since the last other item
	flush := func() {
		if len(output) > 0 {
			d.list = append(d.list, outputMessage(output))
			output = nil
		}
	}
	for _, raw := range items {
		var it responsesItem
		if err := json.Unmarshal(raw, &it); err != nil {
			return nil, fmt.Errorf("an item of the request's input is not an object of that API")
		}
		if it.isOutput() {
			output = append(output, raw)
			continue
		}
		flush()
		d.list = append(d.list, it.message(raw))
	}
	flush()
	return d, nil
}

// serverHolds returns the member by which a request continues a history that the server
// holds, "" for none.
func serverHolds(members map[string][]byte) string {
	for _, key := range []string{"previous_response_id", "conversation"} {
		if v := members[key]; v != nil && string(v) != "null" {
			return key
		}
	}
	return ""
}

// A responsesItem is an item of the input.
type responsesItem struct {
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	ID        string          `json:"id"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Input     json.RawMessage `json:"input"`
	Output    json.RawMessage `json:"output"`
	Summary   json.RawMessage `json:"summary"`
}

// isOutput reports whether an item was made by the model or by the API's server.
func (it responsesItem) isOutput() bool {
	switch it.Type {
	case "", "message":
		return it.Role == "assistant"
	case "function_call_output", "custom_tool_call_output", "local_shell_call_output":
		return false
	}
	return true
}

// message returns the message of an item that is not the model's.
func (it responsesItem) message(raw json.RawMessage) chat.Message {
	m := chat.Message{Role: chat.Tool, Source: &chat.Source{Format: responsesFormat, JSON: string(raw), Count: 1}}
	if it.Type == "" || it.Type == "message" {
		m.Role = chat.User
		if role := chat.Role(it.Role); role == chat.System || role == chat.Developer {
			m.Role = role
		}
		m.Parts = contentParts(it.Content)
		m.Machine = m.Role == chat.User && !slices.ContainsFunc(m.Parts, func(p chat.Part) bool { return p.Kind != chat.Text || !chat.ClientText(p.Text) })
		return m
	}
	parts := contentParts(it.Output)
	var texts []string
	for _, p := range parts {
		if p.Kind == chat.Text {
			texts = append(texts, p.Text)
		}
	}
	m.Parts = []chat.Part{{Kind: chat.Result, ID: it.CallID, Text: strings.Join(texts, "\n"), Raw: string(raw)}}
	for _, p := range parts {
		if p.Kind != chat.Text {
			m.Parts = append(m.Parts, p)
		}
	}
	return m
}

// outputMessage returns the message of consecutive items of the model.
func outputMessage(items []json.RawMessage) chat.Message {
	m := chat.Message{Role: chat.Assistant, Source: &chat.Source{Format: responsesFormat, JSON: string(bytes.Join(asBytes(items), []byte(","))), Count: 1}}
	for _, raw := range items {
		var it responsesItem
		_ = json.Unmarshal(raw, &it) // it was read before
		p := chat.Part{Kind: chat.Opaque, Text: string(raw), Raw: string(raw)}
		switch it.Type {
		case "", "message":
			var texts []string
			for _, c := range contentParts(it.Content) {
				texts = append(texts, c.Text)
			}
			p = chat.Part{Kind: chat.Text, Text: strings.Join(texts, "\n"), Raw: string(raw)}
		case "reasoning":
			p = chat.Part{Kind: chat.Thinking, Raw: string(raw)}
			for _, c := range contentParts(it.Summary) {
				p.Text += c.Text
			}
		case "function_call":
			p = chat.Part{Kind: chat.Call, ID: it.CallID, Name: it.Name, Args: it.Arguments, Raw: string(raw)}
		case "custom_tool_call":
			input, _ := json.Marshal(map[string]string{"input": jsonText(it.Input)})
			p = chat.Part{Kind: chat.Call, ID: it.CallID, Name: it.Name, Args: string(input), Raw: string(raw)}
		case "local_shell_call":
			p = chat.Part{Kind: chat.Call, ID: it.CallID, Name: "shell", Args: string(raw), Raw: string(raw)}
		}
		m.Parts = append(m.Parts, p)
	}
	return m
}

func asBytes(items []json.RawMessage) [][]byte {
	out := make([][]byte, len(items))
	for i, raw := range items {
		out[i] = raw
	}
	return out
}

// contentParts returns the parts of a string or of a list of blocks.
func contentParts(raw json.RawMessage) []chat.Part {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []chat.Part{{Kind: chat.Text, Text: text}}
	}
	var blocks []json.RawMessage
	if json.Unmarshal(raw, &blocks) != nil {
		return []chat.Part{{Kind: chat.Opaque, Text: string(raw), Raw: string(raw)}}
	}
	parts := make([]chat.Part, 0, len(blocks))
	for _, b := range blocks {
		var block struct {
			Type, Text, Detail string
			ImageURL           string `json:"image_url"`
		}
		p := chat.Part{Kind: chat.Opaque, Text: string(b), Raw: string(b)}
		if json.Unmarshal(b, &block) == nil {
			switch block.Type {
			case "input_text", "output_text", "text", "summary_text", "reasoning_text":
				p = chat.Part{Kind: chat.Text, Text: block.Text, Raw: string(b)}
			case "input_image":
				p = chat.Part{Kind: chat.Image, Image: pictureOf(block.ImageURL, block.Detail), Raw: string(b)}
			}
		}
		parts = append(parts, p)
	}
	return parts
}

func pictureOf(url, detail string) *chat.Picture {
	if head, data, ok := strings.Cut(url, ";base64,"); ok {
		if kind, ok := strings.CutPrefix(head, "data:"); ok {
			return &chat.Picture{MediaType: kind, Data: data, Detail: detail}
		}
	}
	return &chat.Picture{URL: url, Detail: detail}
}

// encode writes the items of t in place of the input.
func (d *responsesDocument) encode(t chat.Transcript) ([]byte, error) {
	var items []string
	for _, m := range t {
		switch {
		case m.Source != nil && m.Source == d.instructions && !m.Changed:
		case m.Source != nil && m.Source.Format == responsesFormat && !m.Changed:
			items = append(items, m.Source.JSON)
		case m.Source != nil && m.Source.Format == responsesFormat:
			items = append(items, changedItems(m)...)
		default:
			items = append(items, newItem(m))
		}
	}
	var out bytes.Buffer
	out.Grow(len(d.body))
	out.Write(d.body[:d.start])
	out.WriteByte('[')
	out.WriteString(strings.Join(items, ","))
	out.WriteByte(']')
	out.Write(d.body[d.end:])
	return out.Bytes(), nil
}

// changedItems returns the items of a rewritten message, each in its former form but
// for what was rewritten.
func changedItems(m chat.Message) (items []string) {
	was := make(map[string]string) // by call id
	var all []json.RawMessage
	if json.Unmarshal([]byte("["+m.Source.JSON+"]"), &all) == nil {
		for _, raw := range all {
			var it responsesItem
			if json.Unmarshal(raw, &it) == nil && it.CallID != "" {
				was[it.CallID] = string(raw)
			}
		}
	}
	if m.Role == chat.User || m.Role == chat.System || m.Role == chat.Developer {
		return []string{newItem(m)}
	}
	for _, p := range m.Parts {
		switch {
		case p.Raw != "" && (m.Role == chat.Assistant || p.Kind == chat.Result):
			items = append(items, p.Raw)
		case p.Kind == chat.Call && was[p.ID] != "":
			items = append(items, withMember(was[p.ID], "arguments", quoted(p.Args)))
		case p.Kind == chat.Result && was[p.ID] != "":
			items = append(items, withMember(was[p.ID], "output", quoted(p.Text)))
		case p.Kind == chat.Text && p.Text != "":
			items = append(items, newItem(chat.NewText(m.Role, p.Text)))
		}
	}
	return items
}

// newItem returns an item for a message that compaction wrote.
func newItem(m chat.Message) string {
	return `{"role":` + quoted(string(m.Role)) + `,"content":` + quoted(m.Text()) + `}`
}

// withMember returns an object with another value of a member, which it has.
func withMember(object, key, value string) string {
	text := []byte(object)
	members, err := topMembers(text, key)
	if err != nil || members[key] == nil {
		return object
	}
	start := cap(text) - cap(members[key])
	return object[:start] + value + object[start+len(members[key]):]
}

// quoted returns text as a JSON string.
func quoted(text string) string {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a string always has a JSON form
	return strings.TrimSuffix(out.String(), "\n")
}

// jsonText returns the text of a JSON string, "" for anything else.
func jsonText(raw []byte) (text string) {
	if len(raw) > 0 {
		_ = json.Unmarshal(raw, &text)
	}
	return text
}
