package files

import (
	"cmp"
	"slices"
	"strings"
)

// A fileOutline is the structure of the text of a copy. It is computed once,
// and holds offsets into the text without wrappers, never the text.
type fileOutline struct {
	lang    *profile
	lines   int32
	decls   []decl  // in order of their lines
	blocks  []block // divide the whole text
	words   []place // identifiers, block by block
	imports []span
	marks   []span // of a file: lines with a TODO
	doc     span   // first line of documentation
}

// A span is a run of bytes.
type span struct{ start, end int32 }

func (s span) textOfSpan(text string) string { return text[s.start:s.end] }

// A decl is a declaration: its signature is the first line, its body the rest.
type decl struct {
	span            // whole lines, comments above it excluded
	sig      int32  // end of the signature
	lead     int32  // where the comments above it begin
	line     int32  // 1-based
	name     uint32 // hash; 0 if it is not a symbol of at least 5 characters
	depth    uint8
	exported bool
}

// A block is a run of whole lines that belong together.
type block struct {
	span
	line        int32 // 1-based number of its first line
	first, last int32 // its words: shape.words[first:last]
}

// A place is an identifier: a hash, and where it begins.
type place struct {
	hash uint32
	at   int32
}

const (
	blockMin  = 6    // minimum lines of a block that an empty line ends
	blockMax  = 24   // lines of a block
	plainMax  = 8    // lines of a block of a text without declarations
	blockSize = 4096 // bytes of a block at which the next line ends it
	markMax   = 40   // marks, imports of one text
	textMax   = 1 << 30
)

// outlineOf returns the structure of the text of a file.
func outlineOf(name, text string) *fileOutline {
	if len(text) > textMax {
		text = text[:textMax]
	}
	s := &fileOutline{lang: profileOf(name, text)}
	if s.lang.scan != nil {
		s.lang.scan(text, s)
	} else {
		scanCode(text, s)
	}
	slices.SortStableFunc(s.decls, func(a, b decl) int { return cmp.Compare(a.start, b.start) })
	s.cutBlocks(text)
	s.markLines(text, isTodoLine)
	return s
}

// shapeOfOutput returns the structure of a tool output that is not a file.
func shapeOfOutput(text string) *fileOutline {
	if len(text) > textMax {
		text = text[:textMax]
	}
	s := &fileOutline{lang: plain}
	s.cutBlocks(text)
	return s
}

// cutBlocks finds blocks and their words.
func (s *fileOutline) cutBlocks(text string) {
	starts := make([]int32, 0, len(s.decls))
	for _, d := range s.decls {
		starts = append(starts, min(d.lead, d.start))
	}
	var b block
	lines, line := 0, int32(0)
	most := blockMax
	if len(s.decls) == 0 {
		most = plainMax
	}
	finish := func(end int) {
		if b.end = int32(end); b.end > b.start {
			s.blocks = append(s.blocks, b)
		}
		b.span, b.line, lines = span{start: b.end}, line+1, 0
	}
	b.line = 1
	eachLine(text, func(start, end int) {
		for len(starts) > 0 && starts[0] < int32(start) {
			starts = starts[1:]
		}
		if len(starts) > 0 && starts[0] == int32(start) || lines >= most || start-int(b.start) > blockSize {
			finish(start)
		}
		line++
		lines++
		if lines >= blockMin && isBlankLine(text[start:end]) {
			finish(end)
		}
	})
	finish(len(text))
	s.lines = line
	for i := range s.blocks {
		s.findWords(text, &s.blocks[i])
	}
	s.words, s.blocks, s.decls = slices.Clone(s.words), slices.Clone(s.blocks), slices.Clone(s.decls) // a longer block is not needed
}

func (s *fileOutline) findWords(text string, b *block) {
	b.first = int32(len(s.words))
	eachIdent(b.textOfSpan(text), func(start, end int) {
		at := int(b.start) + start
		s.words = append(s.words, place{hashIdent(text[at : int(b.start)+end]), int32(at)})
	})
	mine := s.words[b.first:]
	slices.SortFunc(mine, func(a, b place) int { return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.at, b.at)) })
	mine = slices.CompactFunc(mine, func(a, b place) bool { return a.hash == b.hash })
	s.words = s.words[:int(b.first)+len(mine)]
	b.last = int32(len(s.words))
}

// listedNameAt returns the identifier that begins at a place in text as a list has it,
// or the empty string if it is not to be in one.
func (p place) listedNameAt(text string) string {
	begin := max(0, int(p.at)-longestName)
	near := text[begin:min(len(text), int(p.at)+2*longestName)]
	at := int(p.at) - begin
	end := at
	eachIdent(near[at:], func(_, e int) {
		if end == at {
			end = at + e
		}
	})
	if end == at || inURL(near[:at]) {
		return ""
	}
	if name := listedName(near, at, end, true); name != "" && isListable(name) {
		return name
	}
	return ""
}

func (s *fileOutline) markLines(text string, is func(line string) bool) {
	eachLine(text, func(start, end int) {
		if len(s.marks) < markMax && is(text[start:end]) {
			s.marks = append(s.marks, span{int32(start), int32(end)})
		}
	})
}

func indentWidth(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// eachLine calls yield with each line of text, its line feed included.
func eachLine(text string, yield func(start, end int)) {
	for start := 0; start < len(text); {
		end := len(text)
		if i := strings.IndexByte(text[start:], '\n'); i >= 0 {
			end = start + i + 1
		}
		yield(start, end)
		start = end
	}
}

func isBlankLine(line string) bool {
	for i := 0; i < len(line); i++ {
		if line[i] != ' ' && line[i] != '\t' && line[i] != '\n' && line[i] != '\r' {
			return false
		}
	}
	return true
}

func isTodoLine(line string) bool {
	return strings.Contains(line, "TODO") || strings.Contains(line, "FIXME")
}
