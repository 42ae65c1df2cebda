package tokens

// Merging begins with single bytes and makes one token of the two neighbours
// whose join has the lowest rank, the leftmost first, until no two make a
// token.

// window is how many bytes are merged at once: what two levels of a tournament
// hold. It is longer than any token.
const window = fan * fan

// count returns how many tokens the piece p is merged into. It takes linear
// time but where windows of some size disagree; then larger ones are tried, up
// to all of p.
func (v *vocab) count(p string, sc *scratch) int {
	if len(p) <= window {
		return sc.merge(p, v)
	}
	for size := window; ; size *= fan {
		if n, ok := v.stitch(p, size, sc); ok {
			return n
		}
	}
}

// stitch merges p in windows of size bytes, and reports whether they agree.
// Each window begins with a token of the one before, well before its end, and
// must begin with the same token. That proves the count: a merge never looks
// beyond two neighbours, so tokens are what p is merged into exactly where
// each two neighbours, merged by themselves, stay those two; and every two
// stand side by side in one of the windows.
func (v *vocab) stitch(p string, size int, sc *scratch) (tokens int, ok bool) {
	last, n := "", 0 // the window that was merged last, and its tokens
	overlap := 0     // size of the token that it has where the next one begins
	for {
		w := p[:min(size, len(p))]
		if w != last { // else p repeats itself, and nothing changes
			last, n = w, sc.merge(w, v)
		}
		if overlap > 0 && sc.tokenAt(0) != overlap {
			return 0, false
		}
		if len(p) <= size {
			return tokens + n, true
		}
		before, seam := sc.seam(size - size/4)
		if seam == 0 {
			return 0, false
		}
		overlap = sc.tokenAt(seam)
		tokens += before
		p = p[seam:]
	}
}

// merge merges p, of at least two bytes, and returns the number of tokens.
func (sc *scratch) merge(p string, v *vocab) int {
	sc.begin(p, v)
	tokens := len(p)
	for {
		lowest := sc.ranks.lowest()
		if lowest >= empty {
			return tokens
		}
		at := uint32(lowest)
		gone := sc.next[at]
		after := sc.next[gone]
		sc.next[at] = after
		sc.ranks.set(gone, none)
		sc.ranks.set(at, sc.join(p, v, at))
		if int(after) < len(p) {
			sc.prev[after] = at
		}
		low := at
		if at > 0 {
			low = sc.prev[at]
			sc.ranks.set(low, sc.join(p, v, low))
		}
		sc.ranks.settle(low, at, gone)
		tokens--
	}
}

// begin makes a token of every byte of p.
func (sc *scratch) begin(p string, v *vocab) {
	sc.grow(len(p))
	for i := range len(p) - 1 {
		sc.next[i], sc.prev[i] = uint32(i)+1, uint32(i)-1
		sc.ranks.set(uint32(i), v.pairs[uint(p[i])|uint(p[i+1])<<8])
	}
	last := uint32(len(p)) - 1
	sc.next[last], sc.prev[last] = last+1, last-1
	sc.ranks.set(last, none)
	sc.ranks.build()
}

// join returns the rank of the token at with its next as one.
func (sc *scratch) join(p string, v *vocab, at uint32) uint32 {
	next := sc.next[at]
	if int(next) == len(p) {
		return none
	}
	return v.rank(p, int(at), int(sc.next[next]))
}

// tokenAt returns the size of the token that begins at.
func (sc *scratch) tokenAt(at int) int { return int(sc.next[at]) - at }

// seam returns where the last token that begins at limit or before begins, and
// how many stand in front of it.
func (sc *scratch) seam(limit int) (tokens, at int) {
	for next := int(sc.next[0]); next <= limit; next = int(sc.next[at]) {
		tokens, at = tokens+1, next
	}
	return tokens, at
}
