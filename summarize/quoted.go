package summarize

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/tiercompact/tiercompact/internal/clip"
	"github.com/tiercompact/tiercompact/redact"
)

// ownWords returns what a person says in a typed text, without what it only shows:
// quoted lines, code, elements of markup, output of a terminal, a page or a file
// after a line that announces it. Of a long text, which is likely pasted, these are
// its first and last paragraphs.
func ownWords(body string) string {
	var kept []string
	until, shown, diff := "", false, false
	for line := range strings.Lines(clip.Bytes(body, maxScan)) {
		line = strings.TrimRight(line, "\r\n")
		t := strings.TrimSpace(line)
		if diff = t != "" && (numberedDiff.MatchString(t) || diff && strings.HasPrefix(line, " ")); diff {
			continue
		}
		switch {
		case until != "":
			if strings.HasPrefix(t, until) || strings.HasSuffix(t, until) {
				until = ""
			}
			continue
		case strings.HasPrefix(t, "```"), strings.HasPrefix(t, "~~~"):
			until = t[:3]
			continue
		case (strings.HasPrefix(t, `"""`) || strings.HasPrefix(t, "'''")) && strings.Count(t, t[:3]) == 1:
			until = t[:3]
			continue
		case isMarkup(t):
			until = openElement(t)
			continue
		case t != "" && t[0] == '<' && closesLater(body, openElement(t)):
			until = openElement(t)
			continue
		case t == "":
		case isShownLine(t):
			shown = false // this was announced
			continue
		case shown:
			continue
		}
		if shown = announcesText(t); shown {
			line = withoutLead(t)
		}
		kept = append(kept, line)
	}
	return firstAndLast(strings.TrimSpace(strings.Join(kept, "\n")))
}

// isMarkup reports whether a line is a tag, or an element with its end: a person's
// line may begin with the name of a key, as in "<Enter> must send the form", or with
// the mark of a removed secret.
func isMarkup(line string) bool {
	return strings.HasPrefix(line, "<") && !strings.HasPrefix(line, redact.Mark) && (strings.HasSuffix(line, ">") || strings.Contains(line, "</"))
}

// closesLater reports whether the end of an element is in body.
func closesLater(body, end string) bool { return end != "" && strings.Contains(body, end) }

// openElement returns the end of the element that a line opens and does not close.
func openElement(line string) string {
	name, _, ok := strings.Cut(line[1:], ">")
	name, _, _ = strings.Cut(name, " ")
	if !ok || name == "" || strings.HasPrefix(line, redact.Mark) || name[0] == '/' || name[0] == '!' || strings.Contains(line, "</"+name+">") || strings.HasSuffix(line, "/>") {
		return ""
	}
	return "</" + name + ">"
}

// isShownLine reports whether a line is a quotation, or from a terminal.
func isShownLine(line string) bool {
	for _, head := range []string{">", "❯", "$ ", "% ", "# ~", "+++ ", "--- a/", "@@ ", "|", "Traceback (most recent call last)"} {
		if strings.HasPrefix(line, head) {
			return true
		}
	}
	r, _ := utf8.DecodeRuneInString(line)
	return r >= '─' && r <= '▟'
}

// numberedDiff is a line of a diff with its number, as terminals show it.
var numberedDiff = regexp.MustCompile(`^(?:[+-] ?\d+|\d+ ?[+-])(?: |$)`)

// announcesText reports whether a line says that somebody else's text follows.
func announcesText(line string) bool {
	if !strings.HasSuffix(line, ":") {
		return false
	}
	low := paddedLower(line)
	return containsAny(low, " says ", " said ", " wrote ", " writes ", " states ", " reads ", " page ", " article ", " docs ", " readme ", " output ", " log ", " logs ", " prints ", " printed ", " error ", " attached ", " pasted ", " file ", " email ", " mail ", " comment ", " review ", " got ", " this is what ", " response ", " answer ") ||
		strings.Contains(line, "://") || strings.HasPrefix(line, "@")
}

// citesOthers reports whether a padded sentence says what somebody else says.
func citesOthers(s string) bool {
	return containsAny(s, " says ", " said ", " wrote ", " writes ", " according to ", " states that ", " the docs ", " the readme ", " the page ")
}

// firstAndLast returns the first and the last paragraph of a long text.
func firstAndLast(text string) string {
	if len(text) < longRequest {
		return text
	}
	paragraphs := strings.Split(text, "\n\n")
	first, last := clip.Bytes(paragraphs[0], longRequest/2), paragraphs[len(paragraphs)-1]
	if len(paragraphs) == 1 || len(last) > longRequest/2 {
		return first
	}
	return first + "\n\n" + last
}
