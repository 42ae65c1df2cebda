package files

import (
	"unicode"
	"unicode/utf8"
)

// Classes of bytes. Bytes of 0x80 and above are read as runes.
const (
	lower = 1 << iota
	upper
	digit
	score // _
	dot   // .
	dash  // -
	slash // /
	wide  // not ASCII
	word  = lower | upper | digit | score
)

// byteClass returns the class of each byte; 0 for bytes outside identifiers.
var byteClass = func() (t [256]uint8) {
	for c := 'a'; c <= 'z'; c++ {
		t[c], t[c-'a'+'A'] = lower, upper
	}
	for c := '0'; c <= '9'; c++ {
		t[c] = digit
	}
	t['_'], t['.'], t['-'], t['/'] = score, dot, dash, slash
	for c := 0x80; c < 0x100; c++ {
		t[c] = wide
	}
	return t
}()

// eachIdent calls yield with the place of each identifier in text. It is
// linear in text and allocates nothing.
func eachIdent(text string, yield func(start, end int)) {
	for i := 0; i < len(text); {
		if byteClass[text[i]] == 0 {
			i++
			continue
		}
		start, seen, ascii := i, uint8(0), uint8(0)
		for i < len(text) {
			c := byteClass[text[i]]
			if c == wide {
				n := wideWord(text[i:])
				if n == 0 {
					break
				}
				seen |= wide
				i += n
				continue
			}
			if c == 0 {
				break
			}
			ascii |= c
			i++
		}
		if i == start { // a wide rune that is not a letter
			_, n := utf8.DecodeRuneInString(text[i:])
			i += n
			continue
		}
		seen |= ascii
		if seen&(score|slash|upper|digit|dot) == 0 && i-start < 7 {
			continue // a plain word
		}
		chunkIdents(text, start, i, seen, yield)
	}
}

// wideWord returns the length of the letter or number that s begins with, or 0.
func wideWord(s string) int {
	r, n := utf8.DecodeRuneInString(s)
	if unicode.IsLetter(r) || unicode.IsNumber(r) {
		return n
	}
	return 0
}

// chunkIdents yields the identifiers of text[start:end], a longest run of word
// characters, dots, dashes and slashes.
func chunkIdents(text string, start, end int, seen uint8, yield func(start, end int)) {
	pathless := start // no path begins before it
	for i := start; i < end; {
		c := byteClass[text[i]]
		if c == slash {
			i++
			continue
		}
		if seen&slash != 0 && i >= pathless {
			p, ok := endOfPath(text, i, end)
			if ok {
				yieldIdentifiers(i, p, yield)
				i = p
				continue
			}
			pathless = p
		}
		if c&(dot|dash) != 0 {
			i++
			continue
		}
		i = wordIdent(text, i, end, yield)
	}
}

// endOfPath returns where the path that begins at i ends. If none does, it
// returns the place before which no path begins.
func endOfPath(text string, i, end int) (at int, ok bool) {
	for {
		j := i
		for j < end && text[j] != '/' {
			j++
		}
		if j >= end { // the last name
			return j, ok && j > i
		}
		if j+1 >= end || text[j+1] == '/' {
			return j, ok
		}
		i, ok = j+1, true
	}
}

// wordIdent yields the word at i if it is an identifier, and returns where to
// continue.
func wordIdent(text string, i, end int, yield func(start, end int)) int {
	j, seen, highest := i, uint8(0), uint8(0)
	for j < end && byteClass[text[j]]&(word|wide) != 0 {
		seen |= byteClass[text[j]]
		highest = max(highest, text[j])
		j++
	}
	shape := wordShape{hex: seen&^(lower|digit) == 0 && highest <= 'f', ticket: seen == upper}
	if seen&(upper|score) != 0 { // few words have either
		for k := i; k < j; k++ {
			shape.addByte(text[k])
		}
	}
	if shape.isSnakeCase() || shape.camel || shape.hex && j-i >= 7 && j-i <= 40 {
		if j+1 < end && text[j] == '.' {
			if k := endOfWord(text, j+1, end); isFileExtension(text[j+1 : k]) {
				j = k
			}
		}
		yieldIdentifiers(i, j, yield)
		return j
	}
	if j+1 < end && text[j] == '-' && shape.ticket && j-i >= 2 && byteClass[text[j+1]]&(word|wide) != 0 {
		k := endOfWord(text, j+1, end)
		yieldIdentifiers(i, k, yield)
		return k
	}
	if j+1 < end && text[j] == '.' {
		if k := endOfWord(text, j+1, end); isFileExtension(text[j+1 : k]) {
			yieldIdentifiers(i, k, yield)
			return k
		}
	}
	return j
}

func endOfWord(text string, i, end int) int {
	for i < end && byteClass[text[i]]&(word|wide) != 0 {
		i++
	}
	return i
}

// A wordShape collects what makes a word an identifier.
type wordShape struct {
	prev   uint8
	after  int  // word characters after that underscore
	under  bool // an underscore followed a letter
	camel  bool // a lower letter, an upper letter, one more
	rise   bool // an upper letter just followed a lower one
	ticket bool // upper letters only
	hex    bool // hex digits only
}

func (s *wordShape) addByte(b byte) {
	c := byteClass[b]
	s.camel = s.camel || s.rise
	s.rise = c == upper && s.prev == lower
	if s.under {
		s.after++
	}
	if c == score && s.prev&(lower|upper) != 0 && !s.under {
		s.under = true
	}
	s.prev = c
}

func (s *wordShape) isSnakeCase() bool { return s.under && s.after >= 2 }

func yieldIdentifiers(start, end int, yield func(start, end int)) {
	if end-start >= 4 {
		yield(start, end)
	}
}

// isFileExtension reports whether s is the extension of a text file.
func isFileExtension(s string) bool {
	switch s {
	case "ts", "js", "json", "md", "cjs", "mjs", "go", "py", "rs", "tsx", "jsx", "cs", "java", "c", "h", "cpp", "cc", "hpp",
		"yaml", "yml", "toml", "rb", "php", "kt", "swift", "sh", "sql", "html", "css", "txt", "log", "lock", "mod", "sum", "proto", "xml", "vue", "cfg", "ini", "env":
		return true
	}
	return false
}

// hashIdent returns a hash of s, the same in every process.
func hashIdent(s string) uint32 {
	h := uint32(2166136261)
	for i := 0; i < len(s); i++ {
		h = (h ^ uint32(s[i])) * 16777619
	}
	return h
}
