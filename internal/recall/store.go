package recall

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/embed"
)

// An IndexedStore is a store with an index of the removed text of each session. It is
// safe for concurrent use.
type IndexedStore struct {
	archive.Store
	cache string

	mu      sync.Mutex // guards indexes; not held while one is read
	indexes map[string]*index
}

// Indexed returns a store that keeps an index of store's text. The index of an
// [archive.Dir] is in its folder, that of another store that lasts in a folder of cache,
// if that is not "", and else in memory. Redaction comes before it: the index has the
// text that store gets.
func Indexed(store archive.Store, cache string) *IndexedStore {
	if x := indexedOf(store); x != nil {
		return x
	}
	return &IndexedStore{Store: store, cache: cache, indexes: make(map[string]*index)}
}

// indexedOf returns the IndexedStore that store is or wraps, nil if there is none.
func indexedOf(store archive.Store) *IndexedStore {
	for {
		switch s := store.(type) {
		case *IndexedStore:
			return s
		case interface{ Unwrap() archive.Store }:
			store = s.Unwrap()
		default:
			return nil
		}
	}
}

// Unwrap returns the store beneath.
func (s *IndexedStore) Unwrap() archive.Store { return s.Store }

// Put implements [archive.Store]. The index follows; it never makes a round fail.
func (s *IndexedStore) Put(ctx context.Context, step archive.Step) error {
	if err := s.Store.Put(ctx, step); err != nil {
		return err
	}
	if x := s.index(step.Session); x.path != "" || x.isRead() {
		_ = x.add(ctx, s.Store, step) // otherwise the next search reads the step
	}
	return nil
}

func (x *index) isRead() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.read
}

// Forget drops the data of a session in memory, as [archive.Forget] does.
func (s *IndexedStore) Forget(session string) {
	s.mu.Lock()
	delete(s.indexes, session)
	s.mu.Unlock()
	archive.Forget(s.Store, session)
}

func (s *IndexedStore) index(session string) *index {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.indexes[session]
	if x == nil {
		x = &index{session: session, path: s.path(session)}
		s.indexes[session] = x
	}
	return x
}

// path is the file of a session's index, "" for memory.
func (s *IndexedStore) path(session string) string {
	for store := s.Store; store != nil; {
		if d, ok := store.(interface{ IndexPath(session string) string }); ok {
			return d.IndexPath(session)
		}
		w, ok := store.(interface{ Unwrap() archive.Store })
		if !ok {
			break
		}
		store = w.Unwrap()
	}
	adapter, address := archive.Where(s.Store, session, 1)
	if s.cache == "" || adapter == "memory" || address == "" {
		return ""
	}
	return filepath.Join(s.cache, "recall", fmt.Sprintf("%016x.index", hashOfPlace(address+"\n"+session)))
}

func hashOfPlace(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // never fails
	return h.Sum64()
}

// Search finds removed text of some sessions: see [Query]. If the index does not fit the
// archive, it is made again.
func (s *IndexedStore) Search(ctx context.Context, sessions []string, q Query) (Result, error) {
	r, err := s.search(ctx, sessions, q)
	if errors.Is(err, errStale) {
		for _, session := range sessions {
			s.index(session).forget()
		}
		r, err = s.search(ctx, sessions, q)
	}
	if err != nil {
		return r, fmt.Errorf("search removed text: %w", err)
	}
	return r, nil
}

// IDsWith returns the recall ids of some sessions that begin with a prefix, sorted.
func (s *IndexedStore) IDsWith(ctx context.Context, sessions []string, prefix string) ([]string, error) {
	var ids []string
	for _, session := range sessions {
		x := s.index(session)
		if err := x.refresh(ctx, s.Store); err != nil && !errors.Is(err, archive.ErrDamaged) {
			return nil, err
		}
		x.mu.Lock()
		for _, seg := range x.segments {
			for _, step := range seg.steps {
				for _, id := range step.entries {
					if strings.HasPrefix(id, prefix) {
						ids = append(ids, id)
					}
				}
			}
		}
		x.mu.Unlock()
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// forget drops the index, and its file.
func (x *index) forget() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.path != "" {
		os.Remove(x.path)
	}
	x.replace(nil, 0)
	x.read = false
	x.cached = nil
}

func (s *IndexedStore) snapshot(ctx context.Context, sessions []string) (*snapshot, error, error) {
	indexes := make([]*index, len(sessions))
	segments := make([][]*segment, len(sessions))
	var damaged error
	for i, session := range sessions {
		x := s.index(session)
		indexes[i] = x
		if err := x.refresh(ctx, s.Store); err != nil {
			return nil, nil, err
		}
		x.mu.Lock()
		segments[i] = x.segments
		x.mu.Unlock()
		damaged = errors.Join(damaged, x.damages(segments[i]))
	}
	if len(indexes) == 1 {
		return indexes[0].snapshotOf(segments), damaged, nil
	}
	return newSnapshot(indexes, segments), damaged, nil
}

// snapshotOf returns the snapshot of x alone, which is kept until its segments change.
func (x *index) snapshotOf(segments [][]*segment) *snapshot {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.cached == nil || !slices.Equal(x.cached.segments, segments[0]) {
		x.cached = newSnapshot([]*index{x}, segments)
	}
	return x.cached
}

func (s *IndexedStore) search(ctx context.Context, sessions []string, q Query) (Result, error) {
	snap, damaged, err := s.snapshot(ctx, sessions)
	if err != nil {
		return Result{}, err
	}
	read := newReaders(s.Store)
	defer read.close()
	r := Result{Hits: []Hit{}, Passages: len(snap.lengths), Damaged: damaged}
	v, words := verbatimOf(q.Text)
	cosines, err := snap.cosines(ctx, read, q, words)
	if ctx.Err() != nil || errors.Is(err, errStale) {
		return r, errors.Join(ctx.Err(), err)
	}
	r.ByMeaning, r.Failed = cosines != nil, err
	lexical := snap.corpus().Match(embed.TermsOfText(words))
	of := snap.scoresOf(words, lexical, cosines)
	if snap.code && strings.TrimSpace(words) != "" {
		code, err := snap.codeRanking(ctx, read, q, words, lexical, of)
		if err != nil {
			return r, err
		}
		code.addTo(of.fused)
	}
	all := snap.rank(q, of)
	r.Total = len(all)
	if r.Verbatim, err = snap.promote(ctx, read, v, all); err != nil && !errors.Is(err, archive.ErrDamaged) {
		return r, err
	}
	all = sortRanked(all)
	f := filler{snapshot: snap, store: read, query: q, left: q.limit(), shown: make(map[string]bool), lines: make(map[string]bool), groups: make(map[hitPlace]bool), termWeights: termWeights(words)}
	err = f.fill(ctx, all)
	f.trim()
	r.Hits, r.Damaged = append(r.Hits, f.hits...), errors.Join(r.Damaged, f.damage)
	return r, err
}

// termWeights returns how much the words of a query count for the choice of lines: those
// that are part of a longer name, and common ones, count less.
func termWeights(words string) map[uint32]int {
	weights := make(map[uint32]int)
	for word := range strings.FieldsSeq(words) {
		terms := embed.TermsOfText(word)
		for hash := range terms.Counts() {
			weights[hash] = max(weights[hash], 1+4*min(1, terms.Content())+min(6, len(word)/2))
		}
	}
	return weights
}
