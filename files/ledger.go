package files

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

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
		if !shown[hashIdent(id)] {
			out = append(out, id)
		}
	}
	return out
}

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

// LedgerOf returns the identifiers that removed messages name and no kept
// message does, the most wanted first, as many as fit into maxTokens when
// joined by blanks. Wanted are identifiers that the assistant itself named,
// that many messages name, that were named lately, and short ones. removed and
// kept are in the order of the conversation.
func LedgerOf(removed, kept []chat.Message, maxTokens int, count func(string) int) []string {
	known := make(map[string]bool)
	for _, m := range kept {
		eachName(m, func(id string) { known[id] = true })
	}
	var found []mention
	at := make(map[string]int) // place in found
	for i := len(removed) - 1; i >= 0; i-- {
		said := removed[i].Role == chat.Assistant
		eachName(removed[i], func(id string) {
			if known[id] || len(id) > longestName {
				return
			}
			k, seen := at[id]
			if !seen {
				k = len(found)
				at[id] = k
				found = append(found, mention{id: id, last: i, newest: i})
			}
			found[k].addMention(i, said)
		})
	}
	slices.SortStableFunc(found, func(a, b mention) int {
		return cmp.Compare(b.reuseLikelihood(len(removed)), a.reuseLikelihood(len(removed)))
	})
	out := make([]string, len(found))
	for i, m := range found {
		out[i] = m.id
	}
	return identifiersWithin(out, maxTokens, count)
}

const longestName = 200 // bytes

// A mention is an identifier and the messages that name it.
type mention struct {
	id           string
	newest, last int // the newest message that names it, and the one counted last
	times        int // messages that name it
	said         bool
}

func (m *mention) addMention(i int, said bool) {
	if m.times == 0 || m.last != i {
		m.times++
	}
	m.last = i
	m.said = m.said || said
}

// reuseLikelihood returns how likely an identifier of one of n messages is to
// be used again, in relation to its cost.
func (m *mention) reuseLikelihood(n int) float64 {
	w := float64(m.newest+1)/float64(max(1, n)) + 0.3*float64(min(m.times, 5))
	if m.said {
		w++
	}
	return w / math.Sqrt(float64(len(m.id)+6))
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

// eachName calls yield with the names of a message that can be listed: arguments are
// decoded, and the names of tools and of their parameters are left out, because the
// definitions of the tools have them.
func eachName(m chat.Message, yield func(id string)) {
	each := func(text string) {
		eachIdent(text, func(start, end int) {
			if name := listedName(text, start, end); name != "" {
				yield(name)
			}
		})
	}
	for _, p := range m.Parts {
		eachText(p, func(_, text string) { each(text) })
	}
}

// eachText calls yield with the texts of a part: its text, or the decoded string
// arguments of a call, with their keys.
func eachText(p chat.Part, yield func(key, text string)) {
	switch p.Kind {
	case chat.Text, chat.Result, chat.Summary, chat.ServerResult, chat.Opaque:
		yield("", p.Text)
	case chat.Call, chat.ServerCall:
		values := stringLeaves(p.Args)
		if values == nil && !strings.HasPrefix(strings.TrimSpace(p.Args), "{") {
			yield("", p.Args)
		}
		for _, l := range values {
			yield(l.key, l.value)
		}
	}
}

// listedName returns the identifier text[start:end] as a list shows it, or "" if it
// is a part of a URL or of an escape, or a word of prose.
func listedName(text string, start, end int) string {
	before := text[:start]
	if escaped(before) || inURL(before) {
		return ""
	}
	name := strings.TrimRight(text[start:end], ".-")
	name = strings.TrimLeft(name, "-")
	if len(name) < 4 || !strings.ContainsFunc(name, isNameMark) && !camelOrLong(name) || isValue(name) {
		return ""
	}
	return name
}

// isValue reports whether an identifier is a value, not a name: a number, a fraction, a
// version, a size, a hash, or two words of prose with a slash.
func isValue(id string) bool {
	letters, digits, hex, other := 0, 0, 0, 0
	for i := range len(id) {
		switch c := id[i]; {
		case c >= '0' && c <= '9':
			digits++
		case c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F':
			letters++
			hex++
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf:
			letters++
		default:
			other++
		}
	}
	bare := strings.TrimLeft(id, "vV")
	switch {
	case letters == 0:
		return true
	case digits > 0 && bare != "" && bare[0] >= '0' && bare[0] <= '9' && letters <= 3+(len(id)-len(bare)):
		return true // v1.2.3-rc1, 250ms, 2.5k
	case hex == letters && len(id) >= 7 && digits > 0 && other == strings.Count(id, "-"):
		return true // a hash, or a UUID
	}
	left, right, ok := strings.Cut(id, "/")
	return ok && isCapitalWord(left) && isWord(right) && !strings.Contains(right, "/")
}

// isWord reports whether s has only letters, and isCapitalWord whether it is a word
// that begins with an upper letter and has no inner ones, or only upper ones.
func isWord(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) })
}

func isCapitalWord(s string) bool {
	return isWord(s) && s[0] >= 'A' && s[0] <= 'Z' && (strings.ToLower(s[1:]) == s[1:] || strings.ToUpper(s) == s)
}

// escaped reports whether text ends in an odd number of backslashes: what follows
// begins with the letter of an escape.
func escaped(text string) bool {
	n := len(text) - len(strings.TrimRight(text, `\`))
	return n%2 == 1
}

// inURL reports whether text ends inside a URL.
func inURL(text string) bool {
	text = text[max(0, len(text)-longestName):]
	if i := strings.LastIndexAny(text, " \t\n\r\"'`<>()[]{}|,"); i >= 0 {
		text = text[i+1:]
	}
	return strings.Contains(text, ":/")
}

// isNameMark reports whether r is in names of code and files, but not in words.
func isNameMark(r rune) bool { return r == '_' || r == '/' || r == '.' || r >= '0' && r <= '9' }

// camelOrLong reports whether name has an upper letter after a lower one, as names of
// code have. Words with brands such as GitHub begin with an upper letter.
func camelOrLong(name string) bool {
	first := name[0]
	if first >= 'A' && first <= 'Z' {
		humps := 0
		for i := 1; i < len(name); i++ {
			if name[i-1] >= 'a' && name[i-1] <= 'z' && name[i] >= 'A' && name[i] <= 'Z' {
				humps++
			}
		}
		return humps > 1 || humps == 1 && len(name) > 10 || strings.Contains(name, "-")
	}
	return true
}
