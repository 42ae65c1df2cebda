package bench

import (
	"regexp"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

// numbered is the number that a read tool puts before each line.
var numbered = regexp.MustCompile(`(?m)^ *\d+→`)

// Plain returns a session in the form for the measures: without the line numbers of
// reads, and without thinking.
func Plain(t chat.Transcript) chat.Transcript {
	out := make(chat.Transcript, 0, len(t))
	for _, m := range t {
		m.Parts = slices.DeleteFunc(slices.Clone(m.Parts), func(p chat.Part) bool { return p.Kind == chat.Thinking })
		if len(m.Parts) == 0 {
			continue
		}
		for i, p := range m.Parts {
			if p.Kind == chat.Result && strings.Contains(p.Text, "→") {
				m.Parts[i].Text, m.Parts[i].Raw, m.Changed = numbered.ReplaceAllString(p.Text, ""), "", true
			}
		}
		out = append(out, m)
	}
	return out
}
