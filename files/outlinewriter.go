package files

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// pickDecls selects declarations, top-level ones first, as long as they fit.
func (d *outlineWriter) pickDecls(p *byteBudget, taken []bool, exported bool) {
	for depth := uint8(0); depth <= 3; depth++ {
		for i, decl := range d.s.decls {
			if taken[i] || decl.exported != exported || min(decl.depth, 3) != depth {
				continue
			}
			if !p.takeBytes(len(d.signature(i))) {
				return
			}
			taken[i] = true
		}
	}
}

// signature returns declaration i on one line, after its line number.
func (d *outlineWriter) signature(i int) string {
	decl := d.s.decls[i]
	sig := span{decl.start, max(decl.sig, decl.start)}.textOfSpan(d.text)
	sig = strings.TrimRight(strings.TrimSpace(clipBytes(sig, 600)), "{ \t")
	if strings.IndexByte(sig, '\n') >= 0 {
		sig = strings.Join(strings.Fields(sig), " ")
	}
	return strconv.Itoa(int(d.first+decl.line-1)) + ":" + strings.Repeat(" ", int(decl.depth)+1) + clipToOneLine(sig, 180)
}

// pickBlocks selects the blocks of the focus, as long as they fit.
func (d *outlineWriter) pickBlocks(p *byteBudget, shown []bool) {
	for _, i := range d.order {
		b := d.s.blocks[i]
		if p.left < 60 {
			return
		}
		shown[i] = shown[i] || p.takeBytes(int(b.end-b.start)+8)
	}
}

// writeDecls writes the selected declarations that are in no shown block, and
// returns the number of omitted ones.
func (d *outlineWriter) writeDecls(b *strings.Builder, taken, shown []bool) (left string) {
	visible := d.visibleAt(shown)
	var open [2]int
	for k, exported := range []bool{true, false} {
		for i, decl := range d.s.decls {
			switch {
			case decl.exported != exported || visible(decl.start):
			case taken[i]:
				b.WriteString(d.signature(i) + "\n")
			default:
				open[k]++
			}
		}
	}
	hidden := int32(0)
	for i, block := range d.s.blocks {
		if !shown[i] {
			hidden += int32(strings.Count(block.textOfSpan(d.text), "\n"))
		}
	}
	switch {
	case open[0]+open[1] == 0:
		return fmt.Sprintf("(left out: %d lines)\n", hidden)
	case d.s.lang.scan != nil && d.s.lang.name != "go":
		return fmt.Sprintf("(left out: %d entries, %d lines)\n", open[0], hidden)
	}
	return fmt.Sprintf("(left out: %d exported, %d other declarations, %d lines)\n", open[0], open[1], hidden)
}

// writeEnds writes the beginning and the end of a text of which no whole line
// has room.
func (d *outlineWriter) writeEnds(b *strings.Builder, p *byteBudget) {
	room := int(p.left) - 8
	if room < 60 || len(d.text) == 0 {
		return
	}
	text := strings.TrimSpace(d.text)
	head := clipToOneLine(text, room*2/3)
	tail := text[max(0, len(text)-room/3):]
	b.WriteString(head + "\n")
	if len(text) > room {
		b.WriteString(clipToOneLine(tail, room/3) + "\n")
	}
	p.left -= float64(len(head) + len(tail))
}

// visibleAt reports whether an offset is in a shown block.
func (d *outlineWriter) visibleAt(shown []bool) func(at int32) bool {
	return func(at int32) bool {
		i, found := slices.BinarySearchFunc(d.s.blocks, at, func(b block, at int32) int { return cmp.Compare(b.start, at) })
		if !found {
			i--
		}
		return i >= 0 && i < len(shown) && shown[i]
	}
}

// writeBlocks writes the shown blocks, adjacent ones as one.
func (d *outlineWriter) writeBlocks(b *strings.Builder, shown []bool) {
	for i := 0; i < len(shown); i++ {
		if !shown[i] {
			continue
		}
		k := i
		for k+1 < len(shown) && shown[k+1] {
			k++
		}
		body := strings.Trim(d.text[d.s.blocks[i].start:d.s.blocks[k].end], "\n")
		from := d.first + d.s.blocks[i].line - 1
		fmt.Fprintf(b, "%d:\n%s\n", from, body)
		i = k
	}
}

func (d *outlineWriter) writeMarks(b *strings.Builder, p *byteBudget, shown []bool) {
	visible := d.visibleAt(shown)
	for _, m := range d.s.marks {
		line := clipToOneLine(strings.TrimSpace(m.textOfSpan(d.text)), 120)
		if !visible(m.start) && p.left > 200 && p.takeBytes(len(line)) {
			b.WriteString(line + "\n")
		}
	}
}
