package tokens

// Merging begins with single bytes and joins the two neighbours whose join has the
// lowest rank, the leftmost first, until no two form a token.

// mergeWindow is the number of bytes that are merged at once: the capacity of two
// levels of a tournament. It is longer than any token.
const mergeWindow = keysPerNode * keysPerNode

// countPiece returns the number of tokens of the piece p. It takes linear time
// unless windows of some size disagree; then larger ones are tried, up to all of p.
func (v *vocab) countPiece(p string, sc *scratch) int {
	if len(p) <= mergeWindow {
		return sc.mergePiece(p, v)
	}
	for size := mergeWindow; ; size *= keysPerNode {
		if n, ok := v.stitchWindows(p, size, sc); ok {
			return n
		}
	}
}

// stitchWindows merges p in windows of size bytes, and reports whether they agree.
// Each window begins with a token of the one before, well before its end, and must
// begin with the same token. That proves the count: a merge never depends on more
// than two neighbours, so tokens are the result for p exactly if each two
// neighbours, merged by themselves, stay those two; and every two are adjacent in
// one of the windows.
func (v *vocab) stitchWindows(p string, size int, sc *scratch) (tokens int, ok bool) {
	last, n := "", 0 // the window that was merged last, and its tokens
	overlap := 0     // size of its token where the next window begins
	for {
		w := p[:min(size, len(p))]
		if w != last { // otherwise p repeats itself, and nothing changes
			last, n = w, sc.mergePiece(w, v)
		}
		if overlap > 0 && sc.tokenSizeAt(0) != overlap {
			return 0, false
		}
		if len(p) <= size {
			return tokens + n, true
		}
		before, seam := sc.findSeam(size - size/4)
		if seam == 0 {
			return 0, false
		}
		overlap = sc.tokenSizeAt(seam)
		tokens += before
		p = p[seam:]
	}
}

// mergePiece merges p, of at least two bytes, and returns the number of tokens.
func (sc *scratch) mergePiece(p string, v *vocab) int {
	sc.splitBytes(p, v)
	tokens := len(p)
	for {
		lowest := sc.ranks.lowestRank()
		if lowest >= emptyKey {
			return tokens
		}
		at := uint32(lowest)
		gone := sc.next[at]
		after := sc.next[gone]
		sc.next[at] = after
		sc.ranks.setRank(gone, noRank)
		sc.ranks.setRank(at, sc.joinedRank(p, v, at))
		if int(after) < len(p) {
			sc.prev[after] = at
		}
		low := at
		if at > 0 {
			low = sc.prev[at]
			sc.ranks.setRank(low, sc.joinedRank(p, v, low))
		}
		sc.ranks.updateAbove(low, at, gone)
		tokens--
	}
}

// splitBytes makes a token of every byte of p.
func (sc *scratch) splitBytes(p string, v *vocab) {
	sc.growScratch(len(p))
	for i := range len(p) - 1 {
		sc.next[i], sc.prev[i] = uint32(i)+1, uint32(i)-1
		sc.ranks.setRank(uint32(i), v.pairs[uint(p[i])|uint(p[i+1])<<8])
	}
	last := uint32(len(p)) - 1
	sc.next[last], sc.prev[last] = last+1, last-1
	sc.ranks.setRank(last, noRank)
	sc.ranks.buildLevels()
}

// joinedRank returns the rank of the join of the token at with the next.
func (sc *scratch) joinedRank(p string, v *vocab, at uint32) uint32 {
	next := sc.next[at]
	if int(next) == len(p) {
		return noRank
	}
	return v.tokenRank(p, int(at), int(sc.next[next]))
}

// tokenSizeAt returns the size of the token that begins at.
func (sc *scratch) tokenSizeAt(at int) int { return int(sc.next[at]) - at }

// findSeam returns where the last token that begins at limit or before begins, and
// the number of tokens before it.
func (sc *scratch) findSeam(limit int) (tokens, at int) {
	for next := int(sc.next[0]); next <= limit; next = int(sc.next[at]) {
		tokens, at = tokens+1, next
	}
	return tokens, at
}
