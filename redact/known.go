package redact

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// A Known is a redactor that also remembers secrets. A secret that it has found in
// one text is replaced in every other, even without a name or form beside it: in a
// list of names, on a line of its own, or in part. It is safe for concurrent use.
type Known struct {
	rules *Redactor

	mu     sync.RWMutex
	values []string
	whole  map[[sight]byte][]int     // values by their first bytes
	parts  map[[sight]byte]valuePart // places in values by their bytes
	begins *[1 << 16]bool            // the first two bytes of a value; nil if there is none
	size   int                       // bytes of all values
}

// A valuePart is a place in a value.
type valuePart struct{ value, at int }

const (
	sight   = 8       // minimum bytes of a remembered secret
	partial = 12      // minimum bytes of a part that is not a coincidence
	certain = 20      // minimum bytes of a random value that no identifier contains
	most    = 1 << 18 // maximum bytes of all remembered secrets; later ones are found by the rules alone
)

// Known returns a redactor that follows r and remembers no secrets yet.
func (r *Redactor) Known() *Known {
	return &Known{rules: r}
}

// Learn adds the secrets in s, a text or JSON, to k. A short or simple one, such as
// a word, is found only by its surroundings. plain says that the rules change
// nothing in s: [Known.Remembered] then returns what [Known.Secrets] does.
func (k *Known) Learn(s string) (plain bool) {
	r := &Redactor{steps: k.rules.steps, seen: k.learnValue} // secrets that Extra replaces are not reported
	return r.String(s) == s && len(k.rules.extra) == 0
}

// learnValue adds a replaced value. A secret that is split over lines is remembered
// by each of its pieces.
func (k *Known) learnValue(value string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	whole := withoutBreaks(value)
	random := looksRandom(whole)
	if random || isUncommon(whole) {
		k.addValue(whole, true)
		for _, encoded := range encodings(whole) {
			k.addValue(encoded, false)
		}
	}
	for line := range strings.Lines(lineBreaks.Replace(strings.ReplaceAll(value, Mark, " "))) {
		for piece := range strings.FieldsSeq(line[skipMargin(line, 0):]) {
			piece = strings.Trim(piece, "\\\"'`+.&")
			if random && skipBytes(piece, 0, &lowercase) < len(piece) || looksRandom(piece) {
				k.addValue(piece, true)
			}
		}
	}
}

// lineBreaks are line breaks as written in strings of programs.
var lineBreaks = strings.NewReplacer(`\r`, "\r", `\n`, "\n")

var lowercase = newByteSet("abcdefghijklmnopqrstuvwxyz")

// isUncommon reports whether text has letters, digits and a sign that is in no
// word, so that it is not found by chance.
func isUncommon(text string) bool {
	if len(text) < sight || isPathOrTime(text) || strings.ContainsAny(text, " \t\n\"'`()[]{}") || isVariable(text) || isPlaceholder(text) {
		return false
	}
	return strings.ContainsAny(text, digits) && strings.ContainsAny(text, letters) && strings.ContainsAny(text, "!#$%^&*+~@<>?|")
}

// encodings returns a secret as it is in URLs, in JSON, and in the base64 of
// Kubernetes, if it is another text there.
func encodings(value string) (all []string) {
	escaped, err := json.Marshal(value)
	if err == nil {
		all = append(all, string(escaped[1:len(escaped)-1]), jsonSigns.Replace(value))
	}
	all = append(all, url.QueryEscape(value), url.PathEscape(value))
	for _, plain := range []string{value, value + "\n"} {
		all = append(all, strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(plain)), "="))
	}
	return slices.DeleteFunc(all, func(s string) bool { return s == value })
}

// jsonSigns escapes what JSON must escape.
var jsonSigns = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// addValue adds a value, and its parts if that is wanted. It is called with the
// lock held.
func (k *Known) addValue(value string, withParts bool) {
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
	for at := 0; withParts && at+partial <= len(value); at++ {
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

// Remembered returns s without the secrets that k has learnt, and applies no rule.
func (k *Known) Remembered(s string) string { return k.withoutKnown(s) }

// withoutKnown returns s without the secrets of k.
func (k *Known) withoutKnown(s string) string {
	k.mu.RLock()
	defer k.mu.RUnlock()
	if len(k.values) == 0 {
		return s
	}
	return k.outside(s)
}

// outside replaces values, but none of the names in JSON.
func (k *Known) outside(s string) string {
	if isJSONText(s) {
		return redactValidJSON(k.outside, nil, s)
	}
	return k.redactKnown(s)
}

// redactKnown replaces whole values, and parts at the beginning of a word.
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

// wholeValueAt returns the length of the longest value at i in s. A short one
// inside an identifier stays.
func (k *Known) wholeValueAt(s string, i int) (longest int) {
	for _, n := range k.whole[[sight]byte([]byte(s[i:i+sight]))] {
		if v := k.values[n]; strings.HasPrefix(s[i:], v) && (len(v) >= certain && hasMixedParts(v) || apart(s, i, i+len(v))) {
			longest = max(longest, len(v))
		}
	}
	return longest
}

// apart reports whether s[from:to] is not part of a longer word.
func apart(s string, from, to int) bool {
	before := from > 0 && word[s[from]] && (s[from-1] == '_' || alnum[s[from-1]] && !wordBegins(s, from))
	return !before && !(word[s[to-1]] && word[byteAt(s, to)])
}

// partValueAt returns the length of the part of a value at the start of s, 0 if it
// may be a coincidence.
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

// commonLength returns the length of the common prefix of a and b.
func commonLength(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
