package recall

import (
	"cmp"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/chat"
	"github.com/tiercompact/tiercompact/embed"
)

// known is what the index of a session has, for adding steps to it.
type known struct {
	steps   int
	numbers map[uint64]int32 // of messages, by the hash of the id
	have    map[int32]uint32 // hash of the text of each indexed message, by number
	again   map[uint64]bool  // number and hash of further texts of a message
}

func knownOf(all []*segment) *known {
	k := &known{numbers: make(map[uint64]int32), have: make(map[int32]uint32), again: make(map[uint64]bool)}
	for _, s := range all {
		k.addSegment(s)
	}
	return k
}

func (k *known) addSegment(s *segment) {
	k.steps += len(s.steps)
	for _, h := range s.seen {
		k.numbers[h] = int32(len(k.numbers)) + 1
	}
	for _, m := range s.messages {
		k.record(m.number, m.hash)
	}
}

// record reports whether the text of the message is new.
func (k *known) record(number int32, hash uint32) bool {
	old, there := k.have[number]
	switch key := uint64(number)<<32 | uint64(hash); {
	case !there:
		k.have[number] = hash
	case old == hash || k.again[key]:
		return false
	default:
		k.again[key] = true
	}
	return true
}

// A builder makes a segment of steps, after those that are known.
type builder struct {
	*known
	s        *segment
	in       *interned
	postings []posting
}

func newBuilder(k *known) *builder { return &builder{known: k, s: new(segment), in: newInterned()} }

// addStep adds what a step removed. A text that a compaction wrote is left out: what it
// stands for is in the index itself, unless the session was loaded with it.
func (b *builder) addStep(s archive.Step, damaged bool) {
	ref := stepRef{number: s.Number, time: s.Time.Unix(), damaged: damaged}
	for _, e := range s.Removed {
		ref.entries = append(ref.entries, e.ID)
	}
	first := b.steps == 0
	b.steps++
	b.s.steps = append(b.s.steps, ref)
	for _, m := range s.Before {
		if h := hashOfID(m.ID); b.numbers[h] == 0 && m.State != chat.Marked && (m.State == chat.Active || first) {
			b.numbers[h] = int32(len(b.numbers)) + 1
			b.s.seen = append(b.s.seen, h)
		}
	}
	calls := callsOf(s)
	for _, derived := range []bool{false, true} {
		for i, e := range s.Removed {
			for place, m := range e.Messages {
				if m.State == chat.Marked || (m.State != chat.Active) != derived {
					continue
				}
				number := b.numbers[hashOfID(m.ID)]
				if _, there := b.have[number]; derived && (there || number == 0) {
					continue
				}
				b.addMessage(m, message{number: number, step: int32(len(b.s.steps) - 1), entry: int32(i), place: int32(place)}, calls)
			}
			if e.Text != "" && !derived {
				b.addMessage(chat.NewText("", e.Text), message{step: int32(len(b.s.steps) - 1), entry: int32(i), place: int32(len(e.Messages))}, nil)
			}
		}
	}
}

func (b *builder) addMessage(m chat.Message, at message, calls map[string]callInfo) {
	for i, piece := range piecesOf(m) {
		at.piece = int32(i)
		b.addPiece(piece, at, calls)
	}
}

func (b *builder) addPiece(m chat.Message, at message, calls map[string]callInfo) {
	text := textOf(m)
	at.hash = hashOfText(m.Role, text)
	spans := passagesOf(text)
	if len(spans) == 0 || !b.record(at.number, at.hash) {
		return
	}
	c, failed := calledBy(m, calls)
	at.role, at.failed = roleNumber(m.Role), failed
	at.tool, at.file, at.args = b.in.add(c.tool), b.in.add(c.file), b.in.add(c.args)
	at.firstDoc, at.passages = int32(len(b.s.docs)), int32(len(spans))
	for part, sp := range spans {
		terms := embed.TermsOfText(indexedText(m.Role, c, text[sp.start:sp.end]))
		n := int32(len(b.s.docs))
		for hash, count := range terms.Counts() {
			b.postings = append(b.postings, posting{hash, n, int32(count)})
		}
		b.s.docs = append(b.s.docs, doc{int32(len(b.s.messages)), int32(part), int32(terms.Length()), sp.old})
	}
	b.s.messages = append(b.s.messages, at)
}

// indexedText returns the text of a passage with what a part of a file or the result of a
// command does not say itself: which file, twice, and which command.
func indexedText(role chat.Role, c callInfo, text string) string {
	if c.tool != "" {
		text += definitionTerms(text)
	}
	base := path.Base(strings.ReplaceAll(c.file, "\\", "/"))
	switch {
	case c.file != "":
		return base + " " + base + "\n" + text
	case role == chat.Tool && c.args != "":
		return c.args + "\n" + text
	}
	return text
}

// segment returns the encoded segment.
func (b *builder) segment() []byte {
	slices.SortFunc(b.postings, func(x, y posting) int { return cmp.Or(cmp.Compare(x.hash, y.hash), cmp.Compare(x.doc, y.doc)) })
	at := 0
	return encodeSegment(b.s, b.in.words, func() (posting, bool) {
		if at++; at > len(b.postings) {
			return posting{}, false
		}
		return b.postings[at-1], true
	})
}

// callsOf returns the calls that results in s answer, if it has removed results.
func callsOf(s archive.Step) map[string]callInfo {
	wanted := make(map[string]bool)
	for _, e := range s.Removed {
		for _, m := range e.Messages {
			for _, p := range m.Parts {
				if p.Kind == chat.Result {
					wanted[p.ID] = true
				}
			}
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	calls := make(map[string]callInfo, len(wanted))
	add := func(messages []chat.Message) {
		for _, m := range messages {
			for _, p := range m.Parts {
				if p.Kind == chat.Call && wanted[p.ID] && m.State == chat.Active {
					calls[p.ID] = callInfoOf(p)
				} else if _, there := calls[p.ID]; p.Kind == chat.Call && wanted[p.ID] && !there {
					calls[p.ID] = callInfoOf(p)
				}
			}
		}
	}
	add(s.Before)
	for _, e := range s.Removed {
		add(e.Messages)
	}
	return calls
}

// calledBy returns the call that m makes or answers, the first of several, and whether
// the tool failed.
func calledBy(m chat.Message, calls map[string]callInfo) (c callInfo, failed bool) {
	for _, p := range m.Parts {
		switch p.Kind {
		case chat.Call, chat.ServerCall:
			return callInfoOf(p), false
		case chat.Result:
			c = calls[p.ID]
			c.tool = cmp.Or(c.tool, p.Name)
			return c, p.Error
		}
	}
	return callInfo{}, false
}

// hashOfID returns the number of an id in the session's own form, else a hash.
func hashOfID(id string) uint64 {
	if len(id) > 1 && id[0] == 'm' && id[1] != '0' {
		if n, err := strconv.ParseUint(id[1:], 10, 31); err == nil {
			return n
		}
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(id)) // never fails
	return max(h.Sum64(), ownIDs)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func hashOfText(role chat.Role, text string) uint32 {
	return crc32.Checksum(fmt.Appendf(nil, "%s\n%s", role, text), castagnoli)
}
