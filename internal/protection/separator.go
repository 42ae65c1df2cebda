package protection

import (
	"strings"
	"unicode/utf8"

	"github.com/tiercompact/tiercompact/chat"
)

// Separators returns the messages between two of one role, for templates that
// require roles to alternate. A model imitates earlier assistant messages. After a
// request that stays, the marker therefore quotes the last short text of the
// assistant's real answer; only if it gave none, it is a bracketed record. Users
// are not imitated: their marker is a record unless the quotation is shorter.
type Separators struct {
	Max   int                   // tokens of an answer's text; one that is not longer than the record always fits
	Count func(text string) int // nil: removed text is not quoted
}

// The records.
const (
	replyLeftOut = markerHead + "the reply that stood here was left out]"
	gapRecord    = markerHead + "a gap]"
)

// New returns the message of a role before m. left are the runs of messages that
// leave the conversation there, in order: the first answer belongs to the request
// that stays.
func (s Separators) New(role chat.Role, m chat.Message, left [][]chat.Message) chat.Message {
	text, most := replyLeftOut, s.Max
	if role == chat.User {
		text, most = gapRecord, 0
	}
	if s.Count != nil {
		for _, run := range left {
			if said := s.saidInRun(role, run, max(most, s.Count(text))); said != "" {
				text = said
				break
			}
		}
	}
	return chat.Message{
		ID: markerID + m.ID, Role: role, State: chat.Marked,
		Parts: []chat.Part{{Kind: chat.Text, Text: text}},
	}
}

// saidInRun returns the text of the role in run, in at most most tokens.
func (s Separators) saidInRun(role chat.Role, run []chat.Message, most int) string {
	if role == chat.Assistant {
		if i := FinalAnswer(run); i >= 0 {
			return Excerpt(run[i].Text(), most, s.Count)
		}
		return ""
	}
	for i := len(run) - 1; i >= 0; i-- {
		if m := run[i]; m.Typed() {
			if text := strings.TrimSpace(m.Text()); s.Count(text) <= most && !hasImage(m) {
				return text
			}
			return ""
		}
	}
	return ""
}

func hasImage(m chat.Message) bool {
	for _, p := range m.Parts {
		if p.Kind == chat.Image {
			return true
		}
	}
	return false
}

// FinalAnswer returns the index of the last text of the assistant in the first turn
// of run that has one, or -1. A text that announces a call, a summary and a record
// are not answers.
func FinalAnswer(run []chat.Message) int {
	found := -1
	for i, m := range run {
		switch {
		case m.Role == chat.User: // a marker in place of requests
			if found >= 0 {
				return found
			}
		case IsAnswer(m):
			found = i
		}
	}
	return found
}

// IsAnswer reports whether m is text of the assistant, or a marker that quotes an
// answer.
func IsAnswer(m chat.Message) bool {
	return m.Role == chat.Assistant && !m.HasCalls() && !m.IsSummary() && strings.TrimSpace(m.Text()) != "" &&
		!(m.State == chat.Marked && strings.HasPrefix(m.Text(), markerHead))
}

// Excerpt returns text if it has at most most tokens, else its first and last
// sentence as far as they fit, else the beginning of the first. It skips code
// blocks and headings. It is empty if nothing fits.
func Excerpt(text string, most int, count func(string) int) string {
	text = strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD"))
	if len(text) <= most*longToken && count(text) <= most {
		return text
	}
	first, last := firstAndLast(text)
	switch both := first + " … " + last; {
	case first == "":
		return ""
	case last != "" && len(both) <= most*longToken && count(both) <= most:
		return both
	case len(first) <= most*longToken && count(first) <= most:
		return first
	}
	return cutToWords(first, most, count)
}

// longToken is an upper bound of the bytes of a token in text: a text with more for
// each allowed token need not be counted.
const longToken = 16

// firstAndLast returns the first and the last sentence of text; last is empty if
// there is only one.
func firstAndLast(text string) (first, last string) {
	fence := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~") {
			fence = !fence
			continue
		}
		if fence || line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "|") || strings.Trim(line, "-=*_ ") == "" {
			continue
		}
		if first == "" {
			first = line[:sentenceEnd(line)]
			line = strings.TrimSpace(line[len(first):])
		}
		for line != "" {
			last = line[:sentenceEnd(line)]
			line = strings.TrimSpace(line[len(last):])
		}
	}
	return first, last
}

// sentenceEnd returns where the first sentence of line ends.
func sentenceEnd(line string) int {
	for i, r := range line {
		end := i + utf8.RuneLen(r)
		switch r {
		case '。', '！', '？':
			return end
		case '.', '!', '?':
			if end == len(line) || line[end] == ' ' {
				return end
			}
		}
	}
	return len(line)
}

// cutToWords returns the beginning of text, with an ellipsis, in at most most tokens.
func cutToWords(text string, most int, count func(string) int) string {
	text = text[:min(len(text), most*longToken)]
	for {
		for text != "" && !utf8.ValidString(text) {
			text = text[:len(text)-1]
		}
		if short := strings.TrimSpace(text) + " …"; text == "" || count(short) <= most {
			if text == "" {
				return ""
			}
			return short
		}
		cut := len(text) * 3 / 4
		if i := strings.LastIndexByte(text[:cut], ' '); i > 0 {
			cut = i
		}
		text = text[:cut]
	}
}
