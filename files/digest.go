package files

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/internal/logline"
)

// DigestOptions say how long a digest may be, and what the work is at.
type DigestOptions struct {
	Max    int                   // tokens, all parts included
	Count  func(text string) int // tokens of a text; nil estimates
	Recall string                // id of the text in the archive
	Focus  []string              // identifiers of recent messages
	Near   *Focus                // the same, weighted; used where set
	Ledger []string              // identifiers that would be gone otherwise, most wanted first
	Prose  bool                  // somebody wrote it: no line is noise, and a word of trouble tells of none
}

// Digest returns what a tool output says in at most o.Max tokens: a head line,
// the failed tests and the errors, the first and the last lines, lines that are
// like no other, lines that speak of the focus, the ledger. Where failed tests
// have no room, their names stand for them, and a count of the rest. Of lines
// that are alike the first and the last are told, and how many stand between.
// The empty string means that not even the head has room.
func Digest(text string, o DigestOptions) string {
	text = trimReminders(unixLines(text))
	return Ref{Kind: Output, Size: len(text), shape: shapeOfOutput(text)}.Digest(text, o)
}

// Digest is the function of that name, for a copy whose text without wrappers
// is text.
func (c Ref) Digest(text string, o DigestOptions) string {
	if len(text) > textMax {
		text = text[:textMax]
	}
	s := c.shape
	if s == nil || int(s.endOffset()) > len(text) {
		s = shapeOfOutput(text)
	}
	near := o.Near
	if near == nil && len(o.Focus) > 0 {
		near = NewFocus(o.Focus)
	}
	d := textDigest{DigestOptions: o, output: readOutput(text)}
	d.rankLines(s, near)
	return fillToTokens(o.Max, o.Count, func(size int) string { return cleanUTF8(d.writeDigest(size)) })
}

// mostErrors is how many lines with an error go before names.
const mostErrors = 12

// rankLines puts the lines in order, most wanted first, each once: what went wrong,
// and where the text begins, go before the ledger.
func (d *textDigest) rankLines(s *fileOutline, near *Focus) {
	taken := make(map[int32]bool)
	add := func(more ...span) {
		for _, l := range more {
			if !taken[l.start] && !isBlankLine(l.textOfSpan(d.text)) {
				taken[l.start] = true
				d.wanted = append(d.wanted, l)
			}
		}
	}
	if d.Prose {
		add(firstLines(d.text, 1)...)
		d.first = len(d.wanted)
		add(lastLines(d.text, 3)...)
		add(firstLines(d.text, mostHead)...)
		return
	}
	for _, t := range d.tests {
		d.failures = append(d.failures, d.lines[t.line].span)
	}
	for _, l := range d.lines { // those of a test that is told already, too
		if l.kind == logline.FailedTest {
			taken[l.start] = true
		}
	}
	head, errors := firstLines(d.text, 2), d.errorLines()
	add(errors[:min(mostErrors, len(errors))]...)
	add(head[:min(1, len(head))]...)
	d.first = len(d.wanted)
	add(lastLines(d.text, 3)...)
	add(head...)
	rare := d.rareLines()
	add(rare[:min(mostRare, len(rare))]...)
	add(focusLines(d.text, s, near)...)
	add(d.formEndpoints(func(l outputLine) bool { return l.kind == logline.Trouble })...)
	add(errors...)
	add(rare...)
	add(d.formEndpoints(d.isCommonForm)...)
	add(d.uncommonLines(firstLines(d.text, mostHead))...)
}

// uncommonLines returns those of lines that are not like many others.
func (d *textDigest) uncommonLines(lines []span) (out []span) {
	for _, l := range lines {
		if form, lead := lineFormHash(l.textOfSpan(d.text)); !d.isCommonForm(outputLine{form: form, lead: lead}) {
			out = append(out, l)
		}
	}
	return out
}

// mostHead is how many lines from its beginning a digest may show.
const mostHead = 30

// mostRare is how many lines that are like no other go before the focus.
const mostRare = 6

// focusLines returns the lines that speak most of the focus, the best first.
func focusLines(text string, s *fileOutline, near *Focus) []span {
	if near == nil {
		return nil
	}
	score := make(map[int32]float32)
	for _, w := range s.words {
		if n := near.weightOf(w.hash); n > 0 {
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

// A textDigest is one in the making.
type textDigest struct {
	DigestOptions
	*output
	failures []span // lines of failed tests
	wanted   []span // other lines, most wanted first
	first    int    // so many of them go before the ledger
}

// writeDigest returns the digest in about size bytes.
func (d *textDigest) writeDigest(size int) string {
	head := fmt.Sprintf("[digest of %s; recall %s]\n", countedLines(len(d.lines)), d.Recall)
	p := byteBudget{left: float64(size - len(head))}
	taken, names := d.writeTests(&p)
	head += names
	taken = append(taken, p.pickLines(d.wanted[:d.first])...)
	lost := unshownIdentifiers(d.Ledger, names+d.joinLines(taken))
	room := max(0, min(ledgerSize(lost), int(p.left*ledgerShare)))
	p.left -= float64(room)
	taken = append(taken, p.pickLines(d.wanted[d.first:])...)
	body := head + d.joinLines(taken)
	return body + ledgerLine(d.Ledger, body, room+int(max(p.left, 0)))
}

func countedLines(lines int) string {
	if lines == 1 {
		return "1 line"
	}
	return fmt.Sprintf("%d lines", lines)
}

// testShare is how much of the room failed tests have.
const testShare = 0.75

// writeTests returns the lines of the failed tests where all have room, else one
// line with their names, as many as have room, and a count of the rest.
func (d *textDigest) writeTests(p *byteBudget) (lines []span, names string) {
	const least = 60 // bytes, for one name and a count
	size := 0
	for _, l := range d.failures {
		size += min(lineSize, int(l.end-l.start)) + len(gap)
	}
	room := int(p.left * testShare)
	switch {
	case size == 0 || room < least:
		return nil, ""
	case size <= room:
		p.left -= float64(size)
		return slices.Clone(d.failures), ""
	}
	names = testNames(d.tests, room)
	p.left -= float64(len(names))
	return nil, names
}

// shortestTest is how many bytes of a test's name are told at least.
const shortestTest = 24

// testNames returns a line of at most about size bytes with the names of tests.
// What they all begin with is said once; long names lose their middle.
func testNames(tests []failedTest, size int) string {
	all := make([]string, len(tests))
	for i, t := range tests {
		all[i] = clipToOneLine(t.name, 200)
	}
	prefix := sharedPrefix(all)
	head := fmt.Sprintf("%d failed tests", len(all))
	if len(prefix) > 0 {
		head += " of " + clipBytes(prefix, 80)
	}
	head += ": "
	const more = len(", and 1000 more\n")
	each := max(shortestTest, (size-len(head)-more)/len(all)-len(", "))
	var b strings.Builder
	b.WriteString(head)
	for i, name := range all {
		name = middleCut(name[len(prefix):], each)
		if b.Len()+len(name)+more > size && i > 0 {
			fmt.Fprintf(&b, ", and %d more", len(all)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(name)
	}
	return b.String() + "\n"
}

// sharedPrefix returns what all names begin with, up to a separator.
func sharedPrefix(names []string) string {
	shared := names[0]
	for _, n := range names[1:] {
		i := 0
		for i < len(shared) && i < len(n) && shared[i] == n[i] {
			i++
		}
		shared = shared[:i]
	}
	return shared[:strings.LastIndexAny(shared, "/:.> ")+1]
}

// middleCut returns s in at most size bytes and a sign: where names differ is
// their end.
func middleCut(s string, size int) string {
	if len(s) <= size {
		return s
	}
	return strings.ToValidUTF8(s[:size/3], "") + "…" + strings.ToValidUTF8(s[len(s)-size*2/3:], "")
}

// ledgerShare is how much of the room the ledger has before plain lines.
const ledgerShare = 0.5

// gap stands where lines are left out.
const gap = "…\n"

// pickLines returns the lines that have room, each with the gap before it.
func (p *byteBudget) pickLines(lines []span) []span {
	var taken []span
	for _, l := range lines {
		size := min(lineSize, int(l.end-l.start))
		if l.start > 0 {
			size += len(gap)
		}
		if p.takeBytes(size) {
			taken = append(taken, l)
		}
	}
	return taken
}

// joinLines returns lines in the order of the text, with a sign where some are left
// out: how many of them are like the line before.
func (d *textDigest) joinLines(lines []span) string {
	slices.SortFunc(lines, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	var b strings.Builder
	next := 0 // index in d.lines
	for _, l := range lines {
		at, _ := slices.BinarySearchFunc(d.lines, l.start, func(o outputLine, start int32) int { return cmp.Compare(o.start, start) })
		if at > next {
			b.WriteString(d.gapMarker(next, at))
		}
		b.WriteString(clipBytes(strings.TrimRight(l.textOfSpan(d.text), "\r\n"), lineSize) + "\n")
		next = at + 1
	}
	return b.String()
}

// leastAlike is from how many lines on it is said that they are alike.
const leastAlike = 3

// gapMarker is what stands for lines from to, exclusive.
func (d *textDigest) gapMarker(from, to int) string {
	if from > 0 && !d.Prose {
		if n := d.countAlike(from-1, from, to); n >= leastAlike {
			return fmt.Sprintf("… %d more like it\n", n)
		}
	}
	return gap
}
