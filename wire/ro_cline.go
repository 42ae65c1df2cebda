package wire

import (
	"regexp"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

func cline() format {
	return format{
		name:   "cline",
		about:  "Cline or Roo task (api_conversation_history.json)",
		match:  matchCline,
		decode: decodeCline,
	}
}

func matchCline(p probe) int {
	if p.shape != array {
		return 0
	}
	for _, v := range p.values {
		if v.has("condenseParent") || v.has("condenseId") || v.has("truncationParent") {
			return 92
		}
		if v.text("role") != "user" {
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

func decodeCline(src *source) ([]Conversation, error) {
	doc, err := src.document()
	if err != nil {
		return nil, err
	}
	c := Conversation{Format: "cline"}
	var t clineTask
	for _, m := range clineView(listIn(doc.raw)) {
		if model := m.at("modelInfo").text("modelId"); model != "" {
			c.Model = model
		}
		if m.text("role") == "assistant" {
			t.assistant(m)
		} else {
			t.user(m)
		}
	}
	return t.one(c), nil
}

// clineView returns the messages that were sent: not those that a summary or a
// truncation stands for, as long as that is there itself.
func clineView(messages []peek) []peek {
	present := make(map[string]bool)
	from := 0
	for i, m := range messages {
		present[m.text("condenseId")] = m.flag("isSummary") || present[m.text("condenseId")]
		present[m.text("truncationId")] = m.flag("isTruncationMarker") || present[m.text("truncationId")]
		if m.flag("isSummary") && !m.has("condenseId") {
			from = i
		}
	}
	delete(present, "")
	return slices.DeleteFunc(slices.Clone(messages[from:]), func(m peek) bool {
		return present[m.text("condenseParent")] || present[m.text("truncationParent")]
	})
}

// A clineTask gathers messages in which results stand as text.
type clineTask struct {
	log
	open []chat.Part // calls of the last assistant message that have no result yet
}

func (t *clineTask) assistant(r peek) {
	m := chat.Message{ID: r.text("id"), Role: chat.Assistant}
	if text := r.text("reasoning_content"); text != "" {
		m.Parts = append(m.Parts, chat.Part{Kind: chat.Thinking, Text: text})
	}
	for _, b := range blocksIn(r.fields["content"]) {
		if b.text("type") == "reasoning" {
			m.Parts = append(m.Parts, chat.Part{Kind: chat.Thinking, Text: b.text("text")})
		}
	}
	m.Parts = append(m.Parts, assistantParts(r.fields["content"], &t.calls)...)
	t.open = nil
	for _, p := range m.Parts {
		if p.Kind == chat.Call {
			t.open = append(t.open, p)
		}
	}
	t.add(m)
}

// user emits the results in a user's message, and then the rest of it.
func (t *clineTask) user(r peek) {
	m := chat.Message{ID: r.text("id"), Role: chat.User, Machine: r.flag("isSummary") || r.flag("isTruncationMarker")}
	var current *clineResult
	var results []*clineResult
	for _, b := range blocksIn(r.fields["content"]) {
		if b.text("type") == "tool_result" {
			text, images := resultParts(b.fields["content"])
			p := chat.Part{ID: t.take(b.text("tool_use_id"), ""), Text: text, Error: b.flag("is_error")}
			current, results = nil, append(results, &clineResult{p, images})
			continue
		}
		text, isText := plainText(b)
		if tool := toolHeader(text); isText && tool != "" && len(t.open) > 0 {
			current = &clineResult{part: chat.Part{ID: t.take("", tool), Text: text}}
			results = append(results, current)
			continue
		}
		if isText && ownText(text) {
			current = nil
		}
		if current != nil && current.takes(b, text, isText) {
			continue
		}
		m.Parts = append(m.Parts, textParts("["+b.raw+"]")...)
	}
	for _, r := range results {
		t.answer("", r.part, r.images)
	}
	t.add(m)
}

// A clineResult is a result that is being put together from blocks.
type clineResult struct {
	part   chat.Part
	images []chat.Part
}

// takes adds a block behind the result's header, if it belongs to it: the
// text where the header came alone, and images.
func (r *clineResult) takes(b peek, text string, isText bool) bool {
	if picture := pictureIn(b); picture != nil {
		r.images = append(r.images, chat.Part{Kind: chat.Image, Image: picture})
		return true
	}
	if isText && strings.HasSuffix(strings.TrimRight(r.part.Text, "\n"), "Result:") {
		r.part.Text = strings.TrimRight(r.part.Text, "\n") + "\n" + text
		return true
	}
	return false
}

// ownText reports whether a text is the client's and not part of a result.
func ownText(text string) bool {
	return strings.HasPrefix(text, "<environment_details>") || strings.HasPrefix(text, "<feedback>") || strings.HasPrefix(text, "<user_message>")
}

// take returns the id of the call that a result answers: the one it names,
// else the first open one of that tool, else the first open one.
func (t *clineTask) take(id, tool string) string {
	at := slices.IndexFunc(t.open, func(p chat.Part) bool { return id != "" && p.ID == id || id == "" && p.Name == tool })
	if at < 0 && id == "" && len(t.open) > 0 {
		at = 0
	}
	if at < 0 {
		return t.calls.result(id, tool)
	}
	id = t.open[at].ID
	t.open = slices.Delete(t.open, at, at+1)
	return id
}

// toolHeader returns the tool that a result's text names in its first line, as
// in "[read_file for 'a.go'] Result:", or "".
func toolHeader(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	if !strings.HasPrefix(line, "[") || len(line) > 4096 {
		return ""
	}
	if m := regexp.MustCompile(`^\[(\w+)(?: .*)?\] Result:`).FindStringSubmatch(line); m != nil {
		return m[1]
	}
	return ""
}
