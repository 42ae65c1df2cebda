package proxy

import (
	"bytes"
	"context"
	"math/bits"
	"slices"
	"sort"
	"sync"
)

// tipIndex finds conversations by their messages. It has an entry for the first 1, 2, 4, 8
// and so on messages of a conversation, not for each of them: what is between is found by
// comparing chains.
type tipIndex struct {
	byID     map[string]Tip
	byStart  map[indexKey][]string // ids, in the order of their first request
	messages int                   // of all chains
}

type indexKey struct {
	space string
	link  Link
	n     int // messages up to link
}

func newTipIndex() tipIndex {
	return tipIndex{byID: make(map[string]Tip), byStart: make(map[indexKey][]string)}
}

func (x *tipIndex) find(space string, chain []Link) (best Tip, common int) {
	for n := longestStart(chain); n > 0; n /= 2 {
		for _, id := range x.byStart[startOf(space, chain, n)] {
			tip := x.byID[id]
			same := commonLinks(tip.Chain, chain)
			ends, bestEnds := len(tip.Chain) == same, len(best.Chain) == common
			if same > common || same == common && (ends && !bestEnds || ends == bestEnds && tip.Used.After(best.Used)) {
				best, common = tip, same
			}
		}
		if common > 0 {
			break // the others have less than n in common
		}
	}
	return best, common
}

// longestStart returns the greatest power of two up to the length of a chain, 0 for none.
func longestStart(chain []Link) int { return 1 << bits.Len(uint(len(chain))) >> 1 }

func startOf(space string, chain []Link, n int) indexKey { return indexKey{space, chain[n-1], n} }

// commonLinks returns the length of the common beginning of two chains. A link is of all
// messages up to its own, so the first difference is found by halving.
func commonLinks(a, b []Link) int {
	return sort.Search(min(len(a), len(b)), func(i int) bool { return a[i] != b[i] })
}

func (x *tipIndex) put(tip Tip) {
	old := x.byID[tip.ID]
	same := 0
	if old.Space == tip.Space {
		same = commonLinks(old.Chain, tip.Chain)
	}
	x.unlink(old, same)
	for n := longestStart(tip.Chain); n > same; n /= 2 {
		k := startOf(tip.Space, tip.Chain, n)
		x.byStart[k] = append(x.byStart[k], tip.ID)
	}
	x.messages += len(tip.Chain) - len(old.Chain)
	x.byID[tip.ID] = tip
}

// unlink removes the entries of a conversation for more than some messages.
func (x *tipIndex) unlink(tip Tip, messages int) {
	for n := longestStart(tip.Chain); n > messages; n /= 2 {
		k := startOf(tip.Space, tip.Chain, n)
		ids := slices.DeleteFunc(x.byStart[k], func(id string) bool { return id == tip.ID })
		if x.byStart[k] = ids; len(ids) == 0 {
			delete(x.byStart, k)
		}
	}
}

func (x *tipIndex) remove(id string) {
	tip := x.byID[id]
	x.unlink(tip, 0)
	x.messages -= len(tip.Chain)
	delete(x.byID, id)
}

// oldestFirst returns all conversations, those used last at the end.
func (x *tipIndex) oldestFirst() []Tip {
	all := make([]Tip, 0, len(x.byID))
	for _, tip := range x.byID {
		all = append(all, tip)
	}
	slices.SortFunc(all, func(a, b Tip) int {
		if c := a.Used.Compare(b.Used); c != 0 {
			return c
		}
		return bytes.Compare([]byte(a.ID), []byte(b.ID))
	})
	return all
}

// leases are locks by name, within a process.
type leases struct {
	mu   sync.Mutex
	held map[string]*lease
}

type lease struct {
	token chan struct{}
	users int
}

func (l *leases) take(ctx context.Context, id string) (release func(), err error) {
	l.mu.Lock()
	if l.held == nil {
		l.held = make(map[string]*lease)
	}
	k := l.held[id]
	if k == nil {
		k = &lease{token: make(chan struct{}, 1)}
		l.held[id] = k
	}
	k.users++
	l.mu.Unlock()
	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if k.users--; k.users == 0 {
			delete(l.held, id)
		}
	}
	select {
	case k.token <- struct{}{}:
		var once sync.Once
		return func() { once.Do(func() { <-k.token; leave() }) }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}
