package levels

import (
	"slices"
	"strings"
)

// A nameIndex finds names inside texts: for all names together in one pass over a text.
type nameIndex struct {
	names  []string          // sorted, each once
	prefix []int             // of each name the longest other name that it begins with, -1 for none
	heads  map[uint32][2]int // ranges of names with equal first bytes
	filter [1 << 13]uint64   // a bit for each hash of first bytes
	inside []bool            // the name was found
	short  int               // names that are shorter than a head
}

// headBytes is the number of bytes by which names are looked up.
const headBytes = 4

func newNameIndex(names []string) *nameIndex {
	x := &nameIndex{names: slices.Compact(slices.Sorted(slices.Values(names))), heads: make(map[uint32][2]int)}
	x.prefix, x.inside = make([]int, len(x.names)), make([]bool, len(x.names))
	for i, name := range x.names {
		x.prefix[i] = i - 1
		for k := &x.prefix[i]; *k >= 0 && !strings.HasPrefix(name, x.names[*k]); {
			*k = x.prefix[*k]
		}
		if len(name) < headBytes {
			x.short++
			continue
		}
		head := headOf(name)
		h := headHash(head)
		x.filter[h>>6] |= 1 << (h & 63)
		if of, ok := x.heads[head]; ok {
			x.heads[head] = [2]int{of[0], i + 1}
		} else {
			x.heads[head] = [2]int{i, i + 1}
		}
	}
	return x
}

func headOf(s string) uint32 {
	return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
}

func headHash(head uint32) uint32 { return head * 0x9e3779b1 >> 13 }

// markInside marks the names that are in text: if whole, text itself does not count.
func (x *nameIndex) markInside(text string, whole bool) {
	for i := 0; i+headBytes <= len(text); i++ {
		head := headOf(text[i:])
		h := headHash(head)
		if x.filter[h>>6]&(1<<(h&63)) == 0 {
			continue
		}
		if of, ok := x.heads[head]; ok {
			x.markPrefixes(text[i:], of, whole && i == 0)
		}
	}
	if x.short == 0 {
		return
	}
	for k, name := range x.names {
		if len(name) < headBytes && strings.Contains(text, name) && (!whole || name != text) {
			x.inside[k] = true
		}
	}
}

// markPrefixes marks the names in a range with which s begins. All of them are the last
// name up to s, or names with which that begins.
func (x *nameIndex) markPrefixes(s string, of [2]int, whole bool) {
	at, found := slices.BinarySearch(x.names[of[0]:of[1]], s)
	k := of[0] + at
	if !found {
		k--
	} else if whole {
		k = x.prefix[k]
	}
	for k >= of[0] && !strings.HasPrefix(s, x.names[k]) {
		k = x.prefix[k]
	}
	for k >= of[0] && !x.inside[k] { // the prefixes of a marked name are marked
		x.inside[k] = true
		k = x.prefix[k]
	}
}

// contains reports whether a name was marked.
func (x *nameIndex) contains(name string) bool {
	k, ok := slices.BinarySearch(x.names, name)
	return ok && x.inside[k]
}
