package summarize

import (
	"strings"
	"sync"

	"github.com/tiercompact/tiercompact/chat"
)

// normaliseAnswer returns the record in a model's answer: without invisible
// characters, closed thinking, the fence and the sentence around it, lines of the
// form, headings without lines, and repetitions. repeats reports whether it removed
// a repetition.
func normaliseAnswer(text string) (clean string, repeats bool) {
	text = withoutThought(strings.TrimSpace(chat.Visible(text)))
	text = unfenced(text)
	seen, echoes := make(map[string]bool), formLines()
	var kept []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\r\n")
		if strings.HasPrefix(strings.TrimSpace(line), "====") || len(kept) == 0 && isLeadLine(line) || echoes[sentenceKey(line)] {
			continue
		}
		line, again := withoutRepeats(line, seen)
		repeats = repeats || again
		if line != "" || !again && len(kept) > 0 && kept[len(kept)-1] != "" {
			kept = append(kept, line)
		}
	}
	return strings.TrimSpace(strings.Join(withoutBareHeads(kept), "\n")), repeats
}

// minRepeatBytes is the minimum length, in bytes, of a repetition that is removed:
// "none" may be in several sections.
const minRepeatBytes = 12

// withoutRepeats returns line without the sentences that are in seen, and adds the
// others to seen.
func withoutRepeats(line string, seen map[string]bool) (rest string, again bool) {
	if isHeading(line) {
		return line, false
	}
	if s := sentenceKey(line); len(s) >= minRepeatBytes {
		if seen[s] {
			return "", true
		}
		seen[s] = true
	}
	marker := line[:markerLen(line)]
	var kept []string
	total, before := 0, ""
	for s := range cutSentences(line[len(marker):]) {
		total++
		key := "s " + sentenceKey(s)
		if key == before || len(key) >= minRepeatBytes+2 && seen[key] {
			continue
		}
		before, seen[key] = key, true
		kept = append(kept, s)
	}
	if len(kept) == total {
		return line, false
	}
	if len(kept) == 0 {
		return "", true
	}
	return marker + strings.Join(kept, " "), true
}

// sentenceKey returns a line without its marker and without characters that do not
// change its meaning.
func sentenceKey(line string) string {
	return strings.Join(strings.Fields(strings.ToLower(strings.TrimRight(line[markerLen(line):], ". \r\n"))), " ")
}

func isHeading(line string) bool { return strings.HasPrefix(strings.TrimSpace(line), "#") }

// withoutBareHeads drops headings with nothing under them.
func withoutBareHeads(lines []string) []string {
	var kept []string
	for i, line := range lines {
		if isHeading(line) && !hasLines(lines[i+1:]) {
			continue
		}
		kept = append(kept, line)
	}
	return kept
}

func hasLines(lines []string) bool {
	for _, l := range lines {
		if l != "" {
			return !isHeading(l)
		}
	}
	return false
}

// withoutThought removes the thinking at the beginning of text if it is closed.
func withoutThought(text string) string {
	low := strings.ToLower(text)
	for _, end := range []string{"</think>", "</thinking>", "</reasoning>", "[/think]"} {
		begin := strings.Replace(end, "/", "", 1)
		at := strings.Index(low, end)
		if at < 0 || strings.Contains(low[at+len(end):], begin) {
			continue
		}
		alone := strings.HasPrefix(low[at+len(end):]+"\n", "\n") && strings.LastIndexByte(low[:at], '\n') == at-1
		if strings.HasPrefix(low, begin) || alone && !strings.Contains(low[:at], begin) {
			return strings.TrimSpace(text[at+len(end):])
		}
	}
	return text
}

// unfenced removes a fence around the whole text.
func unfenced(text string) string {
	first, rest, ok := strings.Cut(text, "\n")
	if !ok || !strings.HasPrefix(first, "```") || strings.Count(text, "```") != 2 {
		return text
	}
	if body, ok := strings.CutSuffix(rest, "```"); ok {
		return strings.TrimSpace(body)
	}
	return text
}

// isLeadLine reports whether a line only announces the record.
func isLeadLine(line string) bool {
	line = strings.TrimSpace(line)
	return line == "" || strings.HasSuffix(line, ":") && len(line) < 120 && startsLike(line, []string{"here is", "here's", "sure", "the record", "certainly", "okay", "ok,", "below is", "record:", "**record"})
}

// withoutLastLine returns text without its last line or, if it has only one,
// without its last sentence: that one was cut.
func withoutLastLine(text string) string {
	if at := strings.LastIndexByte(text, '\n'); at >= 0 {
		return strings.TrimSpace(text[:at])
	}
	var kept []string
	for s := range cutSentences(text) {
		kept = append(kept, s)
	}
	return strings.Join(kept[:max(0, len(kept)-1)], " ")
}

// formLines returns the lines of the forms and their examples, which no record
// contains.
var formLines = sync.OnceValue(func() map[string]bool {
	lines := make(map[string]bool)
	for _, s := range Strategies() {
		for line := range strings.Lines(promptPage(string(s))) {
			if s := sentenceKey(line); len(s) >= minRepeatBytes && !isHeading(line) {
				lines[s] = true
			}
		}
	}
	return lines
})

// A loopDetector detects an answer that repeats itself: it counts how often each
// sentence or line occurs.
type loopDetector struct {
	open []byte // the unfinished sentence
	last byte
	read int // bytes in total
	end  int // of them, up to the end of the last sentence or line
	said map[uint64]int
}

// A model that repeats a sentence of shortestLoop bytes or more maxSaid times does
// not stop.
const maxSaid, shortestLoop = 4, 20

// addDelta adds a piece of the answer, and reports whether something is repeated
// too often. It looks at whole sentences and lines only, so that the result does
// not depend on how the answer is cut into pieces.
func (l *loopDetector) addDelta(text string) bool {
	if l.said == nil {
		l.said = make(map[uint64]int)
	}
	for _, c := range []byte(text) {
		ends := c == '\n' || c == ' ' && strings.IndexByte(".!?", l.last) >= 0
		l.last = c
		l.read++
		l.open = append(l.open, c)
		if !ends {
			continue
		}
		l.end = l.read
		s := sentenceKey(string(l.open))
		l.open = l.open[:0]
		if len(s) < shortestLoop || isHeading(s) {
			continue
		}
		h := hashExact(s)
		if l.said[h]++; l.said[h] == maxSaid {
			return true
		}
	}
	return false
}
