package tokens

// Merging begins with single bytes and makes one token of the two neighbours
// whose join has the lowest rank, the leftmost first, until no two make a
// token.

// mergeWindow is how many bytes are merged at once: what two levels of a tournament
// hold. It is longer than any token.
const mergeWindow = keysPerNode * keysPerNode

// countPiece returns how many tokens the piece p is merged into. It takes linear
// time but where windows of some size disagree; then larger ones are tried, up
// to all of p.
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
// Each window begins with a token of the one before, well before its end, and
// must begin with the same token. That proves the count: a merge never looks
// beyond two neighbours, so tokens are what p is merged into exactly where
// each two neighbours, merged by themselves, stay those two; and every two
// stand side by side in one of the windows.
func (v *vocab) stitchWindows(p string, size int, sc *scratch) (tokens int, ok bool) {
	last, n := "", 0 // the window that was merged last, and its tokens
	overlap := 0     // size of the token that it has where the next one begins
	for {
		w := p[:min(size, len(p))]
		if w != last { // else p repeats itself, and nothing changes
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

// joinedRank returns the rank of the token at with its next as one.
func (sc *scratch) joinedRank(p string, v *vocab, at uint32) uint32 {
	next := sc.next[at]
	if int(next) == len(p) {
		return noRank
	}
	return v.tokenRank(p, int(at), int(sc.next[next]))
}

// tokenSizeAt returns the size of the token that begins at.
func (sc *scratch) tokenSizeAt(at int) int { return int(sc.next[at]) - at }

// findSeam returns where the last token that begins at limit or before begins,
// and how many are in front of it.
func (sc *scratch) findSeam(limit int) (tokens, at int) {
	for next := int(sc.next[0]); next <= limit; next = int(sc.next[at]) {
		tokens, at = tokens+1, next
	}
	return tokens, at
}
