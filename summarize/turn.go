package summarize

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/internal/clip"
)

// A turnWork is what was done in the present turn.
type turnWork struct {
	begin   int      // index of its request
	before  int      // and of the one before
	changed int      // index of its last change to a file
	files   []string // that were changed
	check   string   // its last test or build, with its outcome
}

// addChange adds a file that was changed in the message with the given index.
func (t *turnWork) addChange(file string, index int) {
	t.changed = index
	if len(t.files) < maxChanged {
		t.files = appendNew(t.files, shortPath(file))
	}
}

// maxChanged limits the files of a turn that are named, and shownChanged those that its
// outcome names.
const maxChanged, shownChanged = 64, 4

// outcomeLine returns what was done, "" if nothing was.
func (t *turnWork) outcomeLine() string {
	if len(t.files) == 0 {
		return t.check
	}
	line := "edited " + strings.Join(t.files[:min(shownChanged, len(t.files))], ", ")
	if more := len(t.files) - shownChanged; more > 0 {
		line += fmt.Sprintf(" and %d more", more)
	}
	if t.check != "" {
		line += "; " + t.check
	}
	return line
}

// finishTurn adds the last answer to the request of the turn, or else what was done.
func (w *messageScanner) finishTurn() {
	if w.said == "" && (w.asked == nil || w.fresh) {
		return
	}
	text := conclusion(w.said, len(w.turn.files) > 0)
	if w.asked != nil {
		w.asked.end = clipLine(text, answerLen)
		if w.asked.end == "" {
			w.asked.end = clipLine(w.turn.outcomeLine(), answerLen)
		}
	}
	if text != "" {
		n := w.putItem(summaryItem{kind: report, text: clipLine(text, sentenceLen+answerLen), id: w.saidID, last: w.saidAt})
		n.weight = 1
	}
	w.endPassing(w.said)
	w.endMisuse()
	w.endTurnRules()
	w.said = ""
}

// conclusion returns the first sentences of a text that state something, not an
// announcement; nor an intention, if work was done.
func conclusion(text string, worked bool) string {
	var kept []string
	size := 0
	for s := range sentences(text) {
		low := paddedLower(clip.Bytes(s, 200))
		if isAnnouncement(low) || saysNothing(s) || isCode(s) || callLine.MatchString(s) || worked && isIntention(low) {
			continue
		}
		kept = append(kept, s)
		if size += len(s); size > sentenceLen+answerLen {
			break
		}
	}
	if len(kept) == 0 && isValueAnswer(text) {
		return strings.TrimSpace(text)
	}
	return strings.Join(kept, " ")
}

// maxValueAnswer limits the bytes of an answer that is only a value.
const maxValueAnswer = 60

// isValueAnswer reports whether a text is short and gives a value: a number, a name.
func isValueAnswer(text string) bool {
	text = strings.TrimSpace(text)
	if len(text) > maxValueAnswer || len(strings.Fields(text)) > 3 || isCode(text) || callLine.MatchString(text) || strings.HasSuffix(text, ":") {
		return false
	}
	for t := range wordTokens(text) {
		if t.hasDigit || checkable(t) {
			return true
		}
	}
	return false
}

// isIntention reports whether a padded sentence begins with what the speaker is about to
// do.
func isIntention(s string) bool {
	for _, lead := range []string{" now", " good", " great", " ok", " okay", " first", " next", " then", " so", " sure", " yes", " right"} {
		if rest, ok := strings.CutPrefix(s, lead+" "); ok {
			s = " " + strings.TrimLeft(rest, " ")
		}
	}
	for _, head := range []string{" i'll ", " i will ", " let's ", " let me ", " i'm going to ", " i am going to ", " i need to ", " we need to ", " we'll ", " we will "} {
		if strings.HasPrefix(s, head) {
			return true
		}
	}
	return false
}

// shortenDone marks the requests of turns that are over, except for the newest one and
// for corrections.
func (w *messageScanner) shortenDone() {
	var newest *summaryItem
	for _, x := range w.list {
		if x.kind == request && (newest == nil || x.last >= newest.last) {
			newest = x
		}
	}
	for _, x := range w.list {
		x.brief = x.kind == request && x.end != "" && x != newest && !x.corrects
	}
}

// endMisuse drops the failures of commands that were called wrongly, once a turn has an
// answer.
func (w *messageScanner) endMisuse() {
	if w.said == "" || w.amid {
		return
	}
	w.failures = slices.DeleteFunc(w.failures, func(n *summaryItem) bool {
		if n.open != nil && n.open.misused {
			n.weight = -1
		}
		return n.weight < 0
	})
}
