package tokens

import (
	"encoding/binary"
	"errors"
	"io"
	"math/bits"
)

// noRank is the rank of a text that is not a token.
const noRank = 1<<32 - 1

// A vocab holds the rank of every token of an encoding. Tokens of two bytes are
// found by their bytes; others in a hash table with open addressing, compared in
// full. It is small and quick to make, because many processes count one text only.
type vocab struct {
	pairs   [1 << 16]uint32 // by first byte + 256 * second byte
	tokens  []uint64        // by rank: the size in the highest byte; below it the bytes of a short token, or where another one begins in text
	text    string          // the tokens that are not short, one after the other
	longest int             // bytes

	slots []uint32 // by hash: a rank + 1, and in the bits above it a part of the hash; an empty slot is 0
	shift uint     // turns a hash into a place in slots
}

const (
	shortBytes = 7 // the size of the longest short token
	sizeShift  = 8 * shortBytes
	maxBytes   = 1<<(64-sizeShift) - 1 // of a token
	rankBits   = 20
	maxRank    = 1<<rankBits - 2
)

// parseVocab reads a file of about size bytes, see [readTokens].
func parseVocab(file io.Reader, size int64) (*vocab, error) {
	v := &vocab{tokens: make([]uint64, 0, size/16)} // a line has 17 bytes or more on average
	for i := range v.pairs {
		v.pairs[i] = noRank
	}
	singles := 0
	text := make([]byte, 0, size/4)
	err := readTokens(file, func(rank int, token []byte) {
		n := len(token)
		entry := uint64(n) << sizeShift
		if n > shortBytes {
			entry |= uint64(len(text))
			text = append(text, token...)
		} else {
			entry |= binary.LittleEndian.Uint64(token[:8]) & (1<<(8*n) - 1)
		}
		switch n {
		case 1:
			singles++
		case 2:
			v.pairs[entry&0xFFFF] = uint32(rank)
		}
		v.tokens = append(v.tokens, entry)
		v.longest = max(v.longest, n)
	})
	if err == nil && singles != 256 {
		err = errors.New("not every byte is a token")
	}
	if err != nil {
		return nil, err
	}
	v.text = string(text)
	v.fillSlots()
	return v, nil
}

// fillSlots makes the hash table, which the tokens fill at most by half.
func (v *vocab) fillSlots() {
	logSize := bits.Len(uint(2*len(v.tokens)) | 1)
	v.slots, v.shift = make([]uint32, 1<<logSize), uint(64-logSize)
	// The loop reads a place before it writes there. In new memory, each page would
	// be mapped twice, with an interrupt of the other processors.
	clear(v.slots)
	for rank, entry := range v.tokens {
		hash := hashShort(entry)
		if n := int(entry >> sizeShift); n > shortBytes {
			hash = hashLong(v.textOf(entry), 0, n)
		}
		slot := v.slotOf(hash)
		for v.slots[slot] != 0 {
			slot = v.nextSlot(slot)
		}
		v.slots[slot] = tagOf(hash) | uint32(rank+1)
	}
}

// textOf returns the text of an entry of v.tokens that is not short.
func (v *vocab) textOf(entry uint64) string {
	at := entry & (1<<sizeShift - 1)
	return v.text[at : at+entry>>sizeShift]
}

const (
	mix1 = 0x9e3779b97f4a7c15
	mix2 = 0xd6e8feb86659fd93
)

// hashShort returns the hash of an entry of v.tokens that is short.
func hashShort(entry uint64) uint64 { return entry * mix1 }

// hashLong returns the hash of the token s[i:end], which is not short.
func hashLong(s string, i, end int) uint64 {
	head, tail := loadBytes(s, i, 8), loadBytes(s, end-8, 8)
	return (head*mix1 ^ bits.RotateLeft64(tail, 29) + uint64(end-i)) * mix2
}

// slotOf returns the first place in v.slots of a token with that hash.
func (v *vocab) slotOf(hash uint64) int { return int(hash >> (v.shift & 63)) }

func (v *vocab) nextSlot(slot int) int { return (slot + 1) & (len(v.slots) - 1) }

// tagOf returns the part of a hash that a slot has above its rank. It tells most
// tokens apart without a look at v.tokens.
func tagOf(hash uint64) uint32 { return uint32(hash>>8) >> rankBits << rankBits }

// tokenRank returns the rank of the token s[i:end], or none.
func (v *vocab) tokenRank(s string, i, end int) uint32 {
	n := end - i
	if n > shortBytes {
		return v.longRank(s, i, end)
	}
	entry := uint64(n)<<sizeShift | loadBytes(s, i, n)
	hash := hashShort(entry)
	tag := tagOf(hash)
	for slot := v.slotOf(hash); v.slots[slot] != 0; slot = v.nextSlot(slot) {
		if rank := v.slots[slot] ^ tag - 1; rank <= maxRank && v.tokens[rank] == entry {
			return rank
		}
	}
	return noRank
}

func (v *vocab) longRank(s string, i, end int) uint32 {
	n := end - i
	if n > v.longest {
		return noRank
	}
	hash := hashLong(s, i, end)
	tag := tagOf(hash)
	for slot := v.slotOf(hash); v.slots[slot] != 0; slot = v.nextSlot(slot) {
		if rank := v.slots[slot] ^ tag - 1; rank <= maxRank && v.tokens[rank]>>sizeShift == uint64(n) && v.textOf(v.tokens[rank]) == s[i:end] {
			return rank
		}
	}
	return noRank
}

// loadBytes returns the n <= 8 bytes of s at i, the first lowest.
func loadBytes(s string, i, n int) uint64 {
	if i+8 <= len(s) {
		b := s[i : i+8]
		word := uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
			uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
		return word & (1<<(8*n) - 1)
	}
	return loadTail(s[i : i+n])
}

func loadTail(s string) uint64 {
	word := uint64(0)
	for i := len(s) - 1; i >= 0; i-- {
		word = word<<8 | uint64(s[i])
	}
	return word
}
