package wire

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/tiercompact/tiercompact/chat"
)

// ErrReadOnly is the error of Encode for a format that is only read.
var ErrReadOnly = errors.New("format is only read")

// Encode writes c in the named format. to "" is c.Format, or openai where that
// format is only read. c.Messages may be a compacted version of what was read:
// what is unchanged keeps its bytes, and the document around the messages too.
//
// Into another format go the messages, the model and the tools. Thinking goes
// to OpenAI and JSON lines as reasoning_content, to Ollama as thinking, and is
// left out of Anthropic messages unless it is signed for them. Of system
// messages, Anthropic's system field takes those at the front; a later one
// becomes a user message. Arguments that are no object come under "input".
func Encode(w io.Writer, c Conversation, to string) error {
	fallback := ""
	for _, f := range formats() {
		switch {
		case to == "" && f.name == c.Format && f.write, to != "" && f.name == to && f.write:
			return f.encode(w, c)
		case f.name == to:
			return fmt.Errorf("encode %s: %w", to, ErrReadOnly)
		case f.name == c.Format:
			fallback = "openai"
		}
	}
	if to != "" || c.Format != "" && fallback == "" {
		return fmt.Errorf("encode %q: %w", cmp.Or(to, c.Format), ErrUnknown)
	}
	return Encode(w, c, "openai")
}

// encodeChat writes c in a dialect, into the document it was read from or,
// where that was in another format, into a new one.
func encodeChat(w io.Writer, c Conversation, d dialect) error {
	l := c.layout
	if l == nil || c.Format != d.name {
		l = newLayout(c, d)
	}
	t := prepared(c.Messages, d)
	var changes []change
	if d.system && l.key != "" {
		n := systemMessages(t, d)
		changes = []change{{"system", systemField(parse(l.body).field("system"), t[:n])}}
		t = t[n:]
	}
	out := append([]byte(nil), l.before...)
	switch {
	case l.lines:
		out = l.write(out, t, d)
	case l.key == "":
		out = append(l.write(append(out, '['), t, d), ']')
	default:
		written := append(l.write([]byte{'['}, t, d), ']')
		changes = append(changes, change{l.key, string(written)})
		out = append(out, parse(l.body).with(changes...)...)
	}
	_, err := w.Write(append(out, l.after...))
	return err
}

// systemMessages returns how many messages at the front of t go into the
// system field.
func systemMessages(t chat.Transcript, d dialect) int {
	n := 0
	for n < len(t) && (t[n].Role == chat.System || t[n].Role == chat.Developer) && !inList(t[n], d) {
		n++
	}
	return n
}

// inList reports whether m was read from an object of a list of d's.
func inList(m chat.Message, d dialect) bool {
	return m.Source != nil && m.Source.Format == d.name && begins(m.Source.JSON, "{")
}

// write appends the objects of t, without the brackets around them.
func (l *layout) write(out []byte, t chat.Transcript, d dialect) []byte {
	place := make(map[*chat.Source]int, len(l.list.objects))
	for i, s := range l.list.objects {
		place[s] = i
	}
	out = append(out, l.list.first...)
	last, any := -1, false
	for len(t) > 0 {
		n := groupOf(t, d)
		text := written(t[:n], d)
		at, known := place[t[0].Source]
		t = t[n:]
		if text == "" {
			continue
		}
		if !known {
			at = -2
		}
		if any {
			out = append(out, l.between(last, at)...)
		}
		out, last, any = append(out, text...), at, true
	}
	if !any && len(l.list.objects) > 0 && l.lines {
		return out
	}
	return append(out, l.list.last...)
}

// between returns what stands between the objects of two places.
func (l *layout) between(a, b int) string {
	if b == a+1 && b > 0 {
		return l.list.gaps[b]
	}
	return l.gap()
}

// groupOf returns how many messages at the front of t are written as one
// object.
func groupOf(t chat.Transcript, d dialect) int {
	n := 1
	if inList(t[0], d) {
		for n < len(t) && t[n].Source == t[0].Source && t[n].Index > t[n-1].Index {
			n++
		}
		return n
	}
	for n < len(t) && d.joins != nil && !inList(t[n], d) && d.joins(t[:n], t[n]) {
		n++
	}
	return n
}

// written returns the object of a group, "" where it holds nothing to write.
func written(group []chat.Message, d dialect) string {
	m := group[0]
	if !inList(m, d) {
		return d.fresh(group)
	}
	whole := len(group) == m.Source.Count
	for _, m := range group {
		whole = whole && !m.Changed
	}
	if whole {
		return m.Source.JSON
	}
	return d.rewrite(parse(m.Source.JSON), group)
}

// newLayout returns the document for a conversation that was not read in d: a
// request body where there is more to say than the messages, else a list.
func newLayout(c Conversation, d dialect) *layout {
	if d.name == "jsonl" {
		return &layout{lines: true, list: list{last: "\n"}}
	}
	tools := toolsFor(c.Tools, d)
	body := c.layout != nil && c.layout.key != ""
	if !body && c.Model == "" && tools == "" && (!d.system || systemMessages(c.Messages, d) == 0) {
		return &layout{after: "\n"}
	}
	var members []change
	if c.Model != "" {
		members = append(members, change{"model", quoted(c.Model)})
	}
	if d.system {
		if c.Model != "" {
			members = append(members, change{"max_tokens", answerLimit(c.layout)})
		}
		members = append(members, change{"system", `""`})
	}
	members = append(members, change{"messages", "[]"}, change{"tools", tools})
	return &layout{body: objectOf(members...), key: "messages", after: "\n"}
}

// answerLimit returns the max_tokens of a request: that of the body it was
// read from, or 4096, as the API wants one.
func answerLimit(l *layout) string {
	if l != nil && l.key != "" {
		body := parse(l.body)
		for _, raw := range []string{
			body.field("max_tokens"), body.field("max_completion_tokens"),
			parse(body.field("options")).field("num_predict"),
		} {
			if begins(raw, "123456789") {
				return raw
			}
		}
	}
	return "4096"
}
