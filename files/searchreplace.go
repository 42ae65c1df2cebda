package files

import (
	"strconv"
	"strings"
)

// Some assistants edit files in their answers, in blocks with the old text of
// the file and the new one:
//	parse.go
//	```go
//	<<<<<<< SEARCH
//	old
//	=======
//	new
//	>>>>>>> REPLACE
//	```
// aider writes them so, and takes five to nine signs for a mark, and a name up
// to three lines before it, or that of the block before (its
// editblock_coder.py). Cline's replace_in_file has ------- SEARCH and +++++++
// REPLACE too (core/assistant-message/diff.ts). Roo's apply_diff has lines of
// the form :start_line:12 and a rule between the first mark and the old text
// (core/diff/strategies/multi-search-replace.ts). Both are in the diff
// argument of a call, or in <path> and <diff> tags of a text. aider of 2023
// said ORIGINAL and UPDATED.

// A TextEdit is one block that edits a file.
type TextEdit struct {
	Path     string
	Old, New string // whole lines
}

// TextEdits returns the edits in an assistant's text, and the text without
// them. path is the file of blocks that name none.
func TextEdits(text, path string) (edits []TextEdit, rest string) {
	blocks := searchReplace(text, path)
	if len(blocks) == 0 {
		return nil, text
	}
	var b strings.Builder
	at := 0
	for _, r := range blocks {
		edits = append(edits, TextEdit{r.path, unixLines(r.old.textOfSpan(text)), unixLines(r.put.textOfSpan(text))})
		b.WriteString(text[at:r.all.start])
		at = int(r.all.end)
	}
	b.WriteString(text[at:])
	return edits, b.String()
}

// A replacement is a block of an edit, by the places of its parts in the text.
type replacement struct {
	path  string
	all   span // with its marks, and the fence around it
	old   span
	put   span
	first int // line of the file at which old begins; 0 if not given
}

// searchReplace returns the blocks in text, in order. path is the file if the
// text does not name it. A block without a file is skipped.
func searchReplace(text, path string) []replacement {
	if !strings.Contains(text, " SEARCH") && !strings.Contains(text, " ORIGINAL") {
		return nil
	}
	f := blockFinder{text: text, path: path}
	eachLine(text, func(from, to int) { f.lines = append(f.lines, span{int32(from), int32(to)}) })
	for i := 0; i < len(f.lines); {
		i = f.nextBlock(i)
	}
	return f.found
}

// A blockFinder goes through the lines of a text.
type blockFinder struct {
	text  string
	path  string // of the block before, or of a <path> tag
	lines []span
	found []replacement
}

// trimmedLine returns line i without the white space around it.
func (f *blockFinder) trimmedLine(i int) string {
	return strings.TrimSpace(f.lines[i].textOfSpan(f.text))
}

// nextBlock examines line i and returns the next one to examine.
func (f *blockFinder) nextBlock(i int) int {
	line := f.trimmedLine(i)
	if name, ok := strings.CutPrefix(line, "<path>"); ok {
		if name, ok = strings.CutSuffix(name, "</path>"); ok && name != "" {
			f.path = name
		}
		return i + 1
	}
	if !isMarkerLine(line, "<-", " SEARCH", " ORIGINAL") {
		return i + 1
	}
	divider := f.nextLineWhere(i+1, func(line string) bool { return isMarkerLine(line, "=", "") })
	if divider < 0 {
		return i + 1
	}
	end := f.nextLineWhere(divider+1, func(line string) bool { return isMarkerLine(line, ">+", " REPLACE", " UPDATED") })
	if end < 0 {
		return i + 1
	}
	if name := f.fileBeforeLine(i); name != "" {
		f.path = name
	}
	if f.path == "" {
		return end + 1
	}
	r := replacement{path: f.path, all: f.spanOfLines(i, end+1), put: f.spanOfLines(divider+1, end)}
	old := f.skipLineHints(i+1, divider, &r)
	r.old = f.spanOfLines(old, divider)
	next := f.includeFence(i, end, &r)
	f.found = append(f.found, r)
	return next
}

// nextLineWhere returns the next line from i on for which is reports true,
// before another block begins, or -1.
func (f *blockFinder) nextLineWhere(i int, is func(line string) bool) int {
	for ; i < len(f.lines); i++ {
		line := f.trimmedLine(i)
		if is(line) {
			return i
		}
		if isMarkerLine(line, "<-", " SEARCH", " ORIGINAL") {
			return -1
		}
	}
	return -1
}

// spanOfLines returns the place of the lines from i to before k.
func (f *blockFinder) spanOfLines(i, k int) span {
	if i >= k {
		return span{f.lines[k].start, f.lines[k].start}
	}
	return span{f.lines[i].start, f.lines[k-1].end}
}

// skipLineHints skips the lines that give the place of the old text, and the
// rule after them.
func (f *blockFinder) skipLineHints(i, divider int, r *replacement) int {
	for k := i; k < divider; k++ {
		line := f.trimmedLine(k)
		if isMarkerLine(line, "-", "") && k > i {
			return k + 1
		}
		name, value, _ := strings.Cut(strings.TrimPrefix(line, ":"), ":")
		if !strings.HasPrefix(line, ":") || name != "start_line" && name != "end_line" {
			return i
		}
		if n, err := strconv.Atoi(strings.TrimSpace(value)); err == nil && name == "start_line" {
			r.first = max(n, 0)
		}
	}
	return i
}

// includeFence extends the block by the fence around the lines i to end.
func (f *blockFinder) includeFence(i, end int, r *replacement) (next int) {
	if i > 0 && fenceMarker(f.trimmedLine(i-1)) != "" {
		r.all.start = f.lines[i-1].start
	}
	if end+1 < len(f.lines) {
		if line := f.trimmedLine(end + 1); line != "" && line == fenceMarker(line) {
			r.all.end = f.lines[end+1].end
			return end + 2
		}
	}
	return end + 1
}

// nameLines is how many lines before a block may name its file.
const nameLines = 3

// fileBeforeLine returns the file that the lines before line i name: in the
// fence or alone on the line before it.
func (f *blockFinder) fileBeforeLine(i int) string {
	for k := i - 1; k >= max(0, i-nameLines); k-- {
		line := f.trimmedLine(k)
		fence := fenceMarker(line)
		if fence == "" && line != "" {
			return fileName(line)
		}
		if fence != "" {
			if name := fencePath(line[len(fence):], ""); name != "" {
				return name
			}
		}
	}
	return ""
}

// fileName returns the name of a file that is alone on a line, or "".
func fileName(line string) string {
	name := strings.Trim(strings.TrimSpace(strings.TrimLeft(strings.TrimRight(line, ":"), "#")), "`* ")
	switch {
	case name == "" || len(name) > 300 || strings.ContainsAny(name, " \t<>()|\"'{}="):
		return ""
	case strings.Contains(name, "/"), strings.HasSuffix(name, "file"):
		return name
	}
	if dot := strings.LastIndexByte(name, '.'); dot >= 0 && dot < len(name)-1 {
		return name
	}
	return ""
}

// isMarkerLine reports whether a line is five to nine of one of the signs,
// followed by one of words.
func isMarkerLine(line, signs string, words ...string) bool {
	if len(line) < 5 || strings.IndexByte(signs, line[0]) < 0 {
		return false
	}
	n := len(line) - len(strings.TrimLeft(line, line[:1]))
	rest := strings.TrimSuffix(line[n:], ">")
	for _, word := range words {
		if rest == word {
			return n >= 5 && n <= 9 && (word != "" || rest == line[n:])
		}
	}
	return false
}

// addTextEdits records both sides of the blocks in an assistant's text, and
// the text between the blocks.
func (s *messageScan) addTextEdits(part int, text string, blocks []replacement) {
	at := 0
	for _, r := range blocks {
		s.scanFileBlocks(part, text, at, int(r.all.start))
		s.addSides(Ref{Part: part}, text, r)
		at = int(r.all.end)
	}
	s.scanFileBlocks(part, text, at, len(text))
}

// addSides records the two sides of a block. c gives the place of text.
func (s *messageScan) addSides(c Ref, text string, r replacement) {
	c.Kind, c.Path, c.marked, c.First = Edit, r.path, true, r.first
	s.facts.Mentions = append(s.facts.Mentions, r.path)
	for _, side := range []struct {
		span
		old bool
	}{{r.old, true}, {r.put, false}} {
		c.Start, c.End, c.Old, c.Last = int(side.start), int(side.end), side.old, 0
		if body := unixLines(side.textOfSpan(text)); body != "" {
			s.addFileCopy(c, body)
		}
	}
}
