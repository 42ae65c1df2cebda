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

func (v *vocab) mergeLong(p string, sc *scratch) int {
	return len(v.mergeShort(p, sc)) - 1
}
