package files

import (
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
// message does, as [Names.List] orders and limits them. removed and
// kept are in the order of the conversation.
func LedgerOf(removed, kept []chat.Message, maxTokens int, count func(string) int) []string {
	return NamesOf(removed, kept).List(maxTokens, count)
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

// isListable reports whether a name can be in a list: GitHub is a word of prose, and
// 10/14 a value.
func isListable(name string) bool {
	return (strings.ContainsFunc(name, isNameMark) || camelOrLong(name)) && !isValue(name)
}

// eachListedName calls yield with the names of a line, without parts of URLs, of UUIDs
// and of escapes.
func eachListedName(line string, yield func(name string)) {
	links := strings.Contains(line, ":/")
	eachIdent(line, func(start, end int) {
		if start > 0 && line[start-1] == '\\' && escaped(line[:start]) || links && inURL(line[:start]) {
			return
		}
		dashed := start > 0 && line[start-1] == '-' || end < len(line) && line[end] == '-'
		if dashed && isHex(line[start:end]) { // of a UUID
			return
		}
		name := strings.TrimRight(line[start:end], ".-")
		if name = strings.TrimLeft(name, "-"); len(name) >= 4 {
			yield(name)
		}
	})
}

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdefABCDEF") == "" }

// Lengths of a short id, as that of a commit. It is listed, because it is typed again.
const shortestID, longestShortID = 7, 12

// isValue reports whether an identifier is a value, not a name: a number, a fraction, a
// version, a size, a long hash, or two words of prose with a slash.
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
	case hex == letters && other == 0 && len(id) >= shortestID && len(id) <= longestShortID:
		return false
	case digits > 0 && bare != "" && bare[0] >= '0' && bare[0] <= '9' && letters <= 3+(len(id)-len(bare)):
		return true // v1.2.3-rc1, 250ms, 2.5k
	case hex == letters && len(id) >= shortestID && digits > 0 && other == strings.Count(id, "-"):
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
