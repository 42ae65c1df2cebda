package wire

import (
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

// matchCline matches by the client's texts to the model, which stay in a task that
// is written in another format. Cline's own messages are Anthropic's.
func matchCline(p probe) int {
	if p.shape != array || slices.ContainsFunc(p.values, peek.isFlatMessage) {
		return 0
	}
	for _, v := range p.values {
		if v.hasMember("condenseParent") || v.hasMember("condenseId") || v.hasMember("truncationParent") {
			return 92
		}
		if v.stringValue("role") != "user" {
			continue
		}
		for _, b := range blocksIn(v.fields["content"]) {
			text, _ := plainText(b)
			if strings.HasPrefix(text, "<task>") || strings.HasPrefix(text, "<environment_details>") || toolHeader(text) != "" {
				return 92
			}
		}
	}
	return 0
}

// isFlatMessage reports whether v is a message of the OpenAI family.
func (v peek) isFlatMessage() bool {
	role := v.stringValue("role")
	return v.hasMember("tool_calls") || v.hasMember("images") || role != "" && role != "user" && role != "assistant"
}

func decodeCline(src *source) ([]Conversation, error) {
	doc, err := src.document()
	if err != nil {
		return nil, err
	}
	c := Conversation{Format: "cline"}
	var t clineTask
	for _, m := range clineView(elementsOf(doc.raw)) {
		if model := m.memberValue("modelInfo").stringValue("modelId"); model != "" {
			c.Model = model
		}
		if m.stringValue("role") == "assistant" {
			t.assistant(m)
		} else {
			t.emitUserMessage(m)
		}
	}
	return t.singleConversation(c), nil
}

// clineView returns the messages that were sent: not those that a summary or a
// truncation replaces, as long as it is present itself.
func clineView(messages []peek) []peek {
	present := make(map[string]bool)
	from := 0
	for i, m := range messages {
		present[m.stringValue("condenseId")] = m.boolValue("isSummary") || present[m.stringValue("condenseId")]
		present[m.stringValue("truncationId")] = m.boolValue("isTruncationMarker") || present[m.stringValue("truncationId")]
		if m.boolValue("isSummary") && !m.hasMember("condenseId") {
			from = i
		}
	}
	delete(present, "")
	return slices.DeleteFunc(slices.Clone(messages[from:]), func(m peek) bool {
		return present[m.stringValue("condenseParent")] || present[m.stringValue("truncationParent")]
	})
}

// A clineTask collects messages with results as text.
type clineTask struct{ messageLog }

func (t *clineTask) assistant(r peek) {
	m := chat.Message{ID: r.stringValue("id"), Role: chat.Assistant}
	if text := r.stringValue("reasoning_content"); text != "" {
		m.Parts = append(m.Parts, chat.Part{Kind: chat.Thinking, Text: text})
	}
	for _, b := range blocksIn(r.fields["content"]) {
		if b.stringValue("type") == "reasoning" {
			m.Parts = append(m.Parts, chat.Part{Kind: chat.Thinking, Text: b.stringValue("text")})
		}
	}
	t.calls.beginTurn()
	m.Parts = append(m.Parts, assistantParts(r.fields["content"], &t.calls)...)
	t.appendMessage(m)
}

// emitUserMessage emits the results in a user's message, and then the rest of it.
func (t *clineTask) emitUserMessage(r peek) {
	m := chat.Message{ID: r.stringValue("id"), Role: chat.User, Machine: r.boolValue("isSummary") || r.boolValue("isTruncationMarker")}
	var results []clineResult
	inResult := false // the newest result may continue
	for _, b := range blocksIn(r.fields["content"]) {
		if result, ok := t.beginResult(b); ok {
			results, inResult = append(results, result), true
			continue
		}
		if inResult && results[len(results)-1].appendBlock(b) {
			continue
		}
		inResult = inResult && pictureIn(b) != nil
		m.Parts = append(m.Parts, textParts(b.raw)...)
	}
	for _, r := range results {
		t.appendResult("", r.part, r.images)
	}
	t.appendMessage(m)
}

// beginResult returns the result that begins with a block: a block of its own kind,
// or a text that names the tool, directly after the calls.
func (t *clineTask) beginResult(b peek) (clineResult, bool) {
	if b.stringValue("type") == "tool_result" {
		text, images := resultParts(b.fields["content"])
		p := chat.Part{ID: t.calls.resultCallID(b.stringValue("tool_use_id"), ""), Text: text, Error: b.boolValue("is_error")}
		return clineResult{p, images, true}, true
	}
	text, _ := plainText(b)
	if tool := toolHeader(text); tool != "" {
		if id, ok := t.calls.takeOpenCall(tool); ok {
			return clineResult{part: chat.Part{ID: id, Text: text}}, true
		}
	}
	return clineResult{}, false
}

// A clineResult is a result under construction from blocks.
type clineResult struct {
	part   chat.Part
	images []chat.Part
	whole  bool // its text follows in a block after the header
}

// appendBlock adds a block after the one that the result began with, if it belongs
// to it: the text if the header was alone, and images.
func (r *clineResult) appendBlock(b peek) bool {
	if picture := pictureIn(b); picture != nil {
		r.images = append(r.images, chat.Part{Kind: chat.Image, Image: picture})
		return true
	}
	text, ok := plainText(b)
	header := strings.TrimRight(r.part.Text, "\n")
	if !ok || r.whole || isClientText(text) || !strings.HasSuffix(header, headerEnd) {
		return false
	}
	r.part.Text, r.whole = header+"\n"+text, true
	return true
}

// isClientText reports whether a text is the client's and not part of a result.
func isClientText(text string) bool {
	for _, tag := range []string{"<environment_details>", "<feedback>", "<user_message>", "<task>"} {
		if strings.HasPrefix(text, tag) {
			return true
		}
	}
	return false
}

const headerEnd = "] Result:"

// toolHeader returns the tool in the first line of a result's text, as in
// "[read_file for 'a.go'] Result:", or "".
func toolHeader(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	end := strings.Index(line, headerEnd)
	if end < 0 || line[0] != '[' {
		return ""
	}
	tool, _, _ := strings.Cut(line[1:end], " ")
	for _, c := range tool {
		if c != '_' && c != '-' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return ""
		}
	}
	return tool
}
