package tokens

import "slices"

// A link is a token of a merge, stored under the byte where it begins.
type link struct {
	rank uint32 // of its join with the next; none where it has none or is part of another token
	prev uint32 // where the neighbours begin; next of the last is the end of the piece
	next uint32
}

// A candidate is a join that was possible when it was queued: its rank and,
// below, where it begins. The lowest is the next to merge.
type candidate uint64

func newCandidate(rank, at uint32) candidate { return candidate(rank)<<32 | candidate(at) }

// mergeQueued is [vocab.mergeShort] for long p: a heap finds the next merge.
func (v *vocab) mergeQueued(p string, sc *scratch) []part {
	sc.link(p, v)
	links, q := sc.links, queue(sc.queue)
	end := uint32(len(p))
	for len(q) > 0 {
		c := q.pop()
		at := uint32(c)
		if links[at].rank != uint32(c>>32) {
			continue // was queued before a neighbour changed
		}
		gone := links[at].next
		links[gone].rank = none
		links[at].next = links[gone].next
		if links[at].next < end {
			links[links[at].next].prev = at
		}
		q.join(p, v, links, at)
		if at > 0 {
			q.join(p, v, links, links[at].prev)
		}
	}
	sc.queue = q
	parts := sc.parts[:0]
	for at := uint32(0); at < end; at = links[at].next {
		parts = append(parts, part{none, at})
	}
	sc.parts = append(parts, part{none, end})
	return sc.parts
}

// link makes a link of every byte of p, and queues what they join to.
func (sc *scratch) link(p string, v *vocab) {
	links := slices.Grow(sc.links[:0], len(p))[:len(p)]
	q := sc.queue[:0]
	for i := range links {
		rank := uint32(none)
		if i+1 < len(p) {
			rank = v.pairs[uint(p[i])|uint(p[i+1])<<8]
		}
		links[i] = link{rank, uint32(i) - 1, uint32(i) + 1}
		if rank != none {
			q = append(q, newCandidate(rank, uint32(i)))
		}
	}
	queue(q).order()
	sc.links, sc.queue = links, q
}

// A queue is a binary heap, the lowest first.
type queue []candidate

// join queues the join of the token at with its next, where that is a token.
func (q *queue) join(p string, v *vocab, links []link, at uint32) {
	links[at].rank = none
	next := links[at].next
	if int(next) == len(p) {
		return
	}
	if rank := v.rank(p, int(at), int(links[next].next)); rank != none {
		links[at].rank = rank
		q.push(newCandidate(rank, at))
	}
}

func (q queue) order() {
	for i := len(q)/2 - 1; i >= 0; i-- {
		q.sink(i)
	}
}

func (q *queue) push(c candidate) {
	*q = append(*q, c)
	h := *q
	i := len(h) - 1
	for i > 0 {
		up := (i - 1) / 2
		if h[up] <= c {
			break
		}
		h[i] = h[up]
		i = up
	}
	h[i] = c
}

func (q *queue) pop() candidate {
	h := *q
	lowest := h[0]
	last := len(h) - 1
	h[0] = h[last]
	*q = h[:last]
	q.sink(0)
	return lowest
}

func (q queue) sink(i int) {
	if i >= len(q) {
		return
	}
	c := q[i]
	for {
		down := 2*i + 1
		if down >= len(q) {
			break
		}
		if down+1 < len(q) && q[down+1] < q[down] {
			down++
		}
		if q[down] >= c {
			break
		}
		q[i] = q[down]
		i = down
	}
	q[i] = c
}
