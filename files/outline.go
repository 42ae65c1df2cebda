package files

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// OutlineOptions limit the length of an outline and name the subject of the
// work.
type OutlineOptions struct {
	Max    int                   // tokens, all parts included
	Count  func(text string) int // tokens of a text; nil estimates
	Recall string                // id of the text in the archive
	Focus  []string              // identifiers of recent messages
	Near   *Focus                // the same, weighted; used if set
	Edited []string              // texts that were edited: the blocks that contain them stay, verbatim
	Note   string                // "changed since", for example; may be empty
	Ledger []string              // identifiers that would be lost otherwise, most wanted first
	First  int                   // number of the first line if text is a part of the file
}

func (o OutlineOptions) outlineFocus() *Focus {
	if o.Near == nil && len(o.Focus) > 0 {
		return NewFocus(o.Focus)
	}
	return o.Near
}

// Outline shortens the text of a copy, which has no wrappers, to at most o.Max
// tokens: a head line; imports; the first line of documentation; exported
// declarations with their lines, then the others; the blocks of the focus,
// verbatim; TODO lines; the number of omitted lines; the ledger. It may be longer
// than a short text, so the caller compares them. The empty string means that not
// even the head fits.
func (c Ref) Outline(text string, o OutlineOptions) string {
	if c.shape == nil || int(c.shape.endOffset()) > len(text) {
		c.shape = outlineOf(c.Path, text)
	}
	d := outlineWriter{c: c, s: c.shape, text: text, o: o, first: int32(max(o.First, c.First, 1))}
	d.rankBlocks()
	return fillToTokens(o.Max, o.Count, func(size int) string { return cleanUTF8(d.writeOutline(size)) })
}

func (s *fileOutline) endOffset() int32 {
	if n := len(s.blocks); n > 0 {
		return s.blocks[n-1].end
	}
	return 0
}

// An outlineWriter is an outline under construction.
type outlineWriter struct {
	c     Ref
	s     *fileOutline
	text  string
	o     OutlineOptions
	first int32
	order []int     // blocks, most wanted first
	score []float32 // of each block
}

// rankBlocks orders the blocks by their score for the focus.
func (d *outlineWriter) rankBlocks() {
	d.score = d.s.blockScores(d.o.outlineFocus())
	for _, e := range d.o.Edited {
		d.markEdited(e)
	}
	if n := len(d.score); len(d.s.decls) == 0 && n > 0 { // head and tail
		d.score[0] += 3
		d.score[n-1] += 2
		d.score[min(1, n-1)]++
	}
	for i := range d.score {
		if d.score[i] > 0 {
			d.order = append(d.order, i)
		}
	}
	slices.SortStableFunc(d.order, func(a, b int) int { return cmp.Compare(d.blockDensity(b), d.blockDensity(a)) })
}

// blockDensity is the value of a block in relation to its length. Long blocks
// contain more words of the focus by chance.
func (d *outlineWriter) blockDensity(i int) float32 {
	b := d.s.blocks[i]
	return d.score[i] / float32(b.end-b.start+1000)
}

// markEdited marks the blocks that contain an edited text, or its longest
// line.
func (d *outlineWriter) markEdited(text string) {
	if text == "" {
		return
	}
	at := strings.Index(d.text, text)
	if at < 0 {
		longest := ""
		for line := range strings.SplitSeq(text, "\n") {
			longest = longerText(longest, line)
		}
		if text = longest; len(strings.TrimSpace(text)) < 12 {
			return
		}
		at = strings.Index(d.text, text)
	}
	if at < 0 {
		return
	}
	for i, b := range d.s.blocks {
		if int(b.start) < at+len(text) && int(b.end) > at {
			d.score[i] += 5
		}
	}
}

func (d *outlineWriter) headComment() string {
	var b strings.Builder
	b.WriteString("[outline " + clipToOneLine(d.c.Path, 200) + ": ")
	b.WriteString(d.s.lang.name + ", ")
	if d.first > 1 {
		fmt.Fprintf(&b, "lines %d-%d", d.first, d.first+d.s.lines-1)
	} else {
		fmt.Fprintf(&b, "%d lines", d.s.lines)
	}
	if d.c.Hash != 0 {
		fmt.Fprintf(&b, ", hash %08x", uint32(d.c.Hash))
	}
	if d.o.Note != "" {
		b.WriteString("; " + clipToOneLine(d.o.Note, 120))
	}
	b.WriteString("; recall " + d.o.Recall + "]\n")
	return b.String()
}

// writeOutline returns the outline in about size bytes.
func (d *outlineWriter) writeOutline(size int) string {
	head := d.headComment()
	p := byteBudget{left: float64(size - len(head) - 24)}
	ledger := d.ledgerRoom(&p)
	intro := d.writeImports(&p)
	shown := make([]bool, len(d.s.blocks))
	declared := make([]bool, len(d.s.decls))
	declRoom := byteBudget{left: p.left * d.declShare()}
	all := declRoom.left
	d.pickDecls(&declRoom, declared, true)
	d.pickDecls(&declRoom, declared, false)
	p.left -= all - declRoom.left
	d.pickBlocks(&p, shown)
	d.pickDecls(&p, declared, true)
	d.pickDecls(&p, declared, false)

	var b strings.Builder
	b.WriteString(head)
	b.WriteString(intro)
	left := d.writeDecls(&b, declared, shown)
	d.writeBlocks(&b, shown)
	if !slices.Contains(declared, true) && !slices.Contains(shown, true) {
		d.writeEnds(&b, &p)
	}
	d.writeMarks(&b, &p, shown)
	b.WriteString(left)
	body := b.String()
	return body + ledgerLine(d.o.Ledger, body, ledger+int(max(p.left, 0)))
}

// declShare is the share of the room that goes to declarations first.
func (d *outlineWriter) declShare() float64 {
	if len(d.order) == 0 {
		return 1
	}
	return 0.25
}

// ledgerRoom reserves bytes for the ledger.
func (d *outlineWriter) ledgerRoom(p *byteBudget) int {
	room := max(0, min(ledgerSize(d.o.Ledger), int(p.left/4)))
	p.left -= float64(room)
	return room
}

// writeImports returns the imports, on one line, and the first line of documentation.
func (d *outlineWriter) writeImports(p *byteBudget) string {
	var b strings.Builder
	if doc := clipToOneLine(strings.TrimRight(strings.TrimSpace(d.s.doc.textOfSpan(d.text)), ` */"'`), 160); doc != "" && d.first == 1 && len(doc) < int(p.left/6) && p.takeBytes(len(doc)) {
		b.WriteString(doc + "\n")
	}
	if len(d.s.imports) == 0 {
		return b.String()
	}
	line := "imports"
	for _, i := range d.s.imports {
		name := importName(i.textOfSpan(d.text))
		if len(line)+len(name) > int(p.left/8) {
			line += " …"
			break
		}
		line += " " + name
	}
	if len(line) > 12 && p.takeBytes(len(line)) {
		b.WriteString(line + "\n")
	}
	return b.String()
}

// importName returns the short name of an import line.
func importName(line string) string {
	line = strings.TrimRight(strings.TrimSpace(line), ";{( ")
	if i := strings.IndexAny(line, `"'`); i >= 0 {
		if j := strings.IndexByte(line[i+1:], line[i]); j > 0 {
			return clipBytes(line[i+1:i+1+j], 80)
		}
	}
	if from, _, ok := strings.Cut(line+" ", " import "); ok { // in parentheses, what is imported follows on lines of its own
		line = from
	}
	for _, word := range []string{"import ", "from ", "use ", "using ", "#include ", "require ", "source ", "package ", "namespace "} {
		line = strings.TrimPrefix(line, word)
	}
	return clipBytes(strings.ReplaceAll(line, " ", ""), 80)
}
