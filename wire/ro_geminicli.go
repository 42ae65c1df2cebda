package wire

import (
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

func matchGeminiCLI(p probe) int {
	for _, v := range p.values {
		switch {
		case v.hasMember("projectHash") && v.hasMember("sessionId"):
			return 95
		case isQwenMessage(v):
			return 95
		case p.shape == lines && v.stringValue("type") == "gemini" && v.hasMember("content"):
			return 90
		}
	}
	return 0
}

func isQwenMessage(v peek) bool {
	return v.hasMember("uuid") && v.hasMember("sessionId") && (v.memberValue("message").hasValueKind("parts", "[") || v.stringValue("type") == "system" && v.hasMember("systemPayload"))
}

func decodeGeminiCLI(src *source) ([]Conversation, error) {
	all, err := jsonRecords(src)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(all, isQwenMessage) {
		return decodeQwen(all), nil
	}
	s := cliChat{at: make(map[string]int)}
	for _, r := range all {
		s.applyCLIRecord(r)
	}
	c := Conversation{Format: "geminicli"}
	var l messageLog
	for _, m := range s.messages {
		if m.raw == "" {
			continue
		}
		if model := m.stringValue("model"); model != "" {
			c.Model = model
		}
		l.cliMessage(m)
	}
	return l.singleConversation(c), nil
}

// A cliChat holds the messages of a chat after the records read so far: one
// document, or lines that add, replace and remove messages.
type cliChat struct {
	messages []peek         // removed ones have no raw
	at       map[string]int // by id
}

func (s *cliChat) applyCLIRecord(r peek) {
	if r.hasMember("$rewindTo") {
		if i, ok := s.at[r.stringValue("$rewindTo")]; ok {
			s.cutFromMessage(i)
		}
		return
	}
	if set := r.memberValue("$set"); set.hasValueKind("messages", "[") {
		s.cutFromMessage(0)
		r = set
	}
	if r.hasMember("messages") {
		for _, m := range r.listValue("messages") {
			s.putCLIMessage(m)
		}
		return
	}
	s.putCLIMessage(r)
}

func (s *cliChat) cutFromMessage(from int) {
	for _, m := range s.messages[from:] {
		delete(s.at, m.stringValue("id"))
	}
	s.messages = s.messages[:from]
}

func (s *cliChat) putCLIMessage(m peek) {
	if !m.hasMember("type") {
		return
	}
	id := m.stringValue("id")
	if i, ok := s.at[id]; ok && id != "" {
		s.messages[i] = m
		return
	}
	if id != "" {
		s.at[id] = len(s.messages)
	}
	s.messages = append(s.messages, m)
}

// cliMessage appends a message of the chat with the results of its calls. Notices
// of the program were not sent.
func (l *messageLog) cliMessage(r peek) {
	m := chat.Message{ID: r.stringValue("id"), Role: chat.User}
	switch r.stringValue("type") {
	case "user":
	case "gemini", "model", "assistant":
		m.Role = chat.Assistant
		l.calls.beginTurn()
	default:
		return
	}
	for _, t := range r.listValue("thoughts") {
		thought := strings.TrimPrefix(t.stringValue("subject")+"\n"+t.stringValue("description"), "\n")
		m.Parts = append(m.Parts, chat.Part{Kind: chat.Thinking, Text: strings.TrimSuffix(thought, "\n")})
	}
	for _, p := range blocksIn(r.fields["content"]) {
		m.Parts = append(m.Parts, geminiPart(p)...)
	}
	calls := r.listValue("toolCalls")
	ids := make([]string, len(calls))
	for i, t := range calls {
		ids[i] = l.calls.assignCallID(t.stringValue("id"), t.stringValue("name"))
		m.Parts = append(m.Parts, chat.Part{Kind: chat.Call, ID: ids[i], Name: t.stringValue("name"), Args: argumentsText(t.fields["args"])})
	}
	l.appendMessage(m)
	for i, t := range calls {
		l.cliResult(ids[i], t)
	}
}

func (l *messageLog) cliResult(id string, t peek) {
	p := chat.Part{ID: id, Name: t.stringValue("name"), Error: t.stringValue("status") == "error"}
	var texts []string
	var images []chat.Part
	answered := false
	for _, b := range blocksIn(t.fields["result"]) {
		r := b.memberValue("functionResponse")
		if r.fields == nil {
			text, pictures := resultParts(b.raw)
			texts, images, answered = append(texts, text), append(images, pictures...), true
			continue
		}
		text, failed := responseText(r.memberValue("response"))
		_, pictures := resultParts(r.fields["parts"])
		texts, images, answered = append(texts, text), append(images, pictures...), true
		p.Error = p.Error || failed
	}
	if p.Text = strings.Join(texts, "\n"); answered {
		l.appendResult("", p, images)
	}
}

// decodeQwen reads a session of Qwen Code: Gemini contents, linked like the
// records of Claude Code. Artifacts and titles are on the path too.
func decodeQwen(all []peek) []Conversation {
	var kept []peek
	var t recordTree
	leaf := -1
	for _, r := range all {
		id := r.stringValue("uuid")
		if id == "" {
			continue
		}
		if twin, ok := t.newest[id]; ok && kept[twin].fields["message"] == r.fields["message"] {
			continue
		}
		kept = append(kept, r)
		at := t.appendNode(id, r.fields["parentUuid"])
		if r.hasValueKind("message", "{") && r.stringValue("type") != "system" || r.stringValue("subtype") == "rewind" || isCompression(r) {
			leaf = at
		}
	}
	c := Conversation{Format: "geminicli"}
	path := t.pathToLeaf(leaf, func(i int) bool { return isCompression(kept[i]) })
	var l messageLog
	for n := 0; n < len(path); {
		m := qwenMessage{peek: kept[path[n]]}
		for ; n < len(path) && m.continues(kept[path[n]]); n++ {
			labelFrom(&c, kept[path[n]])
			m.parts = append(m.parts, kept[path[n]].memberValue("message").listValue("parts")...)
		}
		l.appendQwenMessage(m)
	}
	return l.singleConversation(c)
}

// labelFrom reads the model and the title from a record that has them.
func labelFrom(c *Conversation, r peek) {
	if model := r.stringValue("model"); model != "" {
		c.Model = model
	}
	if title := r.memberValue("systemPayload").stringValue("customTitle"); title != "" {
		c.Title = title
	}
}

func isCompression(r peek) bool {
	return r.stringValue("subtype") == "chat_compression" && r.memberValue("systemPayload").hasValueKind("compressedHistory", "[")
}

// A qwenMessage is one message that may be in several records.
type qwenMessage struct {
	peek         // the first record
	parts []peek // of all
}

func (m qwenMessage) continues(r peek) bool {
	return m.stringValue("uuid") == r.stringValue("uuid") && m.stringValue("type") == r.stringValue("type")
}

func (l *messageLog) appendQwenMessage(r qwenMessage) {
	switch {
	case isCompression(r.peek):
		for _, content := range r.memberValue("systemPayload").listValue("compressedHistory") {
			l.appendContent(chat.Message{}, content.stringValue("role"), content.listValue("parts"))
		}
	case r.stringValue("type") != "system":
		m := chat.Message{ID: r.stringValue("uuid"), Machine: r.stringValue("subtype") == "notification"}
		l.appendContent(m, r.memberValue("message").stringValue("role"), r.parts)
	}
}
