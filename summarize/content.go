package summarize

import (
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

// The headings after the text of a session summary. They are read back from former
// summaries, so they must not change.
const (
	ledgerHead = "## Names on record"
	factsHead  = "## Facts on record"
	filesHead  = "## Files at hand"
	linesHead  = "## Lines on record"
)

// Finish joins the verified text, the ledger of identifiers (the most important
// first) and the facts into the content of a session summary of at most maxTokens
// tokens; 0 means no limit. If not everything fits, it cuts first the ledger, down
// to a quarter, then the text, down to a quarter, then the facts. Each loses whole
// names or lines from its end.
func Finish(text, facts string, ledger []string, maxTokens int, count func(string) int) string {
	count = tokenCounter(count)
	text, facts = withoutHeads(chat.Visible(text)), withoutHeads(chat.Visible(facts))
	names := cleanNames(ledger)
	content := joinParts(text, names, facts)
	if maxTokens <= 0 || count(content) <= maxTokens {
		return content
	}
	room := maxTokens - count(joinParts("", nil, "x")) - count(joinParts("", []string{"x"}, ""))
	textSize, factsSize := count(text), count(facts)
	names = limitNames(names, max(room/4, room-textSize-factsSize), count)
	room -= count(strings.Join(names, ", "))
	text = limitLines(text, max(maxTokens/4, room-factsSize), count)
	facts = limitLines(facts, room-count(text), count)
	return shrinkToFit(text, names, facts, maxTokens, count)
}

// shrinkToFit cuts what is still over the limit: joined pieces can have more tokens
// than their sum.
func shrinkToFit(text string, names []string, facts string, maxTokens int, count func(string) int) string {
	for {
		content := joinParts(text, names, facts)
		switch {
		case count(content) <= maxTokens:
			return content
		case isOnlyOpening(text) && facts != "":
			text = "" // it says less than any fact
		case len(names) > 0:
			names = names[:len(names)/2]
		case facts != "":
			facts = halfLines(facts)
		case text != "":
			text = halfLines(text)
		default:
			return ""
		}
	}
}

func isOnlyOpening(text string) bool {
	rest, ok := withoutOpening(text)
	return ok && rest == ""
}

func halfLines(s string) string {
	lines := strings.Split(s, "\n")
	return strings.Join(lines[:len(lines)/2], "\n")
}

// joinParts writes the three parts under their headings; it omits empty ones.
func joinParts(text string, names []string, facts string) string {
	var parts []string
	if text != "" {
		parts = append(parts, text)
	}
	if len(names) > 0 {
		parts = append(parts, ledgerHead+"\n"+strings.Join(names, ", "))
	}
	if facts != "" {
		parts = append(parts, factsHead+"\n"+facts)
	}
	return strings.Join(parts, "\n\n")
}

// WithLines adds lines that hold names of removed messages to the content of a session
// summary.
func WithLines(content string, lines []string) string {
	if len(lines) == 0 {
		return content
	}
	return content + "\n\n" + linesHead + "\n" + strings.Join(lines, "\n")
}

// WithFiles adds parts of files to the content of a session summary.
func WithFiles(content, files string) string {
	if files == "" {
		return content
	}
	return content + "\n\n" + filesHead + "\n" + files
}

// Split divides the content of a session summary into what [Finish] joined: the
// text, the facts section and the names of the ledger. It omits lines on record and parts of files.
func Split(content string) (text, facts string, ledger []string) {
	content, _ = cutAtHead(content, filesHead)
	content, _ = cutAtHead(content, linesHead)
	text, facts = cutAtHead(content, factsHead)
	text, names := cutAtHead(text, ledgerHead)
	for name := range strings.SplitSeq(names, ", ") {
		if name = strings.TrimSpace(name); name != "" {
			ledger = append(ledger, name)
		}
	}
	return text, facts, ledger
}

// cutAtHead cuts s at the line that is equal to head.
func cutAtHead(s, head string) (before, after string) {
	if rest, ok := strings.CutPrefix(s, head+"\n"); ok {
		return "", strings.TrimSpace(rest)
	}
	before, after, _ = strings.Cut(s, "\n"+head+"\n")
	return strings.TrimSpace(before), strings.TrimSpace(after)
}

// withoutHeads removes lines that could be mistaken for one of the headings, and
// surrounding space.
func withoutHeads(s string) string {
	heads := []string{ledgerHead, factsHead, linesHead, filesHead}
	if !slices.ContainsFunc(heads, func(head string) bool { return strings.Contains(s, head) }) {
		return strings.TrimSpace(s)
	}
	var kept []string
	for line := range strings.SplitSeq(s, "\n") {
		if !slices.Contains(heads, strings.TrimSpace(line)) {
			kept = append(kept, line)
		}
	}
	return strings.TrimSpace(strings.Join(kept, "\n"))
}

// cleanNames drops names that could not be read back.
func cleanNames(ledger []string) []string {
	var names []string
	for _, name := range ledger {
		if name = strings.TrimSpace(chat.Visible(name)); name != "" && !strings.ContainsAny(name, "\n\r") && !strings.Contains(name, ", ") {
			names = append(names, name)
		}
	}
	return names
}

func limitNames(names []string, room int, count func(string) int) []string {
	used := 0
	for i, name := range names {
		if used += count(name + ", "); used > room {
			return names[:i]
		}
	}
	return names
}

// limitLines returns as many lines of text from its beginning as fit into room.
func limitLines(text string, room int, count func(string) int) string {
	if count(text) <= room {
		return text
	}
	used, end := 0, 0
	for line := range strings.Lines(text) {
		if used += count(line) + 1; used > room {
			break
		}
		end += len(line)
	}
	return strings.TrimSpace(text[:end])
}
