package wire

import (
	"strconv"

	"github.com/tiercompact/tiercompact/chat"
)

func matchPiSession(p probe) int {
	for _, v := range p.values {
		switch {
		case v.stringValue("type") == "session" && v.hasMember("id") && v.hasMember("timestamp"),
			v.stringValue("type") == "message" && isPiMessage(v.memberValue("message")) && v.hasMember("timestamp"):
			return 90
		case isPiMessage(v):
			return 88
		}
	}
	if p.shape != object || len(p.values) == 0 {
		return 0
	}
	for start, end := range elements(p.values[0].fields["messages"]) {
		if isPiMessage(peekValue(p.values[0].fields["messages"][start:end])) {
			return 90
		}
	}
	return 0
}

// isPiMessage reports whether v is a message that no other format has.
func isPiMessage(v peek) bool {
	if v.stringValue("role") == "toolResult" || v.stringValue("role") == "bashExecution" {
		return true
	}
	for _, b := range v.listValue("content") {
		if b.stringValue("type") == "toolCall" {
			return true
		}
	}
	return false
}

func decodePi(src *source) ([]Conversation, error) {
	if probeSource(src).shape == array {
		doc, err := src.document()
		if err != nil {
			return nil, err
		}
		return decodePiMessages(peek{}, elementsOf(doc.raw)), nil
	}
	all, err := jsonRecords(src)
	if err != nil {
		return nil, err
	}
	if len(all) == 1 && all[0].hasMember("messages") {
		return decodePiMessages(all[0], all[0].listValue("messages")), nil
	}
	s := piSession{entries: all}
	c := Conversation{Format: "pi"}
	for i := range s.visibleEntries() {
		e := s.entries[i]
		switch e.stringValue("type") {
		case "session_info":
			c.Title = e.stringValue("name")
		case "model_change":
			c.Model = e.stringValue("modelId")
		}
		if model := e.memberValue("message").stringValue("model"); model != "" {
			c.Model = model
		}
		s.log.appendPiEntry(e)
	}
	return s.log.singleConversation(c), nil
}

// decodePiMessages reads a document with messages, preceded by the request.
func decodePiMessages(doc peek, messages []peek) []Conversation {
	var l messageLog
	l.appendText("", chat.System, doc.stringValue("systemPrompt"))
	l.appendText("", chat.User, doc.stringValue("prompt"))
	for _, m := range messages {
		l.piMessage("", m)
	}
	return l.singleConversation(Conversation{Format: "pi", Model: doc.stringValue("model"), Title: doc.stringValue("tag")})
}

// A piSession is the entries of a session file.
type piSession struct {
	entries []peek
	log     messageLog
}

// visibleEntries yields the entries that the model saw: those from the newest entry
// back to the root or, if one is a compaction, that entry, then the entries that it
// kept, then those after it.
func (s *piSession) visibleEntries() func(yield func(i int) bool) {
	var t recordTree
	for _, e := range s.entries {
		t.appendNode(e.stringValue("id"), e.fields["parentId"])
	}
	path := t.pathToLeaf(len(s.entries)-1, func(int) bool { return false })
	at := -1
	for n, i := range path {
		if s.entries[i].stringValue("type") == "compaction" {
			at = n
		}
	}
	return func(yield func(i int) bool) {
		if at >= 0 && !yield(path[at]) {
			return
		}
		kept := at < 0
		for n, i := range path {
			kept = kept || n > at || s.keptFrom(path[at], i)
			if n != at && kept && !yield(i) {
				return
			}
		}
	}
}

// keptFrom reports whether entry i is the first that a compaction kept. The first
// version of the format identifies it by its index in the file.
func (s *piSession) keptFrom(compaction, i int) bool {
	e := s.entries[compaction]
	if first := e.stringValue("firstKeptEntryId"); first != "" {
		return s.entries[i].stringValue("id") == first
	}
	return e.fields["firstKeptEntryIndex"] == strconv.Itoa(i)
}

func (l *messageLog) appendPiEntry(e peek) {
	id := e.stringValue("id")
	switch e.stringValue("type") {
	case "message":
		l.piMessage(id, e.memberValue("message"))
	case "custom_message":
		l.appendMessage(chat.Message{ID: id, Role: chat.User, Machine: true, Parts: textParts(e.fields["content"])})
	case "compaction", "branch_summary":
		l.piSummary(id, e)
	}
}

func (l *messageLog) piSummary(id string, e peek) {
	if summary := e.stringValue("summary"); summary != "" {
		l.appendUserNote(id, "<summary>\n"+summary+"\n</summary>")
	}
}

func (l *messageLog) piMessage(id string, m peek) {
	content := m.fields["content"]
	switch m.stringValue("role") {
	case "user":
		l.appendMessage(chat.Message{ID: id, Role: chat.User, Parts: textParts(content)})
	case "system":
		l.appendMessage(chat.Message{ID: id, Role: chat.System, Parts: textParts(content)})
	case "assistant":
		l.appendMessage(chat.Message{ID: id, Role: chat.Assistant, Parts: l.partsOfPiContent(content)})
	case "toolResult":
		text, images := resultParts(content)
		l.appendResult(id, chat.Part{
			ID:    l.calls.resultCallID(m.stringValue("toolCallId"), m.stringValue("toolName")),
			Name:  m.stringValue("toolName"),
			Text:  text,
			Error: m.boolValue("isError"),
		}, images)
	case "bashExecution": // a command that the user ran
		if !m.boolValue("excludeFromContext") {
			l.appendUserNote(id, "$ "+m.stringValue("command")+"\n"+m.stringValue("output"))
		}
	case "compactionSummary", "branchSummary":
		l.piSummary(id, m)
	default:
		l.appendMessage(chat.Message{ID: id, Role: chat.User, Machine: true, Parts: textParts(content)})
	}
}

func (l *messageLog) partsOfPiContent(content string) []chat.Part {
	var parts []chat.Part
	for _, b := range blocksIn(content) {
		switch b.stringValue("type") {
		case "thinking":
			parts = append(parts, chat.Part{Kind: chat.Thinking, Text: b.stringValue("thinking")})
		case "toolCall":
			id := l.calls.assignCallID(b.stringValue("id"), b.stringValue("name"))
			parts = append(parts, chat.Part{Kind: chat.Call, ID: id, Name: b.stringValue("name"), Args: argumentsText(b.fields["arguments"])})
		default:
			parts = append(parts, textParts(b.raw)...)
		}
	}
	return parts
}
