package wire

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/tiercompact/tiercompact/chat"
)

// ErrReadOnly is the error of Encode for a format that cannot be written.
var ErrReadOnly = errors.New("format is only read")

// Encode writes c in the named format; "" means c.Format, or openai if that format
// cannot be written. c.Messages may be a compacted version of the original:
// unchanged messages keep their bytes, as does the document around them. Another
// format receives the messages, the model and the tools. Thinking becomes
// reasoning_content in OpenAI and JSON lines, thinking in Ollama, and is omitted
// from Anthropic messages unless it is signed for them. Of system messages,
// Anthropic's system field receives those at the front; a later one becomes a user
// message. Arguments that are not an object become the member "input". Calls of
// tools that the API's server ran stay as they were if the format is the same, or
// JSON lines, and become ordinary calls with results elsewhere. An opaque block
// becomes text in another format.
func Encode(w io.Writer, c Conversation, to string) error {
	all := allFormats()
	name := cmp.Or(to, c.Format, "openai")
	i := slices.IndexFunc(all, func(f format) bool { return f.name == name })
	switch {
	case i < 0:
		return fmt.Errorf("encode %q: %w", name, ErrUnknown)
	case all[i].encode != nil:
		return all[i].encode(w, c)
	case to != "":
		return fmt.Errorf("encode %s: %w", to, ErrReadOnly)
	}
	return Encode(w, c, "openai")
}

// encodeChat writes c in a dialect, into its original document or, if that had
// another format, into a new one.
func encodeChat(w io.Writer, c Conversation, d dialect) error {
	l := c.layout
	if l == nil || c.Format != d.name {
		l = newLayout(c, d)
	}
	t := prepared(c.Messages, d)
	out := append(make([]byte, 0, len(l.before)+len(l.body)+len(l.after)), l.before...)
	if l.key == "" {
		out = l.appendMessages(out, t, d)
	} else {
		out = l.writeBody(out, t, d)
	}
	_, err := w.Write(append(out, l.after...))
	return err
}

// writeBody appends the body with the messages in t.
func (l *layout) writeBody(out []byte, t chat.Transcript, d dialect) []byte {
	body := parseObject(l.body)
	if d.system {
		n := systemMessages(t, d)
		before := body.rawValue("system")
		if now := systemField(before, t[:n]); now != before {
			body = parseObject(body.withChanges(change{"system", now}))
		}
		t = t[n:]
	}
	start, end := body.valueSpan(l.key)
	out = l.appendMessages(append(out, body.raw[:start]...), t, d)
	return append(out, body.raw[end:]...)
}

// systemMessages returns how many messages at the front of t go into the
// system field.
func systemMessages(t chat.Transcript, d dialect) int {
	n := 0
	for n < len(t) && (t[n].Role == chat.System || t[n].Role == chat.Developer) && !readFromList(t[n], d) {
		n++
	}
	return n
}

// readFromList reports whether m was read from an object of a list of d's.
func readFromList(m chat.Message, d dialect) bool {
	return wasReadIn(m, d) && beginsWithAny(m.Source.JSON, "{")
}

// appendMessages appends the list of the objects of t, in brackets except for JSON
// lines.
func (l *layout) appendMessages(out []byte, t chat.Transcript, d dialect) []byte {
	place := make(map[*chat.Source]int, len(l.list.objects))
	for i, s := range l.list.objects {
		place[s] = i
	}
	if !l.lines {
		out = append(out, '[')
	}
	out = append(out, l.list.first...)
	last, some := -1, false
	for len(t) > 0 {
		n := leadingGroup(t, d)
		text := encodeGroup(t[:n], d)
		at, known := place[t[0].Source]
		if t = t[n:]; text == "" {
			continue
		}
		if !known {
			at = -2 // nothing comes before or after it
		}
		if some {
			out = append(out, l.textBetween(last, at)...)
		}
		out, last, some = append(out, text...), at, true
	}
	if some || len(l.list.objects) == 0 || !l.lines {
		out = append(out, l.list.last...)
	}
	if !l.lines {
		out = append(out, ']')
	}
	return out
}

// textBetween returns the text between the objects of two places.
func (l *layout) textBetween(a, b int) string {
	if b == a+1 && b > 0 {
		return l.list.gaps[b]
	}
	return l.separator()
}

// leadingGroup returns how many messages at the front of t form one object.
func leadingGroup(t chat.Transcript, d dialect) int {
	n := 1
	for n < len(t) && belongsToGroup(t[:n], t[n], d) {
		n++
	}
	return n
}

// belongsToGroup reports whether next goes into one object with group. Messages
// from one object stay together. Messages of different files can meet within a
// group: those that an undo restores, and those added since.
func belongsToGroup(group []chat.Message, next chat.Message, d dialect) bool {
	last := group[len(group)-1]
	switch read := readFromList(last, d); {
	case readFromList(next, d) && next.Source == last.Source:
		return next.Index > last.Index
	case d.joins == nil || !d.joins(group, next):
		return false
	case readFromList(next, d):
		return next.Index > 0
	case read:
		return next.Role == chat.Tool && last.Index+1 < last.Source.Count
	}
	return true
}

// encodeGroup returns the object of a group, "" if it holds nothing to write.
func encodeGroup(group []chat.Message, d dialect) string {
	m := group[0]
	if !readFromList(m, d) {
		return d.fresh(group)
	}
	whole := len(group) == m.Source.Count
	for _, g := range group {
		whole = whole && !g.Changed && g.Source == m.Source
	}
	if whole {
		return m.Source.JSON
	}
	return d.rewrite(parseObject(m.Source.JSON), group)
}

// newLayout returns the document for a conversation of another dialect: a request
// body if there is more than messages, else a list.
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
		members = append(members, change{"model", quotedJSON(c.Model)})
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

// answerLimit returns the max_tokens of a request: that of the original body, or
// 4096, because the API requires one.
func answerLimit(l *layout) string {
	if l != nil && l.key != "" {
		body := parseObject(l.body)
		for _, raw := range []string{
			body.rawValue("max_tokens"), body.rawValue("max_completion_tokens"),
			parseObject(body.rawValue("options")).rawValue("num_predict"),
		} {
			if beginsWithAny(raw, "123456789") {
				return raw
			}
		}
	}
	return "4096"
}
