package files

import (
	"fmt"
	"strconv"
	"strings"
)

// An Excerpt is a run of lines of a file that a session summary quotes
// verbatim.
type Excerpt struct {
	Path   string
	Edited bool   // an edit inserted it, or its result shows it
	First  int    // number of its first line, 1-based; 0 if unknown
	Text   string // whole lines
}

// Held returns pieces as a text in which [ScanMessage] finds them again.
// Adjacent pieces of one file and one kind share its name.
func Held(pieces []Excerpt) string {
	var b strings.Builder
	for k, p := range pieces {
		joined := k > 0 && pieces[k-1].Path == p.Path && pieces[k-1].Edited == p.Edited
		if k > 0 && !joined {
			b.WriteString(attachTail + "\n")
		}
		if !joined {
			b.WriteString(heldHead(p) + "\n")
		}
		if joined || p.First != p.firstLine() {
			b.WriteString(hunkHeader(p.First) + "\n")
		}
		b.WriteString(strings.TrimSuffix(p.Text, "\n") + "\n")
	}
	if len(pieces) > 0 {
		b.WriteString(attachTail)
	}
	return b.String()
}

// firstLine is the line at which pieces begin if no other is given.
func (p Excerpt) firstLine() int {
	if p.Edited {
		return 0
	}
	return 1
}

const (
	heldEdited = ` edited="yes">`
	hunkHead   = "@@ "
	elsewhere  = "elsewhere in this file" // in place of a line number that is not known
)

func heldHead(p Excerpt) string {
	head := attachHead(p.Path)
	if p.Edited {
		head = strings.TrimSuffix(head, ">") + heldEdited
	}
	return head
}

// hunkHeader gives the line of the file at which the next line begins.
func hunkHeader(first int) string {
	if first <= 0 {
		return hunkHead + elsewhere
	}
	return fmt.Sprintf("%s%d", hunkHead, first)
}

// parseHunkHeader reads a line that hunkHeader wrote.
func parseHunkHeader(line string) (first int, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), hunkHead)
	if !ok || rest == elsewhere || rest == "?" { // "?" was written by former versions
		return 0, ok
	}
	first, err := strconv.Atoi(rest)
	return first, err == nil && first > 0
}

// scanExcerpts records the pieces of files in a session summary, and the text
// between them.
func (s *messageScan) scanExcerpts(part int, text string) {
	at := 0
	eachBlock(text, func(path string, start, end int) {
		s.addIdentifiers(text[at:start])
		c := Ref{Part: part, Kind: Read, Path: path, First: 1, held: true}
		if head := strings.TrimRight(text[at:start], "\r\n"); strings.HasSuffix(head, heldEdited) {
			c.Kind, c.First = Edit, 0
		}
		s.addExcerpts(c, text, start, end)
		s.facts.Mentions = append(s.facts.Mentions, path)
		at = end
	})
	s.addIdentifiers(text[at:])
}

// addExcerpts records the runs of lines of one file.
func (s *messageScan) addExcerpts(c Ref, text string, start, end int) {
	note := func(to int) {
		if c.Start, c.End = start, to; c.End > c.Start {
			c.Last = 0
			s.addFileCopy(c, unixLines(text[c.Start:c.End]))
		}
	}
	for at := start; at < end; {
		next := end
		if i := strings.IndexByte(text[at:end], '\n'); i >= 0 {
			next = at + i + 1
		}
		if first, ok := parseHunkHeader(text[at:next]); ok {
			note(at)
			c.First, start = first, next
		}
		at = next
	}
	note(end)
}
