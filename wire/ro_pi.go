package wire

import (
	"strconv"

	"github.com/tiercompact/tiercompact/chat"
)

func pi() format {
	return format{
		name:   "pi",
		about:  "pi session (JSON lines), or JSON with pi messages",
		match:  matchPi,
		decode: decodePi,
	}
}

func matchPi(p probe) int {
	for _, v := range p.values {
		switch {
		case v.text("type") == "session" && v.has("id") && v.has("timestamp"),
			v.text("type") == "message" && isPiMessage(v.at("message")) && v.has("timestamp"):
			return 90
		case isPiMessage(v):
			return 88
		}
	}
	if p.shape != object || len(p.values) == 0 {
		return 0
	}
	for start, end := range elements(p.values[0].fields["messages"]) {
		if isPiMessage(peekAt(p.values[0].fields["messages"][start:end])) {
			return 90
		}
	}
	return 0
}

// isPiMessage reports whether v is a message that no other format has.
func isPiMessage(v peek) bool {
	if v.text("role") == "toolResult" || v.text("role") == "bashExecution" {
		return true
	}
	for _, b := range v.list("content") {
		if b.text("type") == "toolCall" {
			return true
		}
	}
	return false
}

func decodePi(src *source) ([]Conversation, error) {
	if look(src).shape == array {
		doc, err := src.document()
		if err != nil {
			return nil, err
		}
		return decodePiMessages(peek{}, listIn(doc.raw)), nil
	}
	all, err := records(src)
	if err != nil {
		return nil, err
	}
	if len(all) == 1 && all[0].has("messages") {
		return decodePiMessages(all[0], all[0].list("messages")), nil
	}
	s := piSession{entries: all}
	c := Conversation{Format: "pi"}
	for i := range s.view() {
		e := s.entries[i]
		switch e.text("type") {
		case "session_info":
			c.Title = e.text("name")
		case "model_change":
			c.Model = e.text("modelId")
		}
		if model := e.at("message").text("model"); model != "" {
			c.Model = model
		}
		s.log.piEntry(e)
	}
	return s.log.one(c), nil
}

// decodePiMessages reads a document that holds messages and, before them, what
// was asked.
func decodePiMessages(doc peek, messages []peek) []Conversation {
	var l log
	l.say("", chat.System, doc.text("systemPrompt"))
	l.say("", chat.User, doc.text("prompt"))
	for _, m := range messages {
		l.piMessage("", m)
	}
	return l.one(Conversation{Format: "pi", Model: doc.text("model"), Title: doc.text("tag")})
}

// A piSession is the entries of a session file.
type piSession struct {
	entries []peek
	log     log
}

// view yields the entries that the model saw: those from the newest entry back
// to the root, and where one is a compaction, that first, then what it kept,
// then what followed it.
func (s *piSession) view() func(yield func(i int) bool) {
	var t tree
	for _, e := range s.entries {
		t.grow(e.text("id"), e.fields["parentId"])
	}
	path := t.path(len(s.entries)-1, func(int) bool { return false })
	at := -1
	for n, i := range path {
		if s.entries[i].text("type") == "compaction" {
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

// keptFrom reports whether entry i is the first that a compaction kept. The
// first version of the format tells it by its place in the file.
func (s *piSession) keptFrom(compaction, i int) bool {
	e := s.entries[compaction]
	if first := e.text("firstKeptEntryId"); first != "" {
		return s.entries[i].text("id") == first
	}
	return e.fields["firstKeptEntryIndex"] == strconv.Itoa(i)
}

func (l *log) piEntry(e peek) {
	id := e.text("id")
	switch e.text("type") {
	case "message":
		l.piMessage(id, e.at("message"))
	case "custom_message":
		l.add(chat.Message{ID: id, Role: chat.User, Machine: true, Parts: textParts(e.fields["content"])})
	case "compaction", "branch_summary":
		l.piSummary(id, e)
	}
}

func (l *log) piSummary(id string, e peek) {
	if summary := e.text("summary"); summary != "" {
		l.note(id, "<summary>\n"+summary+"\n</summary>")
	}
}

func (l *log) piMessage(id string, m peek) {
	content := m.fields["content"]
	switch m.text("role") {
	case "user":
		l.add(chat.Message{ID: id, Role: chat.User, Parts: textParts(content)})
	case "system":
		l.add(chat.Message{ID: id, Role: chat.System, Parts: textParts(content)})
	case "assistant":
		l.add(chat.Message{ID: id, Role: chat.Assistant, Parts: l.piParts(content)})
	case "toolResult":
		text, images := resultParts(content)
		l.answer(id, chat.Part{
			ID:    l.calls.result(m.text("toolCallId"), m.text("toolName")),
			Name:  m.text("toolName"),
			Text:  text,
			Error: m.flag("isError"),
		}, images)
	case "bashExecution": // a command that the user ran
		if !m.flag("excludeFromContext") {
			l.note(id, "$ "+m.text("command")+"\n"+m.text("output"))
		}
	case "compactionSummary", "branchSummary":
		l.piSummary(id, m)
	default:
		l.add(chat.Message{ID: id, Role: chat.User, Machine: true, Parts: textParts(content)})
	}
}

func (l *log) piParts(content string) []chat.Part {
	var parts []chat.Part
	for _, b := range blocksIn(content) {
		switch b.text("type") {
		case "thinking":
			parts = append(parts, chat.Part{Kind: chat.Thinking, Text: b.text("thinking")})
		case "toolCall":
			id := l.calls.call(b.text("id"), b.text("name"))
			parts = append(parts, chat.Part{Kind: chat.Call, ID: id, Name: b.text("name"), Args: argsIn(b.fields["arguments"])})
		default:
			parts = append(parts, textParts(b.raw)...)
		}
	}
	return parts
}
