package tokens

import "slices"

// A tournament finds the lowest of many ranks that change one by one. Its
// first level holds a key for each place, and each level above the lowest of
// every fan keys below:
//
//	top                      3
//	         5               3               7
//	8 5 9 …        3 6 4 …        7 9 8 …
type tournament struct {
	levels [8][]uint64 // each a multiple of fan long; a key is a rank and, in the lower half, its place
	top    int         // the level that has fan keys
	keys   []uint64    // all levels
}

// keysPerNode is the number of keys below one key.
const keysPerNode = 16

// emptyKey is above every key that has a rank.
const emptyKey = noRank << 32

// resizeTo makes room for n ranks, all of them unset.
func (t *tournament) resizeTo(n int) {
	total, level := 0, 0
	var ends [8]int
	for {
		n = (n + keysPerNode - 1) / keysPerNode * keysPerNode
		total += n
		ends[level] = total
		if n == keysPerNode {
			break
		}
		n /= keysPerNode
		level++
	}
	t.keys = slices.Grow(t.keys[:0], total)[:total]
	t.top = level
	start := 0
	for i, end := range ends[:level+1] {
		t.levels[i] = t.keys[start:end]
		start = end
	}
	for i := range t.keys {
		t.keys[i] = emptyKey
	}
}

// setRank sets the rank at a place of the first level. The levels above are valid
// after [tournament.buildLevels] or [tournament.updateAbove].
func (t *tournament) setRank(at, rank uint32) {
	t.levels[0][at] = uint64(rank)<<32 | uint64(at)
}

// buildLevels makes all levels above the first.
func (t *tournament) buildLevels() {
	for l := range t.top {
		for block := range len(t.levels[l]) / keysPerNode {
			t.levels[l+1][block] = lowestKey(t.levels[l], block)
		}
	}
}

// updateAbove updates the levels above three places in ascending order.
func (t *tournament) updateAbove(a, b, c uint32) {
	for l := range t.top {
		a, b, c = a/keysPerNode, b/keysPerNode, c/keysPerNode
		t.levels[l+1][a] = lowestKey(t.levels[l], int(a))
		if b != a {
			t.levels[l+1][b] = lowestKey(t.levels[l], int(b))
		}
		if c != b {
			t.levels[l+1][c] = lowestKey(t.levels[l], int(c))
		}
	}
}

// lowestRank returns the lowest rank and, in the lower half, the first place with
// it; emptyKey or more if there is none.
func (t *tournament) lowestRank() uint64 { return lowestKey(t.levels[t.top], 0) }

// lowestKey returns the lowest of a block of keys.
func lowestKey(keys []uint64, block int) uint64 {
	k := (*[keysPerNode]uint64)(keys[block*keysPerNode:])
	a := min(k[0], k[4], k[8], k[12])
	b := min(k[1], k[5], k[9], k[13])
	c := min(k[2], k[6], k[10], k[14])
	d := min(k[3], k[7], k[11], k[15])
	return min(min(a, b), min(c, d))
}
