// Package markdown draws Markdown on a terminal. A text may grow: what is finished is
// drawn once, and only its last block is drawn again.
package markdown

import (
	"strings"

	"github.com/tiercompact/tiercompact/internal/screen"
)

// A Renderer draws a text piece by piece. Its zero value has no width; set Screen.
// The text must be safe for a terminal, without tabs.
type Renderer struct {
	Screen screen.Screen

	fence fence // of the open code block
	begun bool  // something was drawn
}

// A fence opens and closes a code block.
type fence struct {
	marks  string // "" for none
	indent int
}

// Take draws the finished blocks at the beginning of text. The caller continues with
// the rest of the text, from used on.
func (r *Renderer) Take(text string) (lines []string, used int) {
	for {
		n := r.finished(text[used:])
		if n == 0 {
			return lines, used
		}
		lines = append(lines, r.take(text[used:used+n])...)
		used += n
	}
}

// Rest draws the rest of a text, which is not finished. The renderer stays as it is.
func (r *Renderer) Rest(text string) []string {
	temporary := *r
	lines, used := temporary.Take(text)
	rest := text[used:]
	if temporary.fence.marks != "" {
		if line := strings.TrimSpace(rest); line == "" || strings.HasPrefix(temporary.fence.marks, line) {
			return lines // it may become the end of the code
		}
		return append(lines, temporary.codeLine(rest)...)
	}
	if at := strings.LastIndex(rest, "\n") + 1; strings.HasPrefix(strings.TrimSpace(rest[at:]), "``") {
		rest = rest[:at] // it may become the beginning of code
	}
	return append(lines, temporary.part(temporary.drawBlocks(closeMarks(rest)))...)
}

// closeMarks ends the marks that the text has begun and not ended, so that they do
// not show for a moment.
func closeMarks(text string) string {
	last := text[strings.LastIndex(text, "\n\n")+1:]
	if strings.Count(last, "`")%2 == 1 {
		return text + "`"
	}
	if strings.Count(last, "**")%2 == 1 && !strings.HasSuffix(text, "*") {
		return strings.TrimRight(text, " \n") + "**"
	}
	return text
}

// take draws one finished piece: of a code block a line, or blocks of text.
func (r *Renderer) take(text string) []string {
	line := strings.TrimSuffix(text, "\n")
	switch open := openingFence(line); {
	case r.fence.marks != "":
		if closesFence(line, r.fence.marks) {
			r.fence = fence{}
			return nil
		}
		return r.codeLine(line)
	case open.marks != "":
		r.fence = open
		language, _, _ := strings.Cut(strings.TrimSpace(strings.Trim(strings.TrimSpace(line), open.marks[:1])), " ")
		if language == "" {
			return r.part(nil)
		}
		return r.part([]string{"  " + r.Screen.Paint(screen.Dim, r.Screen.Clip(language, r.width()-2))})
	}
	return r.part(r.drawBlocks(text))
}

// part puts a blank line before lines, unless they are the first.
func (r *Renderer) part(lines []string) []string {
	if len(lines) == 0 && r.fence.marks == "" {
		return nil
	}
	if r.begun {
		lines = append([]string{""}, lines...)
	}
	r.begun = true
	return lines
}

func (r *Renderer) width() int { return max(r.Screen.Width, 8) }

// finished returns the length of the first finished piece of text, 0 if there is none.
func (r *Renderer) finished(text string) int {
	list, at := false, 0
	for line := range strings.Lines(text) {
		if !strings.HasSuffix(line, "\n") {
			return 0
		}
		next := at + len(line)
		switch {
		case r.fence.marks != "":
			return next
		case openingFence(line).marks != "":
			if at > 0 {
				return at
			}
			return next
		case strings.TrimSpace(line) == "":
			if next < len(text) && endsBlock(text[next:], list) {
				return next
			}
		case isListItem(line):
			list = true
		}
		at = next
	}
	return 0
}

// endsBlock reports whether the text after a blank line begins a new block, whatever
// follows. It needs the beginning of the line: a blank continues an item of a list.
func endsBlock(text string, list bool) bool {
	if text[0] == ' ' || text[0] == '\n' {
		return false
	}
	line, _, whole := strings.Cut(text, "\n")
	return !list || (whole || len(line) > 4) && !isListItem(line)
}

// isListItem reports whether a line begins an item.
func isListItem(line string) bool {
	line = strings.TrimLeft(line, " ")
	rest := strings.TrimLeft(line, "0123456789")
	if len(rest) < len(line) {
		return strings.HasPrefix(rest, ". ") || strings.HasPrefix(rest, ") ")
	}
	return strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "* ") || strings.HasPrefix(line, "+ ")
}

// openingFence returns the fence that a line opens, also within an item of a list.
func openingFence(line string) fence {
	text := strings.TrimLeft(line, " ")
	for _, mark := range []string{"`", "~"} {
		n := len(text) - len(strings.TrimLeft(text, mark))
		if n >= 3 && (mark == "~" || !strings.Contains(text[n:], mark)) {
			return fence{text[:n], len(line) - len(text)}
		}
	}
	return fence{}
}

func closesFence(line, marks string) bool {
	line = strings.TrimSpace(line)
	return len(line) >= len(marks) && strings.Trim(line, marks[:1]) == ""
}

// codeLine draws a line of code: never joined with another, its indentation kept.
func (r *Renderer) codeLine(line string) []string {
	for range r.fence.indent {
		line = strings.TrimPrefix(line, " ")
	}
	var lines []string
	for part := range strings.SplitSeq(hardWrapped(line, r.width()-2), "\n") {
		lines = append(lines, strings.TrimRight("  "+r.Screen.Paint(codeColour, part), " "))
	}
	return lines
}

const codeColour = screen.Paint("36")
