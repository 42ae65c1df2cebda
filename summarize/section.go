package summarize

import (
	"cmp"
	"slices"
	"strings"
)

// A section is a part of a summary: lines to choose from, the best first.
type section struct {
	title string // "" writes no heading
	share float64
	lines []sectionLine
	old   bool // of a former summary: beyond its share, it comes after all others
}

// A sectionLine is one line of a section.
type sectionLine struct {
	text  string
	order int // index in the conversation
}

// fillSections chooses lines of sections that fit into limit: each section up to
// its share, then, in order of sections, whatever fits into the rest. The lines of
// a section are in the order of the conversation.
func fillSections(sections []section, limit int, count func(string) int) string {
	p := linePicker{count: count, room: limit}
	chosen := make([][]sectionLine, len(sections))
	next := make([]int, len(sections))
	for i, s := range sections {
		p.openSection(s)
		chosen[i], next[i] = p.takeLines(s.lines, int(s.share*float64(limit)))
	}
	for _, old := range []bool{false, true} {
		for i, s := range sections {
			if s.old == old {
				more, _ := p.takeLines(s.lines[next[i]:], p.room)
				chosen[i] = append(chosen[i], more...)
			}
		}
	}
	var b strings.Builder
	for i, s := range sections {
		writeSection(&b, s.title, chosen[i])
	}
	return strings.TrimSpace(b.String())
}

// A linePicker distributes room among lines.
type linePicker struct {
	count func(string) int
	room  int
}

// openSection reserves room for the heading of s.
func (p *linePicker) openSection(s section) {
	if s.title != "" && len(s.lines) > 0 {
		p.room -= p.count("## "+s.title) + 1
	}
}

// takeLines chooses the lines that fit into share, in order, and returns how many
// it examined: it stops at the first that does not fit.
func (p *linePicker) takeLines(lines []sectionLine, share int) (chosen []sectionLine, looked int) {
	share = min(share, p.room)
	for _, l := range lines {
		size := p.count(l.text) + 1
		if size > share {
			break
		}
		share -= size
		p.room -= size
		chosen = append(chosen, l)
		looked++
	}
	return chosen, looked
}

func writeSection(b *strings.Builder, title string, lines []sectionLine) {
	if len(lines) == 0 {
		return
	}
	slices.SortStableFunc(lines, func(a, b sectionLine) int { return cmp.Compare(a.order, b.order) })
	if title != "" {
		b.WriteString("## " + title + "\n")
	}
	for _, l := range lines {
		b.WriteString(l.text + "\n")
	}
}

// formerLines returns the lines of a former summary's text by their headings; lines
// under no heading, or under one that is not in titles, are "Earlier".
func formerLines(text string, titles []string) map[string][]sectionLine {
	lines := make(map[string][]sectionLine)
	title := earlierTitle
	all := strings.Split(text, "\n")
	for i, l := range all {
		l = strings.TrimSpace(l)
		if head, ok := strings.CutPrefix(l, "## "); ok {
			if title = head; !slices.Contains(titles, head) {
				title = earlierTitle
			}
			continue
		}
		if l != "" {
			lines[title] = append(lines[title], sectionLine{l, i - len(all)})
		}
	}
	return lines
}

const earlierTitle = "Earlier"
