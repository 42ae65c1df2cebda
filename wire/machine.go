package wire

import (
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

// machineText reports whether a user message of this text was written by a
// program: an environment, a reminder, the output of a command.
func machineText(text string) bool {
	return false
}

// stateOf returns the state of a message that begins with text: what an
// earlier compaction has written is known by how it begins.
func stateOf(text string) chat.State {
	for _, known := range []struct {
		prefix string
		state  chat.State
	}{
		{"<COMPACT-SUMMARY v", chat.Summarized},
		{"[Compressed Message Summary]", chat.Summarized},
		{"[outline ", chat.Outlined},
		{"[digest ", chat.Outlined},
		{"[superseded ", chat.Outlined},
		{"[repeated ", chat.Outlined},
		{"[marker ", chat.Marked},
	} {
		if strings.HasPrefix(text, known.prefix) {
			return known.state
		}
	}
	return chat.Active
}

// classify sets Machine and State of a message by its text.
func classify(m *chat.Message) {}
