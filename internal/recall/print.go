package recall

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// A printed group is the hits of one message, in the order of the message.
type printedGroup []*Hit

// A hitPlace is the message of a hit.
type hitPlace struct {
	session, id string
	number      int
	msg         *message
}

func (h *Hit) place() hitPlace { return hitPlace{h.Session, h.ID, h.Message, h.msg} }

// groupsOf returns hits by message: the message with the best hit first.
func groupsOf(hits []Hit) []printedGroup {
	var groups []printedGroup
	at := make(map[hitPlace]int, len(hits))
	for i := range hits {
		key := hits[i].place()
		k, known := at[key]
		if !known {
			k, at[key] = len(groups), len(groups)
			groups = append(groups, nil)
		}
		groups[k] = append(groups[k], &hits[i])
	}
	for _, g := range groups {
		slices.SortStableFunc(g, func(a, b *Hit) int { return a.Part - b.Part })
	}
	return groups
}

// Text returns the hits as they are printed: the best first, those of one message
// together, a short message on a line.
func (r Result) Text() string {
	var b strings.Builder
	var before *Hit
	for _, g := range groupsOf(r.Hits) {
		g.print(&b, before)
		before = g[0]
	}
	return b.String()
}

func (g printedGroup) print(b *strings.Builder, before *Hit) {
	b.WriteString(g[0].idLine(before))
	for i := 0; i < len(g); {
		k := i + 1
		for k < len(g) && g[k].continues(g[k-1]) {
			k++
		}
		first, last := g[i], g[k-1]
		for j := range first.Before {
			fmt.Fprintf(b, "before it, %s\n", first.Before[j].line())
		}
		if first.isShort() {
			fmt.Fprintf(b, "%s\n", first.line())
		} else {
			b.WriteString(first.heading(i > 0, last.To))
			for _, h := range g[i:k] {
				b.WriteString(h.Text + "\n")
				if h != last {
					b.WriteString(strings.Repeat("\n", h.blank))
				}
			}
		}
		for j := range last.After {
			fmt.Fprintf(b, "after it, %s\n", last.After[j].line())
		}
		i = k
	}
}

// idLine is printed before a hit whose recall id is not that of the hit before.
func (h *Hit) idLine(before *Hit) string {
	switch {
	case before == nil || before.Session != h.Session:
		return fmt.Sprintf("recall %s (session %s, %s):\n", h.ID, oneLine(h.Session), h.Time.Format(time.DateOnly))
	case before.ID != h.ID:
		return fmt.Sprintf("recall %s:\n", h.ID)
	}
	return ""
}

// heading is printed above the text of a hit; again says that the message has one.
func (h *Hit) heading(again bool, to int) string {
	if again {
		return fmt.Sprintf("-- lines %d-%d\n", h.From, to)
	}
	c := *h
	c.To = to
	return "== " + c.title() + "\n"
}

// continues reports whether a hit begins where another of its message ends.
func (h *Hit) continues(before *Hit) bool {
	return h.Part == before.Part+1 && !h.Cut && !before.Cut && len(h.Before)+len(before.After) == 0
}

// title says what the message is, as in "message 34, Bash go test ./…, failed".
func (h Hit) title() string {
	what := string(h.Role)
	if h.Tool != "" {
		what = h.Tool
		if h.File != "" {
			what += " " + shortPath(h.File)
		} else if h.Args != "" {
			what += " " + clipped(h.Args, maxArgs)
		}
		if h.Role == "assistant" {
			what = "call of " + what
		}
	}
	if h.Message > 0 {
		what = fmt.Sprintf("message %d, %s", h.Message, what)
	}
	if h.Failed {
		what += ", failed"
	}
	if h.Parts > 1 || h.From > 1 {
		what += fmt.Sprintf(", lines %d-%d", h.From, h.To)
	}
	return what
}

// maxPath is the size of a path in a title: the end of it says most.
const maxPath = 48

func shortPath(path string) string {
	path = strings.ReplaceAll(path, "\\", "/")
	for len(path) > maxPath {
		_, rest, more := strings.Cut(strings.TrimPrefix(path, "…/"), "/")
		if !more {
			return path
		}
		path = "…/" + rest
	}
	return path
}

// isShort reports whether a hit is printed on one line.
func (h *Hit) isShort() bool {
	return h.Tool == "" && h.Parts == 1 && !strings.Contains(h.Text, "\n") && len(h.Text) <= 1000
}

// line returns a hit on one line.
func (h *Hit) line() string {
	if h.Tool != "" || strings.Contains(h.Text, "\n") {
		return h.Title + ": " + clipped(oneLine(h.Text), 160)
	}
	return fmt.Sprintf("%d %s: %s", h.Message, h.Role, h.Text)
}
