package bench

import (
	"regexp"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

// Truth counts the lines of files that summaries and outlines show. It counts only
// lines of files whose present content is known from the conversation.
type Truth struct {
	Lines   int     `json:"lines"`
	Stale   int     `json:"stale"`   // the file no longer has the line
	Removed int     `json:"removed"` // the file was removed
	Share   float64 `json:"share"`   // (Stale + Removed) / Lines

	Excerpts Shown `json:"excerpts"` // in the files of a summary
	Outlines Shown `json:"outlines"` // in outlines of files
	Record   Shown `json:"record"`   // among the lines on record of a summary
}

// Shown counts the lines at one place.
type Shown struct {
	Lines   int `json:"lines"`
	Stale   int `json:"stale"`
	Removed int `json:"removed"`
}

func (s *Shown) addShown(o Shown) { s.Lines += o.Lines; s.Stale += o.Stale; s.Removed += o.Removed }

// addTruth adds the counts of o.
func (t *Truth) addTruth(o Truth) {
	t.Excerpts.addShown(o.Excerpts)
	t.Outlines.addShown(o.Outlines)
	t.Record.addShown(o.Record)
	var all Shown
	for _, s := range []Shown{t.Excerpts, t.Outlines, t.Record} {
		all.addShown(s)
	}
	t.Lines, t.Stale, t.Removed = all.Lines, all.Stale, all.Removed
	t.Share = Share{all.Stale + all.Removed, all.Lines}.Of()
}

// A lineState is what is known of a line.
type lineState uint8

const (
	unknownLine lineState = iota
	heldLine
	staleLine
	removedLine
)

func (s *Shown) addLine(state lineState) {
	switch state {
	case unknownLine:
		return
	case staleLine:
		s.Stale++
	case removedLine:
		s.Removed++
	}
	s.Lines++
}

// truthOf returns the truth of the compacted conversation left.
func (f *followed) truthOf(left chat.Transcript) Truth {
	var t Truth
	for _, m := range left {
		switch {
		case m.IsSummary():
			f.addSummary(&t, m.Text())
		case m.State == chat.Outlined:
			for _, p := range m.Parts {
				if p.Kind == chat.Result || p.Kind == chat.Text {
					f.addOutlines(&t, p.Text)
				}
			}
		}
	}
	var sum Truth
	sum.addTruth(t)
	return sum
}

var (
	excerptHead = regexp.MustCompile(`^<file path="([^"]+)"[^>]*>$`)
	excerptHunk = regexp.MustCompile(`^@@ (?:\d+|\?|elsewhere in this file)$`)
	outlineHead = regexp.MustCompile(`^\[outline (.+?): [^;]*; .*\]$`)
	outlineNote = regexp.MustCompile(`^(?:imports |\(left out: |also: |\d+:$)`)
	lineNumber  = regexp.MustCompile(`^\d+: ?`)
)

const recordHead = "## Lines on record"

// addSummary adds the lines of a summary: those in its files, and those on record.
func (f *followed) addSummary(t *Truth, text string) {
	path, onRecord := "", false
	for line := range strings.SplitSeq(text, "\n") {
		switch head := excerptHead.FindStringSubmatch(line); {
		case head != nil:
			path, onRecord = head[1], false
		case line == "</file>":
			path = ""
		case path != "":
			if !excerptHunk.MatchString(line) {
				t.Excerpts.addLine(f.stateIn(path, line))
			}
		case strings.HasPrefix(line, "## "):
			onRecord = line == recordHead
		case onRecord:
			t.Record.addLine(f.stateAnywhere(line))
		}
	}
}

// addOutlines adds the lines of the outlines in a text. An outline ends with the text,
// or with the next outline.
func (f *followed) addOutlines(t *Truth, text string) {
	path := ""
	for line := range strings.SplitSeq(text, "\n") {
		if head := outlineHead.FindStringSubmatch(line); head != nil {
			path = head[1]
		} else if path != "" && !outlineNote.MatchString(line) {
			line, _, _ = strings.Cut(lineNumber.ReplaceAllString(line, ""), "…")
			t.Outlines.addLine(f.stateIn(path, line))
		}
	}
}

// plainLine returns a line with single spaces, "" if it says too little to tell a file
// by it.
func plainLine(line string) string {
	line = strings.Join(strings.Fields(line), " ")
	if len(line) < 6 {
		return ""
	}
	return line
}

// stateIn returns what is known of a line in a file.
func (f *followed) stateIn(path, line string) lineState {
	line = plainLine(line)
	file := f.find(path)
	switch {
	case line == "" || file == nil:
		return unknownLine
	case file.removed:
		return removedLine
	case file.holds(line):
		return heldLine
	case file.whole || file.gone[line]:
		return staleLine
	}
	return unknownLine
}

// stateAnywhere returns what is known of a line that may be of any file: it is stale if
// files had it, and none has it now.
func (f *followed) stateAnywhere(line string) lineState {
	if line = plainLine(line); line == "" {
		return unknownLine
	}
	state := unknownLine
	for _, file := range f.files {
		switch {
		case !file.ever[line]:
		case file.removed:
			state = max(state, removedLine)
		case file.holds(line):
			return heldLine
		case file.whole || file.gone[line]:
			if state != staleLine {
				state = staleLine
			}
		default:
			return unknownLine // the file may still have it
		}
	}
	return state
}
