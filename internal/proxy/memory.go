package proxy

import (
	"bytes"
	"context"
	"slices"
	"sync"
)

// tipIndex finds conversations by their messages.
type tipIndex struct {
	byID   map[string]Tip
	byLink map[indexKey][]string // ids, in the order of their first request
}

type indexKey struct {
	space string
	link  Link
}

func newTipIndex() tipIndex {
	return tipIndex{byID: make(map[string]Tip), byLink: make(map[indexKey][]string)}
}

func (x *tipIndex) find(space string, chain []Link) (best Tip, common int) {
	for n := len(chain); n > 0; n-- {
		ids := x.byLink[indexKey{space, chain[n-1]}]
		for _, id := range ids {
			tip := x.byID[id]
			ends, bestEnds := len(tip.Chain) == n, len(best.Chain) == n
			if common == 0 || ends && !bestEnds || ends == bestEnds && tip.Used.After(best.Used) {
				best, common = tip, n
			}
		}
		if common > 0 {
			return best, common
		}
	}
	return Tip{}, 0
}

func (x *tipIndex) put(tip Tip) {
	old := x.byID[tip.ID]
	same := 0
	if old.Space == tip.Space {
		for same < min(len(old.Chain), len(tip.Chain)) && old.Chain[same] == tip.Chain[same] {
			same++
		}
	}
	x.unlink(old, same)
	for _, l := range tip.Chain[same:] {
		k := indexKey{tip.Space, l}
		x.byLink[k] = append(x.byLink[k], tip.ID)
	}
	x.byID[tip.ID] = tip
}

// unlink removes the links of a conversation from an index on.
func (x *tipIndex) unlink(tip Tip, from int) {
	for _, l := range tip.Chain[min(from, len(tip.Chain)):] {
		k := indexKey{tip.Space, l}
		ids := slices.DeleteFunc(x.byLink[k], func(id string) bool { return id == tip.ID })
		if x.byLink[k] = ids; len(ids) == 0 {
			delete(x.byLink, k)
		}
	}
}

func (x *tipIndex) remove(id string) {
	x.unlink(x.byID[id], 0)
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
