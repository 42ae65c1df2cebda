package fault

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strings"
)

// The servers' errors for an input that is too long: up to 0.17.4, and newer ones.
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

// wantsStream reports whether the answer is a stream: Ollama's default, but not
// that of OpenAI's protocol.
func (q chatRequest) wantsStream(path string) bool {
	if q.Stream == nil {
		return !isOpenAIPath(path)
	}
	return *q.Stream
}

// tokenLimit returns the maximum tokens of the answer, 0 for no limit.
func (q chatRequest) tokenLimit() int {
	return max(0, q.Options.NumPredict, q.MaxTokens, q.MaxCompletionTokens)
}

// overhead is the number of tokens that a template adds to a message.
const overhead = 5

// messageTokens returns the tokens of each message.
func (q chatRequest) messageTokens() []int {
	sizes := make([]int, len(q.Messages))
	for i, m := range q.Messages {
		sizes[i] = overhead + (len(m.Content)+len(m.ToolCalls))/4
	}
	return sizes
}

// promptText returns the text of all messages.
func (q chatRequest) promptText() string {
	var b strings.Builder
	for _, m := range q.Messages {
		b.WriteString(contentText(m.Content))
		b.WriteByte('\n')
	}
	return b.String()
}

// lastMessageText returns the text of the last message.
func (q chatRequest) lastMessageText() string {
	if len(q.Messages) == 0 {
		return ""
	}
	return contentText(q.Messages[len(q.Messages)-1].Content)
}

// contentText returns the text of a content: a string, or OpenAI's list of parts.
func contentText(content []byte) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var parts []struct{ Text string }
	_ = json.Unmarshal(content, &parts) // anything else has no text
	for _, p := range parts {
		text += p.Text
	}
	return text
}

// promptTokens returns the tokens of the prompt in a window: old messages are
// dropped first, except for system messages and the last one; then the text itself
// is cut.
func (q chatRequest) promptTokens(window int) int {
	sizes := q.messageTokens()
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

func (s *Server) serveChat(w http.ResponseWriter, r *http.Request) {
	var q chatRequest
	if !decodeRequest(w, r, &q) {
		return
	}
	if isOpenAIPath(r.URL.Path) {
		q.Options.NumCtx, q.Truncate, q.Shift = 0, nil, nil // it has no such settings
	}
	m, ok := s.findModel(q.Model)
	if status, text := q.refusalFor(m, ok); status != 0 {
		refuseRequest(w, r, status, text)
		return
	}
	window := s.loadWindow(m, q.Options.NumCtx)
	whole := q.promptTokens(math.MaxInt)
	s.mu.Lock()
	s.asked = append(s.asked, Asked{q.Model, whole, window, q.lastMessageText()})
	s.mu.Unlock()
	if whole > window && q.Truncate != nil && !*q.Truncate {
		refuseRequest(w, r, http.StatusBadRequest, tooLong)
		return
	}
	if whole > window && s.Props > 0 {
		writeReply(w, http.StatusBadRequest, map[string]any{"error": map[string]any{
			"code": http.StatusBadRequest, "type": "exceed_context_size_error", "n_prompt_tokens": whole, "n_ctx": window,
			"message": fmt.Sprintf("request (%d tokens) exceeds the available context size (%d tokens), try increasing it", whole, window),
		}})
		return
	}
	a := answer{model: q.Model, text: s.Answer(q.promptText()), done: "stop", prompt: q.promptTokens(window)}
	if s.Reads != nil && len(q.Tools) > 0 {
		if path := s.Reads(q.lastMessageText()); path != "" {
			a.text, a.calls, a.path = "", true, path
		}
	}
	most := q.tokenLimit()
	if room := window - a.prompt; q.Shift != nil && !*q.Shift && (most == 0 || room < most) {
		most = max(1, room)
	}
	a.limitTokens(most)
	a.writeAnswer(w, r, q)
}

// refusalFor returns status and text if the request cannot be served, else 0.
func (q chatRequest) refusalFor(m Model, ok bool) (int, string) {
	switch {
	case !ok:
		return http.StatusNotFound, fmt.Sprintf("model '%s' not found", q.Model)
	case !m.hasCapability(Completion):
		return http.StatusBadRequest, fmt.Sprintf("%q does not support chat", q.Model)
	case q.Think == true && !m.hasCapability(Thinking):
		return http.StatusBadRequest, fmt.Sprintf("%q does not support thinking", q.Model)
	case len(q.Tools) > 0 && !m.hasCapability(Tools):
		return http.StatusBadRequest, fmt.Sprintf("registry.ollama.ai/library/%s does not support tools", m.Name)
	}
	return 0, ""
}
