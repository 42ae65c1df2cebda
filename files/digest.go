package files

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// DigestOptions say how long a digest may be, and what the work is at.
type DigestOptions struct {
	Max    int                   // tokens, all parts included
	Count  func(text string) int // tokens of a text; nil estimates
	Recall string                // id of the text in the archive
	Focus  []string              // identifiers of recent messages
	Near   *Focus                // the same, weighted; used where set
	Ledger []string              // identifiers that would be gone otherwise, most wanted first
}

// Digest returns what a tool output says in at most o.Max tokens: a head line,
// the first and the last lines, every line with an error or a failed test that
// has room, lines that speak of the focus, the ledger. The empty string means
// that not even the head has room.
func Digest(text string, o DigestOptions) string {
	text = trimReminders(unixLines(text))
	return Copy{Kind: Output, Size: len(text), shape: shapeOfOutput(text)}.Digest(text, o)
}

// Digest is the function of that name, for a copy whose text without wrappers
// is text.
func (c Copy) Digest(text string, o DigestOptions) string {
	s := c.shape
	if s == nil || int(s.end()) > len(text) {
		s = shapeOfOutput(text)
	}
	near := o.Near
	if near == nil && len(o.Focus) > 0 {
		near = NewFocus(o.Focus)
	}
	lines := digestLines(text, s, near)
	return fill(o.Max, o.Count, func(size int) string {
		return valid(writeDigest(text, s, lines, o, size))
	})
}

// digestLines returns lines of text, most wanted first, each once.
func digestLines(text string, s *shape, near *Focus) []span {
	var out []span
	taken := make(map[int32]bool)
	add := func(l span) {
		if !taken[l.start] && !isBlank(l.of(text)) {
			taken[l.start] = true
			out = append(out, l)
		}
	}
	head, tail := firstLines(text, 2), lastLines(text, 3)
	for _, l := range head[:min(1, len(head))] {
		add(l)
	}
	for _, l := range tail {
		add(l)
	}
	for _, l := range s.marks[:min(8, len(s.marks))] {
		add(l)
	}
	for _, l := range head {
		add(l)
	}
	for _, l := range focusLines(text, s, near) {
		add(l)
	}
	for _, l := range s.marks {
		add(l)
	}
	for _, l := range firstLines(text, 30) {
		add(l)
	}
	return out
}

// focusLines returns the lines that speak most of the focus, the best first.
func focusLines(text string, s *shape, near *Focus) []span {
	if near == nil {
		return nil
	}
	score := make(map[int32]float32)
	for _, w := range s.words {
		if n := near.of(w.hash); n > 0 {
			score[int32(strings.LastIndexByte(text[max(0, int(w.at)-500):w.at], '\n')+1+max(0, int(w.at)-500))] += min(n, 3)
		}
	}
	starts := make([]int32, 0, len(score))
	for at := range score {
		starts = append(starts, at)
	}
	slices.SortFunc(starts, func(a, b int32) int { return cmp.Or(cmp.Compare(score[b], score[a]), cmp.Compare(a, b)) })
	var out []span
	for _, at := range starts[:min(40, len(starts))] {
		out = append(out, lineFrom(text, int(at)))
	}
	return out
}

func lineFrom(text string, start int) span {
	if i := strings.IndexByte(text[start:], '\n'); i >= 0 {
		return span{int32(start), int32(start + i + 1)}
	}
	return span{int32(start), int32(len(text))}
}

func firstLines(text string, n int) []span {
	var out []span
	for at := 0; at < len(text) && len(out) < n; {
		l := lineFrom(text, at)
		out = append(out, l)
		at = int(l.end)
	}
	return out
}

func lastLines(text string, n int) []span {
	var out []span
	end := len(strings.TrimRight(text, "\n \t"))
	for end > 0 && len(out) < n {
		start := strings.LastIndexByte(text[:end], '\n') + 1
		out = append(out, span{int32(start), int32(end)})
		end = start - 1
	}
	return out
}

// lineSize is how many bytes of a line a digest shows.
const lineSize = 240

func writeDigest(text string, s *shape, lines []span, o DigestOptions, size int) string {
	head := fmt.Sprintf("[digest of %d lines; recall %s]\n", s.lines, o.Recall)
	p := page{left: float64(size - len(head))}
	need := 0
	for _, id := range o.Ledger {
		need += len(id) + 1
	}
	room := min(need, int(p.left/2))
	p.left -= float64(max(room, 0))
	var taken []span
	for _, l := range lines {
		if p.takes(min(lineSize, int(l.end-l.start)) + 4) {
			taken = append(taken, l)
		}
	}
	slices.SortFunc(taken, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	var b strings.Builder
	b.WriteString(head)
	at := int32(0)
	for _, l := range taken {
		if l.start > at {
			b.WriteString("…\n")
		}
		b.WriteString(clip(strings.TrimRight(l.of(text), "\n"), lineSize) + "\n")
		at = l.end
	}
	body := b.String()
	return body + ledgerLine(o.Ledger, body, max(room, 0)+int(max(p.left, 0)))
}
