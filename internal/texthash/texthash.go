// Package texthash hashes lists of texts and numbers, to find messages that came before.
package texthash

import (
	"encoding/binary"
	"hash/maphash"
)

// longText is the length from which a text is hashed on its own, in one go and without a
// copy, which is several times as fast as in parts.
const longText = 64

// A List is hashed as a whole: where one text ends and the next begins counts. Its hash
// is of this process alone, and not predictable.
type List struct {
	seed maphash.Seed
	room [256]byte
	used int
	size int
}

// New returns an empty list. Lists with the same seed have the same hash if they are equal.
func New(seed maphash.Seed) List { return List{seed: seed} }

// AddText adds a text.
func (l *List) AddText(s string) {
	l.size += len(s)
	if len(s) > longText {
		l.AddNumber(len(s))
		l.add(maphash.String(l.seed, s))
		return
	}
	l.makeRoom(1 + len(s))
	l.room[l.used] = byte(len(s))
	l.used += 1 + copy(l.room[l.used+1:], s)
}

// AddNumber adds a number.
func (l *List) AddNumber(n int) { l.add(uint64(n)) }

func (l *List) add(n uint64) {
	l.makeRoom(9)
	l.room[l.used] = 0xff // no length of a short text
	binary.LittleEndian.PutUint64(l.room[l.used+1:], n)
	l.used += 9
}

// makeRoom makes room for n bytes: the hash of what is full begins what follows.
func (l *List) makeRoom(n int) {
	if l.used+n <= len(l.room) {
		return
	}
	sum := maphash.Bytes(l.seed, l.room[:l.used])
	l.room[0] = 0xfe
	binary.LittleEndian.PutUint64(l.room[1:], sum)
	l.used = 9
}

// Size returns the bytes of the texts.
func (l *List) Size() int { return l.size }

// Sum returns the hash of the list.
func (l *List) Sum() uint64 { return maphash.Bytes(l.seed, l.room[:l.used]) }
