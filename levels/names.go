package levels

import (
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/files"
	"github.com/tiercompact/tiercompact/internal/protection"
	"github.com/tiercompact/tiercompact/summarize"
)

// lostNames returns the names that would leave the whole conversation with gone, at
// most limit tokens of them, the most recently mentioned first. Names in kept, in
// said, or inside another name are left out, and so are recall ids, because the
// replacement of gone has its own.
func (v View) lostNames(gone, kept []chat.Message, said string, limit int) []string {
	names, _ := v.lostNamesAndLines(gone, kept, said, "", limit, 0)
	return names
}

// lostNamesAndLines also returns lines of gone, at most lineLimit tokens of them. They
// say something about the names that would be lost; the list has only the others.
func (v View) lostNamesAndLines(gone, kept []chat.Message, said, excerpts string, limit, lineLimit int) (names, lines []string) {
	if limit <= 0 {
		return nil, nil
	}
	gone = slices.Clone(gone)
	ours := make(map[string]bool)
	for i, m := range gone {
		if m.IsSummary() { // its heading holds no names
			_, content := protection.SummaryContent(m)
			gone[i] = m.With(m.State, chat.Part{Kind: chat.Summary, Text: content})
		}
		ours[m.Recall] = true
		for _, id := range protection.RecallIDs(m) {
			ours[id] = true
		}
	}
	lost := files.NamesOf(v.withoutSecrets(gone), kept)
	lost.Hide(ours)
	if lineLimit > 0 {
		lost.MarkShown(said, false)
		lost.MarkShown(excerpts, true)
		lines = lost.Lines(lineLimit, v.Count)
	}
	const plenty = 8 // most names are inside another or remain in kept
	said = strings.Join(append([]string{said, excerpts}, lines...), "\n")
	names = unsaidNames(lost.List(plenty*(limit+lineLimit), v.Count), kept, said)
	return v.limitNames(names, limit), lines
}

// listRoom returns the number of tokens that lists of bare names may still have beside
// those in kept.
func (v View) listRoom(kept []chat.Message) int {
	return max(0, v.Window*namesPercent/100-v.listTokens(kept)-listHead)
}

// listHead is the maximum number of tokens of the word before a list.
const listHead = 4

// listTokens returns the tokens of the lists of bare names in outlines, markers and
// summaries.
func (v View) listTokens(messages []chat.Message) int {
	sum := 0
	for _, m := range messages {
		if m.IsSummary() {
			_, content := protection.SummaryContent(m)
			_, _, names := summarize.Split(content)
			sum += v.Count(strings.Join(names, ", "))
			continue
		}
		if m.State != chat.Outlined && m.State != chat.Marked {
			continue
		}
		for line := range files.LinesOf(m) {
			if files.IsLedgerLine(line) || protection.IsNamesLine(line) {
				sum += v.Count(line)
			}
		}
	}
	return sum
}

// withoutSecrets returns messages for the extraction of names: a password is not a
// name, and neither is a part of one between punctuation.
func (v View) withoutSecrets(messages []chat.Message) []chat.Message {
	if v.Clean == nil {
		return messages
	}
	out := slices.Clone(messages)
	for i, m := range out {
		parts := slices.Clone(m.Parts)
		for k, p := range parts {
			parts[k].Name, parts[k].Text, parts[k].Args = v.Clean(p.Name), v.Clean(p.Text), v.Clean(p.Args)
		}
		out[i].Parts = parts
	}
	return out
}

// named returns the names of a list that are in text after redaction.
func (v View) named(names []string, text string) []string {
	if len(names) == 0 {
		return names
	}
	clean := v.cleaned(text)
	if clean == text {
		return names
	}
	left := make(map[string]bool)
	for _, n := range files.ListedNames(clean) {
		left[n] = true
	}
	return slices.DeleteFunc(names, func(n string) bool { return !left[n] })
}

// unsaidNames returns the names that are neither in the texts nor inside another name.
func unsaidNames(names []string, kept []chat.Message, said string) []string {
	x := newNameIndex(names)
	for _, name := range names {
		x.markInside(name, true)
	}
	x.markInside(said, false)
	for _, m := range kept {
		x.markInside(m.TextWithCalls(), false)
	}
	return slices.DeleteFunc(names, x.contains)
}

// limitNames returns as many of names, from the first on, as fit limit tokens.
func (v View) limitNames(names []string, limit int) []string {
	used := 0
	for i, n := range names {
		if used += v.Count(" " + n + ","); used > limit {
			return names[:i]
		}
	}
	return names
}
