package fault

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strings"
)

// What servers say of an input that is too long: up to 0.17.4, and newer ones.
const tooLong = "the input length exceeds the context length"

// A chatRequest is a chat in Ollama's form or in OpenAI's.
type chatRequest struct {
	Model    string
	Messages []struct {
		Role      string
		Content   json.RawMessage
		ToolCalls json.RawMessage `json:"tool_calls"`
	}
	Tools           []json.RawMessage
	Think           any
	Stream          *bool
	Truncate, Shift *bool
	Options         struct {
		NumCtx     int `json:"num_ctx"`
		NumPredict int `json:"num_predict"`
	}
	MaxTokens           int `json:"max_tokens"`
	MaxCompletionTokens int `json:"max_completion_tokens"`
	StreamOptions       struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

// streams reports whether the answer comes in pieces: by default it does at
// Ollama, and does not in OpenAI's protocol.
func (q chatRequest) streams(path string) bool {
	if q.Stream == nil {
		return !isV1(path)
	}
	return *q.Stream
}

// limit returns the most tokens of the answer, 0 for no limit.
func (q chatRequest) limit() int {
	return max(0, q.Options.NumPredict, q.MaxTokens, q.MaxCompletionTokens)
}

// overhead is what a template puts around a message, in tokens.
const overhead = 5

// sizes returns the tokens of each message.
func (q chatRequest) sizes() []int {
	sizes := make([]int, len(q.Messages))
	for i, m := range q.Messages {
		sizes[i] = overhead + (len(m.Content)+len(m.ToolCalls))/4
	}
	return sizes
}

// prompt returns the text of all messages.
func (q chatRequest) prompt() string {
	var b strings.Builder
	for _, m := range q.Messages {
		b.WriteString(textOf(m.Content))
		b.WriteByte('\n')
	}
	return b.String()
}

// last returns the text of the last message.
func (q chatRequest) last() string {
	if len(q.Messages) == 0 {
		return ""
	}
	return textOf(q.Messages[len(q.Messages)-1].Content)
}

// textOf returns the text of a content: a string, or OpenAI's list of parts.
func textOf(content []byte) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var parts []struct{ Text string }
	_ = json.Unmarshal(content, &parts) // what is neither has no text
	for _, p := range parts {
		text += p.Text
	}
	return text
}

// read returns the tokens of the prompt that the model is given in a window:
// old messages go first, but for those of the system and the last one; then the
// text itself is cut.
func (q chatRequest) read(window int) int {
	sizes := q.sizes()
	total := 1 // begin of text
	for _, tool := range q.Tools {
		total += len(tool) / 4
	}
	for _, n := range sizes {
		total += n
	}
	for i, n := range sizes {
		if total > window && q.Messages[i].Role != "system" && i < len(sizes)-1 {
			total -= n
		}
	}
	return min(total, window)
}

func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
	var q chatRequest
	if !decode(w, r, &q) {
		return
	}
	if isV1(r.URL.Path) {
		q.Options.NumCtx, q.Truncate, q.Shift = 0, nil, nil // it has no such settings
	}
	m, ok := s.model(q.Model)
	if status, text := q.refused(m, ok); status != 0 {
		refuse(w, r, status, text)
		return
	}
	window := s.load(m, q.Options.NumCtx)
	whole := q.read(math.MaxInt)
	s.mu.Lock()
	s.asked = append(s.asked, Asked{q.Model, whole, window, q.last()})
	s.mu.Unlock()
	if whole > window && q.Truncate != nil && !*q.Truncate {
		refuse(w, r, http.StatusBadRequest, tooLong)
		return
	}
	if whole > window && s.Props > 0 {
		reply(w, http.StatusBadRequest, map[string]any{"error": map[string]any{
			"code": http.StatusBadRequest, "type": "exceed_context_size_error", "n_prompt_tokens": whole, "n_ctx": window,
			"message": fmt.Sprintf("request (%d tokens) exceeds the available context size (%d tokens), try increasing it", whole, window),
		}})
		return
	}
	a := answer{model: q.Model, text: s.Answer(q.prompt()), done: "stop", prompt: q.read(window)}
	most := q.limit()
	if room := window - a.prompt; q.Shift != nil && !*q.Shift && (most == 0 || room < most) {
		most = max(1, room)
	}
	a.cut(most)
	a.write(w, r, q)
}

// refused returns status and text where the request cannot be served, 0 where
// it can.
func (q chatRequest) refused(m Model, ok bool) (int, string) {
	switch {
	case !ok:
		return http.StatusNotFound, fmt.Sprintf("model '%s' not found", q.Model)
	case !m.can(Completion):
		return http.StatusBadRequest, fmt.Sprintf("%q does not support chat", q.Model)
	case q.Think == true && !m.can(Thinking):
		return http.StatusBadRequest, fmt.Sprintf("%q does not support thinking", q.Model)
	case len(q.Tools) > 0 && !m.can(Tools):
		return http.StatusBadRequest, fmt.Sprintf("registry.ollama.ai/library/%s does not support tools", m.Name)
	}
	return 0, ""
}
