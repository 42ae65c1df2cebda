package redact

import (
	"strings"
	"sync"
)

// A Known is a redactor that also knows secrets by sight. What it has seen to
// be a secret in one text it takes out of every other, also where nothing tells
// it apart any more: in a list of names, on a line of its own, or cut short. It
// may be used by many goroutines.
type Known struct {
	rules *Redactor

	mu     sync.RWMutex
	values map[string][]string // secrets by the bytes they begin with, as many as sight
	begins *[1 << 16]bool      // the first two bytes of one; nil where there is none
}

// sight is how many bytes of a secret tell it from other text.
const sight = 8

// Known returns a redactor that follows r and knows no secrets yet.
func (r *Redactor) Known() *Known {
	return &Known{rules: r}
}

// Learn has k know the secrets in s, a text or JSON. A short or simple one, such
// as a word, it knows by its surroundings alone.
func (k *Known) Learn(s string) {
	r := &Redactor{steps: k.rules.steps, seen: k.learn} // what Extra takes out is not told
	r.String(s)
}

// learn is told of what was taken out. A secret that is split over lines is
// known by each of its pieces.
func (k *Known) learn(value string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	whole := flat(value)
	if !opaque(whole) {
		return
	}
	k.add(whole)
	for piece := range strings.FieldsFuncSeq(breaks.Replace(value), func(c rune) bool { return c == '\n' || c == '\r' }) {
		piece = strings.Trim(piece[margin(piece, 0):], " \t\\\"'`+.&")
		if skip(piece, 0, &lower) < len(piece) && !strings.ContainsAny(piece, " \t") {
			k.add(piece)
		}
	}
}

// breaks are line breaks as strings of programs have them.
var breaks = strings.NewReplacer(`\r`, "\r", `\n`, "\n")

var lower = bytesOf("abcdefghijklmnopqrstuvwxyz")

// add is called with the lock held.
func (k *Known) add(value string) {
	if len(value) < sight {
		return
	}
	if k.begins == nil {
		k.values, k.begins = make(map[string][]string), new([1 << 16]bool)
	}
	head := value[:sight]
	for _, v := range k.values[head] {
		if v == value {
			return
		}
	}
	k.values[head] = append(k.values[head], value)
	k.begins[uint16(value[0])<<8|uint16(value[1])] = true
}

// String returns s without secrets, those of the rules and those that k knows.
func (k *Known) String(s string) string {
	s = k.rules.String(s)
	k.mu.RLock()
	defer k.mu.RUnlock()
	if len(k.values) == 0 {
		return s
	}
	return replace(s, k.spans, nil)
}

func (k *Known) spans(s string, yield func(span)) {
	for i := 0; i+sight <= len(s); i++ {
		if !k.begins[uint16(s[i])<<8|uint16(s[i+1])] {
			continue
		}
		if n := k.at(s[i:]); n > 0 {
			yield(span{i, i + n})
			i += n - 1
		}
	}
}

// at returns how much of a known secret s begins with, 0 where it is none. A
// part is one where the text is cut behind it.
func (k *Known) at(s string) (longest int) {
	for _, v := range k.values[s[:sight]] {
		n := common(s, v)
		if n == len(v) || 2*n >= len(v) && cut(s[n:]) {
			longest = max(longest, n)
		}
	}
	return longest
}

// common returns the length of what a and b both begin with.
func common(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// cut reports whether a text seems to have been cut short before s.
func cut(s string) bool {
	return s == "" || space[s[0]] || strings.HasPrefix(s, "…") || strings.HasPrefix(s, "...") || s[0] == '[' || s[0] == '"'
}
