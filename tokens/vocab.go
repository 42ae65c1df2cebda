package tokens

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"math/bits"
	"strconv"
)

// noRank is the rank of a text that is not a token.
const noRank = 1<<32 - 1

// A vocab holds the rank of every token of an encoding. Tokens of two bytes are
// found by their bytes; others in one of two hash tables with open addressing,
// compared in full.
type vocab struct {
	pairs   [1 << 16]uint32 // by first byte + 256 * second byte
	short   []shortToken    // of up to 8 bytes
	long    []longToken     // of more
	text    []byte          // all tokens, one after the other
	longest int             // bytes

	shortShift, longShift uint // turn a hash into a place in a table
}

// A shortToken is a token of at most eight bytes; an empty slot has size 0.
type shortToken struct {
	word uint64 // the bytes, the first lowest
	rank uint32
	size uint32
}

// A longToken is a token of more than eight bytes. head and tail hold a token of up
// to 16 bytes entirely.
type longToken struct {
	head, tail uint64 // the first and the last eight bytes
	rank       uint32
	place      uint32 // where it begins in vocab.text, and in the lowest sizeBits its size; an empty slot has 0
}

const sizeBits = 8

// parseVocab reads a file of lines, each with a token in base64 and its rank.
func parseVocab(file []byte) (*vocab, error) {
	v := &vocab{text: make([]byte, 0, len(file)/2)}
	lines := bytes.Count(file, []byte{'\n'}) + 1
	ends, ranks := make([]uint32, 0, lines), make([]uint32, 0, lines)
	for len(file) > 0 {
		var line []byte
		line, file, _ = bytes.Cut(file, []byte{'\n'})
		if len(line) == 0 {
			continue
		}
		token, rank, ok := bytes.Cut(line, []byte{' '})
		if !ok {
			return nil, fmt.Errorf("line %d: no rank", len(ranks)+1)
		}
		var err error
		if v.text, err = base64.StdEncoding.AppendDecode(v.text, token); err != nil {
			return nil, fmt.Errorf("line %d: %w", len(ranks)+1, err)
		}
		r, err := strconv.ParseUint(string(rank), 10, 24)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", len(ranks)+1, err)
		}
		ends, ranks = append(ends, uint32(len(v.text))), append(ranks, uint32(r))
	}
	return v, v.fillTables(ends, ranks)
}

// fillTables puts the tokens of v.text, which end at ends, into the tables.
func (v *vocab) fillTables(ends, ranks []uint32) error {
	if err := v.makeTables(ends); err != nil {
		return err
	}
	text := string(v.text)
	for i, start := 0, uint32(0); i < len(ends); i++ {
		v.putToken(text, int(start), int(ends[i]), ranks[i])
		start = ends[i]
	}
	return nil
}

func (v *vocab) makeTables(ends []uint32) error {
	singles, shorts, longs := 0, 0, 0
	for i, start := 0, uint32(0); i < len(ends); i++ {
		n := int(ends[i] - start)
		start = ends[i]
		v.longest = max(v.longest, n)
		switch {
		case n == 0 || n >= 1<<sizeBits:
			return fmt.Errorf("token %d has %d bytes", i, n)
		case n > 8:
			longs++
			continue
		case n == 1:
			singles++
		}
		shorts++
	}
	if singles != 256 {
		return errors.New("not every byte is a token")
	}
	for i := range v.pairs {
		v.pairs[i] = noRank
	}
	shortBits, longBits := tableBits(shorts), tableBits(longs)
	v.short, v.long = make([]shortToken, 1<<shortBits), make([]longToken, 1<<longBits)
	v.shortShift, v.longShift = 64-shortBits, 64-longBits
	return nil
}

// tableBits returns log2 of the size of a table that n tokens fill at most by half.
func tableBits(n int) uint { return uint(bits.Len(uint(2*n) | 1)) }

func (v *vocab) putToken(text string, start, end int, rank uint32) {
	switch n := end - start; {
	case n <= 8:
		if n == 2 {
			v.pairs[uint(text[start])|uint(text[start+1])<<8] = rank
		}
		word := loadBytes(text, start, n)
		slot := v.shortSlot(word)
		for v.short[slot].size != 0 {
			slot = (slot + 1) & (len(v.short) - 1)
		}
		v.short[slot] = shortToken{word, rank, uint32(n)}
	default:
		t := longToken{loadBytes(text, start, 8), loadBytes(text, end-8, 8), rank, uint32(start)<<sizeBits | uint32(n)}
		slot := v.longSlot(t.head, t.tail, n)
		for v.long[slot].place != 0 {
			slot = (slot + 1) & (len(v.long) - 1)
		}
		v.long[slot] = t
	}
}

const (
	mix1 = 0x9e3779b97f4a7c15
	mix2 = 0xd6e8feb86659fd93
)

func (v *vocab) shortSlot(word uint64) int {
	return int(word * mix1 >> (v.shortShift & 63))
}

func (v *vocab) longSlot(head, tail uint64, n int) int {
	return int((head*mix1 ^ bits.RotateLeft64(tail, 29) + uint64(n)) * mix2 >> (v.longShift & 63))
}

// tokenRank returns the rank of the token s[i:end], or none.
func (v *vocab) tokenRank(s string, i, end int) uint32 {
	n := end - i
	if n > 8 {
		return v.longRank(s, i, end)
	}
	word := loadBytes(s, i, n)
	for slot := v.shortSlot(word); ; slot = (slot + 1) & (len(v.short) - 1) {
		t := &v.short[slot]
		if t.word == word && t.size == uint32(n) {
			return t.rank
		}
		if t.size == 0 {
			return noRank
		}
	}
}

func (v *vocab) longRank(s string, i, end int) uint32 {
	n := end - i
	if n > v.longest {
		return noRank
	}
	head, tail := loadBytes(s, i, 8), loadBytes(s, end-8, 8)
	for slot := v.longSlot(head, tail, n); ; slot = (slot + 1) & (len(v.long) - 1) {
		t := &v.long[slot]
		if t.place == 0 {
			return noRank
		}
		if t.head == head && t.tail == tail && t.place&(1<<sizeBits-1) == uint32(n) {
			at := int(t.place >> sizeBits)
			if n <= 16 || string(v.text[at:at+n]) == s[i:end] {
				return t.rank
			}
		}
	}
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
