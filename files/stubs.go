package files

import (
	"path"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

// A stub replaces a text that is elsewhere in the conversation: above, or
// below.
type stub uint8

const (
	noStub stub = iota
	above       // "File unchanged since last read … refer to that"
	below       // "This file read has been removed … Refer to the latest file read"
)

// longestStub is the maximum length of a stub in bytes.
const longestStub = 600

// The words of stubs, in lower case: those of Claude Code, Cline, Roo,
// OpenCode, Gemini CLI and their derivatives, and our own.
var (
	saysAbove = []string{"unchanged since", "file_unchanged", "not changed since", "hasn't changed since", "no changes since", "content unchanged", "contents unchanged", "already read", "already been read", "already in context", "already in the conversation", "already have the content", "refer to that instead", "refer to the earlier", "refer to the previous", "see the earlier", "see previous read", "same content as"}
	saysBelow = []string{"file read has been removed", "refer to the latest", "by a newer copy below", "repeated below, word for word"}
)

// stubKindOf returns the kind of stub that a text is.
func stubKindOf(text string) stub {
	text = strings.TrimSpace(trimReminders(text))
	if text == "" || len(text) > longestStub || strings.Count(text, "\n") > 6 {
		return noStub
	}
	text = strings.ToLower(text)
	for _, s := range saysBelow {
		if strings.Contains(text, s) {
			return below
		}
	}
	for _, s := range saysAbove {
		if strings.Contains(text, s) {
			return above
		}
	}
	return noStub
}

// A reference is a file that a message shows, or the stub that replaces it.
type reference struct {
	key  string // the path, or the call if it names none
	stub stub
}

// Referents returns, for each message that is a stub, the message with the
// text that it refers to, without which it is useless, and -1 for any other.
// It returns nil if there is no stub.
func Referents(t chat.Transcript) []int {
	any := false
	for _, m := range t {
		any = any || stubKindIn(m) != noStub
	}
	if !any {
		return nil
	}
	shows, calls := make([]reference, len(t)), Calls(t)
	for i, m := range t {
		shows[i] = referenceOf(m, calls[i])
	}
	out := make([]int, len(t))
	newest := make(latest)
	for i := range t {
		out[i] = -1
		switch s := shows[i]; {
		case s.stub == above:
			out[i] = newest.latestOf(s.key)
		case s.stub == noStub:
			newest.setLatest(s.key, i)
		}
	}
	later := make(latest)
	for i := len(t) - 1; i >= 0; i-- {
		switch s := shows[i]; {
		case s.stub == below:
			out[i] = later.latestOf(s.key)
		case s.stub == noStub && later.latestOf(s.key) < 0:
			later.setLatest(s.key, i)
		}
	}
	return out
}

// stubKindIn returns the kind of stub that a message of a tool is.
func stubKindIn(m chat.Message) stub {
	if m.Role != chat.Tool && !m.Machine {
		return noStub
	}
	for _, p := range m.Parts {
		if p.Kind == chat.Result || p.Kind == chat.Text {
			if s := stubKindOf(p.Text); s != noStub {
				return s
			}
		}
	}
	return noStub
}

// referenceOf returns the reference in message m, which answers call.
func referenceOf(m chat.Message, call *chat.Part) reference {
	s := reference{stub: stubKindIn(m)}
	if call != nil {
		if f, ok := shownByCall(call); ok {
			s.key = f.path
		} else if s.key = pathOfLeaves(stringLeaves(call.Args)); s.key != "" && len(editedBy(call)) > 0 {
			s.key = ""
		} else if s.key == "" {
			s.key = "\x00" + call.Name + "\x00" + call.Args
		}
		return s
	}
	for _, p := range m.Parts {
		if (p.Kind == chat.Text || p.Kind == chat.Result) && (m.Machine || m.Role == chat.Tool) {
			if found := shownPath(p.Text); found != "" {
				s.key = found
			}
		}
	}
	return s
}

// shownPath returns the path of the file that a text claims to show.
func shownPath(text string) string {
	if f := unwrapText(text[:min(len(text), edge)]); f.path != "" {
		return f.path
	}
	if head, _, ok := strings.Cut(strings.TrimSpace(text), "\n"); ok && strings.HasPrefix(head, "<file ") {
		return attribute(head, "path")
	}
	return ""
}

// latest maps the base name of a path to the message that showed the file
// last.
type latest map[string][]seenMessage

type seenMessage struct {
	path    string
	message int
}

func (l latest) setLatest(key string, message int) {
	if key == "" {
		return
	}
	base, full := splitStubKey(key)
	for i, s := range l[base] {
		if s.path == full {
			l[base][i].message = message
			return
		}
	}
	if len(l[base]) < maxNamesakes {
		l[base] = append(l[base], seenMessage{full, message})
	}
}

// latestOf returns the message, or -1.
func (l latest) latestOf(key string) int {
	if key == "" {
		return -1
	}
	base, full := splitStubKey(key)
	at := -1
	for _, s := range l[base] {
		switch {
		case s.path == full:
			return s.message
		case strings.HasSuffix(s.path, "/"+full), strings.HasSuffix(full, "/"+s.path):
			at = s.message
		}
	}
	return at
}

func splitStubKey(key string) (base, full string) {
	if key[0] == 0 { // a call
		return key, key
	}
	full = cleanPath(key)
	return path.Base(full), full
}
