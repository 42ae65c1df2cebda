package fault

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"strings"
)

// An answer is the output of a model.
type answer struct {
	model          string
	text, thinking string
	calls          bool   // a tool
	path           string // that the tool reads; "": main.go
	done           string // why the answer ended
	prompt, tokens int
}

// splitPieces divides a text into the pieces that a model writes at once: words
// with the blanks before them.
func splitPieces(text string) []string {
	var out []string
	start := 0
	for i := 1; i < len(text); i++ {
		if isBlankByte(text[i]) && !isBlankByte(text[i-1]) {
			out = append(out, text[start:i])
			start = i
		}
	}
	if start < len(text) {
		out = append(out, text[start:])
	}
	return out
}

func isBlankByte(b byte) bool { return b == ' ' || b == '\n' || b == '\t' }

// limitTokens cuts the answer after most tokens, 0 for no limit, and counts them.
func (a *answer) limitTokens(most int) {
	all := splitPieces(a.text)
	if most > 0 && len(all) > most {
		all, a.done = all[:most], "length"
		a.text = strings.Join(all, "")
	}
	a.tokens = max(1, len(all))
}

func (a answer) writeAnswer(w http.ResponseWriter, r *http.Request, q chatRequest) {
	v1 := isOpenAIPath(r.URL.Path)
	switch {
	case v1 && q.wantsStream(r.URL.Path):
		a.writeEvents(w, q.StreamOptions.IncludeUsage)
	case v1:
		writeReply(w, http.StatusOK, a.completion("chat.completion", "message", a.messageV1(), a.finishReason(), a.usageObject()))
	case q.wantsStream(r.URL.Path):
		a.writeLines(w)
	default:
		writeReply(w, http.StatusOK, a.endObject(a.messageObject(a.thinking, a.text)))
	}
}

const toolName = "read_file"

func (a answer) readPath() string { return cmp.Or(a.path, "main.go") }

func (a answer) messageObject(thinking, text string) map[string]any {
	m := map[string]any{"role": "assistant", "content": text}
	if thinking != "" {
		m["thinking"] = thinking
	}
	if a.calls {
		m["tool_calls"] = []any{map[string]any{"function": map[string]any{"index": 0, "name": toolName, "arguments": map[string]any{"path": a.readPath()}}}}
	}
	return m
}

func (a answer) lineObject(message map[string]any) map[string]any {
	return map[string]any{"model": a.model, "created_at": day, "message": message, "done": false}
}

// endObject returns the last line of an answer, or the whole answer.
func (a answer) endObject(message map[string]any) map[string]any {
	line := a.lineObject(message)
	line["done"], line["done_reason"] = true, a.done
	line["total_duration"], line["load_duration"] = 3_000_000, 1_000_000
	line["prompt_eval_count"], line["prompt_eval_duration"] = a.prompt, 1_000_000
	line["eval_count"], line["eval_duration"] = a.tokens, 1_000_000
	return line
}

func (a answer) writeLines(w http.ResponseWriter) {
	const form = "application/x-ndjson"
	for _, p := range splitPieces(a.thinking) {
		streamPart(w, form, encodeLine(a.lineObject(answer{}.messageObject(p, ""))))
	}
	for _, p := range splitPieces(a.text) {
		streamPart(w, form, encodeLine(a.lineObject(answer{}.messageObject("", p))))
	}
	if a.calls {
		streamPart(w, form, encodeLine(a.lineObject(a.messageObject("", ""))))
	}
	streamPart(w, form, encodeLine(a.endObject(answer{}.messageObject("", ""))))
}

func (a answer) messageV1() map[string]any {
	m := map[string]any{"role": "assistant", "content": a.text}
	if a.thinking != "" {
		m["reasoning"] = a.thinking
	}
	if a.calls {
		m["tool_calls"] = []any{map[string]any{"id": "call_1", "index": 0, "type": "function", "function": map[string]any{"name": toolName, "arguments": fmt.Sprintf(`{"path":%q}`, a.readPath())}}}
	}
	return m
}

// finishReason returns why the answer ended, in OpenAI's terms.
func (a answer) finishReason() string {
	if a.calls {
		return "tool_calls"
	}
	return a.done
}

func (a answer) usageObject() map[string]any {
	return map[string]any{"prompt_tokens": a.prompt, "completion_tokens": a.tokens, "total_tokens": a.prompt + a.tokens}
}

// completion returns an object of OpenAI's protocol; without usage if that is nil.
func (a answer) completion(object, key string, message map[string]any, reason any, usage map[string]any) map[string]any {
	choices := []any{}
	if message != nil {
		choices = append(choices, map[string]any{"index": 0, key: message, "finish_reason": reason})
	}
	c := map[string]any{"id": "chatcmpl-1", "object": object, "created": 1767323045, "model": a.model, "system_fingerprint": "fp_ollama", "choices": choices}
	if usage != nil {
		c["usage"] = usage
	}
	return c
}

func (a answer) writeEvents(w http.ResponseWriter, usage bool) {
	chunk := func(message map[string]any, reason any, usage map[string]any) {
		var b bytes.Buffer
		b.WriteString("data: ")
		b.Write(encodeLine(a.completion("chat.completion.chunk", "delta", message, reason, usage)))
		b.WriteByte('\n')
		streamPart(w, "text/event-stream", b.Bytes())
	}
	for _, p := range splitPieces(a.thinking) {
		chunk(map[string]any{"role": "assistant", "content": "", "reasoning": p}, nil, nil)
	}
	for _, p := range splitPieces(a.text) {
		chunk(map[string]any{"role": "assistant", "content": p}, nil, nil)
	}
	if a.calls {
		chunk(answer{calls: true}.messageV1(), nil, nil)
	}
	chunk(map[string]any{"role": "assistant", "content": ""}, a.finishReason(), nil)
	if usage {
		chunk(nil, nil, a.usageObject())
	}
	streamPart(w, "text/event-stream", []byte("data: [DONE]\n\n"))
}
