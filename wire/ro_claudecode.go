package wire

import (
	"slices"

	"github.com/tiercompact/tiercompact/chat"
)

func matchClaudeCode(p probe) int {
	if p.shape != lines && p.shape != object {
		return 0
	}
	for _, v := range p.values {
		switch {
		case v.hasMember("systemPayload") || v.memberValue("message").hasMember("parts"):
			return 0 // Qwen Code
		case v.hasMember("parentUuid") && v.hasMember("isSidechain"):
			return 95
		case v.hasMember("sessionId") && v.hasMember("uuid") && v.hasValueKind("message", "{"):
			return 90
		}
	}
	for _, v := range p.values {
		switch v.stringValue("type") {
		case "file-history-snapshot", "queue-operation", "permission-mode":
			return 60
		case "mode", "ai-title", "custom-title", "last-prompt", "agent-name", "pr-link":
			if v.hasMember("sessionId") {
				return 60
			}
		case "summary":
			if v.hasMember("leafUuid") {
				return 60
			}
		}
	}
	return 0
}

// A claudeSession is the records of one file, linked by their parents.
type claudeSession struct {
	records []peek // of the main line, or of the side chain if the file has only that
	tree    recordTree
	shown   map[int]bool    // records on the path, and those merged into them
	family  map[string]int  // by id of an API message: its first record
	kin     map[int][]int   // by first record: all records of that API message
	late    map[int][]int   // by parent: results outside the path
	paired  map[string]bool // calls whose result is on the path
	cleared map[string]int  // by call: the record that cleared its result
	log     messageLog

	replayed int // views of the time before a compaction
}

func decodeClaudeCode(src *source) ([]Conversation, error) {
	all, err := jsonRecords(src)
	if err != nil {
		return nil, err
	}
	c := Conversation{Format: "claudecode"}
	s := newClaudeSession(all)
	path := s.visibleRecords()
	s.indexRecords(path)
	for _, i := range path {
		s.emitRecord(i)
		if model := s.records[i].memberValue("message").stringValue("model"); model != "" && model != "<synthetic>" {
			c.Model = model
		}
	}
	c.Title = s.newestTitle(all)
	return s.log.singleConversation(c), nil
}

// newClaudeSession collects the linked records. Side chains are other
// conversations, unless the file contains nothing else.
func newClaudeSession(all []peek) *claudeSession {
	side := !slices.ContainsFunc(all, func(r peek) bool { return isConversation(r) && !r.boolValue("isSidechain") })
	s := &claudeSession{}
	var ahead []int // records that precede their parent
	for _, r := range all {
		id := r.stringValue("uuid")
		if id == "" && !isConversation(r) || r.boolValue("isSidechain") && !side {
			continue
		}
		if twin, ok := s.tree.newest[id]; ok && sameMessage(s.records[twin], r) {
			s.reparent(twin, r)
			continue
		}
		parent := r.stringValue("parentUuid")
		if _, known := s.tree.newest[parent]; !known && parent != "" && parent != id {
			ahead = append(ahead, len(s.records))
		}
		s.records = append(s.records, r)
		s.tree.appendNode(id, r.fields["parentUuid"])
	}
	s.linkLaterParents(ahead)
	return s
}

// sameMessage reports whether two records of one id have the same content: a
// session rewrites kept records when it is resumed or compacted; some clients set
// the token counts to zero.
func sameMessage(a, b peek) bool {
	if a.fields["message"] == b.fields["message"] {
		return true
	}
	was, is := a.memberValue("message"), b.memberValue("message")
	return was.hasMember("content") && was.fields["content"] == is.fields["content"] && was.stringValue("id") == is.stringValue("id") && was.stringValue("model") == is.stringValue("model")
}

// reparent gives a rewritten record its new parent if that was written since: the
// record was kept after it.
func (s *claudeSession) reparent(i int, again peek) {
	id := again.stringValue("parentUuid")
	if parent, ok := s.tree.newest[id]; ok && parent > i && id != again.stringValue("uuid") {
		s.tree.parent[i] = parent
	}
}

// linkLaterParents links records whose parent is written after them.
func (s *claudeSession) linkLaterParents(records []int) {
	for _, i := range records {
		if parent, ok := s.tree.newest[s.records[i].stringValue("parentUuid")]; ok {
			s.tree.parent[i], s.tree.linked = parent, true
		}
	}
}

// isConversation reports whether a record is part of the conversation.
func isConversation(r peek) bool {
	switch r.stringValue("type") {
	case "user", "assistant":
		return r.hasValueKind("message", "{")
	case "tool_use", "tool_result":
		return true
	}
	return false
}

// visibleRecords returns the records that the model saw, in order. If no record
// names another, each follows the one before.
func (s *claudeSession) visibleRecords() []int {
	leaf := len(s.records) - 1
	for leaf >= 0 && !isConversation(s.records[leaf]) {
		leaf--
	}
	if leaf < 0 {
		return nil
	}
	if !s.tree.linked {
		for i := range s.tree.parent {
			s.tree.parent[i] = i - 1
		}
	}
	return s.viewAtRecord(s.newestBelow(leaf), len(s.records))
}

// newestBelow returns the newest record that continues record i if such records are
// written before it, or i.
func (s *claudeSession) newestBelow(i int) int {
	child := make(map[int]int)
	for k, parent := range s.tree.parent[:i] {
		if parent > k {
			child[parent] = k
		}
	}
	for range s.records {
		next, ok := child[i]
		if !ok {
			break
		}
		i = next
	}
	return i
}

// indexRecords indexes the records of path: each block of an API message is a
// record, and the results of parallel calls are outside the path.
func (s *claudeSession) indexRecords(path []int) {
	s.shown, s.family = make(map[int]bool), make(map[string]int)
	s.kin, s.late, s.cleared = make(map[int][]int), make(map[int][]int), make(map[string]int)
	s.paired = make(map[string]bool)
	for _, i := range path {
		s.shown[i] = true
		for _, b := range s.records[i].memberValue("message").listValue("content") {
			if id := b.stringValue("tool_use_id"); id != "" {
				s.paired[id] = true
			}
		}
		if id := s.apiMessageID(i); id != "" {
			if _, ok := s.family[id]; !ok {
				s.family[id] = i
			}
		}
	}
	for i, r := range s.records {
		if first, ok := s.family[s.apiMessageID(i)]; ok {
			s.kin[first] = append(s.kin[first], i)
		}
		if r.stringValue("type") == "user" && !s.shown[i] && s.tree.parent[i] >= 0 {
			parent := s.tree.parent[i]
			s.late[parent] = append(s.late[parent], i)
		}
		for _, id := range r.memberValue("microcompactMetadata").listValue("compactedToolIds") {
			s.cleared[id.ownString()] = i
		}
	}
}

// apiMessageID returns the id of the API message of an assistant's record.
func (s *claudeSession) apiMessageID(i int) string {
	if r := s.records[i]; r.stringValue("type") == "assistant" {
		return r.memberValue("message").stringValue("id")
	}
	return ""
}

// newestTitle returns the newest title of the session. A summary at the head of the
// file may be the title of another one: its leaf decides.
func (s *claudeSession) newestTitle(all []peek) string {
	title := ""
	for _, r := range all {
		switch r.stringValue("type") {
		case "summary":
			if _, ok := s.tree.newest[r.stringValue("leafUuid")]; ok {
				title = r.stringValue("summary")
			}
		case "ai-title":
			title = r.stringValue("aiTitle")
		case "custom-title":
			title = r.stringValue("customTitle")
		}
	}
	return title
}

func (s *claudeSession) emitRecord(i int) {
	switch r := s.records[i]; r.stringValue("type") {
	case "user":
		s.emitUserRecord(i)
	case "assistant":
		kin := []int{i}
		if first, ok := s.family[s.apiMessageID(i)]; ok {
			if first != i {
				return // it is in the first
			}
			kin = s.kin[first]
		}
		s.assistant(kin)
	case "tool_use": // a client of 2025
		id := s.log.calls.assignCallID(r.stringValue("id"), r.stringValue("name"))
		s.log.appendMessage(chat.Message{ID: r.stringValue("uuid"), Role: chat.Assistant, Parts: []chat.Part{
			{Kind: chat.Call, ID: id, Name: r.stringValue("name"), Args: argumentsText(r.fields["input"])},
		}})
	case "tool_result":
		text, images := resultParts(r.fields["output"])
		id := s.log.calls.resultCallID(r.stringValue("tool_use_id"), r.stringValue("name"))
		s.log.appendResult(r.stringValue("uuid"), chat.Part{ID: id, Text: text}, images)
	case "attachment":
		if a := r.memberValue("attachment"); a.stringValue("type") == "queued_command" {
			m := chat.Message{ID: r.stringValue("uuid"), Role: chat.User, Parts: textParts(a.fields["prompt"])}
			m.Machine = a.hasNonNull("commandMode") && a.stringValue("commandMode") != "prompt"
			s.log.appendMessage(m)
		}
	}
}

// assistant emits one API message, and the results that are outside the path.
func (s *claudeSession) assistant(kin []int) {
	if s.records[kin[0]].boolValue("isApiErrorMessage") {
		return // the client's own words, never sent
	}
	m := chat.Message{ID: s.records[kin[0]].stringValue("uuid"), Role: chat.Assistant}
	mine := make(map[string]bool)
	for _, i := range kin {
		for _, p := range assistantParts(s.records[i].memberValue("message").fields["content"], &s.log.calls) {
			if p.Kind == chat.Call {
				mine[p.ID] = true
			}
			m.Parts = append(m.Parts, p)
		}
	}
	s.log.appendMessage(m)
	for _, i := range kin {
		for _, at := range s.late[i] {
			for _, b := range s.records[at].memberValue("message").listValue("content") {
				if id := b.stringValue("tool_use_id"); mine[id] && !s.paired[id] {
					s.paired[id] = true
					s.emitToolResult(at, b)
				}
			}
		}
	}
}

// emitUserRecord emits a user's record: its results, then the rest.
func (s *claudeSession) emitUserRecord(i int) {
	r := s.records[i]
	if r.boolValue("isVisibleInTranscriptOnly") && !r.boolValue("isCompactSummary") {
		return
	}
	content := r.memberValue("message").fields["content"]
	kind := r.memberValue("origin").stringValue("kind")
	m := chat.Message{ID: r.stringValue("uuid"), Role: chat.User, Parts: textParts(content, "tool_result")}
	m.Machine = r.boolValue("isMeta") || r.boolValue("isCompactSummary") || kind != "" && kind != "human"
	for _, b := range elementsOf(content) {
		if b.stringValue("type") == "tool_result" {
			s.emitToolResult(i, b)
		}
	}
	s.log.appendMessage(m)
}

// clearedResult replaces an old result that the client no longer sent.
const clearedResult = "[Old tool result content cleared]"

func (s *claudeSession) emitToolResult(i int, b peek) {
	text, images := resultParts(b.fields["content"])
	if at, ok := s.cleared[b.stringValue("tool_use_id")]; ok && i < at {
		text, images = clearedResult, nil
	}
	id := s.log.calls.resultCallID(b.stringValue("tool_use_id"), "")
	s.log.appendResult(s.records[i].stringValue("uuid"), chat.Part{ID: id, Text: text, Error: b.boolValue("is_error")}, images)
}

// assistantParts returns the parts of an Anthropic assistant content, without
// thinking that is encrypted.
func assistantParts(content string, calls *callIDAssigner) []chat.Part {
	var parts []chat.Part
	for _, b := range blocksIn(content) {
		switch b.stringValue("type") {
		case "thinking":
			parts = append(parts, chat.Part{Kind: chat.Thinking, Text: b.stringValue("thinking")})
		case "tool_use":
			id := calls.assignCallID(b.stringValue("id"), b.stringValue("name"))
			parts = append(parts, chat.Part{Kind: chat.Call, ID: id, Name: b.stringValue("name"), Args: argumentsText(b.fields["input"])})
		case "redacted_thinking", "reasoning", "thoughtSignature":
		default:
			if p := readServerTool(parseObject(b.raw)); p.Kind != "" {
				p.Raw, p.Args = "", argumentsObject(p)
				parts = append(parts, p)
			} else {
				parts = append(parts, textParts(b.raw)...)
			}
		}
	}
	return parts
}
