package tokens

import (
	"unicode"
	"unicode/utf8"
)

// A class is what the patterns of the encodings tell characters apart by. The
// classes are disjoint bits, so that several make a set.
type class uint8

const (
	upper    class = 1 << iota // Lu, Lt
	lower                      // Ll
	caseless                   // Lm, Lo
	mark                       // M
	number                     // N
	space                      // white space that is no line end
	newline                    // \r, \n
	other                      // anything else

	letter = upper | lower | caseless
	blank  = space | newline
	symbol = mark | other // [^\s\p{L}\p{N}]
)

// classes holds the classes of the first two planes; all that text uses often.
type classes [0x20000]class

func newClasses() *classes {
	c := new(classes)
	for i := range c {
		c[i] = other
	}
	for _, in := range classTables {
		c.fill(in.table, in.class)
	}
	c['\r'], c['\n'] = newline, newline
	return c
}

var classTables = [...]struct {
	table *unicode.RangeTable
	class class
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

func (c *classes) fill(t *unicode.RangeTable, to class) {
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

// at returns the class and the width in bytes of the character at s[i].
func (c *classes) at(s string, i int) (class, int) {
	if b := s[i]; b < utf8.RuneSelf {
		return c[b], 1
	}
	return c.wide(s, i)
}

func (c *classes) wide(s string, i int) (class, int) {
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

// run returns the end of the run of characters of set that begins at i.
func (c *classes) run(s string, i int, set class) int {
	for i < len(s) {
		got, n := c.at(s, i)
		if got&set == 0 {
			break
		}
		i += n
	}
	return i
}
