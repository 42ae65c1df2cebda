package proxy

import (
	"encoding/json"
	"net/http"
)

// An openaiAnswer writes an answer as /v1/chat/completions does.
type openaiAnswer struct {
	t     *translation
	calls int
}

type openaiMessage struct {
	Role      string       `json:"role,omitempty"`
	Content   string       `json:"content"`
	Reasoning string       `json:"reasoning,omitempty"`
	ToolCalls []openaiCall `json:"tool_calls,omitempty"`
}

type openaiCall struct {
	ID       string         `json:"id"`
	Index    int            `json:"index"`
	Type     string         `json:"type"`
	Function openaiFunction `json:"function"`
}

type openaiFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type openaiChoice struct {
	Index        int             `json:"index"`
	Message      *openaiMessage  `json:"message,omitempty"`
	Delta        *openaiMessage  `json:"delta,omitempty"`
	FinishReason *string         `json:"finish_reason"`
	Logprobs     *openaiLogprobs `json:"logprobs,omitempty"`
}

type openaiLogprobs struct {
	Content json.RawMessage `json:"content"`
}

type openaiBody struct {
	ID          string         `json:"id"`
	Object      string         `json:"object"`
	Created     int64          `json:"created"`
	Model       string         `json:"model"`
	Fingerprint string         `json:"system_fingerprint"`
	Choices     []openaiChoice `json:"choices"`
	Usage       *openaiUsage   `json:"usage,omitempty"`
}

type openaiUsage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
}

func (a *openaiAnswer) body(l ollamaLine, object string, choices ...openaiChoice) openaiBody {
	return openaiBody{ID: "chatcmpl-" + a.t.id, Object: object, Created: l.CreatedAt.Unix(), Model: l.Model, Fingerprint: "fp_ollama", Choices: choices}
}

func (a *openaiAnswer) message(l ollamaLine) *openaiMessage {
	m := &openaiMessage{Role: "assistant", Content: l.Message.Content, Reasoning: l.Message.Thinking}
	for _, c := range l.Message.ToolCalls {
		m.ToolCalls = append(m.ToolCalls, openaiCall{a.t.callID(c, a.calls), a.calls, "function", openaiFunction{c.Function.Name, string(c.arguments())}})
		a.calls++
	}
	return m
}

func (a *openaiAnswer) finish(l ollamaLine) *string {
	reason := l.DoneReason
	switch {
	case reason == "":
		return nil
	case a.calls > 0:
		reason = "tool_calls"
	}
	return &reason
}

func logprobsOf(l ollamaLine) *openaiLogprobs {
	if len(l.Logprobs) == 0 || string(l.Logprobs) == "null" {
		return nil
	}
	return &openaiLogprobs{l.Logprobs}
}

func (l ollamaLine) openaiUsage() *openaiUsage {
	return &openaiUsage{l.Prompt, l.Answer, l.Prompt + l.Answer}
}

func (a *openaiAnswer) line(l ollamaLine) []byte {
	const object = "chat.completion.chunk"
	m := a.message(l)
	out := sseEvent("", a.body(l, object, openaiChoice{Delta: m, FinishReason: a.finish(l), Logprobs: logprobsOf(l)}))
	if !l.Done {
		return out
	}
	if a.t.usage {
		last := a.body(l, object)
		last.Choices, last.Usage = []openaiChoice{}, l.openaiUsage()
		out = append(out, sseEvent("", last)...)
	}
	return append(out, "data: [DONE]\n\n"...)
}

func (a *openaiAnswer) document(l ollamaLine) any {
	m := a.message(l)
	out := a.body(l, "chat.completion", openaiChoice{Message: m, FinishReason: a.finish(l), Logprobs: logprobsOf(l)})
	out.Usage = l.openaiUsage()
	return out
}

func (a *openaiAnswer) failure(reason string) []byte {
	return sseEvent("", a.t.errorBody(http.StatusInternalServerError, reason))
}

// An anthropicAnswer writes an answer as /v1/messages does. Blocks follow each other:
// one ends before the next begins, and has an index of its own.
type anthropicAnswer struct {
	t     *translation
	began bool
	kind  string // of the open block
	open  int    // its index; before the first: -1
	calls int
}

type anthropicUsage struct {
	Input  int `json:"input_tokens"`
	Output int `json:"output_tokens"`
}

type anthropicMessage struct {
	ID           string         `json:"id"`
	Type         string         `json:"type"`
	Role         string         `json:"role"`
	Model        string         `json:"model"`
	Content      []any          `json:"content"`
	StopReason   *string        `json:"stop_reason"`
	StopSequence *string        `json:"stop_sequence"`
	Usage        anthropicUsage `json:"usage"`
}

type anthropicText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type anthropicThinking struct {
	Type      string `json:"type"`
	Thinking  string `json:"thinking"`
	Signature string `json:"signature"`
}

type anthropicCall struct {
	Type  string          `json:"type"`
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

func (a *anthropicAnswer) message(l ollamaLine) anthropicMessage {
	return anthropicMessage{ID: "msg_" + a.t.id, Type: "message", Role: "assistant", Model: l.Model, Content: []any{}}
}

func (a *anthropicAnswer) stopReason(l ollamaLine) *string {
	reason := "end_turn"
	switch {
	case a.calls > 0:
		reason = "tool_use"
	case l.DoneReason == "length":
		reason = "max_tokens"
	}
	return &reason
}

func (a *anthropicAnswer) document(l ollamaLine) any {
	m := a.message(l)
	if l.Message.Thinking != "" {
		m.Content = append(m.Content, anthropicThinking{Type: "thinking", Thinking: l.Message.Thinking})
	}
	if l.Message.Content != "" {
		m.Content = append(m.Content, anthropicText{"text", l.Message.Content})
	}
	for _, c := range l.Message.ToolCalls {
		m.Content = append(m.Content, anthropicCall{"tool_use", a.t.callID(c, a.calls), c.Function.Name, c.arguments()})
		a.calls++
	}
	m.StopReason, m.Usage = a.stopReason(l), anthropicUsage{l.Prompt, l.Answer}
	return m
}

func (a *anthropicAnswer) line(l ollamaLine) (out []byte) {
	if !a.began {
		a.began = true
		m := a.message(l)
		m.Usage.Input = a.t.prompt
		out = append(out, sseEvent("message_start", map[string]any{"type": "message_start", "message": m})...)
	}
	if text := l.Message.Thinking; text != "" {
		out = append(out, a.begin("thinking", anthropicThinking{Type: "thinking"})...)
		out = append(out, a.delta(map[string]string{"type": "thinking_delta", "thinking": text})...)
	}
	if text := l.Message.Content; text != "" {
		out = append(out, a.begin("text", anthropicText{Type: "text"})...)
		out = append(out, a.delta(map[string]string{"type": "text_delta", "text": text})...)
	}
	for _, c := range l.Message.ToolCalls {
		id := a.t.callID(c, a.calls)
		a.calls++
		out = append(out, a.begin("tool_use", anthropicCall{"tool_use", id, c.Function.Name, json.RawMessage("{}")})...)
		out = append(out, a.delta(map[string]string{"type": "input_json_delta", "partial_json": string(c.arguments())})...)
		out = append(out, a.end()...)
	}
	if !l.Done {
		return out
	}
	out = append(out, a.end()...)
	out = append(out, sseEvent("message_delta", map[string]any{
		"type": "message_delta", "delta": map[string]any{"stop_reason": a.stopReason(l), "stop_sequence": nil}, "usage": anthropicUsage{l.Prompt, l.Answer},
	})...)
	return append(out, sseEvent("message_stop", map[string]string{"type": "message_stop"})...)
}

// begin opens a block, unless one of its kind is open.
func (a *anthropicAnswer) begin(kind string, block any) []byte {
	if a.kind == kind {
		return nil
	}
	out := a.end()
	a.kind = kind
	a.open++
	return append(out, sseEvent("content_block_start", map[string]any{"type": "content_block_start", "index": a.open, "content_block": block})...)
}

func (a *anthropicAnswer) delta(d map[string]string) []byte {
	return sseEvent("content_block_delta", map[string]any{"type": "content_block_delta", "index": a.open, "delta": d})
}

// end closes the open block.
func (a *anthropicAnswer) end() []byte {
	if a.kind == "" {
		return nil
	}
	a.kind = ""
	return sseEvent("content_block_stop", map[string]any{"type": "content_block_stop", "index": a.open})
}

func (a *anthropicAnswer) failure(reason string) []byte {
	return sseEvent("error", a.t.errorBody(http.StatusInternalServerError, reason))
}
