package wire

import (
	"slices"
	"strconv"

	"github.com/tiercompact/tiercompact/chat"
)

func matchCodex(p probe) int {
	if p.shape != lines && p.shape != object {
		return 0
	}
	for _, v := range p.values {
		switch v.stringValue("type") {
		case "session_meta", "response_item", "turn_context", "event_msg", "compacted":
			if v.hasValueKind("payload", "{") {
				return 95
			}
		case "tool_call", "function_call":
			if v.hasValueKind("function", "{") && v.hasMember("arguments") {
				return 80
			}
		}
		if p.shape == lines && (v.hasMember("record_type") || isResponsesItem(v)) {
			return 80 // rollouts of 2025 have items without an envelope on their lines
		}
	}
	return 0
}

// A rollout is the history that a Codex session has sent, after the records read so
// far.
type rollout struct {
	Conversation
	instructions string
	history      []peek // response items
	kept         int    // items at its start that a compaction without a history kept
	untyped      int    // items at its start that nobody typed, as found by a search
}

func decodeCodex(src *source) ([]Conversation, error) {
	all, err := jsonRecords(src)
	if err != nil {
		return nil, err
	}
	r := rollout{Conversation: Conversation{Format: "codex"}}
	for _, v := range all {
		r.applyRecord(v)
	}
	var s itemLog
	s.appendText("", chat.System, r.instructions)
	for _, it := range r.history {
		s.addResponseItem(it)
	}
	s.flushItems()
	return s.singleConversation(r.Conversation), nil
}

func (r *rollout) applyRecord(v peek) {
	payload := v.memberValue("payload")
	switch v.stringValue("type") {
	case "session_meta": // repeated when a session is resumed or forked
		if r.instructions == "" {
			r.instructions = payload.memberValue("base_instructions").stringValue("text")
		}
	case "turn_context":
		if model := payload.stringValue("model"); model != "" {
			r.Model = model
		}
	case "response_item":
		r.history = append(r.history, payload)
	case "compacted":
		r.replayCompaction(payload)
	case "event_msg":
		r.applyEvent(payload)
	default:
		if payload.fields == nil && (v.hasMember("role") || v.hasMember("type")) && !v.hasMember("record_type") {
			r.history = append(r.history, v)
		}
	}
}

// replayCompaction replays a compaction: the record contains the new history, or,
// in older sessions, a summary that follows the texts of the user and the client.
func (r *rollout) replayCompaction(payload peek) {
	if payload.hasValueKind("replacement_history", "[") {
		r.history, r.kept, r.untyped = payload.listValue("replacement_history"), 0, 0
		for i, it := range r.history { // it contains the summary as a user's message
			if summary := payload.stringValue("message"); summary != "" && it.stringValue("role") == "user" && itemText(it) == summary {
				r.history[i] = summaryItem(summary)
			}
		}
		return
	}
	said := slices.DeleteFunc(r.history[r.kept:], func(it peek) bool {
		role := it.stringValue("role")
		return role != "user" && role != "developer" && role != "system"
	})
	r.history = r.history[:r.kept+len(said)]
	if summary := payload.stringValue("message"); summary != "" {
		r.history = append(r.history, summaryItem(summary))
	}
	r.kept, r.untyped = len(r.history), min(r.untyped, r.kept)
}

// summaryItem returns an item that the client wrote.
func summaryItem(summary string) peek {
	return peekValue(objectOf(change{"type", `"agent_message"`}, change{"content", quotedJSON(summary)}))
}

func itemText(it peek) string { return chat.Message{Parts: textParts(it.fields["content"])}.Text() }

// applyEvent applies the few events that change the sent history; the others mirror
// items for the screen.
func (r *rollout) applyEvent(payload peek) {
	switch payload.stringValue("type") {
	case "thread_name_updated":
		if name := payload.stringValue("thread_name"); name != "" {
			r.Title = name
		}
	case "thread_rolled_back":
		turns, _ := strconv.Atoi(payload.fields["num_turns"])
		r.rollBack(turns)
	}
}

// rollBack drops the newest turns, each from its user message on.
func (r *rollout) rollBack(turns int) {
	for i := len(r.history) - 1; turns > 0; i-- {
		if i < r.untyped {
			r.untyped = len(r.history)
			return
		}
		if it := r.history[i]; it.stringValue("role") == "user" && typedItem(it) {
			r.history, r.kept = r.history[:i], min(r.kept, i)
			turns--
		}
	}
}

// typedItem reports whether a person wrote a user's item.
func typedItem(it peek) bool {
	for _, p := range textParts(it.fields["content"]) {
		if p.Kind == chat.Image || !chat.ClientText(p.Text) {
			return true
		}
	}
	return false
}
