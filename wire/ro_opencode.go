package wire

import (
	"cmp"
	"slices"

	"github.com/tiercompact/tiercompact/chat"
)

func matchOpenCode(p probe) int {
	if len(p.values) == 0 || p.shape == lines {
		return 0
	}
	v := p.values[0]
	if v.hasValueKind("info", "{") && (v.hasValueKind("parts", "[") || isExported(v)) || isStored(v) {
		return 90
	}
	return 0
}

// isExported reports whether v is a session whose messages have parts.
func isExported(v peek) bool {
	if first, ok := firstOfList(v.fields["messages"]); ok {
		m := peekValue(first)
		return m.hasValueKind("info", "{") && m.hasValueKind("parts", "[")
	}
	return v.memberValue("info").hasMember("projectID") && v.hasValueKind("messages", "[")
}

// isStored reports whether v is one file of the storage: a session, a message or a
// part, none of which is a conversation.
func isStored(v peek) bool {
	switch {
	case v.hasMember("sessionID") && v.hasMember("id") && (v.hasMember("role") || v.hasMember("messageID")):
		return true
	case v.hasMember("projectID") && v.hasMember("directory") && v.hasMember("id"):
		return true
	case v.hasMember("callID") && v.hasMember("tool") && v.hasMember("state"):
		return true
	}
	return v.hasMember("id") && v.hasMember("type") && v.hasMember("text") && v.memberValue("time").hasMember("start")
}

func decodeOpenCode(src *source) ([]Conversation, error) {
	doc, err := src.document()
	if err != nil {
		return nil, err
	}
	v := peekValue(doc.raw)
	if isStored(v) {
		return nil, src.sourceError(ErrNoMessages, 0, "", "is a single file of OpenCode's storage, not a conversation",
			"write the session with: opencode export SESSION")
	}
	messages := v.listValue("messages")
	if v.fields == nil {
		messages = elementsOf(v.raw)
	}
	c := Conversation{Format: "opencode", Title: v.memberValue("info").stringValue("title")}
	var l messageLog
	for _, m := range openCodeView(messages, v.memberValue("info").memberValue("revert").stringValue("messageID")) {
		if model := cmp.Or(m.memberValue("info").stringValue("modelID"), m.memberValue("info").memberValue("model").stringValue("modelID")); model != "" {
			c.Model = model
		}
		l.openCodeMessage(m)
	}
	return l.singleConversation(c), nil
}

// openCodeView returns the messages that the model saw: not the reverted ones, and
// of those before the newest finished compaction only the tail that it kept, which
// follows the summary.
func openCodeView(messages []peek, reverted string) []peek {
	at := make(map[string]int)           // messages by id
	before := make([]int, len(messages)) // by message: the newest request to compact before it, or -1
	requests := make(map[int]peek)       // their parts with the request
	newest := -1
	for i, m := range messages {
		id := m.memberValue("info").stringValue("id")
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
		asked, ok := at[m.memberValue("info").stringValue("parentID")]
		if !ok || asked >= s {
			asked = before[s]
		}
		if request, ok := requests[asked]; ok {
			var tail []peek
			if i, ok := at[request.stringValue("tail_start_id")]; ok && i < asked {
				tail = messages[i:asked]
			}
			return slices.Concat([]peek{messages[asked], m}, tail, messages[asked+1:s], messages[s+1:])
		}
	}
	return messages
}

// isSummary reports whether a message is the summary of a finished compaction.
func isSummary(m peek) bool {
	info := m.memberValue("info")
	return info.boolValue("summary") && !info.hasNonNull("error") && (info.hasNonNull("finish") || info.memberValue("time").hasNonNull("completed"))
}

// compactionOf returns the part of a message that requests a compaction.
func compactionOf(m peek) peek {
	for _, p := range m.listValue("parts") {
		if p.stringValue("type") == "compaction" {
			return p
		}
	}
	return peek{}
}

func (l *messageLog) openCodeMessage(r peek) {
	info := r.memberValue("info")
	if info.stringValue("role") == "assistant" {
		l.openCodeAssistant(info.stringValue("id"), r.listValue("parts"))
		return
	}
	m := chat.Message{ID: info.stringValue("id"), Role: chat.User, Machine: true}
	for _, p := range r.listValue("parts") {
		switch p.stringValue("type") {
		case "text":
			if !p.boolValue("ignored") {
				m.Parts = append(m.Parts, chat.Part{Kind: chat.Text, Text: p.stringValue("text")})
				m.Machine = m.Machine && p.boolValue("synthetic")
			}
		case "file":
			m.Parts = append(m.Parts, openCodeFile(p)...)
			m.Machine = false
		case "compaction": // the words of the client's request
			m.Parts = append(m.Parts, chat.Part{Kind: chat.Text, Text: "What did we do so far?"})
		default:
			m.Parts = append(m.Parts, openCodeUnknown(p)...)
		}
	}
	l.appendMessage(m)
}

// openCodeFile returns an attached file as a part. The message contains text files
// and folders as text already.
func openCodeFile(p peek) []chat.Part {
	if picture := pictureIn(p); picture != nil {
		return []chat.Part{{Kind: chat.Image, Image: picture}}
	}
	switch mime := p.stringValue("mime"); mime {
	case "text/plain", "application/x-directory", "":
		return nil
	}
	return []chat.Part{{Kind: chat.Text, Text: documentNote(p)}}
}

// openCodeAssistant appends an assistant's message; a step after calls is a
// separate message.
func (l *messageLog) openCodeAssistant(id string, parts []peek) {
	m := chat.Message{ID: id, Role: chat.Assistant}
	var done []peek
	flush := func() {
		l.appendMessage(m)
		for _, t := range done {
			l.openCodeResult(t)
		}
		m.Parts, done = nil, nil
	}
	for _, p := range parts {
		switch p.stringValue("type") {
		case "text":
			m.Parts = append(m.Parts, chat.Part{Kind: chat.Text, Text: p.stringValue("text")})
		case "reasoning":
			m.Parts = append(m.Parts, chat.Part{Kind: chat.Thinking, Text: p.stringValue("text")})
		case "tool":
			callID := l.calls.assignCallID(p.stringValue("callID"), p.stringValue("tool"))
			m.Parts = append(m.Parts, chat.Part{Kind: chat.Call, ID: callID, Name: p.stringValue("tool"), Args: argumentsText(p.memberValue("state").fields["input"])})
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

// openCodeUnknown returns the part of an unknown type. The types listed here are
// internal to the client.
func openCodeUnknown(p peek) []chat.Part {
	switch p.stringValue("type") {
	case "step-start", "step-finish", "snapshot", "patch", "agent", "subtask", "retry", "compaction":
		return nil
	}
	return opaqueParts(p)
}

// openCodeResult appends the result of a tool. A call that was pending or running
// at the end of the session has none.
func (l *messageLog) openCodeResult(p peek) {
	state := p.memberValue("state")
	r := chat.Part{ID: l.calls.resultCallID(p.stringValue("callID"), p.stringValue("tool")), Name: p.stringValue("tool")}
	var images []chat.Part
	switch {
	case state.memberValue("time").hasNonNull("compacted"):
		r.Text = clearedResult
	case state.stringValue("status") == "error":
		r.Text, r.Error = cmp.Or(state.stringValue("error"), compactJSON(state.fields["error"])), true
	case state.hasValueKind("output", `"`):
		r.Text = state.stringValue("output")
		for _, a := range state.listValue("attachments") {
			images = append(images, openCodeFile(a)...)
		}
	default:
		return
	}
	l.appendResult("", r, images)
}
