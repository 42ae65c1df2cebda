package files

import (
	"iter"
	"slices"
	"strings"

	"github.com/tiercompact/tiercompact/chat"
)

// ledgerHead begins the line that holds a ledger.
const ledgerHead = "also: "

// ledgerSize returns the length in bytes of a line with all of ledger.
func ledgerSize(ledger []string) int {
	size := 0
	for _, id := range ledger {
		size += len(id) + 1
	}
	if size == 0 {
		return 0
	}
	return len(ledgerHead) - 1 + size
}

// unshownIdentifiers returns the identifiers of ledger that are not in body.
func unshownIdentifiers(ledger []string, body string) []string {
	if len(ledger) == 0 {
		return nil
	}
	shown := make(map[uint32]bool)
	eachIdent(body, func(start, end int) { shown[hashIdent(body[start:end])] = true })
	var out []string
	for _, id := range ledger {
		lost := false
		eachIdent(id, func(start, end int) { lost = lost || !shown[hashIdent(id[start:end])] })
		if lost {
			out = append(out, id)
		}
	}
	return out
}

// IsLedgerLine reports whether a line of an outline or digest is its ledger.
func IsLedgerLine(line string) bool { return strings.HasPrefix(line, ledgerHead) }

// ledgerLine returns the identifiers of ledger that are not in body, as many
// as fit into size bytes, or the empty string.
func ledgerLine(ledger []string, body string, size int) string {
	var b strings.Builder
	for _, id := range unshownIdentifiers(ledger, body) {
		before := " "
		if b.Len() == 0 {
			before = ledgerHead
		}
		if b.Len()+len(before)+len(id) <= size {
			b.WriteString(before + id)
		}
	}
	return b.String()
}

const longestName = 200 // bytes

// A mention is an identifier and the messages that name it.
type mention struct {
	id           string
	newest, last int // the newest message that names it, and the one counted last
	times        int // messages that name it
	said         bool
	worth        float64
}

func (m *mention) addMention(i int, said bool) {
	if m.times == 0 || m.last != i {
		m.times++
	}
	m.last = i
	m.said = m.said || said
}

// identifiersWithin returns as many of ids, from the first on, as fit into
// limit tokens.
func identifiersWithin(ids []string, limit int, count func(string) int) []string {
	if limit <= 0 || len(ids) == 0 {
		return nil
	}
	low, high := 0, min(len(ids), limit)
	for low < high {
		mid := (low + high + 1) / 2
		if count(strings.Join(ids[:mid], " ")) <= limit {
			low = mid
		} else {
			high = mid - 1
		}
	}
	return ids[:low]
}

// eachText calls yield with the texts of a part: its text, or the decoded string
// arguments of a call, with their keys.
func eachText(p chat.Part, yield func(key, text string)) {
	_, texts := textsOf(p)
	for _, l := range texts {
		yield(l.key, l.value)
	}
}

// WithoutLedger returns a text without the ledgers of its outlines.
func WithoutLedger(text string) string {
	if !strings.Contains(text, ledgerHead) {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !IsLedgerLine(line) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// WithoutLedgers returns m without the ledgers of its outlines: they are no text of the
// conversation.
func WithoutLedgers(m chat.Message) chat.Message {
	if m.State != chat.Outlined {
		return m
	}
	parts := slices.Clone(m.Parts)
	for k, p := range parts {
		parts[k].Text = WithoutLedger(p.Text)
		parts[k].Args = ShortenArgs(p.Args, func(_, value string) string { return WithoutLedger(value) })
	}
	return m.With(m.State, parts...)
}

// LinesOf returns the lines of a message's texts and of the decoded string arguments
// of its calls.
func LinesOf(m chat.Message) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, p := range m.Parts {
			_, texts := textsOf(p)
			for _, l := range texts {
				for line := range strings.SplitSeq(l.value, "\n") {
					if !yield(line) {
						return
					}
				}
			}
		}
	}
}

// textsOf returns the texts of a part, as [eachText] has them, and the names of a
// call's arguments.
func textsOf(p chat.Part) (parameters []string, texts []leaf) {
	switch p.Kind {
	case chat.Text, chat.Result, chat.Summary, chat.ServerResult, chat.Opaque:
		return nil, []leaf{{value: p.Text}}
	case chat.Call, chat.ServerCall:
		parameters, texts = leafNames(p.Args)
		if texts == nil && !strings.HasPrefix(strings.TrimSpace(p.Args), "{") {
			texts = []leaf{{value: p.Args}}
		}
	}
	return parameters, texts
}
