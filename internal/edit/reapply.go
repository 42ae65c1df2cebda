package edit

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"io"
	"slices"
	"sort"
	"strconv"

	"github.com/tiercompact/tiercompact/chat"
)

// A Rewrite is what one round did to a conversation that its client sends again
// with every request. It knows the messages that the round was made on, and
// which of them it kept, so that the round can be made again after the client
// has changed something that the round only passed by: a clock in the system
// prompt, a reminder that stands in the newest request alone.
type Rewrite struct {
	was   []knownMessage
	after []leftMessage
}

// A knownMessage is a message that a round was made on.
type knownMessage struct {
	sum  digest
	role chat.Role
	kept bool
}

// A leftMessage is a message of what a round left.
type leftMessage struct {
	was   int           // its place before the round; -1: none
	made  *chat.Message // what stands in place of that message, or is new; nil: the message itself
	sum   digest        // of made
	moved bool          // it went before others that stood before it
}

// NewRewrite returns the round whose steps were made on before. sent is before
// as the client sent it, and as former rewrites left it: one message for each.
// ok is false if the steps do not fit before.
func NewRewrite(sent, before chat.Transcript, steps [][]Edit) (r Rewrite, ok bool) {
	r = Rewrite{was: make([]knownMessage, len(sent)), after: make([]leftMessage, len(before))}
	for i, m := range sent {
		r.was[i] = knownMessage{sum: messageDigest(m), role: m.Role}
		r.after[i].was = i
	}
	now := before
	for _, edits := range steps {
		edits = Sorted(edits)
		next, err := assemble(now, edits)
		if err != nil {
			return Rewrite{}, false
		}
		var after []leftMessage
		at := 0
		for _, e := range edits {
			after = append(after, r.after[at:e.Start]...)
			after = append(after, leftMessages(now[e.Start:e.End], r.after[e.Start:e.End], e.New)...)
			at = e.End
		}
		r.after, now = append(after, r.after[at:]...), next
	}
	for _, p := range r.after {
		if p.made == nil {
			r.was[p.was].kept = true
		}
	}
	return r, true
}

// leftMessages returns what an edit puts in the place of run, whose messages are old.
func leftMessages(run chat.Transcript, old []leftMessage, put []chat.Message) []leftMessage {
	at := make(map[string]int, len(run))
	for i, m := range run {
		at[m.ID] = i
	}
	out := make([]leftMessage, len(put))
	stays := make([]int, len(put)) // place in run of what stays as it is; -1: it does not
	gone := make([]bool, len(run))
	for i := range gone {
		gone[i] = true
	}
	for k, m := range put {
		i, stood := at[m.ID]
		if stays[k] = -1; stood && Same(run[i], m) {
			stays[k], gone[i], out[k] = i, false, old[i]
			continue
		}
		out[k] = leftMessage{was: -1, made: &put[k], sum: messageDigest(m)}
		if stood {
			out[k].was = old[i].was
		}
	}
	first := slices.Index(gone, true) // what stands for it is the first message that is made
	made, least := false, len(run)
	for k := len(put) - 1; k >= 0; k-- {
		if i := stays[k]; i >= 0 {
			out[k].moved = out[k].moved || made && first >= 0 && first < i || least < i
			least = min(least, i)
		} else {
			made = made || put[k].State != chat.Marked
		}
	}
	return out
}

// A liveMessage is a message of a conversation that rewrites are made on.
type liveMessage struct {
	message chat.Message
	sum     digest
}

// Reapply makes rewrites again, in order, on a conversation that was sent anew.
// What a rewrite replaces must stand in it, each run in one piece and in the same
// order; what it keeps may have changed, come or gone, and stands in the result
// as it was sent. The first rewrite of which that is not so, or whose result
// would break what [Apply] checks, is forgotten with those after it: fit are
// those that were made.
func Reapply(sent chat.Transcript, rewrites []Rewrite) (t chat.Transcript, fit []Rewrite) {
	if len(rewrites) == 0 {
		return sent, nil
	}
	now := make([]liveMessage, len(sent))
	for i, m := range sent {
		now[i] = liveMessage{m, messageDigest(m)}
	}
	for _, r := range rewrites {
		next, ok := r.applyTo(now)
		if !ok {
			break
		}
		now, fit = next, append(fit, r)
	}
	t = make(chat.Transcript, len(now))
	for i, l := range now {
		t[i] = l.message
	}
	return t, fit
}

// applyTo returns what the round leaves of now.
func (r Rewrite) applyTo(now []liveMessage) ([]liveMessage, bool) {
	if r.matchesStart(now) {
		out := make([]liveMessage, 0, len(r.after)+len(now)-len(r.was))
		for _, p := range r.after {
			out = append(out, p.liveMessageAt(now, p.was))
		}
		return append(out, now[len(r.was):]...), true
	}
	m, ok := r.matchMessages(now)
	if !ok {
		return nil, false
	}
	return m.rebuildOutcome()
}

// matchesStart reports whether now begins with what the round was made on.
func (r Rewrite) matchesStart(now []liveMessage) bool {
	if len(now) < len(r.was) {
		return false
	}
	for i, w := range r.was {
		if w.sum != now[i].sum {
			return false
		}
	}
	return true
}

// liveMessageAt returns the message of p, which stands at place at of now.
func (p leftMessage) liveMessageAt(now []liveMessage, at int) liveMessage {
	if p.made != nil {
		return liveMessage{*p.made, p.sum}
	}
	return now[at]
}

// A messageMatch says where the messages that a round was made on stand in another
// conversation.
type messageMatch struct {
	Rewrite
	now    []liveMessage
	places map[digest][]int // of each message of now
	to     []int            // place in now of each message; -1: none
	from   []int            // the reverse; -1: the client sent it since
}

// matchMessages finds the messages of r in now; ok is false if one that the round
// replaces does not stand where it stood.
func (r Rewrite) matchMessages(now []liveMessage) (m messageMatch, ok bool) {
	m = messageMatch{Rewrite: r, now: now, places: make(map[digest][]int, len(now)), to: make([]int, len(r.was)), from: make([]int, len(now))}
	for i, l := range now {
		m.from[i] = -1
		m.places[l.sum] = append(m.places[l.sum], i)
	}
	gap, at := 0, 0 // behind the last run that was found
	for i := 0; i < len(r.was); {
		if r.was[i].kept {
			m.to[i] = -1
			i++
			continue
		}
		end := i
		for end < len(r.was) && !r.was[end].kept {
			end++
		}
		start, found := m.findRun(i, end, at)
		if !found {
			return m, false
		}
		m.matchKept(gap, i, at, start)
		for k := i; k < end; k++ {
			m.pairMessages(k, start+k-i)
		}
		gap, at, i = end, start+end-i, end
	}
	m.matchKept(gap, len(r.was), at, len(now))
	return m, true
}

func (m *messageMatch) pairMessages(was, now int) { m.to[was], m.from[now] = now, was }

// maxTriedPlaces bounds the places that are looked at for a run: one that begins like
// so many others is not worth the search.
const maxTriedPlaces = 64

// findRun returns where the run of messages start to end stands, from place at on:
// behind the message that it stood behind, else before the one that it stood
// before, else where it is first found.
func (m *messageMatch) findRun(start, end, at int) (place int, found bool) {
	candidates := m.places[m.was[start].sum]
	candidates = candidates[sort.SearchInts(candidates, at):]
	best := 0
	for _, c := range candidates[:min(len(candidates), maxTriedPlaces)] {
		if !m.runStandsAt(start, end, c) {
			continue
		}
		rank := 1
		switch {
		case start == 0 && c == 0 || start > 0 && c > 0 && m.was[start-1].sum == m.now[c-1].sum:
			return c, true
		case end < len(m.was) && c+end-start < len(m.now) && m.was[end].sum == m.now[c+end-start].sum:
			rank = 2
		}
		if rank > best {
			place, best = c, rank
		}
	}
	return place, best > 0
}

// runStandsAt reports whether the messages start to end stand at place c.
func (m *messageMatch) runStandsAt(start, end, c int) bool {
	if c+end-start > len(m.now) {
		return false
	}
	for k := start; k < end; k++ {
		if m.was[k].sum != m.now[c+k-start].sum {
			return false
		}
	}
	return true
}

// matchKept matches what the round keeps between two runs: what says the same,
// and between that what has changed in its place.
func (m *messageMatch) matchKept(start, end, at, stop int) {
	next := at
	for k := start; k < end; k++ {
		same := m.places[m.was[k].sum]
		if i := sort.SearchInts(same, next); i < len(same) && same[i] < stop {
			m.pairMessages(k, same[i])
			next = same[i] + 1
		}
	}
	for k, place := start, at; k < end; k++ {
		if m.to[k] >= 0 {
			place = m.to[k] + 1
			continue
		}
		until := k
		for until < end && m.to[until] < 0 {
			until++
		}
		limit := stop
		if until < end {
			limit = m.to[until]
		}
		if limit-place == until-k {
			for i := k; i < until; i++ {
				if p := place + i - k; m.was[i].role == m.now[p].message.Role {
					m.pairMessages(i, p)
				}
			}
		}
		k = until - 1
	}
}

// rebuildOutcome returns what the round leaves: its outcome with what was sent since
// in its place. ok is false if that would break a rule.
func (m messageMatch) rebuildOutcome() (out []liveMessage, ok bool) {
	moved := make([]bool, len(m.now))
	for _, p := range m.after {
		if p.made == nil && p.moved && m.to[p.was] >= 0 {
			moved[m.to[p.was]] = true
		}
	}
	s := m.sentSinceRound(moved)
	var ids []string
	put := func(l liveMessage, id string) { out, ids = append(out, l), append(ids, id) }
	sent := func(places []int) {
		for _, i := range places {
			put(m.now[i], strconv.Itoa(i))
		}
	}
	sent(s.first)
	for k, p := range m.after {
		at := -1
		if p.was >= 0 {
			at = m.to[p.was]
		}
		switch {
		case p.made == nil && at < 0:
			continue // the client has taken it out
		case p.made == nil:
			sent(s.before[at])
			put(m.now[at], strconv.Itoa(at))
			sent(s.after[at])
		case at >= 0:
			put(p.liveMessageAt(nil, 0), strconv.Itoa(at))
		default:
			put(p.liveMessageAt(nil, 0), "made "+strconv.Itoa(k))
		}
	}
	sent(s.last)
	return out, m.keepsRules(out, ids, moved)
}

// sentSince are the places of messages that the round was not made on, by where
// they stand in its outcome.
type sentSince struct {
	first, last   []int
	before, after map[int][]int // by the place of a message that the round keeps
}

// sentSinceRound returns where the messages stand that the client has sent since: behind
// the message that the round keeps before them, or where it replaces that one
// before the next that it keeps.
func (m messageMatch) sentSinceRound(moved []bool) sentSince {
	s := sentSince{before: make(map[int][]int), after: make(map[int][]int)}
	behind, replaced := -1, false
	var wait []int
	for i := range m.now {
		w := m.from[i]
		switch {
		case w >= 0 && !m.was[w].kept:
			replaced = true
		case w >= 0 && moved[i]:
		case w >= 0:
			s.before[i], wait = wait, nil
			behind, replaced = i, w == len(m.was)-1 // behind the end also what the round added there
		case replaced:
			wait = append(wait, i)
		case behind < 0:
			s.first = append(s.first, i)
		default:
			s.after[behind] = append(s.after[behind], i)
		}
	}
	s.last = wait
	return s
}

// keepsRules reports whether out, whose messages have ids by their places in m.now,
// keeps what Apply checks. The newest message stays as it is.
func (m messageMatch) keepsRules(out []liveMessage, ids []string, moved []bool) bool {
	if last := len(m.now) - 1; last >= 0 && m.from[last] >= 0 && !m.was[m.from[last]].kept {
		return false
	}
	before, after := make(chat.Transcript, len(m.now)), make(chat.Transcript, len(out))
	for i, l := range m.now {
		before[i] = l.message
		before[i].ID = strconv.Itoa(i)
	}
	for i, l := range out {
		after[i] = l.message
		after[i].ID = ids[i]
	}
	return checkInvariants(before, after, Rules{Moved: func(i int) bool { return moved[i] }}) == nil
}

// A digest tells contents of messages apart.
type digest [16]byte

// messageDigest returns the digest of what m says: role, parts and pairing, not its
// id, which a client need not send. A summary's part is the same as a block and
// as the text that it is on the wire.
func messageDigest(m chat.Message) digest {
	h := sha256.New()
	hashString(h, string(m.Role))
	for _, p := range m.Parts {
		kind := p.Kind
		if kind == chat.Summary {
			kind = chat.Text
		}
		for _, s := range []string{string(kind), p.Text, p.ID, p.Name, p.Args} {
			hashString(h, s)
		}
		if p.Image != nil {
			for _, s := range []string{p.Image.MediaType, p.Image.Data, p.Image.URL} {
				hashString(h, s)
			}
		}
	}
	return digest(h.Sum(nil)[:16])
}

func hashString(h hash.Hash, s string) {
	var size [8]byte
	binary.LittleEndian.PutUint64(size[:], uint64(len(s)))
	h.Write(size[:])
	io.WriteString(h, s)
}
