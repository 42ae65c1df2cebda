package embed

import (
	"unicode"
	"unicode/utf8"
)

// maxWord is the length in bytes of a word that counts; of a longer one (base64,
// minified code) its beginning counts.
const maxWord = 48

// A word is a run of letters, digits and underscores.
type word struct {
	low   [maxWord]byte // lower case
	cut   [maxWord]bool // a part begins here: after an underscore, at an inner capital
	n     int
	parts int
}

// wordScanner goes through the words of a text. Ideographs, which are written
// without spaces, come as pairs. In escaped text (JSON), the letter of an escape is
// not part of a word.
type wordScanner struct {
	word
	text    string
	escaped bool
	at      int
	before  rune  // the ideograph before, 0 if none
	last    uint8 // class of the character before
}

// nextWord goes to the next word; it reports whether there is one.
func (s *wordScanner) nextWord() bool {
	s.resetWord()
	for s.at < len(s.text) {
		r, size := rune(s.text[s.at]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(s.text[s.at:])
		}
		k := runeClass(r)
		if s.n > 0 && (k == ideo || k == other) {
			break
		}
		before := s.before
		s.before = 0
		switch {
		case k == ideo:
			s.setIdeographs(before, r)
			s.before = r
		case k != other:
			s.addCharacter(r, k, s.last)
		case s.escaped && r == '\\':
			size = escapeLen(s.text[s.at:])
		}
		s.last = k
		s.at += size
		if k == ideo && s.n > 0 {
			break
		}
	}
	s.parts++
	return s.n > 0
}

// The classes of characters. Letters beyond ASCII count as lower.
const (
	other = iota
	lower
	upper
	digit
	under
	ideo
)

func runeClass(r rune) uint8 {
	switch {
	case 'a' <= r && r <= 'z':
		return lower
	case 'A' <= r && r <= 'Z':
		return upper
	case '0' <= r && r <= '9':
		return digit
	case r == '_':
		return under
	case r < utf8.RuneSelf:
		return other
	case isIdeograph(r):
		return ideo
	case unicode.IsLetter(r) || unicode.IsDigit(r):
		return lower
	}
	return other
}

// escapeLen returns how long the JSON escape is that s begins with.
func escapeLen(s string) int {
	if len(s) >= 6 && s[1] == 'u' {
		return 6
	}
	return min(2, len(s))
}

// addCharacter appends a character of class k that follows one of class last.
func (w *word) addCharacter(r rune, k, last uint8) {
	if k == under {
		return // the next letter begins a part, because last is an underscore
	}
	switch at := w.n; {
	case at == maxWord:
		return
	case at > 0 && (last == under || k == upper && last != upper):
		w.cut[at] = true
		w.parts++
	case at > 1 && k == lower && last == upper && !w.cut[at-1]: // HTTPServer
		w.cut[at-1] = true
		w.parts++
	}
	if r < utf8.RuneSelf {
		if k == upper {
			r += 'a' - 'A'
		}
		w.low[w.n] = byte(r)
		w.n++
		return
	}
	w.addRune(r)
}

func (w *word) addRune(r rune) {
	if enc := utf8.AppendRune(nil, unicode.ToLower(r)); w.n+len(enc) <= maxWord {
		w.n += copy(w.low[w.n:], enc)
	}
}

// setIdeographs is a word of two ideographs in a row.
func (w *word) setIdeographs(before, r rune) {
	if before != 0 {
		w.addRune(before)
		w.addRune(r)
	}
}

func (w *word) resetWord() {
	clear(w.cut[:w.n])
	w.n, w.parts = 0, 0
}

// isIdeograph reports whether r is of a script written without spaces.
func isIdeograph(r rune) bool {
	return r >= 0x2E80 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) ||
		r >= 0x0E00 && r < 0x0E80 // Thai
}
