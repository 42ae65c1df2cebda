package protection

import (
	"strings"
	"unicode/utf8"

	"github.com/tiercompact/tiercompact/chat"
)

// The records.
const (
	replyLeftOut = markerHead + "the reply that stood here was left out]"
	gapRecord    = markerHead + "a gap]"
)

// SeparatorText returns the text of a message of a role that separates two others and
// quotes nothing.
func SeparatorText(role chat.Role) string {
	if role == chat.User {
		return gapRecord
	}
	return replyLeftOut
}

// NewSeparator returns a message of a role that separates m from the message before it.
func NewSeparator(role chat.Role, m chat.Message, text string) chat.Message {
	return chat.Message{
		ID: markerID + m.ID, Role: role, State: chat.Marked,
		Parts: []chat.Part{{Kind: chat.Text, Text: text}},
	}
}

// IsAnswer reports whether m is text of the assistant that is not cut, or a marker that quotes an
// answer.
func IsAnswer(m chat.Message) bool {
	return m.Role == chat.Assistant && !m.HasCalls() && !m.IsSummary() && m.State != chat.Outlined && strings.TrimSpace(m.Text()) != "" &&
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
