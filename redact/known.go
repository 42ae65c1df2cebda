package redact

import (
	"strings"
	"sync"
)

// A Known is a redactor that also knows secrets by sight. What it has seen to
// be a secret in one text it takes out of every other, also where nothing tells
// it apart any more: in a list of names, on a line of its own, or in part. It
// may be used by many goroutines.
type Known struct {
	rules *Redactor

	mu     sync.RWMutex
	values []string
	whole  map[[sight]byte][]int     // values by their first bytes
	parts  map[[sight]byte]valuePart // places in values by the bytes there
	begins *[1 << 16]bool            // the first two bytes of a value; nil where there is none
	size   int                       // bytes of all values
}

// A valuePart is a place in a value.
type valuePart struct{ value, at int }

const (
	sight   = 8       // bytes by which a secret is known
	partial = 12      // bytes of a part of one that are no chance
	certain = 20      // bytes of a random one that no identifier holds
	most    = 1 << 18 // bytes of secrets that are known; what comes later is known by the rules alone
)

// Known returns a redactor that follows r and knows no secrets yet.
func (r *Redactor) Known() *Known {
	return &Known{rules: r}
}

// Learn has k know the secrets in s, a text or JSON. A short or simple one, such
// as a word, it knows by its surroundings alone.
func (k *Known) Learn(s string) {
	r := &Redactor{steps: k.rules.steps, seen: k.learnValue} // what Extra takes out is not told
	r.String(s)
}

// learnValue is told of what was taken out. A secret that is split over lines is
// known by each of its pieces.
func (k *Known) learnValue(value string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	whole := withoutBreaks(value)
	random := looksRandom(whole)
	if random {
		k.addValue(whole)
	}
	for line := range strings.Lines(lineBreaks.Replace(value)) {
		for piece := range strings.FieldsSeq(line[skipMargin(line, 0):]) {
			piece = strings.Trim(piece, "\\\"'`+.&")
			if random && skipBytes(piece, 0, &lowercase) < len(piece) || looksRandom(piece) {
				k.addValue(piece)
			}
		}
	}
}

// lineBreaks are line breaks as strings of programs have them.
var lineBreaks = strings.NewReplacer(`\r`, "\r", `\n`, "\n")

var lowercase = newByteSet("abcdefghijklmnopqrstuvwxyz")

// addValue is called with the lock held.
func (k *Known) addValue(value string) {
	if len(value) < sight || k.size+len(value) > most {
		return
	}
	if k.begins == nil {
		k.whole, k.parts, k.begins = make(map[[sight]byte][]int), make(map[[sight]byte]valuePart), new([1 << 16]bool)
	}
	head := [sight]byte([]byte(value[:sight]))
	for _, i := range k.whole[head] {
		if k.values[i] == value {
			return
		}
	}
	n := len(k.values)
	k.values, k.size = append(k.values, value), k.size+len(value)
	k.whole[head] = append(k.whole[head], n)
	k.begins[bytePair(value)] = true
	for at := 0; at+partial <= len(value); at++ {
		k.parts[[sight]byte([]byte(value[at:at+sight]))] = valuePart{n, at}
	}
}

func bytePair(s string) uint16 { return uint16(s[0])<<8 | uint16(s[1]) }

// String returns s without secrets, those of the rules and those that k knows.
func (k *Known) String(s string) string { return k.withoutKnown(k.rules.String(s)) }

// Secrets is String, but e-mail addresses and phone numbers stay.
func (k *Known) Secrets(s string) string {
	rules := *k.rules
	rules.pii = false
	return k.withoutKnown(rules.String(s))
}

// withoutKnown returns s without what k knows.
func (k *Known) withoutKnown(s string) string {
	k.mu.RLock()
	defer k.mu.RUnlock()
	if len(k.values) == 0 {
		return s
	}
	return k.outside(s)
}

// outside takes out values, but none of the names in JSON.
func (k *Known) outside(s string) string {
	if isJSONText(s) {
		return redactValidJSON(k.outside, nil, s)
	}
	return k.redactKnown(s)
}

// redactKnown takes out whole values, and parts where a word begins.
func (k *Known) redactKnown(s string) string {
	e := markEditor{text: s}
	for i := 0; i+sight <= len(s); i++ {
		n := 0
		if k.begins[bytePair(s[i:])] {
			n = k.wholeValueAt(s, i)
		}
		if n == 0 && (i == 0 || !alnum[s[i-1]]) {
			n = k.partValueAt(s[i:])
		}
		if n > 0 {
			e.markSpan(span{i, i + n})
			i += n - 1
		}
	}
	return e.resultText()
}

// wholeValueAt returns the length of the longest value that s has at i. A short one
// is not taken out of an identifier that holds it.
func (k *Known) wholeValueAt(s string, i int) (longest int) {
	for _, n := range k.whole[[sight]byte([]byte(s[i:i+sight]))] {
		if v := k.values[n]; strings.HasPrefix(s[i:], v) && (len(v) >= certain && hasMixedParts(v) || apart(s, i, i+len(v))) {
			longest = max(longest, len(v))
		}
	}
	return longest
}

// apart reports whether s[from:to] is no part of a longer word.
func apart(s string, from, to int) bool {
	before := from > 0 && word[s[from]] && (s[from-1] == '_' || alnum[s[from-1]] && !wordBegins(s, from))
	return !before && !(word[s[to-1]] && word[byteAt(s, to)])
}

// partValueAt returns how much of a value s begins with, 0 where that may be chance.
func (k *Known) partValueAt(s string) int {
	p, ok := k.parts[[sight]byte([]byte(s[:sight]))]
	if !ok {
		return 0
	}
	n := commonLength(s, k.values[p.value][p.at:])
	if n < partial || !looksRandom(s[:n]) {
		return 0
	}
	return n
}

// commonLength returns the length of what a and b both begin with.
func commonLength(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
