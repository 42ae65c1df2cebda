package tokens

import (
	"unicode"
	"unicode/utf8"
)

// A charClass is a class of characters that the patterns of the encodings
// distinguish. The classes are disjoint bits, so that several form a set.
type charClass uint8

const (
	upper    charClass = 1 << iota // Lu, Lt
	lower                          // Ll
	caseless                       // Lm, Lo
	mark                           // M
	number                         // N
	space                          // white space that is not a line end
	newline                        // \r, \n
	other                          // anything else

	letter = upper | lower | caseless
	blank  = space | newline
	symbol = mark | other // [^\s\p{L}\p{N}]
)

// charClasses holds the classes of the first two planes; texts rarely use others.
type charClasses [0x20000]charClass

func newCharClasses() *charClasses {
	c := new(charClasses)
	for i := range c {
		c[i] = other
	}
	for _, in := range classTables {
		c.fillTable(in.table, in.class)
	}
	c['\r'], c['\n'] = newline, newline
	return c
}

var classTables = [...]struct {
	table *unicode.RangeTable
	class charClass
}{
	{unicode.Lu, upper},
	{unicode.Lt, upper},
	{unicode.Ll, lower},
	{unicode.Lm, caseless},
	{unicode.Lo, caseless},
	{unicode.M, mark},
	{unicode.N, number},
	{unicode.White_Space, space},
}

func (c *charClasses) fillTable(t *unicode.RangeTable, to charClass) {
	for _, r := range t.R16 {
		for x := int(r.Lo); x <= int(r.Hi); x += int(r.Stride) {
			c[x] = to
		}
	}
	for _, r := range t.R32 {
		for x := int(r.Lo); x <= min(int(r.Hi), len(c)-1); x += int(r.Stride) {
			c[x] = to
		}
	}
}

// charClassAt returns the class and the width in bytes of the character at s[i].
func (c *charClasses) charClassAt(s string, i int) (charClass, int) {
	if b := s[i]; b < utf8.RuneSelf {
		return c[b], 1
	}
	return c.wideClassAt(s, i)
}

func (c *charClasses) wideClassAt(s string, i int) (charClass, int) {
	r, n := utf8.DecodeRuneInString(s[i:])
	if int(r) < len(c) {
		return c[r], n
	}
	for _, in := range classTables {
		if unicode.Is(in.table, r) {
			return in.class, n
		}
	}
	return other, n
}

// endOfRun returns the end of the run of characters of set that begins at i.
func (c *charClasses) endOfRun(s string, i int, set charClass) int {
	for i < len(s) {
		got, n := c.charClassAt(s, i)
		if got&set == 0 {
			break
		}
		i += n
	}
	return i
}
