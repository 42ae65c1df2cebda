// Package usedids remembers the ids that a session has used, so that each is used once.
package usedids

import (
	"hash/maphash"
	"strconv"
	"sync"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/internal/protection"
)

// seed is for the hashes of ids; they never leave the process.
var seed = maphash.MakeSeed()

// A Set holds the ids of all messages that a session ever had. Its own, m1, m2 and so on,
// take one bit each; of others it keeps a hash. If two ids have one hash, the second
// counts as known, and is replaced.
type Set struct {
	numbered []uint64 // bit n is m<n>
	others   map[uint64]struct{}
	next     int // no number below it is searched again
}

// number returns the number of an id in the session's form, or -1.
func number(id string) int {
	if len(id) < 2 || len(id) > 10 || id[0] != 'm' || id[1] == '0' {
		return -1
	}
	n := 0
	for _, c := range []byte(id[1:]) {
		if c < '0' || c > '9' {
			return -1
		}
		n = 10*n + int(c-'0')
	}
	return n
}

func (s *Set) Contains(id string) bool {
	if n := number(id); n >= 0 && n/64 < len(s.numbered) && s.numbered[n/64]>>(n%64)&1 == 1 {
		return true
	}
	if len(s.others) == 0 {
		return false
	}
	_, known := s.others[maphash.String(seed, id)]
	return known
}

func (s *Set) Add(id string) {
	n := number(id)
	if n < 0 || n/64 > len(s.numbered) {
		if s.others == nil {
			s.others = make(map[uint64]struct{})
		}
		s.others[maphash.String(seed, id)] = struct{}{}
		return
	}
	if n/64 == len(s.numbered) {
		s.numbered = append(s.numbered, 0)
	}
	s.numbered[n/64] |= 1 << (n % 64)
}

// Unused returns an id that no message had, with number n if that is free.
func (s *Set) Unused(n int) string {
	var buf [24]byte
	for n = max(n, s.next); ; n++ {
		id := strconv.AppendInt(append(buf[:0], 'm'), int64(n), 10)
		if !s.Contains(string(id)) {
			s.next = n + 1
			return string(id)
		}
	}
}

// Recalls holds the recall ids that a session knows: those of its rounds, of its archive,
// and of messages that an earlier compaction has written. Planning reads it while
// messages are added.
type Recalls struct {
	mu    sync.Mutex
	known map[uint32]struct{} // ids are eight hexadecimal digits
}

func recallNumber(id string) (n uint32, ok bool) {
	number, err := strconv.ParseUint(id, 16, 32)
	return uint32(number), err == nil
}

func (s *Recalls) Has(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, ok := recallNumber(id)
	_, known := s.known[n]
	return ok && known
}

func (s *Recalls) Add(id string) {
	n, ok := recallNumber(id)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known = make(map[uint32]struct{})
	}
	s.known[n] = struct{}{}
}

// AddShown adds the ids that an earlier compaction has written into m.
func (s *Recalls) AddShown(m chat.Message) {
	for _, id := range protection.RecallIDs(m) {
		s.Add(id)
	}
}

// A SyncSet is a set of ids that may be used concurrently.
type SyncSet struct {
	mu  sync.Mutex
	ids Set
}

// Add reports whether id is new.
func (l *SyncSet) Add(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ids.Contains(id) {
		return false
	}
	l.ids.Add(id)
	return true
}
