package wire

import (
	"slices"

	"github.com/tiercompact/tiercompact/chat"
)

func openCode() format {
	return format{
		name:   "opencode",
		about:  "OpenCode export (JSON)",
		match:  matchOpenCode,
		decode: decodeOpenCode,
	}
}

func matchOpenCode(p probe) int {
	if len(p.values) == 0 || p.shape == lines {
		return 0
	}
	v := p.values[0]
	if v.is("info", "{") && (v.is("parts", "[") || isExported(v)) || isStored(v) {
		return 90
	}
	return 0
}

// isExported reports whether v is a session with messages of parts.
func isExported(v peek) bool {
	for start, end := range elements(v.fields["messages"]) {
		m := peekAt(v.fields["messages"][start:end])
		return m.is("info", "{") && m.is("parts", "[")
	}
	return v.at("info").has("projectID") && v.is("messages", "[")
}

// isStored reports whether v is one file of the storage: a session, a message
// or a part, none of which is a conversation.
func isStored(v peek) bool {
	switch {
	case v.has("sessionID") && v.has("id") && (v.has("role") || v.has("messageID")):
		return true
	case v.has("projectID") && v.has("directory") && v.has("id"):
		return true
	case v.has("callID") && v.has("tool") && v.has("state"):
		return true
	}
	return v.has("id") && v.has("type") && v.has("text") && v.at("time").has("start")
}

func decodeOpenCode(src *source) ([]Conversation, error) {
	doc, err := src.document()
	if err != nil {
		return nil, err
	}
	v := peekAt(doc.raw)
	if isStored(v) {
		return nil, src.fail(ErrNoMessages, 0, "", "is a single file of OpenCode's storage, not a conversation",
			"write the session with: opencode export SESSION")
	}
	messages := v.list("messages")
	if v.fields == nil {
		messages = listIn(v.raw)
	}
	c := Conversation{Format: "opencode", Title: v.at("info").text("title")}
	var l log
	for _, m := range openCodeView(messages, v.at("info").at("revert").text("messageID")) {
		if model := firstText(m.at("info").text("modelID"), m.at("info").at("model").text("modelID")); model != "" {
			c.Model = model
		}
		l.openCodeMessage(m)
	}
	return l.one(c), nil
}

func firstText(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// openCodeView returns the messages that the model saw: not those taken back,
// and of those before the newest finished compaction only the tail it kept,
// which then follows the summary.
func openCodeView(messages []peek, reverted string) []peek {
	at := make(map[string]int)           // messages by id
	before := make([]int, len(messages)) // by message: the newest request to compact before it, or -1
	requests := make(map[int]peek)       // their parts that ask
	newest := -1
	for i, m := range messages {
		id := m.at("info").text("id")
		if id == reverted && id != "" {
			messages = messages[:i]
			break
		}
		at[id], before[i] = i, newest
		if p := compactionOf(m); p.raw != "" {
			newest, requests[i] = i, p
		}
	}
	for s, m := range slices.Backward(messages) {
		if !isSummary(m) {
			continue
		}
		asked, ok := at[m.at("info").text("parentID")]
		if !ok || asked >= s {
			asked = before[s]
		}
		if request, ok := requests[asked]; ok {
			var tail []peek
			if i, ok := at[request.text("tail_start_id")]; ok && i < asked {
				tail = messages[i:asked]
			}
			return slices.Concat([]peek{messages[asked], m}, tail, messages[asked+1:s], messages[s+1:])
		}
	}
	return messages
}

// isSummary reports whether a message is the summary of a compaction that came
// to its end.
func isSummary(m peek) bool {
	info := m.at("info")
	return info.flag("summary") && !info.set("error") && (info.set("finish") || info.at("time").set("completed"))
}

// compactionOf returns the part of a message that asks for a compaction.
func compactionOf(m peek) peek {
	for _, p := range m.list("parts") {
		if p.text("type") == "compaction" {
			return p
		}
	}
	return peek{}
}

func (l *log) openCodeMessage(r peek) {
	info := r.at("info")
	if info.text("role") == "assistant" {
		l.openCodeAssistant(info.text("id"), r.list("parts"))
		return
	}
	m := chat.Message{ID: info.text("id"), Role: chat.User, Machine: true}
	for _, p := range r.list("parts") {
		switch p.text("type") {
		case "text":
			if !p.flag("ignored") {
				m.Parts = append(m.Parts, chat.Part{Kind: chat.Text, Text: p.text("text")})
				m.Machine = m.Machine && p.flag("synthetic")
			}
		case "file":
			m.Parts = append(m.Parts, openCodeFile(p)...)
			m.Machine = false
		case "compaction": // the client asks in these words
			m.Parts = append(m.Parts, chat.Part{Kind: chat.Text, Text: "What did we do so far?"})
		default:
			m.Parts = append(m.Parts, openCodeUnknown(p)...)
		}
	}
	l.add(m)
}

// openCodeFile returns an attached file as a part. Text files and folders
// stand in the message as text already.
func openCodeFile(p peek) []chat.Part {
	if picture := pictureIn(p); picture != nil {
		return []chat.Part{{Kind: chat.Image, Image: picture}}
	}
	switch mime := p.text("mime"); mime {
	case "text/plain", "application/x-directory", "":
		return nil
	}
	return []chat.Part{{Kind: chat.Text, Text: documentNote(p)}}
}

// openCodeAssistant appends an assistant's message; a step that follows calls
// is a message of its own.
func (l *log) openCodeAssistant(id string, parts []peek) {
	m := chat.Message{ID: id, Role: chat.Assistant}
	var done []peek
	flush := func() {
		l.add(m)
		for _, t := range done {
			l.openCodeResult(t)
		}
		m.Parts, done = nil, nil
	}
	for _, p := range parts {
		switch p.text("type") {
		case "text":
			m.Parts = append(m.Parts, chat.Part{Kind: chat.Text, Text: p.text("text")})
		case "reasoning":
			m.Parts = append(m.Parts, chat.Part{Kind: chat.Thinking, Text: p.text("text")})
		case "tool":
			callID := l.calls.call(p.text("callID"), p.text("tool"))
			m.Parts = append(m.Parts, chat.Part{Kind: chat.Call, ID: callID, Name: p.text("tool"), Args: argsIn(p.at("state").fields["input"])})
			done = append(done, p)
		case "step-start":
			if len(done) > 0 {
				flush()
			}
		case "file":
			m.Parts = append(m.Parts, openCodeFile(p)...)
		default:
			m.Parts = append(m.Parts, openCodeUnknown(p)...)
		}
	}
	flush()
}

// openCodeUnknown returns the part of a type that is not understood. Those here
// are what the client keeps for itself.
func openCodeUnknown(p peek) []chat.Part {
	switch p.text("type") {
	case "step-start", "step-finish", "snapshot", "patch", "agent", "subtask", "retry", "compaction":
		return nil
	}
	return opaqueParts(p)
}

// openCodeResult appends what a tool returned. A call that is pending or was
// running when the session ended has no result.
func (l *log) openCodeResult(p peek) {
	state := p.at("state")
	r := chat.Part{ID: l.calls.result(p.text("callID"), p.text("tool")), Name: p.text("tool")}
	var images []chat.Part
	switch {
	case state.at("time").set("compacted"):
		r.Text = clearedResult
	case state.text("status") == "error":
		r.Text, r.Error = firstText(state.text("error"), compactJSON(state.fields["error"])), true
	case state.is("output", `"`):
		r.Text = state.text("output")
		for _, a := range state.list("attachments") {
			images = append(images, openCodeFile(a)...)
		}
	default:
		return
	}
	l.answer("", r, images)
}
