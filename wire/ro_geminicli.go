package wire

import (
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

func geminiCLI() format {
	return format{
		name:   "geminicli",
		about:  "Gemini CLI chat (JSON or JSON lines), Qwen Code session",
		match:  matchGeminiCLI,
		decode: decodeGeminiCLI,
	}
}

func matchGeminiCLI(p probe) int {
	for _, v := range p.values {
		switch {
		case v.has("projectHash") && v.has("sessionId"):
			return 95
		case isQwen(v):
			return 95
		case p.shape == lines && v.text("type") == "gemini" && v.has("content"):
			return 90
		}
	}
	return 0
}

func isQwen(v peek) bool {
	return v.has("uuid") && v.has("sessionId") && (v.at("message").is("parts", "[") || v.text("type") == "system" && v.has("systemPayload"))
}

func decodeGeminiCLI(src *source) ([]Conversation, error) {
	all, err := records(src)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(all, isQwen) {
		return decodeQwen(all), nil
	}
	s := cliChat{at: make(map[string]int)}
	for _, r := range all {
		s.apply(r)
	}
	c := Conversation{Format: "geminicli"}
	var l log
	for _, m := range s.messages {
		if m.raw == "" {
			continue
		}
		if model := m.text("model"); model != "" {
			c.Model = model
		}
		l.cliMessage(m)
	}
	return l.one(c), nil
}

// A cliChat is the messages of a chat after the records read so far: one
// document, or lines that add, replace and take back messages.
type cliChat struct {
	messages []peek         // those taken back have no raw
	at       map[string]int // by id
}

func (s *cliChat) apply(r peek) {
	if r.has("$rewindTo") {
		if i, ok := s.at[r.text("$rewindTo")]; ok {
			s.cut(i)
		}
		return
	}
	if set := r.at("$set"); set.is("messages", "[") {
		s.cut(0)
		r = set
	}
	if r.has("messages") {
		for _, m := range r.list("messages") {
			s.put(m)
		}
		return
	}
	s.put(r)
}

func (s *cliChat) cut(from int) {
	for _, m := range s.messages[from:] {
		delete(s.at, m.text("id"))
	}
	s.messages = s.messages[:from]
}

func (s *cliChat) put(m peek) {
	if !m.has("type") {
		return
	}
	id := m.text("id")
	if i, ok := s.at[id]; ok && id != "" {
		s.messages[i] = m
		return
	}
	if id != "" {
		s.at[id] = len(s.messages)
	}
	s.messages = append(s.messages, m)
}

// cliMessage appends a message of the chat with the results of its calls.
// Notices of the program were not sent.
func (l *log) cliMessage(r peek) {
	m := chat.Message{ID: r.text("id"), Role: chat.User}
	switch r.text("type") {
	case "user":
	case "gemini", "model", "assistant":
		m.Role = chat.Assistant
		l.calls.turn()
	default:
		return
	}
	for _, t := range r.list("thoughts") {
		thought := strings.TrimPrefix(t.text("subject")+"\n"+t.text("description"), "\n")
		m.Parts = append(m.Parts, chat.Part{Kind: chat.Thinking, Text: strings.TrimSuffix(thought, "\n")})
	}
	for _, p := range blocksIn(r.fields["content"]) {
		m.Parts = append(m.Parts, geminiPart(p)...)
	}
	calls := r.list("toolCalls")
	ids := make([]string, len(calls))
	for i, t := range calls {
		ids[i] = l.calls.call(t.text("id"), t.text("name"))
		m.Parts = append(m.Parts, chat.Part{Kind: chat.Call, ID: ids[i], Name: t.text("name"), Args: argsIn(t.fields["args"])})
	}
	l.add(m)
	for i, t := range calls {
		l.cliResult(ids[i], t)
	}
}

func (l *log) cliResult(id string, t peek) {
	p := chat.Part{ID: id, Name: t.text("name"), Error: t.text("status") == "error"}
	var texts []string
	var images []chat.Part
	answered := false
	for _, b := range blocksIn(t.fields["result"]) {
		r := b.at("functionResponse")
		if r.fields == nil {
			text, pictures := resultParts(b.raw)
			texts, images, answered = append(texts, text), append(images, pictures...), true
			continue
		}
		text, failed := responseText(r.at("response"))
		_, pictures := resultParts(r.fields["parts"])
		texts, images, answered = append(texts, text), append(images, pictures...), true
		p.Error = p.Error || failed
	}
	if p.Text = strings.Join(texts, "\n"); answered {
		l.answer("", p, images)
	}
}

// decodeQwen reads a session of Qwen Code: Gemini contents, linked like the
// records of Claude Code. Artifacts and titles stand on the path too.
func decodeQwen(all []peek) []Conversation {
	var kept []peek
	var t tree
	leaf := -1
	for _, r := range all {
		id := r.text("uuid")
		if id == "" {
			continue
		}
		if twin, ok := t.newest[id]; ok && kept[twin].fields["message"] == r.fields["message"] {
			continue
		}
		kept = append(kept, r)
		at := t.grow(id, r.fields["parentUuid"])
		if r.is("message", "{") && r.text("type") != "system" || r.text("subtype") == "rewind" || isCompression(r) {
			leaf = at
		}
	}
	c := Conversation{Format: "geminicli"}
	path := t.path(leaf, func(i int) bool { return isCompression(kept[i]) })
	var l log
	for n := 0; n < len(path); {
		m := qwenMessage{peek: kept[path[n]]}
		for ; n < len(path) && m.continues(kept[path[n]]); n++ {
			labelFrom(&c, kept[path[n]])
			m.parts = append(m.parts, kept[path[n]].at("message").list("parts")...)
		}
		l.qwen(m)
	}
	return l.one(c)
}

// labelFrom takes the model and the title from a record that has them.
func labelFrom(c *Conversation, r peek) {
	if model := r.text("model"); model != "" {
		c.Model = model
	}
	if title := r.at("systemPayload").text("customTitle"); title != "" {
		c.Title = title
	}
}

func isCompression(r peek) bool {
	return r.text("subtype") == "chat_compression" && r.at("systemPayload").is("compressedHistory", "[")
}

// A qwenMessage is one message that may stand in several records.
type qwenMessage struct {
	peek         // the first record
	parts []peek // of all
}

func (m qwenMessage) continues(r peek) bool {
	return m.text("uuid") == r.text("uuid") && m.text("type") == r.text("type")
}

func (l *log) qwen(r qwenMessage) {
	switch {
	case isCompression(r.peek):
		for _, content := range r.at("systemPayload").list("compressedHistory") {
			l.content(chat.Message{}, content.text("role"), content.list("parts"))
		}
	case r.text("type") != "system":
		m := chat.Message{ID: r.text("uuid"), Machine: r.text("subtype") == "notification"}
		l.content(m, r.at("message").text("role"), r.parts)
	}
}
