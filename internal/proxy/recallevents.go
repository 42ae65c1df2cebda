package proxy

import (
	"bytes"
	"encoding/json"
	"strings"
)

// held is what a reader keeps back since the first call.
type held struct {
	events [][]byte
	calls  []recallCall
}

func (h *held) called() []recallCall { return h.calls }

func (h *held) release() []byte {
	out := bytes.Join(h.events, nil)
	*h = held{}
	return out
}

// hold keeps a copy of an event.
func (h *held) hold(event []byte) { h.events = append(h.events, bytes.Clone(event)) }

// An ollamaRecall reads lines of /api/chat, or one document.
type ollamaRecall struct {
	held
	stream   bool
	text     string // of the answer
	thinking string
	before   string // of the answers before, which a document repeats
}

func (o *ollamaRecall) read(event []byte) []byte {
	var l ollamaLine
	if json.Unmarshal(event, &l) != nil {
		return event
	}
	o.text, o.thinking = o.text+l.Message.Content, o.thinking+l.Message.Thinking
	for _, c := range l.Message.ToolCalls {
		o.calls = append(o.calls, recallCall{c.ID, c.Function.Name, string(c.arguments())})
	}
	if !o.stream && o.before != "" {
		event = withTextBefore(event, o.before, "message")
	}
	if len(o.calls) == 0 {
		return event
	}
	o.hold(event)
	if text := l.Message.Content; o.stream && text != "" {
		l.Message.Content = ""
		return marshalLine(map[string]any{"model": l.Model, "created_at": l.CreatedAt, "message": map[string]string{"role": "assistant", "content": text}, "done": false})
	}
	return nil
}

func (o *ollamaRecall) follow(calls []recallCall, results []string) string {
	var list, answers []string
	for i, c := range calls {
		id := ""
		if c.id != "" {
			id = `"id":` + quoted(c.id) + `,`
		}
		list = append(list, `{`+id+`"function":{"name":"`+recallName+`","arguments":`+c.args+`}}`)
		if c.id != "" {
			id = `"tool_call_id":` + quoted(c.id) + `,`
		}
		answers = append(answers, `{"role":"tool",`+id+`"tool_name":"`+recallName+`","content":`+quoted(results[i])+`}`)
	}
	thinking := ""
	if o.thinking != "" {
		thinking = `"thinking":` + quoted(o.thinking) + `,`
	}
	m := `{"role":"assistant","content":` + quoted(o.text) + `,` + thinking + `"tool_calls":[` + strings.Join(list, ",") + `]},` + strings.Join(answers, ",")
	*o = ollamaRecall{stream: o.stream, before: o.before + o.text}
	return m
}

// withTextBefore returns a document with text before the content of the message at a
// path of objects.
func withTextBefore(document []byte, text string, path ...string) []byte {
	if len(path) == 0 {
		members, err := topMembers(document, "content")
		if err != nil || members["content"] == nil {
			return document
		}
		return []byte(withMember(string(document), "content", quoted(text+jsonText(members["content"]))))
	}
	members, err := topMembers(document, path[0])
	if err != nil || members[path[0]] == nil {
		return document
	}
	inner := bytes.Clone(members[path[0]])
	list := bytes.HasPrefix(inner, []byte("["))
	if list { // the first of the choices
		inner = bytes.TrimSpace(inner[1 : len(inner)-1])
	}
	inner = withTextBefore(inner, text, path[1:]...)
	if list {
		inner = append(append([]byte("["), inner...), ']')
	}
	return []byte(withMember(string(document), path[0], string(inner)))
}

// An openaiRecall reads events of /v1/chat/completions, or one document.
type openaiRecall struct {
	held
	stream bool
	text   string
	before string
}

// openaiPart is what a chunk or a document has of interest.
type openaiPart struct {
	Choices []struct {
		Delta   openaiPartMessage `json:"delta"`
		Message openaiPartMessage `json:"message"`
	} `json:"choices"`
}

type openaiPartMessage struct {
	Content   string       `json:"content"`
	ToolCalls []openaiCall `json:"tool_calls"`
}

// eventData returns the data of a server-sent event, or a document as it is.
func eventData(event []byte) []byte {
	if !bytes.Contains(event, []byte("data:")) {
		return event
	}
	var data []byte
	for line := range bytes.Lines(event) {
		if rest, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			data = append(data, bytes.TrimSpace(rest)...)
		}
	}
	return data
}

func (o *openaiRecall) read(event []byte) []byte {
	data := event
	if o.stream {
		data = eventData(event)
	}
	var part openaiPart
	text := ""
	if json.Unmarshal(data, &part) == nil && len(part.Choices) > 0 {
		m := part.Choices[0].Message
		if o.stream {
			m = part.Choices[0].Delta
		}
		text = m.Content
		for _, c := range m.ToolCalls {
			o.addCall(c)
		}
	}
	o.text += text
	if !o.stream && o.before != "" {
		event = withTextBefore(event, o.before, "choices", "message")
	}
	if len(o.calls) == 0 {
		return event
	}
	o.hold(event)
	return nil
}

// addCall adds a call, or a piece of one: later pieces have only arguments.
func (o *openaiRecall) addCall(c openaiCall) {
	at := c.Index
	if !o.stream || at >= len(o.calls) || at < 0 {
		o.calls = append(o.calls, recallCall{})
		at = len(o.calls) - 1
	}
	o.calls[at].id += c.ID
	o.calls[at].name += c.Function.Name
	o.calls[at].args += c.Function.Arguments
}

func (o *openaiRecall) follow(calls []recallCall, results []string) string {
	var list, answers []string
	for i, c := range calls {
		list = append(list, `{"id":`+quoted(c.id)+`,"type":"function","function":{"name":"`+recallName+`","arguments":`+quoted(c.args)+`}}`)
		answers = append(answers, `{"role":"tool","tool_call_id":`+quoted(c.id)+`,"content":`+quoted(results[i])+`}`)
	}
	m := `{"role":"assistant","content":` + quoted(o.text) + `,"tool_calls":[` + strings.Join(list, ",") + `]},` + strings.Join(answers, ",")
	*o = openaiRecall{stream: o.stream, before: o.before + o.text}
	return m
}

// An anthropicRecall reads events of /v1/messages, or one document. The blocks of
// later answers continue those of the first.
type anthropicRecall struct {
	held
	stream bool
	later  bool              // the answer is not the first
	shift  int               // blocks that the client has from the answers before
	passed int               // blocks of this answer that the client has
	blocks []json.RawMessage // of this answer, without calls
	before []json.RawMessage // of the answers before, which a document repeats
	block  anthropicBlock    // that is open
}

type anthropicBlock struct {
	Type      string          `json:"type"`
	Text      *string         `json:"text,omitempty"`
	Thinking  *string         `json:"thinking,omitempty"`
	Signature string          `json:"signature,omitempty"`
	Data      string          `json:"data,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
}

type anthropicEvent struct {
	Type  string         `json:"type"`
	Block anthropicBlock `json:"content_block"`
	Delta struct {
		Text      string `json:"text"`
		Thinking  string `json:"thinking"`
		Signature string `json:"signature"`
		JSON      string `json:"partial_json"`
	} `json:"delta"`
	Content []json.RawMessage `json:"content"`
}

func (a *anthropicRecall) read(event []byte) []byte {
	var e anthropicEvent
	data := event
	if a.stream {
		data = eventData(event)
	}
	if json.Unmarshal(data, &e) != nil {
		return event
	}
	if !a.stream {
		return a.readDocument(event, e)
	}
	switch e.Type {
	case "message_start":
		if a.later {
			return nil
		}
	case "content_block_start":
		if a.block = e.Block; e.Block.Type == "tool_use" {
			a.calls = append(a.calls, recallCall{id: e.Block.ID, name: e.Block.Name})
		} else if len(a.calls) == 0 {
			a.passed++
		}
	case "content_block_delta":
		a.addDelta(e)
	case "content_block_stop":
		a.endBlock()
	}
	event = a.shifted(event, data, e.Type)
	if len(a.calls) == 0 {
		return event
	}
	a.hold(event)
	return nil
}

func (a *anthropicRecall) addDelta(e anthropicEvent) {
	if a.block.Type == "tool_use" {
		a.calls[len(a.calls)-1].args += e.Delta.JSON
	}
	if a.block.Text != nil {
		*a.block.Text += e.Delta.Text
	}
	if a.block.Thinking != nil {
		*a.block.Thinking += e.Delta.Thinking
	}
	a.block.Signature += e.Delta.Signature
}

func (a *anthropicRecall) endBlock() {
	if a.block.Type != "" && a.block.Type != "tool_use" && (a.block.Text == nil || *a.block.Text != "") { // the API refuses empty texts
		a.blocks = append(a.blocks, bytes.TrimSpace(marshalLine(a.block)))
	}
	a.block = anthropicBlock{}
}

// shifted returns an event with the index that its block has for the client.
func (a *anthropicRecall) shifted(event, data []byte, kind string) []byte {
	if a.shift == 0 || !strings.HasPrefix(kind, "content_block_") {
		return event
	}
	members, err := topMembers(data, "index")
	if err != nil || members["index"] == nil {
		return event
	}
	var n int
	_ = json.Unmarshal(members["index"], &n)
	raw, _ := json.Marshal(n + a.shift)
	return []byte("event: " + kind + "\ndata: " + withMember(string(data), "index", string(raw)) + "\n\n")
}

func (a *anthropicRecall) readDocument(event []byte, e anthropicEvent) []byte {
	for _, raw := range e.Content {
		var b anthropicBlock
		if json.Unmarshal(raw, &b) == nil && b.Type == "tool_use" {
			a.calls = append(a.calls, recallCall{b.ID, b.Name, string(b.Input)})
			continue
		}
		a.blocks = append(a.blocks, raw)
	}
	if len(a.before) > 0 {
		raw, _ := json.Marshal(append(a.before[:len(a.before):len(a.before)], e.Content...))
		event = []byte(withMember(string(event), "content", string(raw)))
	}
	if len(a.calls) == 0 {
		return event
	}
	a.hold(event)
	return nil
}

func (a *anthropicRecall) follow(calls []recallCall, results []string) string {
	blocks := a.blocks[:len(a.blocks):len(a.blocks)]
	var answers []string
	for i, c := range calls {
		args := c.args
		if !json.Valid([]byte(args)) {
			args = "{}"
		}
		blocks = append(blocks, json.RawMessage(`{"type":"tool_use","id":`+quoted(c.id)+`,"name":"`+recallName+`","input":`+args+`}`))
		answers = append(answers, `{"type":"tool_result","tool_use_id":`+quoted(c.id)+`,"content":`+quoted(results[i])+`}`)
	}
	content := bytes.Join(rawBytes(blocks), []byte(","))
	next := &anthropicRecall{stream: a.stream, later: true, shift: a.shift + a.passed, before: append(a.before, a.blocks...)}
	*a = *next
	return `{"role":"assistant","content":[` + string(content) + `]},{"role":"user","content":[` + strings.Join(answers, ",") + `]}`
}

func rawBytes(list []json.RawMessage) [][]byte {
	out := make([][]byte, len(list))
	for i, raw := range list {
		out[i] = raw
	}
	return out
}
