package tokens

// Merging begins with single bytes and makes one token of the two neighbours
// whose join has the lowest rank, the leftmost first, until no two make a
// token.

// merge returns how many tokens the piece p is merged into.
func (v *vocab) merge(p string, sc *scratch) int {
	if len(p) <= window {
		return len(v.mergeShort(p, sc)) - 1
	}
	return v.mergeLong(p, sc)
}

// A part is a token of a merge: where it begins, and the rank of its join with
// the next.
type part struct{ rank, start uint32 }

// mergeShort merges p, of at least two bytes, by looking at all parts for each
// merge. It returns the tokens and one more part, which begins at len(p).
func (v *vocab) mergeShort(p string, sc *scratch) []part {
	parts := sc.parts[:0]
	for i := range len(p) - 1 {
		parts = append(parts, part{v.pairs[uint(p[i])|uint(p[i+1])<<8], uint32(i)})
	}
	parts = append(parts, part{none, uint32(len(p) - 1)}, part{none, uint32(len(p))})
	sc.parts = parts
	for {
		lowest, at := uint32(none), -1
		for i := range parts {
			if parts[i].rank < lowest {
				lowest, at = parts[i].rank, i
			}
		}
		if at < 0 {
			return parts
		}
		parts[at].rank = v.join(p, parts, at, 3)
		if at > 0 {
			parts[at-1].rank = v.join(p, parts, at-1, 3)
		}
		parts = append(parts[:at+1], parts[at+2:]...)
	}
}

// join returns the rank of the n tokens from parts[at] on as one.
func (v *vocab) join(p string, parts []part, at, n int) uint32 {
	if at+n >= len(parts) {
		return none
	}
	return v.rank(p, int(parts[at].start), int(parts[at+n].start))
}

// mergeLong merges p, which is longer than a window. It takes linear time but
// where windows of some size disagree; then larger ones are tried, up to all
// of p.
func (v *vocab) mergeLong(p string, sc *scratch) int {
	for size := window; ; size *= 8 {
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
	seam := 0 // size of the token that the window before has here
	for {
		parts := v.mergeWindow(p[:min(size, len(p))], sc)
		if seam > 0 && int(parts[1].start) != seam {
			return 0, false
		}
		if len(p) <= size {
			return tokens + len(parts) - 1, true
		}
		at := len(parts) - 2
		for at > 0 && int(parts[at].start) > size-size/4 {
			at--
		}
		if at == 0 {
			return 0, false
		}
		tokens += at
		seam = int(parts[at+1].start - parts[at].start)
		p = p[parts[at].start:]
	}
}

func (v *vocab) mergeWindow(p string, sc *scratch) []part {
	if len(p) <= window {
		return v.mergeShort(p, sc)
	}
	return v.mergeQueued(p, sc)
}
