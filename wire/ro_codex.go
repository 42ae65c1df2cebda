package wire

import (
	"slices"
	"strconv"

	"github.com/tiercompact/tiercompact/chat"
)

func codex() format {
	return format{
		name:   "codex",
		about:  "Codex CLI rollout (JSON lines)",
		match:  matchCodex,
		decode: decodeCodex,
	}
}

func matchCodex(p probe) int {
	if p.shape != lines && p.shape != object {
		return 0
	}
	for _, v := range p.values {
		switch v.text("type") {
		case "session_meta", "response_item", "turn_context", "event_msg", "compacted":
			if v.is("payload", "{") {
				return 95
			}
		case "tool_call", "function_call":
			if v.is("function", "{") && v.has("arguments") {
				return 80
			}
		}
		if p.shape == lines && (v.has("record_type") || isItem(v)) {
			return 80 // rollouts of 2025 have bare items on their lines
		}
	}
	return 0
}

// A rollout is what a Codex session has sent, after the records read so far.
type rollout struct {
	Conversation
	instructions string
	history      []peek // response items
	kept         int    // items at its start that a compaction without a history kept
	untyped      int    // items at its start of which none is typed, as a search has found
}

func decodeCodex(src *source) ([]Conversation, error) {
	all, err := records(src)
	if err != nil {
		return nil, err
	}
	r := rollout{Conversation: Conversation{Format: "codex"}}
	for _, v := range all {
		r.apply(v)
	}
	var s itemLog
	s.say("", chat.System, r.instructions)
	for _, it := range r.history {
		s.item(it)
	}
	s.flush()
	return s.one(r.Conversation), nil
}

func (r *rollout) apply(v peek) {
	payload := v.at("payload")
	switch v.text("type") {
	case "session_meta": // repeated when a session is resumed or forked
		if r.instructions == "" {
			r.instructions = payload.at("base_instructions").text("text")
		}
	case "turn_context":
		if model := payload.text("model"); model != "" {
			r.Model = model
		}
	case "response_item":
		r.history = append(r.history, payload)
	case "compacted":
		r.compact(payload)
	case "event_msg":
		r.event(payload)
	default:
		if payload.fields == nil && (v.has("role") || v.has("type")) && !v.has("record_type") {
			r.history = append(r.history, v)
		}
	}
}

// compact replays a compaction: the record holds the new history, or, in older
// sessions, a summary that follows what the user and the client had said.
func (r *rollout) compact(payload peek) {
	if payload.is("replacement_history", "[") {
		r.history, r.kept, r.untyped = payload.list("replacement_history"), 0, 0
		for i, it := range r.history { // the summary stands in it as a user's words
			if summary := payload.text("message"); summary != "" && it.text("role") == "user" && itemText(it) == summary {
				r.history[i] = summaryItem(summary)
			}
		}
		return
	}
	said := slices.DeleteFunc(r.history[r.kept:], func(it peek) bool {
		role := it.text("role")
		return role != "user" && role != "developer" && role != "system"
	})
	r.history = r.history[:r.kept+len(said)]
	if summary := payload.text("message"); summary != "" {
		r.history = append(r.history, summaryItem(summary))
	}
	r.kept, r.untyped = len(r.history), min(r.untyped, r.kept)
}

// summaryItem returns an item that the client wrote.
func summaryItem(summary string) peek {
	return peekAt(objectOf(change{"type", `"agent_message"`}, change{"content", quoted(summary)}))
}

func itemText(it peek) string { return chat.Message{Parts: textParts(it.fields["content"])}.Text() }

// event applies the few events that change what is sent; the others mirror
// items for the screen.
func (r *rollout) event(payload peek) {
	switch payload.text("type") {
	case "thread_name_updated":
		if name := payload.text("thread_name"); name != "" {
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
		if it := r.history[i]; it.text("role") == "user" && typedItem(it) {
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
