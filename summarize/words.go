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
		var t wordToken
		start, lowerBefore := -1, false
		for i := 0; i < len(text); {
			r, size := rune(text[i]), 1
			single := false
			if r >= utf8.RuneSelf {
				r, size = utf8.DecodeRuneInString(text[i:])
				single = unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana)
			}
			if single || !isWordRune(r) {
				if start >= 0 {
					t.text = text[start:i]
					if !yield(t) {
						return
					}
				}
				t, start, lowerBefore = wordToken{}, -1, false
				if single && !yield(wordToken{text: text[i : i+size]}) {
					return
				}
				i += size
				continue
			}
			if start < 0 {
				start = i
			}
			upper := 'A' <= r && r <= 'Z'
			t.hasDigit = t.hasDigit || '0' <= r && r <= '9'
			t.hasUnder = t.hasUnder || r == '_'
			t.innerUpper = t.innerUpper || upper && lowerBefore
			lowerBefore = 'a' <= r && r <= 'z'
			i += size
		}
		if start >= 0 {
			t.text = text[start:]
			yield(t)
		}
	}
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
