package summarize

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tiercompact/tiercompact/internal/clip"
)

// clipLine returns the beginning of s as one line of at most limit bytes: runs of
// space become one space, and a cut falls between words and is marked by an
// ellipsis. Unpaired quotation marks and backticks are removed.
func clipLine(s string, limit int) string {
	var b strings.Builder
	cut := false
	for word := range strings.FieldsSeq(clip.Bytes(s, 4*limit+utf8.UTFMax)) {
		if b.Len()+len(word) >= limit {
			cut = true
			break
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(word)
	}
	line := b.String()
	if line == "" && cut { // one word longer than the limit
		line = clip.Bytes(strings.TrimSpace(s), limit)
	}
	cut = cut || len(s) > 4*limit+utf8.UTFMax
	if balanced := balanceMarks(balanceMarks(strings.ToValidUTF8(line, ""), `"`), "`"); balanced != line {
		line = strings.Join(strings.Fields(balanced), " ")
	}
	if cut {
		line = strings.TrimRight(line, " ,;:.(") + "…"
	}
	return strings.TrimSpace(line)
}

// balanceMarks removes mark from s if it does not occur in pairs.
func balanceMarks(s, mark string) string {
	if strings.Count(s, mark)%2 == 1 {
		return strings.ReplaceAll(s, mark, "")
	}
	return s
}

// sentences returns the sentences of text: lines without their markers, cut at the
// ends of sentences; a line that ends with a colon is joined with the next one.
// Fenced code, tables, markup and lines without letters are omitted.
func sentences(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		fenced, lead := false, ""
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			if strings.HasPrefix(line, "```") {
				fenced = !fenced
				continue
			}
			if fenced || strings.HasPrefix(line, "|") || isMarkup(line) {
				continue
			}
			line = strings.ReplaceAll(line[markerLen(line):], "**", "")
			for s := range cutSentences(strings.TrimLeft(line, "•. \t")) {
				s, lead = lead+s, ""
				if strings.HasSuffix(s, ":") && len(s) < sentenceLen/2 {
					lead = s + " "
					continue
				}
				if strings.ContainsFunc(s, unicode.IsLetter) && !yield(s) {
					return
				}
			}
		}
	}
}

// cutSentences cuts line after each full stop, question mark or exclamation mark
// before a space.
func cutSentences(line string) iter.Seq[string] {
	return func(yield func(string) bool) {
		start := 0
		for i, r := range line {
			end := i + utf8.RuneLen(r)
			switch r {
			case '。', '！', '？':
			case '.', '!', '?':
				if end < len(line) && line[end] != ' ' || i-start < 3 || strings.HasSuffix(line[:i], "e.g") || strings.HasSuffix(line[:i], "i.e") {
					continue
				}
			default:
				continue
			}
			if !yield(strings.TrimSpace(line[start:end])) {
				return
			}
			start = end
		}
		if rest := strings.TrimSpace(line[min(start, len(line)):]); rest != "" {
			yield(rest)
		}
	}
}

// paddedLower returns s in lower case with a space for every character that is not
// a letter, digit or apostrophe, and one at each end, so that whole words can be
// found.
func paddedLower(s string) string {
	var b strings.Builder
	b.Grow(len(s) + 2)
	b.WriteByte(' ')
	for _, r := range s {
		switch {
		case r == '’':
			b.WriteByte('\'')
		case r == '\'' || isWordRune(r):
			b.WriteRune(unicode.ToLower(r))
		default:
			b.WriteByte(' ')
		}
	}
	b.WriteByte(' ')
	return b.String()
}

// withoutBlocks removes from text everything between begin and end.
func withoutBlocks(text, begin, end string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(text, begin)
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		_, after, closed := strings.Cut(rest, end)
		if !closed {
			return b.String()
		}
		text = after
	}
}
