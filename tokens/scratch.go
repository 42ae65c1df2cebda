package tokens

import "slices"

const (
	memoBytes = 32      // the longest piece that is cached
	memoSlots = 1 << 12 // a power of two
)

// A scratch is the working memory of a count. It is used by one count at a time;
// reuse avoids allocations.
type scratch struct {
	memo  [memoSlots]memo
	next  []uint32   // for the token that begins at a byte of a piece: where the next one begins
	prev  []uint32   // and the one before
	ranks tournament // and the rank of its join with the next
}

// A memo is a piece that is not a token, with its number of tokens.
type memo struct {
	key    memoKey
	tokens uint32
}

// A memoKey holds the bytes of a piece of 2 to memoBytes bytes.
type memoKey struct {
	words [4]uint64 // of 8 bytes or less the first; of more the first and last 8; of more than 16 all from either end
	size  uint32
}

func newMemoKey(s string, i, end int) memoKey {
	n := end - i
	k := memoKey{size: uint32(n)}
	if n <= 8 {
		k.words[0] = loadBytes(s, i, n)
		return k
	}
	k.words[0], k.words[3] = loadBytes(s, i, 8), loadBytes(s, end-8, 8)
	if n > 16 {
		k.words[1], k.words[2] = loadBytes(s, i+8, 8), loadBytes(s, end-16, 8)
	}
	return k
}

func (k *memoKey) memoSlot() int {
	h := (k.words[0]*mix1 ^ k.words[1]) * mix2
	h = (h ^ k.words[2]) * mix1
	h = (h ^ k.words[3] ^ h>>32) * mix2
	return int(h >> 40 & (memoSlots - 1))
}

// growScratch makes room for a piece of n bytes.
func (sc *scratch) growScratch(n int) {
	sc.next, sc.prev = slices.Grow(sc.next[:0], n)[:n], slices.Grow(sc.prev[:0], n)[:n]
	sc.ranks.resizeTo(n)
}

// trimScratch drops buffers that a long piece enlarged.
func (sc *scratch) trimScratch() {
	if cap(sc.next) > 1<<16 {
		sc.next, sc.prev, sc.ranks = nil, nil, tournament{}
	}
}
