package wire

import (
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

// compactionState returns the state of a message that begins with text. Output of
// an earlier compaction is recognised by its whole first line, so that a person's
// text about it is not mistaken for it.
func compactionState(text string) chat.State {
	line, _, _ := strings.Cut(text, "\n")
	switch head, rest, _ := strings.Cut(line, " "); head {
	case "<COMPACT-SUMMARY":
		if strings.HasPrefix(rest, "v") && strings.Contains(rest, ">") {
			return chat.Summarized
		}
	case "[Compressed":
		if strings.HasPrefix(rest, "Message Summary]") {
			return chat.Summarized
		}
	case "[outline", "[digest", "[digest;", "[superseded", "[repeated":
		if namesRecall(rest) {
			return chat.Outlined
		}
	case "[marker":
		if rest == "a gap]" || rest == "the reply that stood here was left out]" || rest == "go on]" || namesRecall(rest) && strings.HasSuffix(rest, "]") {
			return chat.Marked
		}
	}
	return chat.Active
}

// namesRecall reports whether a line contains a recall id: eight hexadecimal
// digits.
func namesRecall(line string) bool {
	_, id, found := strings.Cut(line, "recall ")
	if !found || len(id) < 8 {
		return false
	}
	return strings.Trim(id[:8], "0123456789abcdef") == ""
}

// classify sets Machine and State of a message by its texts. Only the assistant's
// messages and system messages can contain a summary.
func classify(m *chat.Message) {
	typed, machine := false, false
	for _, p := range m.Parts {
		switch {
		case p.Kind == chat.Image:
			typed = true
		case (p.Kind == chat.Text || p.Kind == chat.Result) && p.Text != "":
			if m.State == chat.Active {
				m.State = compactionState(p.Text)
			}
			if m.Role == chat.User && p.Kind == chat.Text {
				is := chat.ClientText(p.Text)
				machine, typed = machine || is, typed || !is
			}
		}
	}
	m.Machine = m.Machine || machine && !typed
	switch {
	case m.State == chat.Summarized && m.Role != chat.Assistant && m.Role != chat.System,
		m.State == chat.Marked && m.Role != chat.Assistant && m.Role != chat.User,
		m.State == chat.Outlined && (m.Role == chat.System || m.Role == chat.Developer):
		m.State = chat.Active
	}
}
