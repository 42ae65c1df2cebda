package screen

import (
	"fmt"
	"strings"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
)

// Entry returns the whole text of an archive entry, message by message, with its
// control characters.
func Entry(e archive.Entry) string {
	var b strings.Builder
	if len(e.Below) > 0 {
		fmt.Fprintf(&b, "below it: %s\n\n", strings.Join(e.Below, ", "))
	}
	if e.Text != "" {
		fmt.Fprintln(&b, e.Text)
	}
	for i, m := range e.Messages {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "--- %s ---\n%s\n", m.Role, Whole(m))
	}
	return b.String()
}

// Whole returns the whole text of a message, calls included.
func Whole(m chat.Message) string {
	var parts []string
	for _, p := range m.Parts {
		switch {
		case p.Kind == chat.Call || p.Kind == chat.ServerCall:
			parts = append(parts, p.Name+" "+p.Args)
		case p.Kind == chat.Image:
			parts = append(parts, "(image)")
		case p.Kind != chat.Thinking && p.Text != "":
			parts = append(parts, p.Text)
		}
	}
	return strings.Join(parts, "\n")
}
