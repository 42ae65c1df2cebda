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
	d := digest{DigestOptions: o, text: text, of: s.lines}
	d.lines, d.first = digestLines(text, s, near)
	return fill(o.Max, o.Count, func(size int) string { return valid(d.write(size)) })
}

// digestLines returns lines of text, most wanted first, each once. The first so
// many of them go before the ledger: what went wrong, and where the text begins.
func digestLines(text string, s *shape, near *Focus) (lines []span, first int) {
	taken := make(map[int32]bool)
	add := func(more ...span) {
		for _, l := range more {
			if !taken[l.start] && !isBlank(l.of(text)) {
				taken[l.start] = true
				lines = append(lines, l)
			}
		}
	}
	head := firstLines(text, 30)
	add(s.marks[:min(12, len(s.marks))]...)
	add(head[:min(1, len(head))]...)
	first = len(lines)
	add(lastLines(text, 3)...)
	add(head[:min(2, len(head))]...)
	add(focusLines(text, s, near)...)
	add(s.marks...)
	add(head...)
	return lines, first
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

// A digest is one in the making.
type digest struct {
	DigestOptions
	text  string
	lines []span // most wanted first
	first int    // so many of them go before the ledger
	of    int32  // lines of the text
}

// write returns the digest in about size bytes.
func (d *digest) write(size int) string {
	head := fmt.Sprintf("[digest of %d lines; recall %s]\n", d.of, d.Recall)
	p := page{left: float64(size - len(head))}
	taken := p.pick(d.lines[:d.first])
	names := unshown(d.Ledger, d.joined(taken))
	room := max(0, min(ledgerSize(names), int(p.left*ledgerShare)))
	p.left -= float64(room)
	taken = append(taken, p.pick(d.lines[d.first:])...)
	body := head + d.joined(taken)
	return body + ledgerLine(d.Ledger, body, room+int(max(p.left, 0)))
}

// ledgerShare is how much of the room the ledger has before plain lines.
const ledgerShare = 0.5

// gap stands where lines are left out.
const gap = "…\n"

// pick returns the lines that have room, each with the gap before it.
func (p *page) pick(lines []span) []span {
	var taken []span
	for _, l := range lines {
		size := min(lineSize, int(l.end-l.start))
		if l.start > 0 {
			size += len(gap)
		}
		if p.takes(size) {
			taken = append(taken, l)
		}
	}
	return taken
}

// joined returns lines in the order of the text, with a sign where some are left out.
func (d *digest) joined(lines []span) string {
	slices.SortFunc(lines, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	var b strings.Builder
	at := int32(0)
	for _, l := range lines {
		if l.start > at {
			b.WriteString(gap)
		}
		b.WriteString(clip(strings.TrimRight(l.of(d.text), "\n"), lineSize) + "\n")
		at = l.end
	}
	return b.String()
}
