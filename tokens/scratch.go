package tokens

const (
	memoBytes = 32      // the longest piece that is remembered
	memoSlots = 1 << 12 // a power of two
	window    = 128     // bytes up to which a merge looks at all parts
)

// A scratch is what a count needs beside its text. It is used by one count at
// a time; that it is used again is what makes counting free of allocations.
type scratch struct {
	memo  [memoSlots]memo
	parts []part
	links []link
	queue []candidate
}

// A memo is a piece that is no token, and how many it has.
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
		k.words[0] = load(s, i, n)
		return k
	}
	k.words[0], k.words[3] = load(s, i, 8), load(s, end-8, 8)
	if n > 16 {
		k.words[1], k.words[2] = load(s, i+8, 8), load(s, end-16, 8)
	}
	return k
}

func (k *memoKey) slot() int {
	h := (k.words[0]*mix1 ^ k.words[1]) * mix2
	h = (h ^ k.words[2]) * mix1
	h = (h ^ k.words[3] ^ h>>32) * mix2
	return int(h >> 40 & (memoSlots - 1))
}

// trim drops what a long piece made large.
func (sc *scratch) trim() {
	if cap(sc.links) > 1<<16 {
		sc.parts, sc.links, sc.queue = nil, nil, nil
	}
}
