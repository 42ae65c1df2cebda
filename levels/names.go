package levels

import (
	"index/suffixarray"
	"maps"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/files"
	"github.com/tiercompact/tiercompact/internal/protection"
)

// lostNames returns the names that would leave the whole conversation with gone, at
// most limit tokens of them, the most recently mentioned first. What stands in
// kept, in said, or inside another name need not be told; recall ids are no
// names, what takes the place of gone has its own.
func (v View) lostNames(gone, kept []chat.Message, said string, limit int) []string {
	if limit <= 0 {
		return nil
	}
	ours := make(map[string]bool)
	for i, m := range gone {
		if m.IsSummary() { // its head is no name
			_, content := protection.SummaryContent(m)
			gone[i] = m.With(m.State, chat.Part{Kind: chat.Summary, Text: content})
		}
		ours[m.Recall] = true
		for _, id := range protection.RecallIDs(m) {
			ours[id] = true
		}
	}
	gone = v.withoutSecrets(gone)
	const plenty = 8 // most names are inside another or stand in what is kept
	names := files.LedgerOf(gone, kept, plenty*limit, v.Count)
	names = slices.DeleteFunc(names, func(n string) bool { return ours[n] })
	return v.limitNames(unsaidNames(names, kept, said), limit)
}

// withoutSecrets returns messages as names may be taken from them: a password is
// no name, nor is what stands between the punctuation in one.
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

// named returns the names of a list that stand in text when it has no secrets.
func (v View) named(names []string, text string) []string {
	if len(names) == 0 {
		return names
	}
	clean := v.cleaned(text)
	if clean == text {
		return names
	}
	left := make(map[string]bool)
	for _, n := range files.Identifiers(clean) {
		left[n] = true
	}
	return slices.DeleteFunc(names, func(n string) bool { return !left[n] })
}

// unsaidNames returns the names that stand neither in the texts nor inside another name.
func unsaidNames(names []string, kept []chat.Message, said string) []string {
	words := make(map[string]bool)
	addWords(words, said)
	for _, m := range kept {
		addWords(words, m.TextWithCalls())
	}
	told := wordIndex(slices.Collect(maps.Keys(words)))
	listed := wordIndex(names)
	return slices.DeleteFunc(names, func(n string) bool {
		return len(told.Lookup([]byte(n), 1)) > 0 || len(listed.Lookup([]byte(n), 2)) > 1
	})
}

// wordIndex returns an index that finds what any of words holds. A name holds no
// line feed.
func wordIndex(words []string) *suffixarray.Index {
	return suffixarray.New([]byte(strings.Join(words, "\n")))
}

// addWords adds the runs of text between blanks.
func addWords(words map[string]bool, text string) {
	for w := range strings.FieldsSeq(text) {
		words[w] = true
	}
}

// limitNames returns as many of names, from the first on, as limit tokens hold.
func (v View) limitNames(names []string, limit int) []string {
	used := 0
	for i, n := range names {
		if used += v.Count(" " + n + ","); used > limit {
			return names[:i]
		}
	}
	return names
}
