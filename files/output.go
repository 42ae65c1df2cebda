package files

import (
	"strings"

	"github.com/tiercompact/tiercompact/internal/logline"
)

// An outputLine is a line of a tool output: its kind, and which others resemble it.
type outputLine struct {
	span
	kind  logline.Kind
	below bool   // it is below an error, further indented, and explains it
	form  uint32 // the same for lines that differ only in numbers and paths
	lead  uint32 // the same of the first word
}

// An output is a tool output, read line by line.
type output struct {
	text  string
	lines []outputLine
	forms map[uint32]int // lines of a form, and of a lead
	tests []failedTest
}

// A failedTest is one that an output names as failed, and the line that says most
// of it.
type failedTest struct {
	name string
	line int  // index in lines
	told bool // the line says why
}

// readOutput reads text. It is linear in its length.
func readOutput(text string) *output {
	o := &output{text: text, forms: make(map[uint32]int)}
	reader, known := logline.NewReader(text), make(map[string]int)
	above, depth := false, 0
	eachLine(text, func(start, end int) {
		line := text[start:end]
		l := outputLine{span: span{int32(start), int32(end)}, kind: reader.Of(line)}
		l.form, l.lead = lineFormHash(line)
		l.below = above && l.kind < logline.Error && indentWidth(line) > depth && !isBlankLine(line)
		if above = l.kind >= logline.Error; above {
			depth = indentWidth(line)
		}
		if l.kind == logline.FailedTest {
			o.noteFailedTest(reader, line, known)
		}
		if !isBlankLine(line) {
			o.forms[l.form]++
			o.forms[l.lead]++
		}
		o.lines = append(o.lines, l)
	})
	return o
}

// noteFailedTest notes the failed test of the line that follows those read.
func (o *output) noteFailedTest(reader logline.Reader, line string, known map[string]int) {
	name, why := reader.FailedTest(line)
	at, seen := known[name]
	if !seen {
		known[name] = len(o.tests)
		o.tests = append(o.tests, failedTest{name, len(o.lines), why != ""})
	} else if why != "" && !o.tests[at].told {
		o.tests[at] = failedTest{name, len(o.lines), true}
	}
}

// lineFormHash returns a hash of a line without its numbers, hashes and paths,
// and the same of its first word.
func lineFormHash(line string) (form, lead uint32) {
	const prime, seed = 16777619, 2166136261
	form = seed
	for at := 0; at < len(line) && at < lineSize; {
		end := at
		for end < len(line) && !isSpaceByte(line[end]) {
			end++
		}
		if end > at {
			form = (form ^ wordForm(line[at:end])) * prime
			if lead == 0 {
				lead = ^form // must differ from forms: both are counted in one map
			}
		}
		at = end + 1
	}
	return form, lead
}

func isSpaceByte(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// wordForm returns a hash of a word in which all numbers are equal, as are all
// paths.
func wordForm(w string) uint32 {
	const prime, seed = 16777619, 2166136261
	if strings.IndexByte(w, '/') >= 0 || strings.IndexByte(w, '\\') >= 0 {
		return 'p'
	}
	h, digit, hex := uint32(seed), false, len(w) >= 7
	for i := 0; i < len(w); i++ {
		c := w[i]
		hex = hex && (c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c == '-')
		if c >= '0' && c <= '9' {
			if digit {
				continue
			}
			digit, c = true, '0'
		} else {
			digit = false
		}
		h = (h ^ uint32(c)) * prime
	}
	if hex {
		return 'h'
	}
	return h
}

// oftenForm and oftenLead are how many lines of one form, or with one first word,
// are noise.
const oftenForm, oftenLead = 3, 5

// isCommonForm reports whether so many lines resemble l that it carries no
// information.
func (o *output) isCommonForm(l outputLine) bool {
	return o.forms[l.form] >= oftenForm || o.forms[l.lead] >= oftenLead
}

// rareLines returns unique lines if most lines resemble others: in prose,
// every line is unique.
func (o *output) rareLines() (out []span) {
	all := 0
	for _, l := range o.lines {
		if isBlankLine(l.textOfSpan(o.text)) {
			continue
		}
		all++
		if o.forms[l.form] == 1 && o.forms[l.lead] <= 2 {
			out = append(out, l.span)
		}
	}
	if 3*len(out) > all {
		return nil
	}
	return out
}

// formEndpoints returns the first and the last line of each form that which
// selects, all firsts before all lasts.
func (o *output) formEndpoints(which func(outputLine) bool) (out []span) {
	last, seen := make(map[uint32]int), make(map[uint32]bool)
	for i, l := range o.lines {
		if !which(l) {
			continue
		}
		last[l.form] = i
		if !seen[l.form] {
			seen[l.form] = true
			out = append(out, l.span)
		}
	}
	for i, l := range o.lines {
		if which(l) && last[l.form] == i {
			out = append(out, l.span)
		}
	}
	return out
}

// noisy is the number of errors of one form from which they are noise: of
// those, the first and the last are shown.
const noisy = 8

// errorLines returns the lines with an error, and their explanations below. If
// one repeats, its first and last go before the rest.
func (o *output) errorLines() (out []span) {
	grave := func(l outputLine) bool { return l.kind == logline.Error || l.below }
	repeats := func(l outputLine) bool { return grave(l) && o.forms[l.form] > noisy }
	for _, l := range o.lines {
		if grave(l) && !repeats(l) {
			out = append(out, l.span)
		}
	}
	return append(o.formEndpoints(repeats), out...)
}

// countAlike returns how many of lines from to, exclusive, have the form of
// line of.
func (o *output) countAlike(of, from, to int) int {
	n := 0
	for _, l := range o.lines[from:to] {
		if l.form == o.lines[of].form {
			n++
		}
	}
	return n
}
