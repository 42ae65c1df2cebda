package recall

import (
	"bytes"
	"cmp"
	"compress/flate"
	"container/heap"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/embed"
)

// A segment is an index of the text that some steps removed. It never changes.
type segment struct {
	steps    []stepRef
	seen     []uint64 // hashes of the ids of messages that no earlier segment has, in order
	messages []message
	docs     []doc // the passages, by message
	words    func() []string
	packed   []byte // words, compressed
	skips    []skip
	postings []byte
	size     int    // in bytes, encoded
	encoded  []byte // the whole
}

// A stepRef is a step of the archive.
type stepRef struct {
	number  int
	time    int64 // Unix seconds
	damaged bool  // some of it could not be read
	entries []string
}

// A message is an indexed message.
type message struct {
	number             int32 // in the session, from 1
	step, entry, place int32 // where the archive has it; step and entry are indices
	piece              int32 // of the message, see piecesOf
	tool, file, args   int32 // in words; 0 is ""
	hash               uint32
	role               uint8
	failed             bool
	firstDoc, passages int32
}

// A doc is a passage.
type doc struct {
	message, part, length int32
	old                   bool // an edit replaced the text
}

// A skip is where the postings of skipEvery terms begin.
type skip struct{ hash, at uint32 }

const skipEvery = 32

var roles = []chat.Role{"", chat.System, chat.Developer, chat.User, chat.Assistant, chat.Tool}

func roleNumber(r chat.Role) uint8 { return uint8(max(0, slices.Index(roles, r))) }

// A posting says how often a term occurs in a passage.
type posting struct {
	hash       uint32
	doc, count int32
}

var errSegment = errors.New("not a segment of an index")

// encodeSegment returns s as bytes, with the postings that next yields: by term, then by
// passage.
func encodeSegment(s *segment, words []string, next func() (posting, bool)) []byte {
	var b []byte
	put := func(n int) { b = binary.AppendUvarint(b, uint64(n)) }
	put(len(s.steps))
	number, when := 0, int64(0)
	for _, st := range s.steps {
		put((st.number-number)<<1 | flag(st.damaged))
		b = binary.AppendVarint(b, st.time-when)
		number, when = st.number, st.time
		put(len(st.entries))
		for _, e := range st.entries {
			put(len(e))
			b = append(b, e...)
		}
	}
	put(len(s.seen))
	for _, h := range s.seen {
		b = appendSeen(b, h)
	}
	put(len(s.messages))
	var last message
	for _, m := range s.messages {
		b = binary.AppendVarint(b, int64(m.number-last.number))
		b = binary.AppendVarint(b, int64(m.step-last.step))
		put(int(m.entry))
		b = binary.AppendVarint(b, int64(m.place-last.place))
		put(int(m.piece))
		put(int(m.role)<<1 | flag(m.failed))
		put(int(m.tool))
		put(int(m.file))
		put(int(m.args))
		b = binary.LittleEndian.AppendUint32(b, m.hash)
		put(int(m.passages))
		for _, d := range s.docs[m.firstDoc : m.firstDoc+m.passages] {
			put(int(d.length)<<1 | flag(d.old))
		}
		last = m
	}
	packed := packStrings(words)
	put(len(packed))
	b = append(b, packed...)
	skips, postings := encodePostings(next)
	put(len(skips))
	for _, k := range skips {
		b = binary.LittleEndian.AppendUint32(b, k.hash)
		b = binary.LittleEndian.AppendUint32(b, k.at)
	}
	return append(b, postings...)
}

func flag(set bool) int {
	if set {
		return 1
	}
	return 0
}

// encodePostings writes terms in ascending order: the difference to the one before, the
// length of its passages, and the passages, each as the difference to the one before.
func encodePostings(next func() (posting, bool)) (skips []skip, out []byte) {
	var list []byte
	terms, before, last := 0, uint32(0), int32(-1)
	var hash uint32
	flush := func() {
		if len(list) == 0 {
			return
		}
		if terms%skipEvery == 0 {
			skips = append(skips, skip{hash, uint32(len(out))})
			before = hash
		}
		out = binary.AppendUvarint(out, uint64(hash-before))
		out = binary.AppendUvarint(out, uint64(len(list)))
		out = append(out, list...)
		before = hash
		terms++
	}
	for {
		p, more := next()
		if !more || p.hash != hash && last >= 0 {
			flush()
			list, last = list[:0], -1
		}
		if !more {
			return skips, out
		}
		hash = p.hash
		gap := uint64(p.doc-last-1) << 1
		if p.count == 1 {
			list = binary.AppendUvarint(list, gap)
		} else {
			list = binary.AppendUvarint(list, gap|1)
			list = binary.AppendUvarint(list, uint64(p.count))
		}
		last = p.doc
	}
}

// postingsOf returns the postings of a term as they are encoded.
func (s *segment) postingsOf(hash uint32) []byte {
	k, found := slices.BinarySearchFunc(s.skips, hash, func(k skip, h uint32) int { return cmp.Compare(k.hash, h) })
	if !found {
		k--
	}
	if k < 0 {
		return nil
	}
	c := cursor{rest: s.postings[s.skips[k].at:], hash: s.skips[k].hash}
	for range skipEvery {
		if !c.nextTerm() || c.hash > hash {
			break
		}
		if c.hash == hash {
			return c.list
		}
	}
	return nil
}

// appendPostings appends the passages that have a term, with base added to their numbers.
// Common terms have very many, so one byte is decoded without a call.
func (s *segment) appendPostings(hash uint32, base int32, list []embed.Posting) []embed.Posting {
	b := s.postingsOf(hash)
	list = slices.Grow(list, len(b))
	for doc := int32(-1); len(b) > 0; {
		n, size := uint64(b[0]), 1
		if n >= 1<<7 {
			n, size = binary.Uvarint(b)
		}
		if size <= 0 {
			return list
		}
		b = b[size:]
		count := uint64(1)
		if n&1 == 1 {
			if count, size = binary.Uvarint(b); size <= 0 {
				return list
			}
			b = b[size:]
		}
		doc += int32(n>>1) + 1
		if uint64(doc) >= uint64(len(s.docs)) {
			return list // damaged
		}
		list = append(list, embed.Posting{Doc: base + doc, Count: int32(count)})
	}
	return list
}

// A cursor goes through postings.
type cursor struct {
	rest, list []byte
	terms      int
	hash       uint32
	doc, count int32
	bad        bool
}

func (c *cursor) number(b *[]byte) uint64 {
	n, size := binary.Uvarint(*b)
	if size <= 0 {
		c.bad, *b = true, nil
		return 0
	}
	*b = (*b)[size:]
	return n
}

// nextTerm goes to the next term, from the start of a skip.
func (c *cursor) nextTerm() bool {
	if len(c.rest) == 0 {
		return false
	}
	c.hash += uint32(c.number(&c.rest))
	size := c.number(&c.rest)
	if c.bad || size > uint64(len(c.rest)) {
		c.bad, c.rest = true, nil
		return false
	}
	c.list, c.rest, c.doc = c.rest[:size], c.rest[size:], -1
	c.terms++
	return true
}

func (c *cursor) nextDoc() bool {
	if len(c.list) == 0 {
		return false
	}
	n := c.number(&c.list)
	c.count = 1
	if n&1 == 1 {
		c.count = int32(c.number(&c.list))
	}
	c.doc += int32(n>>1) + 1
	return !c.bad
}

// decodeSegment is the inverse of encodeSegment. A damage that the checksum did not find
// is an error, never a panic.
func decodeSegment(b []byte) (s *segment, err error) {
	s = &segment{size: len(b), encoded: b}
	r := reader{b: b}
	number, when := 0, int64(0)
	for range r.count() {
		n := r.uint()
		number += int(n >> 1)
		when += r.int()
		st := stepRef{number: number, time: when, damaged: n&1 == 1}
		for range r.count() {
			st.entries = append(st.entries, string(r.bytes(int(r.uint()))))
		}
		s.steps = append(s.steps, st)
	}
	seen := r.count()
	s.seen = make([]uint64, 0, seen)
	for range seen {
		s.seen = append(s.seen, r.seen())
	}
	count := r.count()
	s.messages, s.docs = make([]message, 0, count), make([]doc, 0, count)
	var last message
	for i := range count {
		m := message{number: last.number + int32(r.int()), step: last.step + int32(r.int()), entry: int32(r.uint()), place: last.place + int32(r.int()), piece: int32(r.uint())}
		role := r.uint()
		m.role, m.failed = uint8(role>>1), role&1 == 1
		m.tool, m.file, m.args = int32(r.uint()), int32(r.uint()), int32(r.uint())
		if hash := r.bytes(4); hash != nil {
			m.hash = binary.LittleEndian.Uint32(hash)
		}
		m.firstDoc, m.passages = int32(len(s.docs)), int32(r.count())
		for part := range m.passages {
			n := r.uint()
			s.docs = append(s.docs, doc{int32(i), part, int32(n >> 1), n&1 == 1})
		}
		if m.step < 0 || int(m.step) >= len(s.steps) || int(m.entry) >= len(s.steps[m.step].entries) || m.entry < 0 || int(m.role) >= len(roles) {
			r.bad = true
		}
		if r.bad {
			return nil, errSegment
		}
		s.messages, last = append(s.messages, m), m
	}
	s.packed = r.bytes(int(r.uint()))
	skips := r.count()
	raw := r.bytes(8 * skips)
	if r.bad {
		return nil, errSegment
	}
	s.postings = r.b
	for k := range skips {
		at := binary.LittleEndian.Uint32(raw[8*k+4:])
		if int(at) > len(s.postings) {
			return nil, errSegment
		}
		s.skips = append(s.skips, skip{binary.LittleEndian.Uint32(raw[8*k:]), at})
	}
	s.words = sync.OnceValue(func() []string { return unpackStrings(s.packed) })
	return s, nil
}

// A reader reads numbers; after the first that is not there, all are 0.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) uint() uint64 {
	n, size := binary.Uvarint(r.b)
	if size <= 0 || n > 1<<40 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[size:]
	return n
}

func (r *reader) int() int64 {
	n, size := binary.Varint(r.b)
	if size <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[size:]
	return n
}

// count returns a number of things that have at least one byte each.
func (r *reader) count() int {
	n := r.uint()
	if n > uint64(len(r.b)) {
		r.bad, r.b = true, nil
		return 0
	}
	return int(n)
}

func (r *reader) bytes(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.bad, r.b = true, nil
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

// Hashes of ids that a session gives itself, m1, m2 and so on, are their numbers.
const ownIDs = 1 << 31

func appendSeen(b []byte, h uint64) []byte {
	if h < ownIDs {
		return binary.AppendUvarint(b, h+1)
	}
	return binary.LittleEndian.AppendUint64(append(b, 0), h)
}

func (r *reader) seen() uint64 {
	if n := r.uint(); n > 0 {
		return n - 1
	}
	b := r.bytes(8)
	if b == nil {
		return 0
	}
	return binary.LittleEndian.Uint64(b)
}

// Writers for packStrings: a new one takes more time than the words of a round. Those of a
// round are few, and are packed again when they are merged.
var (
	fastPackers = packers(flate.BestSpeed)
	bestPackers = packers(flate.BestCompression)
)

const fewWords = 1 << 9

func packers(level int) *sync.Pool {
	return &sync.Pool{New: func() any {
		w, err := flate.NewWriter(io.Discard, level)
		if err != nil {
			panic(err) // the level is a constant
		}
		return w
	}}
}

func packStrings(words []string) []byte {
	var b bytes.Buffer
	pool := bestPackers
	if len(words) < fewWords {
		pool = fastPackers
	}
	w := pool.Get().(*flate.Writer) // nothing else is put there
	defer pool.Put(w)
	w.Reset(&b)
	for _, s := range words {
		io.WriteString(w, s) // a buffer accepts everything
		w.Write([]byte{0})
	}
	w.Close()
	return b.Bytes()
}

func unpackStrings(packed []byte) []string {
	text, err := io.ReadAll(flate.NewReader(bytes.NewReader(packed)))
	words := []string{""}
	for s := range bytes.SplitSeq(text, []byte{0}) {
		words = append(words, string(s))
	}
	if err != nil || len(words) < 2 {
		return []string{""}
	}
	return words[:len(words)-1]
}

// word returns a string of the segment.
func (s *segment) word(n int32) string {
	if words := s.words(); n > 0 && int(n) < len(words) {
		return words[n]
	}
	return ""
}

// mergeSegments returns one segment with the content of several, in their order.
func mergeSegments(all []*segment) []byte {
	out := new(segment)
	in := newInterned()
	var cursors cursorHeap
	for _, s := range all {
		steps, docs, messages := int32(len(out.steps)), int32(len(out.docs)), int32(len(out.messages))
		out.steps = append(out.steps, s.steps...)
		out.seen = append(out.seen, s.seen...)
		for _, m := range s.messages {
			m.step += steps
			m.firstDoc += docs
			m.tool, m.file, m.args = in.add(s.word(m.tool)), in.add(s.word(m.file)), in.add(s.word(m.args))
			out.messages = append(out.messages, m)
		}
		for _, d := range s.docs {
			d.message += messages
			out.docs = append(out.docs, d)
		}
		c := &segmentCursor{cursor: cursor{rest: s.postings}, s: s, base: docs, order: len(cursors)}
		if c.nextTerm() {
			cursors = append(cursors, c)
		}
	}
	heap.Init(&cursors)
	return encodeSegment(out, in.words, func() (posting, bool) {
		for len(cursors) > 0 {
			c := cursors[0]
			if c.nextDoc() {
				return posting{c.hash, c.base + c.doc, c.count}, true
			}
			if c.nextTerm() {
				heap.Fix(&cursors, 0)
			} else {
				heap.Pop(&cursors)
			}
		}
		return posting{}, false
	})
}

// A segmentCursor goes through all terms of a segment, over its skips.
type segmentCursor struct {
	cursor
	s     *segment
	base  int32
	order int
}

func (c *segmentCursor) nextTerm() bool {
	if c.terms%skipEvery == 0 && c.terms/skipEvery < len(c.s.skips) {
		c.hash = c.s.skips[c.terms/skipEvery].hash
	}
	return c.cursor.nextTerm()
}

type cursorHeap []*segmentCursor

func (h cursorHeap) Len() int { return len(h) }
func (h cursorHeap) Less(a, b int) bool {
	return cmp.Or(cmp.Compare(h[a].hash, h[b].hash), cmp.Compare(h[a].order, h[b].order)) < 0
}
func (h cursorHeap) Swap(a, b int) { h[a], h[b] = h[b], h[a] }
func (h *cursorHeap) Push(x any)   { *h = append(*h, x.(*segmentCursor)) }
func (h *cursorHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// interned gives numbers to strings; 0 is "".
type interned struct {
	words []string
	at    map[string]int32
}

func newInterned() *interned { return &interned{at: map[string]int32{"": 0}} }

func (i *interned) add(s string) int32 {
	s = strings.ReplaceAll(s, "\x00", "")
	n, known := i.at[s]
	if !known {
		i.words = append(i.words, s)
		n = int32(len(i.words))
		i.at[s] = n
	}
	return n
}
