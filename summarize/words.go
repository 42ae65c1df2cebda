package summarize

import (
	"iter"
	"unicode"
	"unicode/utf8"
)

// A wordToken is a run of letters, digits and underscores, or a single ideograph.
type wordToken struct {
	text       string
	hasDigit   bool
	hasUnder   bool
	innerUpper bool // a capital after a small letter
}

// wordTokens returns the tokens of text in order.
func wordTokens(text string) iter.Seq[wordToken] {
	return func(yield func(wordToken) bool) {
		for start, end := nextWord(text, 0); start < len(text); start, end = nextWord(text, end) {
			if !yield(newWordToken(text[start:end])) {
				return
			}
		}
	}
}

// newWordToken returns the token of a word.
func newWordToken(word string) wordToken {
	t, lowerBefore := wordToken{text: word}, false
	for i := range len(word) {
		c := word[i]
		t.hasDigit = t.hasDigit || '0' <= c && c <= '9'
		t.hasUnder = t.hasUnder || c == '_'
		t.innerUpper = t.innerUpper || lowerBefore && 'A' <= c && c <= 'Z'
		lowerBefore = 'a' <= c && c <= 'z'
	}
	return t
}

// nextWord returns the place of the first token of text from i on, the end of text if
// there is none.
func nextWord(text string, i int) (start, end int) {
	for i < len(text) && text[i] < utf8.RuneSelf && !wordByte[text[i]] {
		i++
	}
	for start = i; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf {
			if wordByte[c] {
				i++
				continue
			}
			if i > start {
				return start, i
			}
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case isIdeograph(r) && i == start:
			return i, i + size
		case isIdeograph(r):
			return start, i
		case isWordRune(r):
		case i > start:
			return start, i
		default:
			start = i + size
		}
		i += size
	}
	return start, len(text)
}

// wordByte has the ASCII bytes of words.
var wordByte = func() (t [utf8.RuneSelf]bool) {
	for c := range rune(utf8.RuneSelf) {
		t[c] = isWordRune(c)
	}
	return t
}()

// firstIdeograph is the first of the ideographs in Unicode.
const firstIdeograph = '\u2E80'

func isIdeograph(r rune) bool {
	return r >= firstIdeograph && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana)
}

func isWordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_'
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

// hashExact returns a hash of w as written (FNV-1a).
func hashExact(w string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(w) {
		h = (h ^ uint64(w[i])) * 1099511628211
	}
	return h
}

// hashWord returns hashExact and hashFold of w.
func hashWord(w string) (exact, fold uint64) {
	exact, fold = 14695981039346656037, 14695981039346656037
	for i := range len(w) {
		c := w[i]
		exact = (exact ^ uint64(c)) * 1099511628211
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		fold = (fold ^ uint64(c)) * 1099511628211
	}
	return exact, fold
}

// hashFold returns a hash of w in lower case.
func hashFold(w string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(w) {
		c := w[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h
}

// pairHash returns a hash of two words in a row.
func pairHash(before, word uint64) uint64 {
	return (before*0x9e3779b97f4a7c15 ^ word) * 0xff51afd7ed558ccd
}
