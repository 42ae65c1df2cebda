package files

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/internal/logline"
)

// DigestOptions limit the length of a digest and name the subject of the work.
type DigestOptions struct {
	Max    int                   // tokens, all parts included
	Count  func(text string) int // tokens of a text; nil estimates
	Recall string                // id of the text in the archive
	Focus  []string              // identifiers of recent messages
	Near   *Focus                // the same, weighted; used if set
	Ledger []string              // identifiers that would be lost otherwise, most wanted first
	Prose  bool                  // a person wrote it: no line is noise, and words of trouble do not mark an error
	Fill   bool                  // all other lines follow, from the beginning, as far as they fit
}

// Digest shortens a tool output to at most o.Max tokens: a head line, the
// failed tests and the errors, the first and the last lines, unique lines,
// lines that name the focus, the ledger. If failed tests do not fit, it gives
// their names and the number of the rest. Of similar lines it gives the first
// and the last, and the number between them. The empty string means that not
// even the head fits.
func Digest(text string, o DigestOptions) string {
	text = trimReminders(unixLines(text))
	return Ref{Kind: Output, Size: len(text), shape: shapeOfOutput(text)}.Digest(text, o)
}

// Digest is the function [Digest] for a copy whose text without wrappers is
// text.
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

// maxErrors limits the lines with an error that go before names.
const maxErrors = 12

// rankLines orders the lines, most wanted first, each once: errors and the
// beginning of the text go before the ledger.
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
		add(firstLines(d.text, maxHead)...)
		return
	}
	if d.Fill {
		defer func() { add(firstLines(d.text, len(d.lines))...) }()
	}
	for _, t := range d.tests {
		d.failures = append(d.failures, d.lines[t.line].span)
	}
	for _, l := range d.lines { // also those of a test that is listed already
		if l.kind == logline.FailedTest {
			taken[l.start] = true
		}
	}
	head, errors := firstLines(d.text, 2), d.errorLines()
	add(errors[:min(maxErrors, len(errors))]...)
	add(head[:min(1, len(head))]...)
	d.first = len(d.wanted)
	add(lastLines(d.text, 3)...)
	add(head...)
	rare := d.rareLines()
	add(rare[:min(maxRare, len(rare))]...)
	add(focusLines(d.text, s, near)...)
	add(d.formEndpoints(func(l outputLine) bool { return l.kind == logline.Trouble })...)
	add(errors...)
	add(rare...)
	add(d.formEndpoints(d.isCommonForm)...)
	add(d.uncommonLines(firstLines(d.text, maxHead))...)
}

// uncommonLines returns the lines that few others resemble.
func (d *textDigest) uncommonLines(lines []span) (out []span) {
	for _, l := range lines {
		if form, lead := lineFormHash(l.textOfSpan(d.text)); !d.isCommonForm(outputLine{form: form, lead: lead}) {
			out = append(out, l)
		}
	}
	return out
}

// maxHead limits the lines from its beginning that a digest may show.
const maxHead = 30

// maxRare limits the unique lines that go before the focus.
const maxRare = 6

// focusLines returns the lines with the highest score for the focus, the best
// first.
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

// lineSize limits the bytes of a line in a digest.
const lineSize = 240

// A textDigest is a digest under construction.
type textDigest struct {
	DigestOptions
	*output
	failures []span // lines of failed tests
	wanted   []span // other lines, most wanted first
	first    int    // this number of them goes before the ledger
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

// testShare is the share of the room for failed tests.
const testShare = 0.75

// writeTests returns the lines of the failed tests if all fit, else one line
// with as many of their names as fit and the number of the rest.
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

// shortestTest is the minimum number of bytes of a test's name.
const shortestTest = 24

// testNames returns a line of at most about size bytes with the names of
// tests. A common prefix is given once; long names lose their middle.
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

// sharedPrefix returns the common prefix of names, up to a separator.
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

// middleCut returns s in at most size bytes with a sign for the part cut from
// its middle: names differ at their end.
func middleCut(s string, size int) string {
	if len(s) <= size {
		return s
	}
	return strings.ToValidUTF8(s[:size/3], "") + "…" + strings.ToValidUTF8(s[len(s)-size*2/3:], "")
}

// ledgerShare is the share of the room that goes to the ledger before plain
// lines.
const ledgerShare = 0.5

// gap marks omitted lines.
const gap = "…\n"

// pickLines returns the lines that fit, each with the gap before it.
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

// joinLines returns lines in the order of the text. A marker for omitted lines
// says how many of them resemble the line before.
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

// minAlike is the number of omitted lines from which the marker counts
// similar ones.
const minAlike = 3

// gapMarker is the marker that replaces lines from to, exclusive.
func (d *textDigest) gapMarker(from, to int) string {
	if from > 0 && !d.Prose {
		if n := d.countAlike(from-1, from, to); n >= minAlike {
			return fmt.Sprintf("… %d more like it\n", n)
		}
	}
	return gap
}
